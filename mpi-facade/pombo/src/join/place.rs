//! A place in a running job: asked of the launcher, and taken by a program. Only `join` uses it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
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
use super::mirror::{self, Mirror};
use super::refusal::TAKEN;
use crate::error::Error;
use crate::run::{allowed_cores, exec_shim};

/// A launcher that does not answer for so long is stopped, or stuck in its output.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of the longest answer of a launcher.
const LONGEST: u64 = 100;

pub(super) struct Place {
    /// To the launcher, or to the mirror of a job on another machine. It is not the program's, as processes that this one
    /// starts and leaves behind would hold it too.
    connection: UnixStream,
    /// The job's memory, or its mirror.
    memory: OwnedFd,
    is_far: bool,
    /// Of a job on another machine, until the program starts.
    mirror: Option<Mirror>,
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
        if file.is_of_several_hosts() {
            return mirror::ask(file);
        }
        let here = match file.other_machine() {
            None => Place::ask_here(file).and_then(|mut place| {
                place.take()?;
                Ok(place)
            }),
            Some(host) if file.addresses().is_empty() => {
                return Err(Refusal::NoNetwork(host.to_owned()));
            }
            Some(_) => Err(Refusal::NoLauncher),
        };
        match here {
            // Its launcher is on another machine, or in a container with a network of its own.
            Err(Refusal::NoLauncher) if !file.addresses().is_empty() => mirror::ask(file),
            here => here,
        }
    }

    /// Asks a launcher on this machine. The place is free again when the connection ends before it is taken.
    pub(super) fn ask_here(file: &JobFile) -> Result<Place, Refusal> {
        let mut connection = UnixStream::connect_addr(&file.address()?)?;
        let launcher = getsockopt(&connection, PeerCredentials).map_err(io::Error::from)?;
        if launcher.uid() != file.owner() {
            return Err(Refusal::Impostor);
        }
        connection.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        connection.write_all(file.key())?;
        let [place, places, spare, memory] = Place::parse(&line(&connection)?)?;
        let memory = format!("/proc/{}/fd/{memory}", launcher.pid());
        let memory = File::options().read(true).write(true).open(memory);
        let memory = memory.map_err(Refusal::NoMemory)?.into();
        let numbers = [place, places, spare].map(|number| number as usize);
        Ok(Place::new(connection, memory, numbers, None))
    }

    /// Creates a place: its number, that of all places, and that of those that were free when the job began.
    pub(super) fn new(
        connection: UnixStream,
        memory: OwnedFd,
        [place, places, spare]: [usize; 3],
        mirror: Option<Mirror>,
    ) -> Place {
        Place {
            connection,
            memory,
            is_far: mirror.is_some(),
            mirror,
            place,
            places,
            spare,
        }
    }

    /// Reads the launcher's answer: the numbers of [`Place::new`], and others.
    pub(super) fn parse<const N: usize>(answer: &str) -> Result<[u64; N], Refusal> {
        let numbers: Result<Vec<u64>, _> = answer.split(' ').map(str::parse).collect();
        let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok());
        numbers.ok_or_else(|| Refusal::of(answer))
    }

    /// Returns the number of all places, and of those that were free when the job began.
    pub(super) fn sizes(&self) -> [usize; 2] {
        [self.places, self.spare]
    }

    /// From here on the place is this process's.
    pub(super) fn take(&mut self) -> io::Result<()> {
        self.connection.write_all(TAKEN)
    }

    pub(super) fn connection(&self) -> &UnixStream {
        &self.connection
    }

    pub(super) fn number(&self) -> usize {
        self.place
    }

    pub(super) fn memory(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }

    /// Tells that the program has ended. Returns whether that still has to be told to another machine, after what it sent:
    /// then the connection ends when it has been.
    pub(super) fn end(&self) -> bool {
        let _ = self.connection.shutdown(Shutdown::Write);
        self.is_far
    }

    /// Starts the program, which keeps this process's terminal and process group.
    pub(super) fn start(&mut self, file: &Path, words: &[OsString]) -> Result<Child, Error> {
        if let Some(mirror) = self.mirror.take() {
            mirror.start().map_err(Error::system("start a thread"))?;
        }
        let failed = Error::system("pass the job's memory on to the program");
        let memory = inheritable(&self.memory).map_err(failed)?;
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
            .env(settings::SHM_FD.name(), memory.to_string());
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
fn inheritable(descriptor: impl AsFd) -> io::Result<i32> {
    Ok(fcntl(descriptor, FcntlArg::F_DUPFD(10))?)
}
