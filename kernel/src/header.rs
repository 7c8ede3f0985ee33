//! What an upper protocol tells the kernel about itself: its header, and how a receive selects one.
//!
//! Used by everyone; it depends on nothing else. Source: the EPOS communication system, section 3.1 (`==` as
//! [`Pattern::matches`]; "contiguous" as the zerocopy bounds).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The number of a partner on a channel: 0 up to [`Channel::nodes`](crate::Channel::nodes) - 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node(pub u16);

impl Node {
    /// The number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl core::fmt::Display for Node {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Bytes that may be copied from and to a frame as they are. Fields are fixed little-endian types such as
/// [`zerocopy::little_endian::U32`], so that a wire type never needs conversion.
pub trait Wire:
    Copy + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned + 'static
{
}

impl<T> Wire for T where
    T: Copy + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned + 'static
{
}

/// The header of an upper protocol. It travels in front of every message and the kernel matches by it.
pub trait Header: Wire {
    /// How a receive says which messages it wants.
    type Pattern: Pattern<Self>;
}

/// The paper's `==` with wildcards. A pattern travels too: a receiver may ask a sender that holds messages back
/// for the first one that matches.
pub trait Pattern<H>: Wire {
    /// Does a message with this header from this node match?
    fn matches(&self, from: Node, header: &H) -> bool;

    /// The only node that can match, or `None` where several can. It must agree with [`Pattern::matches`].
    fn source(&self) -> Option<Node>;
}
