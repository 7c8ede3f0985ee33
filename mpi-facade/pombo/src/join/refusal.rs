//! Why a process cannot join a job. `server` says it by a word, `place` reads it.

use std::fmt;
use std::io;
use std::net::SocketAddr;

/// The launcher's words.
pub(super) const WRONG_KEY: &str = "wrong key";
pub(super) const FULL: &str = "full";
pub(super) const OVER: &str = "over";

/// What a process says when it can use the place that it was given.
pub(super) const TAKEN: &[u8] = b"!";

/// A reason.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) enum Refusal {
    /// The file is none that a launcher has written.
    NotAJobFile,
    /// The file is that of another version of Pombo.
    OtherVersion,
    /// The launcher runs on a machine of that name, or did before this one was started anew, and has no network.
    NoNetwork(String),
    /// Nothing answers at an address of the launcher's machine.
    Unreachable(SocketAddr, io::Error),
    /// Somebody listens there and says nothing.
    Silent(SocketAddr),
    /// No launcher answers.
    NoLauncher,
    /// No place of a job on several hosts answers.
    NoPlace,
    /// Somebody else listens in the place of the launcher.
    Impostor,
    /// The key is not that of the job.
    WrongKey,
    /// All places have been given.
    Full,
    /// The job has more places than a process of another machine can serve.
    TooManyPlaces(usize),
    /// The system does not let this process open the launcher's descriptor of the job's memory.
    NoMemory(io::Error),
    /// A call of the system failed.
    System(io::Error),
}

impl Refusal {
    /// Returns the launcher's word for this reason.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Refusal::WrongKey => WRONG_KEY,
            Refusal::Full => FULL,
            _ => OVER,
        }
    }

    /// Returns the reason behind a word of the launcher.
    pub(super) fn of(word: &str) -> Refusal {
        match word {
            WRONG_KEY => Refusal::WrongKey,
            FULL => Refusal::Full,
            _ => Refusal::NoLauncher,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::NotAJobFile => {
                "this is no file of a job: give the one that `pombo run --spare N --job-file FILE` has written"
            }
            Refusal::OtherVersion => {
                "it is the file of another version: join with the version of Pombo by which the job was started"
            }
            Refusal::NoNetwork(host) => {
                return write!(
                    f,
                    "its launcher runs on {host}, or did before this machine was started, and had no network when the job \
                     began: run `pombo join` there"
                );
            }
            Refusal::Unreachable(address, error) => {
                return write!(
                    f,
                    "its launcher's machine does not answer at {address} ({error}): look at the network and at firewalls \
                     between"
                );
            }
            Refusal::Silent(address) => {
                return write!(
                    f,
                    "nothing is said at {address}, where somebody listens: its launcher is stopped, or has gone"
                );
            }
            Refusal::NoPlace => {
                "none of its places answers: all have been used, or the job has ended"
            }
            Refusal::NoLauncher => {
                "its launcher does not answer: the job has ended, or is in a container that cannot be reached: run `pombo join` \
                 there"
            }
            Refusal::Impostor => {
                "somebody else listens in the place of its launcher: the job has ended, or the file is a copy; give the \
                 file that the launcher has written"
            }
            Refusal::WrongKey => {
                "the key in it is not the job's: give the file that its launcher has written"
            }
            Refusal::Full => {
                "all its places have been given, each of them once: start it with a larger --spare"
            }
            Refusal::TooManyPlaces(most) => {
                return write!(
                    f,
                    "it has more than {most} places: processes of other machines can join smaller jobs"
                );
            }
            Refusal::NoMemory(error) => {
                return write!(
                    f,
                    "the system does not let it open the job's memory ({error}): start it as the launcher's user, outside \
                     containers of its own"
                );
            }
            Refusal::System(error) => return error.fmt(f),
        })
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        match error.kind() {
            io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe => Refusal::NoLauncher,
            _ => Refusal::System(error),
        }
    }
}
