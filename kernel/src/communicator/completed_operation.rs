//! The result of a finished operation.

use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::header::Header;
use crate::memory::{Loan, Memory};

/// A finished operation.
#[must_use = "it carries the buffer back, and the outcome"]
pub struct Completed<H: Header, M: Memory, C: Config> {
    /// The buffer.
    pub loan: Loan<M>,
    /// The envelope of the message. If none matched, its length is unknown and its header is the pattern's
    /// [stand-in](crate::Pattern::stand_in), if there is one.
    pub envelope: Option<Envelope<H, C>>,
    /// Number of bytes sent, or of bytes in the receive buffer.
    pub outcome: Result<usize, Error>,
}

/// A view of a finished operation, which stays to be claimed.
#[derive(Clone, Copy, Debug)]
pub struct Peeked<'a, H: Header, C: Config> {
    /// Whether the operation is a receive.
    pub received: bool,
    /// The envelope of the message. If none matched, its length is unknown and its header is the pattern's
    /// [stand-in](crate::Pattern::stand_in), if there is one.
    pub envelope: Option<&'a Envelope<H, C>>,
    /// Number of bytes sent, or of bytes in the receive buffer.
    pub outcome: Result<usize, &'a Error>,
}
