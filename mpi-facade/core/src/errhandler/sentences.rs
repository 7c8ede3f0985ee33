//! What an error that nobody handles says, and the texts of errors of which a program learns only the class. Only
//! `errhandler` uses it; `brief` stands in its place where the library is built without diagnostics.

use crate::constants::*;
use crate::error::Error;
use crate::error_codes;
use crate::exit::world_rank;
use crate::runtime::phase::{Phase, phase};
use crate::runtime::world::{self, CommError};
use alloc::string::ToString;
use core::ffi::c_int;
use core::fmt::{self, Write};
use pombo_job::WorldChannel;
use pombo_job::log::{self, LogLine};
use pombo_kernel::channel::ChannelError;

/// Notes errors of which a program learns only the class, for the text of that class.
pub(super) fn note(failure: &CommError) {
    if let Error::Unsupported { .. } | Error::Truncated { .. } | Error::Unequal { .. } =
        failure.error
    {
        let mut said = failure.error.to_string();
        write_communicator(failure.comm, &mut said);
        error_codes::note(failure.error.class(), said);
    }
}

/// Prints an error that ends the job. `first` is the rank that caused the loss of a rank.
pub(super) fn report(function: &'static str, error: &Error, first: c_int, comm: Comm) {
    let mut line = LogLine::new();
    // A line that is too long is truncated.
    let _ = match phase() {
        Phase::Running => write!(line, "pombo: rank {}: ", world_rank()),
        _ => write!(line, "pombo: "),
    };
    let _ = write!(line, "fatal error in {function}: {}: ", name(error));
    let _ = match *error {
        Error::PeerLost { rank } => write_peer_lost(rank, first, &mut line),
        ref error => write!(line, "{error}"),
    };
    write_communicator(comm, &mut line);
    if let Error::Kernel(pombo_kernel::Error::Channel(ChannelError::Device(errno))) = error {
        let _ = world::with(|world| Ok(world.kernel.channel().explain(*errno, &mut line)));
    }
    // A process that could not join has printed the reason already.
    if *error != Error::NotJoined {
        log::error(&line);
    }
}

/// Names the communicator of an error, unless the error concerns none (then it is that of `MPI_COMM_SELF`).
fn write_communicator(comm: Comm, line: &mut impl Write) {
    let name = world::local(|objects| {
        let record = objects.comms.get(comm)?;
        Ok((comm == MPI_COMM_WORLD, record.name.clone()))
    });
    // A line that is too long is truncated.
    let _ = match name {
        _ if comm == MPI_COMM_SELF => return,
        Ok((_, Some(name))) => write!(line, "; communicator {}", name.escape_ascii()),
        Ok((true, None)) => write!(line, "; communicator MPI_COMM_WORLD"),
        Ok((false, None)) => write!(line, "; communicator {:#x}, which has no name", comm.0),
        Err(_) => return,
    };
}

/// Describes a rank that has ended; the message names the one because of which it has, if there is one.
fn write_peer_lost(rank: c_int, first: c_int, line: &mut LogLine) -> fmt::Result {
    write!(line, "{}", Error::PeerLost { rank: first })?;
    match first == rank {
        true => Ok(()),
        false => write!(line, "; rank {rank} ended because of it"),
    }
}

/// Returns the class's name, from its text "MPI_ERR_X: what it means".
fn name(error: &Error) -> &'static str {
    let text = error.class().text();
    text.split(':').next().unwrap_or(text)
}
