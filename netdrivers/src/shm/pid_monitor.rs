//! Detection of dead ranks without a launcher: an idle rank checks the processes of the others periodically. Only
//! `membership` and `bootstrap` use it.

use core::num::NonZero;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::stat;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

use super::segment::{RankState, Segment};
use crate::tuning::PROCESS_CHECK_INTERVAL;
use crate::wait::now;

/// Number of processes that one check covers; the next check goes on from there.
const MAX_CHECKED: usize = 64;

/// One rank's part in monitoring all processes.
pub(super) struct PidMonitor {
    last: u64,
    /// One more than the rank that was checked last.
    next: NonZero<usize>,
}

impl PidMonitor {
    /// Creates a monitor; returns `None` if a launcher monitors the ranks, or if their PIDs are not valid in this
    /// namespace.
    pub(super) fn of(segment: &Segment, rank: usize) -> Option<Self> {
        let space = segment.pid_namespace()?;
        (pid_namespace() == Some(space)).then(|| Self {
            last: now(),
            next: NonZero::<usize>::MIN.saturating_add(rank),
        })
    }

    /// Checks processes, if it is time to. A rank without a process is marked dead.
    #[cold]
    pub(super) fn check(&mut self, segment: &Segment, now: u64) {
        if now.saturating_sub(self.last) < PROCESS_CHECK_INTERVAL {
            return;
        }
        self.last = now;
        let ranks = segment.ranks();
        for _ in 0..ranks.min(MAX_CHECKED) {
            let rank = self.next.get() % ranks;
            self.next = NonZero::<usize>::MIN.saturating_add(rank);
            let may_die = matches!(
                segment.state_of(rank),
                RankState::NotStarted | RankState::Attached
            );
            if may_die && segment.monitored_pid(rank).is_some_and(has_exited) {
                // `mark_dead` fails only for an unknown rank.
                let _ = segment.mark_dead(rank);
            }
        }
    }
}

/// Returns the PID of this process.
pub(super) fn pid() -> i32 {
    getpid().as_raw_pid()
}

/// Returns the PID namespace of this process; `None` if the system hides it.
pub(super) fn pid_namespace() -> Option<u64> {
    stat(c"/proc/self/ns/pid").ok().map(|space| space.st_ino)
}

/// Returns whether the process has certainly ended: one that cannot be checked counts as alive. A zombie counts as
/// ended. Linux reuses a PID only after it has used all others, so for a long time the PID of a process that has ended
/// names no other.
fn has_exited(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid.max(0)) else {
        return false;
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pid) => {
            let mut polled = [PollFd::new(&pid, PollFlags::IN)];
            poll(&mut polled, Some(&Timespec::default())) == Ok(1)
        }
        Err(error) => error == Errno::SRCH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::std::process::Command;

    #[test]
    fn a_process_is_gone_when_it_has_ended() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("a process");
        let pid = child.id().cast_signed();
        assert!(!has_exited(pid));
        child.kill().expect("a running process");
        // Nobody has waited for the child, so it stays a zombie.
        while !has_exited(pid) {
            crate::std::thread::yield_now();
        }
        child.wait().expect("a child");
        assert!(has_exited(pid));
    }

    #[test]
    fn what_cannot_be_looked_at_lives() {
        assert!(!has_exited(crate::std::process::id().cast_signed()));
        assert!(!has_exited(-1) && !has_exited(0));
    }
}
