//! What a rank remembers of early data to and from one peer. `early_data` and `receive_path` use it.

use core::ops::RangeInclusive;

use crate::frame::Handle;
use crate::memory::Ticket;

/// Number of messages without early data after some that were in vain: first, and at most.
pub(super) const PAUSES: RangeInclusive<u32> = 16..=1024;

/// The state of early data to and from one peer.
#[derive(Default)]
pub(crate) struct EarlyState {
    /// The send whose early data have left, how many bytes, and whose request has not come.
    pub(super) sent: Option<(Ticket, usize)>,
    /// Number of messages that go without early data, and how many those were after the last ones in vain.
    pub(super) pause: u32,
    pub(super) last_pause: u32,
    /// The message that the peer has announced last, while none of its early data was dropped, and the receive that takes
    /// them.
    pub(super) announced: Option<(Handle, Option<Ticket>)>,
    /// The receive that has requested its message from the peer last.
    pub(super) requested: Option<Ticket>,
}
