//! Functions of the program that MPI calls, as errors name them.

/// What kind of function of the program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Callback {
    /// Of `MPI_Op_create`.
    Operation,
    /// Of `MPI_Comm_create_keyval` and its like.
    Attribute,
    /// Of `MPI_Comm_create_errhandler` and its like.
    ErrorHandler,
}

impl Callback {
    /// What a reader calls it.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Operation => "an operation of the program",
            Self::Attribute => "an attribute's function",
            Self::ErrorHandler => "an error handler",
        }
    }
}
