//! Signals as a descriptor. Only `run` and `supervise` use it.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::error::Error;

/// The signals that end a job.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// The others that the launcher acts on.
const OTHERS: [Signal; 7] = [
    Signal::SIGCHLD,
    Signal::SIGTSTP,
    Signal::SIGCONT,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    // Sent for the launcher's own writes, which it would otherwise end without a message.
    Signal::SIGXFSZ,
];

/// Signals that are blocked for this process and read from a descriptor. Children inherit the mask: each rank calls
/// `unblock` before it executes its program.
pub(crate) struct Signals(SignalFd);

impl Signals {
    pub(crate) fn block() -> Result<Signals, Error> {
        if ignored(Signal::SIGCHLD) {
            // With SIGCHLD ignored the system would report neither that a rank ended nor how.
            return Err(Error::ChildrenIgnored);
        }
        let mut set = all();
        if ignored(Signal::SIGHUP) {
            // The launcher was started by nohup and is to survive the terminal.
            set.remove(Signal::SIGHUP);
        }
        set.thread_block().map_err(Error::errno("block signals"))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        SignalFd::with_flags(&set, flags)
            .map(Signals)
            .map_err(Error::errno("open a descriptor for signals"))
    }

    /// Returns the next pending signal.
    pub(crate) fn next(&self) -> Option<Signal> {
        let info = self.0.read_signal().ok()??;
        Signal::try_from(info.ssi_signo as i32).ok()
    }
}

/// Reverts `Signals::block` in a child.
pub(crate) fn unblock() -> Result<(), Error> {
    all()
        .thread_unblock()
        .map_err(Error::errno("unblock signals"))
}

fn all() -> SigSet {
    ENDING.into_iter().chain(OTHERS).collect()
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Returns whether a signal ends a job.
pub(crate) fn is_ending(signal: Signal) -> bool {
    ENDING.contains(&signal)
}

/// Returns a description such as "9 (SIGKILL)"; real-time signals have no name.
pub(crate) fn describe(number: i32) -> String {
    match Signal::try_from(number) {
        Ok(signal) => format!("{number} ({})", signal.as_str()),
        Err(_) => number.to_string(),
    }
}

/// Returns whether this process was started with the signal ignored. The kernel reports a hexadecimal mask with signal
/// 1 in the lowest bit.
fn ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0) >> (signal as u32 - 1) & 1 == 1
}
