//! Error handlers. Source: MPI 5.0, section 9.3.

mod communicator_name;
#[cfg_attr(not(feature = "diagnostics"), path = "errhandler/brief.rs")]
mod sentences;

pub(crate) use communicator_name::CommunicatorName;

use crate::c_arguments::ErrorFunction;
use crate::constants::*;
use crate::error::{Class, Error, Kind};
use crate::error_codes;
use crate::exit::exit;
use crate::handle_table::HandleTable;
use crate::objects::Objects;
use crate::runtime::callback;
use crate::runtime::pthread::Global;
use crate::runtime::world::{self, CommError, World};
use core::ffi::c_int;
use pombo_job::WorldChannel;
use pombo_kernel::Peer;

/// An error handler that the program has made.
struct Handler {
    function: ErrorFunction,
    /// The kind of object that it is for.
    kind: Kind,
    /// Number of times that the program must free its handle. At 0 it goes when no object has it.
    handles: usize,
}

/// The error handlers of the program.
#[derive(Default)]
struct Handlers(HandleTable<Handler>);

fn handlers(objects: &mut Objects) -> &mut HandleTable<Handler> {
    &mut objects.extensions.get::<Handlers>().0
}

/// Passes an error on to the program by a handler that does not end it; returns whether the program got it.
type PassOn = fn(&CommError, Errhandler, Comm) -> bool;

/// Comes with the first handler that the program sets: until then every error ends the program, and nobody asks later what
/// it was.
static PASS_ON: Global<Option<PassOn>> = Global::new(None);

/// Creates an error handler for communicators, as `MPI_Comm_create_errhandler`.
pub fn create(function: ErrorFunction) -> Result<Errhandler, CommError> {
    world::local(|objects| {
        reap(objects);
        let made = handlers(objects).insert(Handler {
            function,
            kind: Kind::Comm,
            handles: 1,
        });
        Ok(Errhandler(made))
    })
}

/// Frees a handle of an error handler, as `MPI_Errhandler_free`; communicators that have the handler keep it.
pub fn free(handler: Errhandler) -> Result<(), CommError> {
    world::local(|objects| {
        if is_predefined(handler) {
            return Ok(());
        }
        let known = handlers(objects).get_mut(handler.0);
        let known = known.filter(|known| known.handles > 0);
        known.ok_or(unknown(handler))?.handles -= 1;
        reap(objects);
        Ok(())
    })
}

/// Removes the handlers that neither the program nor a communicator has any more.
fn reap(objects: &mut Objects) {
    let unheld = handlers(objects).find(|handler| handler.handles == 0);
    for handler in unheld {
        if !objects.comms.have_handler(Errhandler(handler)) {
            handlers(objects).remove(handler);
        }
    }
}

fn is_predefined(handler: Errhandler) -> bool {
    [MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN].contains(&handler)
}

const fn unknown(handler: Errhandler) -> Error {
    Error::Handle {
        kind: Kind::Errhandler,
        got: handler.0,
    }
}

/// Returns whether an error ends the program where an object has this handler.
pub(crate) fn aborts(handler: Errhandler) -> bool {
    [MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT].contains(&handler)
}

/// Passes an error of the named function to the responsible handler, and returns the error code. It must be the last
/// step of a call, after the world is released: the program's handler may call all of MPI (MPI 5.0 forbids nothing).
#[cold]
pub fn raise(function: &'static str, failure: CommError) -> c_int {
    let code = failure.error.code();
    let (handler, comm) = handler(&failure);
    let pass_on = PASS_ON.with(|pass_on| *pass_on);
    if pass_on.is_none_or(|pass_on| !pass_on(&failure, handler, comm)) {
        let first = match failure.error {
            Error::PeerLost { rank } => first_lost(rank),
            _ => MPI_PROC_NULL,
        };
        sentences::report(function, &failure.error, first, comm);
        exit(code)
    }
    code
}

