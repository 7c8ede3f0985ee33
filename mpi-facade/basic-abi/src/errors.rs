//! Errors, and the end of the program that each of them is.

use crate::world::{first_lost, world};
use core::ffi::c_int;
use pombo_basic::Error;
use pombo_job::log::{self, LogLine};
use pombo_job::process;
use pombo_mpi::error::Class;

/// Defines the errors: the class and the text of each.
macro_rules! fatal_errors {
    ($($name:ident: $class:ident, $text:literal;)*) => {
        /// Why a call failed.
        #[derive(Clone, Copy, PartialEq)]
        #[repr(u8)]
        pub(crate) enum FatalError {
            $($name,)*
            /// This rank is gone.
            PeerLost(u16),
        }

        impl FatalError {
            fn class(self) -> Class {
                match self {
                    $(FatalError::$name => Class::$class,)*
                    FatalError::PeerLost(_) => Class::ProcAborted,
                }
            }

            fn text(self) -> &'static str {
                match self {
                    $(FatalError::$name => $text,)*
                    FatalError::PeerLost(_) => "this rank has ended: ",
                }
            }
        }
    };
}

fatal_errors! {
    Phase: Other, "call it between MPI_Init and MPI_Finalize, and MPI_Init once";
    Ranks: Other, "this program has at most 64 ranks";
    Comm: Comm, "this program has MPI_COMM_WORLD alone";
    Datatype: Type, "this program has predefined datatypes without gaps alone";
    Count: Count, "a count is negative";
    Null: Arg, "an address is null";
    Buffer: Buffer, "a buffer is null, or MPI_IN_PLACE where there is none";
    Tag: Tag, "a tag is negative";
    Rank: Rank, "there is no such rank";
    Op: Op, "this program has no such operation on this datatype";
    Root: Root, "there is no such root";
    NoSender: ProcAborted, "no rank is left that could send";
    Truncated: Truncate, "the message is longer than its buffer";
    TooLong: Other, "this program has messages of at most 8192 bytes";
    Full: Other, "this program has at most 256 requests under way";
    Request: Request, "there is no such request";
    Channel: Other, "the memory of the job is corrupt, or there is none left";
}

impl From<Error> for FatalError {
    fn from(error: Error) -> Self {
        match error {
            Error::NoSuchRank => FatalError::Rank,
            Error::NoSender => FatalError::NoSender,
            Error::PeerLost(peer) => FatalError::PeerLost(peer.0),
            Error::Truncated => FatalError::Truncated,
            Error::TooLong => FatalError::TooLong,
            Error::Full => FatalError::Full,
            Error::NoSuchRequest => FatalError::Request,
            _ => FatalError::Channel,
        }
    }
}

/// Begins a line about this rank.
pub(crate) fn line() -> LogLine {
    let mut line = LogLine::new();
    // Whoever has joined does not read the environment, as threads may change it.
    let rank = world().map_or_else(|_| pombo_job::rank(), |world| world.rank());
    line.put("pombo: rank ").put_number(rank as i64);
    line
}

/// Ends the program with the error of a function.
#[cold]
#[inline(never)]
pub(crate) fn end(function: &str, error: FatalError) -> ! {
    let (mut line, class) = (line(), error.class() as i32);
    line.put(": fatal error in ").put(function).put(": class ");
    line.put_number(class).put(": ").put(error.text());
    if let FatalError::PeerLost(rank) = error {
        line.put_number(first_lost(rank));
    }
    log::error(&line);
    exit(class)
}

/// Ends this process with what the program has printed written out; the launcher ends the others.
pub(crate) fn exit(code: c_int) -> ! {
    // An exit status is one byte; a failure must not look like success.
    let status = if code & 0xff == 0 { 1 } else { code };
    process::flush_streams(status);
    process::exit(status)
}
