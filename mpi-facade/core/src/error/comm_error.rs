//! An error of a call, and the communicator whose handler receives it.

use super::Error;
use crate::constants::{Comm, Errhandler, MPI_COMM_SELF};
use alloc::boxed::Box;
use core::ops::Deref;

/// An error, and the communicator whose handler receives it. It is a word, and so is a result without a value: calls pass
/// it on often, and make it seldom.
#[derive(Clone, Debug)]
pub struct CommError(Box<Failure>);

/// What a [`CommError`] says.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The error.
    pub error: Error,
    /// The communicator.
    pub comm: Comm,
    /// The communicator's handler, if the communicator may be freed before the error is raised; else null.
    pub handler: Errhandler,
}

impl Deref for CommError {
    type Target = Failure;

    fn deref(&self) -> &Failure {
        &self.0
    }
}

impl CommError {
    /// Creates an error of a call on that communicator.
    pub fn new(error: impl Into<Error>, comm: Comm) -> CommError {
        CommError::with_handler(error.into(), comm, Errhandler::NULL)
    }

    /// Creates an error of a call on that communicator, which may be freed before its handler is called.
    #[cold]
    #[inline(never)]
    pub(crate) fn with_handler(error: Error, comm: Comm, handler: Errhandler) -> CommError {
        CommError(Box::new(Failure {
            error,
            comm,
            handler,
        }))
    }

    /// Returns a function that creates errors on `comm`.
    pub fn on<E: Into<Error>>(comm: Comm) -> impl Fn(E) -> CommError {
        move |error| CommError::new(error, comm)
    }
}

/// Errors that concern no communicator go to `MPI_COMM_SELF`'s handler.
impl From<Error> for CommError {
    fn from(error: Error) -> Self {
        CommError::new(error, MPI_COMM_SELF)
    }
}

impl From<pombo_kernel::Error> for CommError {
    fn from(error: pombo_kernel::Error) -> Self {
        CommError::from(Error::from(error))
    }
}
