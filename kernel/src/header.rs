//! The interface of an upper protocol: its header, and the patterns by which a receive selects messages.
//!
//! All modules may use it; it depends on no other. Source: the EPOS communication system, section 3.1 (`==` as
//! [`Pattern::matches`]; "contiguous" as the zerocopy bounds).
//!
//! [`header!`](crate::header!) defines both for a protocol that compares bytes. An implementation by hand, with a
//! wildcard:
//! ```
//! use pombo_kernel::{Communicator, Error, Header, Lent, Pattern, Peer};
//! use pombo_netdrivers::Loopback;
//! use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
//!
//! #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
//! #[repr(C)]
//! struct Topic(u8);
//!
//! impl Header for Topic {
//!     const NAME: &str = "Topic";
//!     type Pattern = Topic;
//! }
//!
//! impl Pattern<Topic> for Topic {
//!     fn matches(&self, _from: Peer, arrived: &Topic) -> bool {
//!         self.0 == 0 || self.0 == arrived.0
//!     }
//!     fn source(&self) -> Option<Peer> {
//!         None
//!     }
//! }
//!
//! # fn main() -> Result<(), Error> {
//! let mut ranks = Loopback::world(1);
//! let mut comm = Communicator::<Topic, _, Lent<'_>>::new(ranks.remove(0))?;
//! comm.send(Peer(0), Topic(7), b"to myself")?;
//! let mut text = [0; 16];
//! let envelope = comm.recv(Topic(0), &mut text)?;
//! assert_eq!((envelope.header().0, &text[..envelope.len()]), (7, &b"to myself"[..]));
//! # Ok(())
//! # }
//! ```

use crate::text::{ToText, WriteText};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The number of a process on a channel: 0 to [`Channel::peers`](crate::Channel::peers) - 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Peer(pub u16);

impl Peer {
    /// Returns the number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl ToText for Peer {
    fn put_text(&self, out: &mut dyn WriteText) {
        self.0.put_text(out);
    }
}

impl core::fmt::Display for Peer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A type that is copied bytewise to and from frames. Fields are fixed little-endian types such as
/// [`zerocopy::little_endian::U32`], so that a wire type never needs conversion.
pub trait Wire:
    Copy + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned + 'static
{
}

impl<T> Wire for T where
    T: Copy + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned + 'static
{
}

/// The header of an upper protocol. It precedes every message, and the kernel matches by it.
pub trait Header: Wire {
    /// The name of the protocol, equal in every program that uses it. It is part of the
    /// [fingerprint](crate::fingerprint), so that a program with another protocol is refused when a job starts, even if
    /// the header has the same size. Change it when the meaning of the fields changes.
    const NAME: &'static str;

    /// The type by which a receive selects messages.
    type Pattern: Pattern<Self>;
}

/// A predicate on headers: the paper's `==` with wildcards. Patterns are transmitted too: a receiver may query a sender
/// that holds messages for the first match.
///
/// Patterns that name the same fields and leave the same fields open form a class. With classes a matcher looks into
/// one bin per class instead of searching a queue. Without them there is one class in which every pattern has the same
/// key, which is correct for every protocol and as slow as a search.
///
/// Contract: a pattern that matches a header from a peer has a class `c` below [`Pattern::CLASSES`] and the key
/// `Self::key(c, from, header)`. A violation loses matches, never memory safety.
pub trait Pattern<H>: Wire {
    /// Number of classes: 1 to [`MAX_CLASSES`].
    const CLASSES: usize = 1;

    /// Returns whether a message with this header from this peer matches.
    fn matches(&self, from: Peer, header: &H) -> bool;

    /// Returns the only peer that can match, or `None` if several can. It must agree with [`Pattern::matches`].
    fn source(&self) -> Option<Peer>;

    /// Returns a header for the outcome of a receive that ends without a message, so that its owner can identify it.
    #[inline]
    fn stand_in(&self) -> Option<H> {
        None
    }

    /// Returns the class of this pattern and its key, which is computed from the fields that it names, for instance by
    /// [`fold`].
    #[inline]
    fn class(&self) -> (usize, u32) {
        (0, 0)
    }

    /// Returns the key of a pattern of this class that matches this header from this peer.
    #[inline]
    fn key(class: usize, from: Peer, header: &H) -> u32 {
        let _ = (class, from, header);
        0
    }
}

/// Largest number of classes of a protocol: two fields, each named or left open.
pub const MAX_CLASSES: usize = 4;

/// Computes a key from several fields. If exactly one field differs, the keys differ.
#[inline]
pub const fn fold<const N: usize>(fields: [u32; N]) -> u32 {
    let mut key = 0_u32;
    let mut i = 0;
    while i < N {
        // Every step is a bijection in the key and in the field: an odd factor, a rotation, an exclusive or.
        key = (key.rotate_left(5) ^ fields[i]).wrapping_mul(0x9e37_79b9);
        i += 1;
    }
    key
}
