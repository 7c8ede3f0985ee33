//! The kernel's frames: a two-byte preamble, then fixed little-endian fields, then payload. Kernel only.
//!
//! | kind | fields after the preamble | meaning |
//! | --- | --- | --- |
//! | Eager | header, payload | a whole message; takes one place in the pool |
//! | Rts | header, length, sender | a message whose payload stays; takes one place |
//! | Cts | sender, receiver, length | send that announced or offered message here |
//! | Data | receiver, (sender,) offset, payload | a piece of a requested message |
//! | Abort | receiver (, sender) | the requested message was withdrawn |
//! | Credit | | nothing but the preamble's credit |
//! | Hold | 1 or 0 | messages are (no longer) kept back for want of credit |
//! | MatchQuery | receiver, pattern | is there a first match among the held ones? |
//! | MatchReply | receiver, sender, length, header | yes, this one |
//! | NoMatch | receiver | no |
//! | Reject | sender | the offer came too late |
//! | Accept | sender | a matched probe took the offer: that message is announced now |
//! | Cancel | sender | may that announce or offer be withdrawn? |
//! | CancelReply | sender, 1 or 0 | yes or no |
//! | RecvHint | receiver, length, pattern | this receive is the first that a message of yours could match |
//! | RtsWithData | header, length, sender, receiver | an announce, and the data for that receive follows unasked |
//! | Fin | sender | the data that came unasked is here, or not needed any more |
//!
//! In compositions with hints Data and Abort name the sender's operation, as the receiver's alone would not do.

use crate::channel::{Arrival, MIN_LIMIT};
use crate::header::Wire;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, TryFromBytes)]
#[repr(u8)]
pub(crate) enum Kind {
    Eager = 1,
    Rts,
    Cts,
    Data,
    Abort,
    Credit,
    Hold,
    MatchQuery,
    MatchReply,
    NoMatch,
    Reject,
    Cancel,
    CancelReply,
    Accept,
    RecvHint,
    RtsWithData,
    Fin,
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

/// Bytes of the preamble: kind, credit.
pub(crate) const PREAMBLE: usize = 2;

/// Added to the kind by a sender whose values have their most significant byte first, in compositions that care.
const BIG_ENDIAN: u8 = 0x80;

/// The preamble: `credit` is how many places in the pool the receiver of this frame gets back. `big_endian`: the sender's
/// values have their most significant byte first.
#[inline]
pub(crate) fn preamble(kind: Kind, credit: u8, big_endian: bool) -> [u8; PREAMBLE] {
    [kind as u8 | if big_endian { BIG_ENDIAN } else { 0 }, credit]
}

/// The head of the frame that is sent most.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct EagerHeader<H> {
    pub(crate) preamble: [u8; PREAMBLE],
    pub(crate) header: H,
}

/// Builds the head of a frame.
pub(crate) struct Writer {
    bytes: heapless::Vec<u8, MIN_LIMIT>,
}

impl Writer {
    /// Starts with the preamble.
    #[inline]
    pub(crate) fn new(preamble: [u8; PREAMBLE]) -> Self {
        let mut bytes = heapless::Vec::new();
        // The preamble fits, and so do the heads: the communicator asserts it at compile time.
        let _ = bytes.extend_from_slice(&preamble);
        Writer { bytes }
    }

    /// Appends a field; beyond [`MIN_LIMIT`] it is left out.
    #[inline]
    pub(crate) fn put<T: Wire>(mut self, field: &T) -> Self {
        let _ = self.bytes.extend_from_slice(field.as_bytes());
        self
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads the head of a frame, field by field; `None` where the frame ends too early.
pub(crate) struct Reader<'a, A> {
    arrival: &'a A,
    at: usize,
}

impl<'a, A: Arrival> Reader<'a, A> {
    /// The kind and the credit, and a reader for the rest. `None` for a frame that is none of ours.
    /// With `orders` also whether the sender's values have their most significant byte first.
    #[inline]
    pub(crate) fn new(arrival: &'a A, orders: bool) -> Option<(Kind, u8, bool, Self)> {
        let preamble = arrival.head(PREAMBLE)?;
        let (mut kind, credit) = (*preamble.first()?, *preamble.get(1)?);
        let big_endian = orders && kind & BIG_ENDIAN != 0;
        if orders {
            kind &= !BIG_ENDIAN;
        }
        Some((
            Kind::try_read_from_bytes(&[kind]).ok()?,
            credit,
            big_endian,
            Reader {
                arrival,
                at: PREAMBLE,
            },
        ))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Peer;
    extern crate std;
    use std::vec::Vec;

    struct Frame(Vec<u8>);

    impl Arrival for Frame {
        fn from(&self) -> Peer {
            Peer(0)
        }

        fn len(&self) -> usize {
            self.0.len()
        }

        fn head(&self, n: usize) -> Option<&[u8]> {
            self.0.get(..n)
        }

        fn for_each_chunk(&self, offset: usize, len: usize, mut f: impl FnMut(&[u8])) {
            f(&self.0[offset..offset + len]);
        }
    }

    fn handle() -> Handle {
        Handle {
            slot: U32::new(7),
            generation: U32::new(1 << 30),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for byte in 0..=255 {
            let Ok(kind) = Kind::try_read_from_bytes(&[byte]) else {
                assert!(!(1..=17).contains(&byte));
                continue;
            };
            assert_eq!(kind as u8, byte);
            for (orders, big) in [(false, false), (true, false), (true, true)] {
                let writer = Writer::new(preamble(kind, 200, big))
                    .put(&handle())
                    .put(&3_u8);
                let mut frame = Frame(writer.bytes().to_vec());
                frame.0.extend(b"payload");
                let (read, credit, order, mut reader) =
                    Reader::new(&frame, orders).expect("it is one of ours");
                assert_eq!((read, credit, order), (kind, 200, big));
                assert_eq!(reader.take::<Handle>(), Some(handle()));
                assert_eq!(reader.take::<u8>(), Some(3));
                assert_eq!(reader.payload(), (PREAMBLE + 9, 7));
                assert_eq!(reader.take::<Handle>(), None);
                assert_eq!(reader.payload(), (PREAMBLE + 9, 7));
            }
        }
    }

    /// A composition that does not care for the order knows no frame that tells it.
    #[test]
    fn an_order_that_nobody_asked_for() {
        let writer = Writer::new(preamble(Kind::Eager, 0, true));
        assert!(Reader::new(&Frame(writer.bytes().to_vec()), false).is_none());
    }

    #[test]
    fn short_frames_are_not_read() {
        let writer = Writer::new([Kind::Eager as u8, 0]).put(&5_u8);
        for len in 0..PREAMBLE {
            assert!(Reader::new(&Frame(writer.bytes()[..len].to_vec()), false).is_none());
        }
        let frame = Frame(writer.bytes()[..PREAMBLE].to_vec());
        let (_, _, _, mut reader) = Reader::new(&frame, true).expect("the preamble is there");
        assert_eq!(reader.take::<u8>(), None);
    }

    /// A head that would pass the limit is cut, never a panic; the communicator asserts that none does.
    #[test]
    fn a_head_has_a_limit() {
        let mut writer = Writer::new([Kind::Eager as u8, 0]);
        for _ in 0..100 {
            writer = writer.put(&[9_u8; 50]);
        }
        assert_eq!(writer.bytes().len(), PREAMBLE + 100);
    }
}
