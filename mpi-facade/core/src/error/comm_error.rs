//! An error of a call, and the communicator whose handler receives it.

use super::Error;
use crate::constants::{Comm, Errhandler, MPI_COMM_SELF};

/// An error, and the communicator whose handler receives it.
#[derive(Clone, Copy, Debug)]
pub struct CommError {
    /// The error.
    pub error: Error,
    /// The communicator.
    pub comm: Comm,
    /// The communicator's handler, if the communicator may be freed before the error is raised; else null.
    pub handler: Errhandler,
}

impl CommError {
    /// Creates an error of a call on that communicator.
    pub fn new(error: impl Into<Error>, comm: Comm) -> CommError {
        CommError {
            error: error.into(),
            comm,
            handler: Errhandler::NULL,
        }
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
