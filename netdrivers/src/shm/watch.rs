//! How ranks that no launcher watches find out that one of them is gone: whoever is idle looks at the processes of the
//! others now and then. Used by `Shm` and `meet` only.

use core::mem::MaybeUninit;
use core::time::Duration;

use super::file::Descriptor;
use super::segment::{RankState, Segment};
use super::socket::now;

/// Between two looks of a rank; also the longest sleep of one that watches.
pub(super) const PAUSE: Duration = Duration::from_millis(500);
/// Processes at which one look looks; the next look goes on from there.
const MOST: usize = 64;

/// One rank's part in watching over all.
pub(super) struct Watch {
    last: Duration,
    next: usize,
}

impl Watch {
    /// None if a launcher watches, or if the numbers of the others' processes mean nothing here.
    pub(super) fn of(segment: &Segment, rank: usize) -> Option<Self> {
        let space = segment.watched()?;
        (process_space() == Some(space)).then(|| Self {
            last: now(),
            next: rank + 1,
        })
    }

    /// Looks, if it is time to. Whose process is gone is marked dead.
    #[cold]
    pub(super) fn look(&mut self, segment: &Segment) {
        let now = now();
        if now.saturating_sub(self.last) < PAUSE {
            return;
        }
        self.last = now;
        let ranks = segment.ranks();
        for _ in 0..ranks.min(MOST) {
            let rank = self.next % ranks;
            self.next = rank + 1;
            let may_die = matches!(
                segment.state_of(rank),
                RankState::Unborn | RankState::Attached
            );
            if may_die && segment.watched_process(rank).is_some_and(is_gone) {
                // Only an unknown rank is refused.
                let _ = segment.mark_dead(rank);
            }
        }
    }
}

/// The number of this process.
pub(super) fn process() -> i32 {
    // SAFETY: takes nothing and touches no memory.
    unsafe { libc::getpid() }
}

/// The space in which the number of this process holds: others share it or do not. `None` where the system hides it.
pub(super) fn process_space() -> Option<u64> {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path is a C string, and the buffer has the size that the call fills.
    let known = unsafe { libc::stat(c"/proc/self/ns/pid".as_ptr(), stat.as_mut_ptr()) };
    // SAFETY: the call has filled it.
    (known == 0).then(|| unsafe { stat.assume_init() }.st_ino)
}

/// Only for sure: a process that cannot be looked at is taken to live. One that has ended is gone, even if nobody has
/// asked for its status yet. A number is given to another process only after all others were, so for a long time a
/// number of a process that is gone names none.
fn is_gone(process: i32) -> bool {
    // SAFETY: no memory is passed.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    let process = match Descriptor::returned(fd as i32, "pidfd_open") {
        Ok(process) => process,
        Err(error) => return error.is(libc::ESRCH),
    };
    let mut poll = libc::pollfd {
        fd: process.number(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, valid for the call.
    unsafe { libc::poll(&mut poll, 1, 0) == 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::std::process::Command;

    #[test]
    fn a_process_is_gone_when_it_has_ended() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("a process");
        let process = child.id().cast_signed();
        assert!(!is_gone(process));
        child.kill().expect("a running process");
        // Nobody has asked for its status.
        while !is_gone(process) {
            crate::std::thread::yield_now();
        }
        child.wait().expect("a child");
        assert!(is_gone(process));
    }

    #[test]
    fn what_cannot_be_looked_at_lives() {
        assert!(!is_gone(crate::std::process::id().cast_signed()));
        assert!(!is_gone(-1) && !is_gone(0));
    }
}
