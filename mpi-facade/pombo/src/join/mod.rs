//! `pombo join`: starts a program as a further process of a running job, which was started with `--spare` places.
//!
//! The launcher gives a place, and the job's memory, to whoever knows the job's key, which stands in the file that
//! `--job-file` names. `pombo join` stays the parent of the program: it ends the program when the job ends, and if it is
//! killed the system kills the program (parent-death signal). So the launcher takes the end of its connection for the end
//! of both.
//!
//! On another machine `pombo join` has a memory like the job's, in which it stands for all others (`mirror`), and a thread of
//! the launcher stands for the program in the job's memory (`proxy`). Frames go from one to the other over a connection
//! (`wire`) that begins with a proof of the key (`handshake`). When it ends, the process counts as dead for the job, and is
//! ended before it can act on what it does not hear any more.
//!
//! The places of a job on several hosts are processes (`keeper`), which are ranks to the others; each is the proxy of the
//! process that comes to it.

mod events;
mod far_listener;
mod frame_queue;
mod handshake;
mod hosts_side;
mod job_file;
mod job_side;
mod keeper;
mod mirror;
mod place;
mod places;
mod proxy;
mod refusal;
mod server;
mod shm_side;
mod wire;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Instant;

use clap::Args;
use nix::sys::signal::{Signal, kill, raise};
use nix::unistd::Pid;

use crate::console::warn;
use crate::error::Error;
use crate::run::{Signals, kill_timeout, program};
use events::Event;
use job_file::JobFile;
pub(crate) use keeper::main as keep_place;
use place::Place;
pub(crate) use places::Places;
pub(crate) use refusal::Refusal;
pub(crate) use server::JoinServer;

/// Options of `pombo join`.
#[derive(Args)]
pub(crate) struct Options {
    /// The job: the file that `pombo run --job-file` has written
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// The program, looked up in PATH if it has no slash, and its arguments
    #[arg(
        value_name = "PROGRAM AND ARGUMENTS",
        required = true,
        num_args = 1..,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

/// The file of a job on several hosts, until it is dropped.
pub(crate) struct HostsJobFile {
    path: PathBuf,
    file: JobFile,
}

impl HostsJobFile {
    /// Checks that the file can be written, and removes that of an earlier job, before the job begins.
    pub(crate) fn prepare(path: &Path) -> Result<(), Error> {
        let file = JobFile::of_several_hosts(Vec::new(), "");
        file.write(path)?;
        file.remove(path);
        Ok(())
    }

    /// Writes it: the places are at these addresses, and know that secret.
    pub(crate) fn write(
        path: &Path,
        addresses: Vec<SocketAddr>,
        secret: &str,
    ) -> Result<HostsJobFile, Error> {
        let file = JobFile::of_several_hosts(addresses, secret);
        file.write(path)?;
        let path = path.to_owned();
        Ok(HostsJobFile { path, file })
    }
}

impl Drop for HostsJobFile {
    fn drop(&mut self) {
        self.file.remove(&self.path);
    }
}

/// Runs a program in a place of the job, and returns its exit code.
pub(crate) fn main(options: &Options) -> Result<u8, Error> {
    let file = program::find(options.words[0].as_os_str(), Path::new("."))?;
    let file = std::path::absolute(&file).map_err(Error::file("find the directory of", file))?;
    let kill_timeout = kill_timeout()?;
    let mut place = Place::ask(&options.job)?;
    let signals = Signals::block()?;
    let mut program = place.start(&file, &options.words)?;
    let mut deadline = None;
    loop {
        let limit = deadline.map(|end: Instant| end.saturating_duration_since(Instant::now()));
        match events::wait(&signals, &place, limit)? {
            Event::Signal(Signal::SIGCHLD) => {
                let ended = program.try_wait();
                if let Some(status) = ended.map_err(Error::system("wait for the program"))? {
                    if place.end() {
                        wait_for_end(&signals, &place)?;
                    }
                    let code = status.code().or(status.signal().map(|signal| 128 + signal));
                    return Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
                }
            }
            // A terminal has sent these to the program as well.
            Event::Signal(Signal::SIGINT | Signal::SIGQUIT) => {}
            Event::Signal(Signal::SIGTSTP) => {
                send(&program, Signal::SIGSTOP);
                let _ = raise(Signal::SIGSTOP);
            }
            Event::Signal(signal) => send(&program, signal),
            Event::Closed => {
                warn("the job has ended; ending this program");
                send(&program, Signal::SIGTERM);
                // A stopped process handles no signal before it continues.
                send(&program, Signal::SIGCONT);
                deadline = Some(Instant::now() + kill_timeout);
            }
            Event::Late => send(&program, Signal::SIGKILL),
        }
    }
}

/// Waits until what the program sent has been passed on, or a signal ends the wait.
fn wait_for_end(signals: &Signals, place: &Place) -> Result<(), Error> {
    loop {
        match events::wait(signals, place, None)? {
            Event::Signal(Signal::SIGCHLD | Signal::SIGCONT) => {}
            _ => return Ok(()),
        }
    }
}

fn send(program: &Child, signal: Signal) {
    // Nobody has waited for the process, so the number is its own.
    let _ = kill(Pid::from_raw(program.id().cast_signed()), signal);
}
