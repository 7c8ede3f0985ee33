//! A job that Hydra runs, while it runs: the user's questions, deadlocks, its end. Only `hydra_delegation` uses it.

use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use super::OnDeadlock;
use super::arguments::Request;
use super::supervise::kill_timeout;
use crate::console::warn;
use crate::error::Error;
use crate::explain::hosts::{Desk, Event, Finding};
use crate::join::HostsJobFile;
use crate::variables::LAUNCHER;

/// How a job has ended.
pub(super) enum End {
    /// With Hydra's process.
    Own(ExitStatus),
    /// The launcher ended it, and this is the exit code.
    Ordered(u8),
}

/// Runs Hydra by that command on these hosts to its end. The user may ask meanwhile what the ranks wait for.
pub(super) fn run(
    command: &mut Command,
    engine: &Path,
    request: &Request,
    hosts: Vec<String>,
) -> Result<End, Error> {
    let sizes = request.contexts.iter().map(|context| context.ranks);
    let size = sizes.fold(0, usize::saturating_add);
    let kill_timeout = kill_timeout()?;
    if let Some(file) = &request.job_file {
        HostsJobFile::prepare(file)?;
    }
    let blocked = Error::errno("block signals");
    // Every thread inherits what is blocked.
    let asking: SigSet = [Signal::SIGQUIT, Signal::SIGUSR1].into_iter().collect();
    let ending = SigSet::from(Signal::SIGTERM);
    let all: SigSet = asking.iter().chain(&ending).collect();
    all.thread_block().map_err(blocked)?;
    let mut desk = Desk::open(hosts, size, request.spare).map_err(Error::system(
        "listen for what the ranks on other hosts tell",
    ))?;
    command.env(LAUNCHER.name(), desk.address());
    // So does Hydra: a Ctrl-\ would end the job. Its ranks do not, by `exec_shim`.
    let blocked = Error::errno("unblock signals");
    ending.thread_unblock().map_err(blocked)?;
    let mut hydra = command.spawn().map_err(Error::file("start", engine))?;
    let blocked = Error::errno("block signals");
    ending.thread_block().map_err(blocked)?;
    let process = Pid::from_raw(hydra.id().cast_signed());
    forward(&desk, move || {
        Some(match all.wait().ok()? {
            Signal::SIGTERM => Event::Terminated,
            _ => Event::Inquired,
        })
    });
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    forward(&desk, move || {
        while waitid(Id::Pid(process), flags) == Err(nix::Error::EINTR) {}
        Some(Event::Ended)
    });
    // It is removed when the job has ended.
    let mut _job_file = None;
    // The exit code of a job that the launcher ends, and when it kills Hydra.
    let (mut ordered, mut deadline) = (None, None);
    loop {
        match desk.turn(deadline) {
            None => {}
            Some(Finding::Ended) => return end(&mut hydra, engine, ordered),
            Some(Finding::Terminated) => {
                ordered = ordered.or(Some(128 + Signal::SIGTERM as u8));
                deadline = terminate(process, kill_timeout);
            }
            Some(Finding::Report(text)) => {
                warn(&format!("what the ranks wait for:\n{}", text.trim_end()));
            }
            Some(Finding::Places(addresses)) => {
                let file = request.job_file.as_deref();
                let written = file.map(|file| HostsJobFile::write(file, addresses, desk.secret()));
                match written.transpose() {
                    Ok(written) => _job_file = written,
                    Err(error) => {
                        warn(&error.to_string());
                        ordered = ordered.or(Some(1));
                        deadline = terminate(process, kill_timeout);
                    }
                }
            }
            Some(Finding::Deadlock(_)) if ordered.is_some() => {}
            Some(Finding::Deadlock(who)) => match request.on_deadlock {
                OnDeadlock::Report => warn(&format!(
                    "deadlock: {who}; --on-deadlock abort would end the job"
                )),
                OnDeadlock::Abort => {
                    warn(&format!("deadlock: {who}; ending {size} ranks"));
                    ordered = Some(1);
                    deadline = terminate(process, kill_timeout);
                }
            },
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            deadline = None;
            let _ = kill(process, Signal::SIGKILL);
        }
    }
}

/// Asks Hydra to end, whose process is not reaped yet; returns when to kill it.
fn terminate(process: Pid, kill_timeout: Duration) -> Option<Instant> {
    let _ = kill(process, Signal::SIGTERM);
    Some(Instant::now() + kill_timeout)
}

/// Lets a thread send what the function returns, until it returns nothing or an end.
fn forward(desk: &Desk, mut next: impl FnMut() -> Option<Event> + Send + 'static) {
    let events = desk.sender();
    thread::spawn(move || {
        while let Some(event) = next() {
            let is_last = matches!(event, Event::Ended);
            if events.send(event).is_err() || is_last {
                return;
            }
        }
    });
}

fn end(hydra: &mut Child, engine: &Path, ordered: Option<u8>) -> Result<End, Error> {
    let status = hydra.wait().map_err(Error::file("wait for", engine))?;
    Ok(ordered.map_or(End::Own(status), End::Ordered))
}
