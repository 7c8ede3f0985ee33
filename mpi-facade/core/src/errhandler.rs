//! Error handlers. Source: MPI 5.0, section 9.3.

use crate::constants::*;
use crate::error::{Class, Error, Kind};
use crate::exit::{exit, world_rank};
use crate::runtime::phase::{Phase, phase};
use crate::runtime::world::{self, CommError, World};
use core::ffi::c_int;
use core::fmt::{self, Write};
use pombo_job::WorldChannel;
use pombo_job::log::{self, LogLine};
use pombo_kernel::Peer;
use pombo_kernel::channel::ChannelError;

/// Passes an error of the named function to the responsible handler, and returns the error code. It must be the last
/// step of a call, after the world is released: the program's handler may call all of MPI (MPI 5.0 forbids nothing).
#[cold]
pub fn raise(function: &'static str, failure: CommError) -> c_int {
    match handler(&failure) {
        MPI_ERRORS_RETURN => failure.error.code(),
        _ => abort_job(function, &failure.error),
    }
}

/// Returns the error that a call completing several requests raises when `first` is the first failure. A program that
/// receives the code can read the statuses; one that the error aborts cannot, so there the message names the first
/// failure.
#[cold]
pub fn in_status(first: CommError) -> CommError {
    if handler(&first) != MPI_ERRORS_RETURN {
        return first;
    }
    let error = Error::Argument {
        class: Class::InStatus,
        name: "requests",
        must: "looked at one by one: the statuses say which of them failed",
    };
    CommError { error, ..first }
}

/// Sets a communicator's error handler.
pub fn set_handler(comm: Comm, handler: Errhandler) -> Result<(), CommError> {
    world::local(|comms| {
        let known = [MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN].contains(&handler);
        let record = comms.get(comm)?;
        if !known {
            let error = Error::Handle {
                kind: Kind::Errhandler,
                got: handler.0,
            };
            return Err(CommError::new(error, comm));
        }
        record.handler = handler;
        Ok(())
    })
}

/// Returns a communicator's error handler.
pub fn get_handler(comm: Comm) -> Result<Errhandler, CommError> {
    world::local(|comms| Ok(comms.get(comm)?.handler))
}

/// Returns whether the error ends the program.
pub(crate) fn is_fatal(world: &mut World, failure: &CommError) -> bool {
    let handler = world.comms.noted(*failure).handler;
    ![Errhandler::NULL, MPI_ERRORS_RETURN].contains(&handler)
}

/// Returns the handler: that of `MPI_COMM_SELF` for an unknown communicator; outside of the world's lifetime all errors
/// are fatal.
fn handler(failure: &CommError) -> Errhandler {
    let of = |comm| get_handler(comm).ok();
    if failure.handler != Errhandler::NULL {
        return failure.handler;
    }
    of(failure.comm)
        .or_else(|| of(MPI_COMM_SELF))
        .unwrap_or(MPI_ERRORS_ARE_FATAL)
}

fn abort_job(function: &'static str, error: &Error) -> ! {
    let mut line = LogLine::new();
    // A line that is too long is truncated.
    let _ = match phase() {
        Phase::Running => write!(line, "pombo: rank {}: ", world_rank()),
        _ => write!(line, "pombo: "),
    };
    let _ = write!(line, "fatal error in {function}: {}: ", name(error));
    let _ = match *error {
        Error::PeerLost { rank } => write_peer_lost(rank, &mut line),
        ref error => write!(line, "{error}"),
    };
    if let Error::Kernel(pombo_kernel::Error::Channel(ChannelError::Device(errno))) = error {
        let _ = world::with(|world| Ok(world.kernel.channel().explain(*errno, &mut line)));
    }
    // A process that could not join has printed the reason already.
    if *error != Error::NotJoined {
        log::error(&line);
    }
    exit(error.code())
}

/// Describes a rank that has ended. If another rank caused that, the message names that one, here and to the other
/// ranks.
fn write_peer_lost(rank: c_int, line: &mut LogLine) -> fmt::Result {
    let first = world::with(|world| {
        let first = root_cause(world, Peer(rank as u16));
        world.kernel.channel_mut().report_root_cause(first);
        Ok(c_int::from(first.0))
    });
    let first = first.unwrap_or(rank);
    write!(line, "{}", Error::PeerLost { rank: first })?;
    match first == rank {
        true => Ok(()),
        false => write!(line, "; rank {rank} ended because of it"),
    }
}

/// Returns the rank that ended first of those that ended because of each other.
fn root_cause(world: &mut World, gone: Peer) -> Peer {
    let World { kernel, hosts, .. } = world;
    let (own, mut first) = (kernel.me(), gone);
    // A chain of causes is at most as long as there are ranks.
    for _ in 0..kernel.peers() {
        match kernel.channel_mut().root_cause_of(hosts, first) {
            Some(other) if other != own && other.index() < kernel.peers() => first = other,
            _ => break,
        }
    }
    first
}

/// Returns the class's name, from its text "MPI_ERR_X: what it means".
fn name(error: &Error) -> &'static str {
    let text = error.class().text();
    text.split(':').next().unwrap_or(text)
}
