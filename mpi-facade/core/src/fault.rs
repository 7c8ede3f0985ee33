//! What happens on errors: error handlers. Source: MPI 5.0, section 9.3.

use crate::constants::*;
use crate::error::{Class, Error, Kind};
use crate::init;
use crate::output::{self, Line};
use crate::world::{self, Fault, Phase};
use core::ffi::c_int;
use core::fmt::Write;

/// Hands an error of the named function to the handler that it concerns, and gives the code to return.
#[cold]
pub fn raise(function: &'static str, fault: Fault) -> c_int {
    match handler(fault.comm) {
        MPI_ERRORS_RETURN => fault.error.code(),
        _ => die(function, &fault.error),
    }
}

/// What a call that completes several requests raises where the first that failed did so like this. Whoever gets a code
/// is to look at the statuses; a program that ends here cannot, so its last words are of that request.
#[cold]
pub fn in_status(first: Fault) -> Fault {
    if handler(first.comm) != MPI_ERRORS_RETURN {
        return first;
    }
    let error = Error::Argument {
        class: Class::InStatus,
        name: "requests",
        must: "looked at one by one: the statuses say which of them failed",
    };
    Fault { error, ..first }
}

/// Sets a communicator's handler.
pub fn set_handler(comm: Comm, handler: Errhandler) -> Result<(), Fault> {
    world::with(|world| {
        let known = [MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN].contains(&handler);
        let group = world.comms.get(comm)?;
        if !known {
            let error = Error::Handle {
                kind: Kind::Errhandler,
                got: handler.0,
            };
            return Err(Fault { error, comm });
        }
        group.handler = handler;
        Ok(())
    })
}

/// A communicator's handler.
pub fn get_handler(comm: Comm) -> Result<Errhandler, Fault> {
    world::with(|world| Ok(world.comms.get(comm)?.handler))
}

/// An unknown communicator's errors, and those outside of the world's life, are fatal unless `MPI_COMM_WORLD` says
/// otherwise.
fn handler(comm: Comm) -> Errhandler {
    let of = |comm| get_handler(comm).ok();
    of(comm)
        .or_else(|| of(MPI_COMM_WORLD))
        .unwrap_or(MPI_ERRORS_ARE_FATAL)
}

fn die(function: &'static str, error: &Error) -> ! {
    let mut line = Line::new();
    // A line that is too long is cut.
    let _ = match world::phase() {
        Phase::Running => write!(line, "pombo: rank {}: ", init::world_rank()),
        _ => write!(line, "pombo: "),
    };
    let _ = write!(line, "fatal error in {function}: {}: {error}", name(error));
    output::error(&line);
    init::exit(error.code())
}

/// The class's name, from its text "MPI_ERR_X: what it means".
fn name(error: &Error) -> &'static str {
    let text = error.class().text();
    text.split(':').next().unwrap_or(text)
}
