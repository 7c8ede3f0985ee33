//! `pombo __guard`: a small process that outlives the launcher for a moment. `run` starts it, `main` dispatches to it.
//!
//! If the launcher is killed, each rank dies by its parent-death signal, but processes that the ranks started do not.
//! The guard knows every rank's process group; when its input ends, it kills the groups that were not removed.

use std::collections::BTreeSet;
use std::io::{BufRead, Write, stdin};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::error::Error;

/// The subcommand's name.
pub(crate) const NAME: &str = "__guard";

/// The launcher's side of the guard.
pub(crate) struct Guard {
    process: Child,
    orders: Option<ChildStdin>,
}

impl Guard {
    /// Starts the guard in a process group of its own, which Ctrl-C does not reach.
    pub(crate) fn start() -> Result<Guard, Error> {
        let mut process = Command::new("/proc/self/exe")
            .arg0("pombo")
            .arg(NAME)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::system("start the guard process"))?;
        let orders = process.stdin.take();
        Ok(Guard { process, orders })
    }

    /// Adds the process group of a rank that has started.
    pub(crate) fn add(&mut self, group: Pid) {
        self.order(format_args!("+{group}\n"));
    }

    /// Removes the process group of a rank that has ended. The caller does so before it reaps the leader, while the
    /// number cannot be reused by another process.
    pub(crate) fn remove(&mut self, group: Pid) {
        self.order(format_args!("-{group}\n"));
    }

    fn order(&mut self, order: std::fmt::Arguments<'_>) {
        if let Some(orders) = &mut self.orders {
            // Without the guard the job still runs; only the cleanup after a killed launcher is incomplete.
            let _ = orders.write_all(order.to_string().as_bytes());
        }
    }
}

impl Drop for Guard {
    /// Every rank has been removed, so the guard has nothing to kill.
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.process.wait();
    }
}

/// Follows the launcher's orders until its input ends.
pub(crate) fn main() -> Result<u8, Error> {
    let mut groups = BTreeSet::new();
    for line in stdin().lock().lines() {
        let line = line.map_err(Error::system("read the launcher's orders"))?;
        let number = line.get(1..).and_then(|number| number.parse::<i32>().ok());
        match (line.as_bytes().first(), number) {
            (Some(b'+'), Some(group)) if group > 1 => groups.insert(group),
            (Some(b'-'), Some(group)) => groups.remove(&group),
            _ => continue,
        };
    }
    for group in groups {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    Ok(0)
}
