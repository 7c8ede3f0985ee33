//! A place in a running job: asked of the launcher, and taken by a program. Only `join` uses it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::Pid;
use pombo_job::settings;

use super::Refusal;
use super::job_file::JobFile;
use super::server::TAKEN;
use crate::error::Error;
use crate::run::{allowed_cores, exec_shim};

/// A launcher that does not answer for so long is stopped, or stuck in its output.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of the longest answer of a launcher.
const LONGEST: u64 = 100;

pub(super) struct Place {
    /// Not the program's, as processes that it starts and leaves behind would hold it too.
    connection: UnixStream,
    /// A descriptor of the job's memory that the program inherits.
    memory: RawFd,
    place: usize,
    places: usize,
    /// Number of places that were free when the job began.
    spare: usize,
}

impl Place {
    /// Asks the launcher of the job in that file.
    pub(super) fn ask(job: &Path) -> Result<Place, Error> {
        let file = JobFile::read(job)?;
        Place::of(&file).map_err(|why| Error::Join {
            job: job.to_owned(),
            why,
        })
    }

    fn of(file: &JobFile) -> Result<Place, Refusal> {
        if let Some(host) = file.other_machine() {
            return Err(Refusal::AnotherMachine(host.to_owned()));
        }
        let mut connection = UnixStream::connect_addr(&file.address()?)?;
        let launcher = getsockopt(&connection, PeerCredentials).map_err(io::Error::from)?;
        if launcher.uid() != file.owner() {
            return Err(Refusal::AnotherUser);
        }
        connection.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        connection.write_all(file.key())?;
        let answer = line(&connection)?;
        let mut numbers = answer.split(' ').map(|number| number.parse().ok());
        let mut number = || numbers.next().flatten();
        let (Some(place), Some(places), Some(spare), Some(memory)) =
            (number(), number(), number(), number())
        else {
            return Err(Refusal::of(&answer));
        };
        let memory = format!("/proc/{}/fd/{memory}", launcher.pid());
        let memory = File::options().read(true).write(true).open(memory);
        let memory = memory.map_err(Refusal::NoMemory)?;
        let memory = inheritable(&memory)?;
        // From here on the place is this process's; without the word it is free again when the connection ends.
        connection.write_all(TAKEN)?;
        Ok(Place {
            connection,
            memory,
            place,
            places,
            spare,
        })
    }

    /// Starts the program, which keeps this process's terminal and process group.
    pub(super) fn start(&self, file: &Path, words: &[OsString]) -> Result<Child, Error> {
        let head = exec_shim::command_line(Pid::this(), &[], file.as_os_str(), &words[0]);
        let (place, places) = (self.place.to_string(), self.places.to_string());
        let cores = allowed_cores().len().max(1).to_string();
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("pombo")
            .args(head)
            .args(&words[1..])
            .env(settings::LOCAL_RANK.name(), &place)
            .env(settings::LOCAL_SIZE.name(), &places)
            .env(settings::LOCAL_CORES.name(), cores)
            .env(settings::RANK.name(), &place)
            .env(settings::SIZE.name(), &places)
            .env(settings::SPARE.name(), self.spare.to_string())
            .env(settings::SHM_FD.name(), self.memory.to_string());
        command.spawn().map_err(|source| Error::Start {
            rank: self.place,
            source,
        })
    }
}

/// The connection to the launcher: it ends when the job does.
impl AsFd for Place {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}

fn line(connection: &UnixStream) -> Result<String, Refusal> {
    let mut line = String::new();
    BufReader::new(connection.take(LONGEST)).read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(whole) => Ok(whole.into()),
        None => Err(Refusal::NoLauncher),
    }
}

/// Returns a second descriptor, which survives `exec`, above those that shells and scripts use.
fn inheritable(descriptor: impl AsFd) -> io::Result<RawFd> {
    Ok(fcntl(descriptor, FcntlArg::F_DUPFD(10))?)
}
