//! What an upper protocol tells the kernel about itself: its header, and how a receive selects one.
//!
//! Used by everyone; it depends on nothing else. Source: the EPOS communication system, section 3.1 (`==` as
//! [`Pattern::matches`]; "contiguous" as the zerocopy bounds).
//!
//! [`header!`](crate::header!) writes both for a protocol that compares bytes. By hand, with a wildcard of its own:
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

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The number of a partner on a channel: 0 up to [`Channel::peers`](crate::Channel::peers) - 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Peer(pub u16);

impl Peer {
    /// The number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl core::fmt::Display for Peer {
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
    /// What the protocol is called, the same in every program that speaks it: part of the
    /// [fingerprint](crate::fingerprint), so that one of another name is refused when a job starts, even where its header
    /// has as many bytes. Change it when the meaning of the fields changes.
    const NAME: &'static str;

    /// How a receive says which messages it wants.
    type Pattern: Pattern<Self>;
}

/// The paper's `==` with wildcards. A pattern travels too: a receiver may ask a sender that holds messages back
/// for the first one that matches.
///
/// Patterns that name the same fields and leave the same fields open form a class. A protocol that tells its classes
/// lets a matcher look into one bin per class instead of searching a queue; without them there is one class, and
/// every pattern in it has the same key, which is right for every protocol and as slow as a search.
///
/// The law: a pattern that matches a header from a peer has a class `c` below [`Pattern::CLASSES`] and the key
/// `Self::key(c, from, header)`. Whoever breaks it loses matches, never memory safety.
pub trait Pattern<H>: Wire {
    /// How many classes there are: 1 up to [`MAX_CLASSES`].
    const CLASSES: usize = 1;

    /// Does a message with this header from this peer match?
    fn matches(&self, from: Peer, header: &H) -> bool;

    /// The only peer that can match, or `None` where several can. It must agree with [`Pattern::matches`].
    fn source(&self) -> Option<Peer>;

    /// A header that stands in an outcome for the one of a message, where a receive ends without any: so that its owner
    /// can tell what it was for.
    #[inline]
    fn stand_in(&self) -> Option<H> {
        None
    }

    /// The class of this pattern, and its key: made of the fields that it names, for instance by [`fold`].
    #[inline]
    fn class(&self) -> (usize, u32) {
        (0, 0)
    }

    /// The key that a pattern of this class has if it matches this header from this peer.
    #[inline]
    fn key(class: usize, from: Peer, header: &H) -> u32 {
        let _ = (class, from, header);
        0
    }
}

/// The most classes that a protocol may have: two fields, each named or left open.
pub const MAX_CLASSES: usize = 4;

/// A key made of several fields. Keys of fields that differ in one place differ.
#[inline]
pub const fn fold<const N: usize>(fields: [u32; N]) -> u32 {
    let mut key = 0_u32;
    let mut i = 0;
    while i < N {
        // Every step is one-to-one in the key and in the field: an odd factor, a rotation, an exclusive or.
        key = (key.rotate_left(5) ^ fields[i]).wrapping_mul(0x9e37_79b9);
        i += 1;
    }
    key
}
