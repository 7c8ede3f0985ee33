//! Errors, and the end of the program that each of them is.

use core::ffi::c_int;
use pombo_basic::Error;
use pombo_job::log::{self, LogLine};
use pombo_job::process;
use pombo_mpi::error::Class;

/// Why a call failed: the class of the error, and what the program has to change.
pub(crate) struct Fault {
    class: Class,
    text: &'static str,
    /// The rank that is gone.
    rank: Option<u16>,
}

/// An argument that is not what it must be.
#[cold]
pub(crate) const fn wrong(class: Class, text: &'static str) -> Fault {
    Fault {
        class,
        text,
        rank: None,
    }
}

impl From<Error> for Fault {
    #[cold]
    fn from(error: Error) -> Self {
        use pombo_kernel::Error as Kernel;
        let rank = match error {
            Error::Kernel(Kernel::PeerLost(peer)) => Some(peer.0),
            _ => None,
        };
        let (class, text) = match error {
            Error::NoSuchRank => (Class::Rank, "there is no such rank"),
            Error::Memory => (Class::Count, "more bytes than this program reduces"),
            Error::NoSender => (Class::ProcAborted, "no rank is left that could send"),
            Error::Kernel(Kernel::PeerLost(_)) => (Class::ProcAborted, "ended is rank "),
            Error::Kernel(Kernel::Truncated { .. }) => {
                (Class::Truncate, "the message is longer than its buffer")
            }
            Error::Kernel(Kernel::TooLong { .. }) => {
                (Class::Other, "this program has messages of at most 8192 bytes")
            }
            Error::Kernel(Kernel::Full) => (Class::Other, "too many requests are under way"),
            Error::Kernel(Kernel::UnknownTicket) => (Class::Request, "there is no such request"),
            Error::Kernel(_) => (Class::Other, "the memory of the job is corrupt"),
        };
        Fault { class, text, rank }
    }
}

/// Ends the program with the error of a function.
#[cold]
pub(crate) fn end(function: &str, fault: Fault) -> ! {
    let mut line = LogLine::new();
    line.put("pombo: rank ")
        .put_number(pombo_job::rank() as i64)
        .put(": fatal error in ")
        .put(function)
        .put(": class ")
        .put_number(fault.class as i32)
        .put(": ")
        .put(fault.text);
    if let Some(rank) = fault.rank {
        line.put_number(rank);
    }
    log::error(&line);
    exit(fault.class as i32)
}

/// Ends this process with what the program has printed written out; the launcher ends the others.
pub(crate) fn exit(code: c_int) -> ! {
    process::flush_streams();
    // An exit status is one byte; a failure must not look like success.
    process::exit(if code & 0xff == 0 { 1 } else { code })
}
