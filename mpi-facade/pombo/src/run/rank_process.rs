//! The process of one rank and the processes that it started. Only `supervise` uses it.
//!
//! A rank is `Running`, then `Left` when its process has ended, then `Over`. In state `Left` the process is not reaped,
//! so its number, which names its process group, is not reused; processes that it started may still print and end on
//! their own. `finish` ends the rest.

use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::time::Instant;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::procfs::stat_field;

/// A rank, named by its index among the ranks.
pub(crate) struct Rank {
    process: Child,
    /// The process id, which is also the id of the group that the process leads.
    pub(crate) group: Pid,
    /// The program as the user gave it.
    pub(crate) program: String,
    pub(crate) state: State,
}

/// The state of a rank.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum State {
    Running,
    Left(Instant),
    Over,
}

/// How a rank's process ended.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum End {
    Code(i32),
    Signal(i32),
    /// Another process took the status.
    Unknown,
}

impl End {
    pub(crate) fn is_signal(self) -> bool {
        matches!(self, End::Signal(_))
    }
}

/// PF_EXITING of Linux.
const EXITING: u64 = 4;

/// Returns the kernel's flags of a process.
fn flags(process: Pid) -> Option<u64> {
    stat_field(process, 9)
}

impl Rank {
    pub(crate) fn new(process: Child, program: String) -> Rank {
        Rank {
            group: Pid::from_raw(process.id().cast_signed()),
            process,
            program,
            state: State::Running,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Sends a signal to the process group of the rank.
    pub(crate) fn signal(&self, signal: Signal) {
        if !self.is_over() {
            // The only remaining error is a group that has just ended.
            let _ = killpg(self.group, signal);
        }
    }

    /// Returns whether the rank's process handles that signal.
    pub(crate) fn catches(&self, signal: Signal) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.group));
        let is_in_mask = |mask: &str| {
            let mask = u64::from_str_radix(mask.trim(), 16).unwrap_or(0);
            mask >> (signal as u32 - 1) & 1 == 1
        };
        let status = status.unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.is_some_and(is_in_mask)
    }

    /// Returns whether the kernel is already terminating a running rank, whose descriptors may be closed by then.
    pub(crate) fn is_leaving(&self) -> bool {
        self.state == State::Running && flags(self.group).is_some_and(|flags| flags & EXITING != 0)
    }

    /// Returns how a running rank has ended, if it has. Its process stays unreaped.
    pub(crate) fn poll_end(&mut self) -> Option<End> {
        if self.state != State::Running {
            return None;
        }
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let end = match waitid(Id::Pid(self.group), flags) {
            Ok(WaitStatus::Exited(_, code)) => End::Code(code),
            Ok(WaitStatus::Signaled(_, signal, _)) => End::Signal(signal as i32),
            Ok(_) | Err(Errno::EINTR) => return None,
            // The signal is a real-time signal without a name here: only reaping tells its number.
            Err(Errno::EINVAL) => return Some(self.finish()),
            Err(_) => {
                self.state = State::Over;
                return Some(End::Unknown);
            }
        };
        self.state = State::Left(Instant::now());
        Some(end)
    }

    /// Kills what is left of the group, then reaps the process, which releases its number.
    pub(crate) fn finish(&mut self) -> End {
        self.signal(Signal::SIGKILL);
        self.state = State::Over;
        match self.process.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => End::Code(code),
                (None, Some(signal)) => End::Signal(signal),
                (None, None) => End::Unknown,
            },
            Err(_) => End::Unknown,
        }
    }
}
