//! The kernel's frames: a two-byte lead, then fixed little-endian fields, then payload. Kernel only.
//!
//! | kind | fields after the lead | meaning |
//! | --- | --- | --- |
//! | Eager | header, payload | a whole message; takes one place in the pool |
//! | Announce | header, length, sender | a message whose payload stays; takes one place |
//! | Request | sender, receiver, length | send that announced or offered message here |
//! | Data | receiver, offset, payload | a piece of a requested message |
//! | Abort | receiver | the requested message was withdrawn |
//! | Credit | | nothing but the lead's credit |
//! | Hold | 1 or 0 | messages are (no longer) kept back for want of credit |
//! | Pull | receiver, pattern | is there a first match among the held ones? |
//! | Offer | receiver, sender, length, header | yes, this one |
//! | None | receiver | no |
//! | Decline | sender | the offer came too late |
//! | Revoke | sender | may that announce be withdrawn? |
//! | Revoked | sender, 1 or 0 | yes or no |

use crate::channel::{Arrival, MIN_LIMIT};
use crate::header::Wire;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    Eager = 1,
    Announce,
    Request,
    Data,
    Abort,
    Credit,
    Hold,
    Pull,
    Offer,
    None,
    Decline,
    Revoke,
    Revoked,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        const ALL: [Kind; 13] = [
            Kind::Eager,
            Kind::Announce,
            Kind::Request,
            Kind::Data,
            Kind::Abort,
            Kind::Credit,
            Kind::Hold,
            Kind::Pull,
            Kind::Offer,
            Kind::None,
            Kind::Decline,
            Kind::Revoke,
            Kind::Revoked,
        ];
        ALL.get(usize::from(byte).wrapping_sub(1)).copied()
    }
}

/// An operation at a peer, as frames name it. Generation 0 names nothing.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub(crate) struct Handle {
    pub(crate) slot: U32,
    pub(crate) generation: U32,
}

/// Bytes of the lead: kind, credit.
pub(crate) const LEAD: usize = 2;

/// Builds the head of a frame.
pub(crate) struct Writer {
    bytes: [u8; MIN_LIMIT],
    len: usize,
}

impl Writer {
    /// Starts with the lead; `credit` is how many places in the pool the receiver of this frame gets back.
    #[inline]
    pub(crate) fn new(kind: Kind, credit: u8) -> Self {
        let mut bytes = [0; MIN_LIMIT];
        bytes[0] = kind as u8;
        bytes[1] = credit;
        Writer { bytes, len: LEAD }
    }

    /// Appends a field. Heads fit [`MIN_LIMIT`]: the communicator asserts it at compile time.
    #[inline]
    pub(crate) fn put<T: Wire>(mut self, field: &T) -> Self {
        let end = self.len + size_of::<T>();
        if let Some(place) = self.bytes.get_mut(self.len..end) {
            place.copy_from_slice(field.as_bytes());
            self.len = end;
        }
        self
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Reads the head of a frame, field by field; `None` where the frame ends too early.
pub(crate) struct Reader<'a, A> {
    arrival: &'a A,
    at: usize,
}

impl<'a, A: Arrival> Reader<'a, A> {
    /// The kind and the credit, and a reader for the rest. `None` for a frame that is none of ours.
    #[inline]
    pub(crate) fn new(arrival: &'a A) -> Option<(Kind, u8, Self)> {
        let lead = arrival.head(LEAD)?;
        let kind = Kind::of(*lead.first()?)?;
        let credit = *lead.get(1)?;
        Some((kind, credit, Reader { arrival, at: LEAD }))
    }

    #[inline]
    pub(crate) fn take<T: Wire>(&mut self) -> Option<T> {
        let end = self.at + size_of::<T>();
        let field = T::read_from_bytes(self.arrival.head(end)?.get(self.at..end)?).ok()?;
        self.at = end;
        Some(field)
    }

    /// First byte of the payload, and how many there are.
    #[inline]
    pub(crate) fn payload(&self) -> (usize, usize) {
        (self.at, self.arrival.len() - self.at)
    }
}
