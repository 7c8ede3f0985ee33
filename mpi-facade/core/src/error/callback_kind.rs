//! Kinds of callbacks, as errors name them.

/// The kind of a callback that runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Callback {
    /// A function of `MPI_Op_create`.
    Operation,
    /// A function of `MPI_Comm_create_keyval` and its like.
    Attribute,
    /// A function of `MPI_Comm_create_errhandler` and its like.
    ErrorHandler,
}

impl Callback {
    /// Returns the callback's name in a message.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Operation => "an operation of the program",
            Self::Attribute => "an attribute's function",
            Self::ErrorHandler => "an error handler",
        }
    }
}
