//! What the user gets of an operation that is over.

use crate::composition::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::header::Header;
use crate::memory::{Loan, Memory};

/// An operation that is over.
#[must_use = "it carries the buffer back, and the outcome"]
pub struct Completed<H: Header, M: Memory, C: Config> {
    /// The buffer.
    pub loan: Loan<M>,
    /// Which message it was. Where none matched it has no length, and the pattern's
    /// [stand-in](crate::Pattern::stand_in), if there is one.
    pub envelope: Option<Envelope<H, C>>,
    /// Bytes sent, or bytes in the buffer.
    pub outcome: Result<usize, Error>,
}

/// What a look at a finished operation shows.
#[derive(Clone, Copy, Debug)]
pub struct Peeked<'a, H: Header, C: Config> {
    /// Was it a receive?
    pub received: bool,
    /// Which message it was. Where none matched it has no length, and the pattern's
    /// [stand-in](crate::Pattern::stand_in), if there is one.
    pub envelope: Option<&'a Envelope<H, C>>,
    /// Bytes sent, or bytes in the buffer.
    pub outcome: Result<usize, &'a Error>,
}
