//! What can go wrong in a simulation.

use std::fmt;

use pombo_collective::adaptive::AdaptiveError;

/// A failure of the distributed algorithm: a defect of it or of this simulator.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nothing is under way, but a process waits.
    Stalled,
    /// A process refused a message or a command.
    Refused(AdaptiveError),
}

impl From<AdaptiveError> for Failure {
    fn from(error: AdaptiveError) -> Failure {
        Failure::Refused(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Stalled => f.write_str("processes wait although nothing is under way"),
            Failure::Refused(error) => write!(f, "a process refused a message: {error}"),
        }
    }
}