/// Notes an error for `MPI_Error_string`, and calls the program's function of the handler.
fn pass_on(failure: &CommError, handler: Errhandler, comm: Comm) -> bool {
    error_codes::note(failure);
    if handler == MPI_ERRORS_RETURN {
        return true;
    }
    let Some(function) = function_of(handler) else {
        return false;
    };
    function.call(comm.0, failure.error.code());
    true
}

/// Returns the rank that ended first of those that ended because of each other, and tells the other ranks that this one
/// ends because of it.
fn first_lost(rank: c_int) -> c_int {
    let first = world::with(|world| {
        let World { kernel, hosts, .. } = world;
        let (own, mut first) = (kernel.me(), Peer(rank as u16));
        // A chain of causes is at most as long as there are ranks.
        for _ in 0..kernel.peers() {
            match kernel.channel_mut().root_cause_of(hosts, first) {
                Some(other) if other != own && other.index() < kernel.peers() => first = other,
                _ => break,
            }
        }
        kernel.channel_mut().report_root_cause(first);
        Ok(c_int::from(first.0))
    });
    first.unwrap_or(rank)
}

/// Calls the error handler of a communicator with a code, as `MPI_Comm_call_errhandler`.
pub fn call(comm: Comm, code: c_int) -> Result<(), CommError> {
    let handler = world::local(|objects| Ok(objects.comms.get(comm)?.handler))?;
    let error = Error::Program { code };
    raise(
        "MPI_Comm_call_errhandler",
        CommError::with_handler(error, comm, handler),
    );
    Ok(())
}

/// Returns the program's function of a handler. There is none inside a callback for which a call waits.
fn function_of(handler: Errhandler) -> Option<ErrorFunction> {
    if callback::current().is_some() {
        return None;
    }
    let function = world::local(|objects| {
        let known = handlers(objects).get(handler.0);
        Ok(known.map(|known| known.function))
    });
    function.ok().flatten()
}

/// Returns the error that a call completing several requests raises when `first` is the first failure. A program that
/// receives the code can read the statuses; one that the error aborts cannot, so there the message names the first
/// failure.
#[cold]
pub fn in_status(first: CommError) -> CommError {
    error_codes::note(&first);
    if aborts(handler(&first).0) {
        return first;
    }
    let error = Error::Argument {
        class: Class::InStatus,
        name: "requests",
        must: "looked at one by one: the statuses say which of them failed",
    };
    CommError::with_handler(error, first.comm, first.handler)
}

/// Sets a communicator's error handler.
pub fn set_handler(comm: Comm, handler: Errhandler) -> Result<(), CommError> {
    PASS_ON.with(|by| *by = Some(pass_on));
    world::local(|objects| {
        objects.comms.get(comm)?;
        let own = handlers(objects).get(handler.0);
        if !is_predefined(handler) && own.is_none_or(|own| own.kind != Kind::Comm) {
            return Err(CommError::new(unknown(handler), comm));
        }
        objects.comms.get(comm)?.handler = handler;
        Ok(())
    })
}

/// Returns a communicator's error handler. The program frees the handle.
pub fn get_handler(comm: Comm) -> Result<Errhandler, CommError> {
    world::local(|objects| {
        let handler = objects.comms.get(comm)?.handler;
        if let Some(own) = handlers(objects).get_mut(handler.0) {
            own.handles += 1;
        }
        Ok(handler)
    })
}

/// Returns whether the error ends the program.
pub(crate) fn is_fatal(world: &mut World, failure: &CommError) -> bool {
    aborts(world.objects.comms.noted(failure.clone()).handler)
}

/// Returns the handler and the communicator that has it: `MPI_COMM_SELF` for an unknown communicator. Outside of the
/// world's lifetime all errors are fatal.
fn handler(failure: &CommError) -> (Errhandler, Comm) {
    let of = |comm| {
        let handler = world::local(|objects| Ok(objects.comms.get(comm)?.handler));
        handler.ok().map(|handler| (handler, comm))
    };
    if failure.handler != Errhandler::NULL {
        return (failure.handler, failure.comm);
    }
    of(failure.comm)
        .or_else(|| of(MPI_COMM_SELF))
        .unwrap_or((MPI_ERRORS_ARE_FATAL, failure.comm))
}
