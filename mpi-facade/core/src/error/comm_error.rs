//! An error of a call, and whose handler hears of it.

use super::Error;
use crate::constants::{Comm, Errhandler, MPI_COMM_SELF};

/// An error, and the communicator whose handler hears of it.
#[derive(Clone, Copy, Debug)]
pub struct CommError {
    /// What.
    pub error: Error,
    /// Whose handler.
    pub comm: Comm,
    /// That handler, where the communicator may be gone when it is asked; else null.
    pub handler: Errhandler,
}

impl CommError {
    /// Of that communicator's call.
    pub fn new(error: impl Into<Error>, comm: Comm) -> CommError {
        CommError {
            error: error.into(),
            comm,
            handler: Errhandler::NULL,
        }
    }

    /// On a communicator.
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
