//! The kernel's frames: a two-byte preamble, then fixed little-endian fields, then payload. Only the kernel uses them.
//!
//! | kind | fields after the preamble | meaning |
//! | --- | --- | --- |
//! | Eager | header, payload | a whole message; takes one pool slot |
//! | Rts | header, length, sender | announces a message whose payload stays with the sender, but for a copy of its beginning as early data; takes one pool slot |
//! | Cts | sender, receiver, length | requests the announced or offered message |
//! | Data | receiver, (sender,) offset, payload | a chunk of a requested message |
//! | Abort | receiver (, sender) | the requested message was withdrawn |
//! | Credit | | carries only the preamble's credit |
//! | Hold | 1 or 0 | messages are (no longer) held for want of credit |
//! | MatchQuery | receiver, pattern | asks for the first match among the held messages |
//! | MatchReply | receiver, sender, length, header | offers the first match |
//! | NoMatch | receiver | there is no match |
//! | Reject | sender | the offer came too late |
//! | Accept | sender | a matched probe took the offer: that message now counts as announced |
//! | Cancel | sender | asks to withdraw an announced or offered message |
//! | CancelReply | sender, 1 or 0 | yes or no |
//! | RecvHint | receiver, length, pattern | names the first receive that a message of the peer could match |
//! | RtsWithData | header, length, sender, receiver | announces a message whose data for that receive follows without a
//! Cts |
//! | Fin | sender | the data sent without a Cts has arrived, or is not needed any more |
//! | EarlyData | sender, offset, payload | a chunk of the message that was announced last; the receiver may drop it |
//! | CtsBehind | sender, receiver, length | requests what follows the early data of the announced message |
//!
//! In compositions with hints Data and Abort also name the sender's operation, as the receiver's alone is ambiguous.

use crate::channel::{Arrival, MIN_LIMIT};
use crate::header::Wire;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// The type of a frame.
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
    EarlyData,
    CtsBehind,
}

/// An operation of a peer, as named in frames. Generation 0 names none.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub(crate) struct Handle {
    pub(crate) slot: U32,
    pub(crate) generation: U32,
}

/// Length of the preamble in bytes: kind, credit.
pub(crate) const PREAMBLE: usize = 2;

/// Flag in the kind, set by a sender of big-endian values, in compositions that convert byte orders.
const BIG_ENDIAN: u8 = 0x80;

/// Returns the preamble: `credit` is the number of pool slots returned to the receiver of this frame. `big_endian`: the
/// sender's values are big-endian.
#[inline]
pub(crate) fn preamble(kind: Kind, credit: u8, big_endian: bool) -> [u8; PREAMBLE] {
    [kind as u8 | if big_endian { BIG_ENDIAN } else { 0 }, credit]
}

/// The head of an eager frame, the most frequent one.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct EagerHeader<H> {
    pub(crate) preamble: [u8; PREAMBLE],
    pub(crate) header: H,
}

/// Writes the head of a frame.
pub(crate) struct Writer {
    kind: Kind,
    bytes: heapless::Vec<u8, MIN_LIMIT>,
}

impl Writer {
    /// Creates a writer that leaves room for the preamble.
    #[inline]
    pub(crate) fn new(kind: Kind) -> Self {
        let mut bytes = heapless::Vec::new();
        // The preamble fits, and so do all heads, as the communicator asserts at compile time.
        let _ = bytes.extend_from_slice(&[0; PREAMBLE]);
        Writer { kind, bytes }
    }

    /// Creates a writer for heads that [`begin`](Self::begin).
    #[inline]
    pub(crate) fn empty() -> Self {
        Writer {
            kind: Kind::Credit,
            bytes: heapless::Vec::new(),
        }
    }

    /// Begins another head in the same memory; what was written of the one before is gone.
    #[inline]
    pub(crate) fn begin(&mut self, kind: Kind) -> &mut Self {
        self.kind = kind;
        self.bytes.clear();
        self.append(&[0; PREAMBLE])
    }

    /// Appends a field; beyond [`MIN_LIMIT`] it is omitted.
    #[inline]
    pub(crate) fn put<T: Wire>(&mut self, field: &T) -> &mut Self {
        self.append(field.as_bytes())
    }

    // Not inlined: thirty places use it, none of them for an eager message.
    #[inline(never)]
    fn append(&mut self, field: &[u8]) -> &mut Self {
        let _ = self.bytes.extend_from_slice(field);
        self
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Completes the head by its preamble.
    pub(crate) fn finish(&mut self, preamble: [u8; PREAMBLE]) -> &[u8] {
        if let Some(place) = self.bytes.first_chunk_mut() {
            *place = preamble;
        }
        &self.bytes
    }
}

/// Reads the head of a frame field by field; returns `None` if the frame is too short.
pub(crate) struct Reader<'a, A> {
    arrival: &'a A,
    at: usize,
}

impl<'a, A: Arrival> Reader<'a, A> {
    /// Reads the preamble; returns the kind, the credit, whether the sender's values are big-endian (only with
    /// `orders`), and a reader of the rest. Returns `None` for an invalid preamble.
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

    /// Returns the offset and the length of the payload in bytes.
    #[inline]
    pub(crate) fn payload(&self) -> (usize, usize) {
        (self.at, self.arrival.len() - self.at)
    }
}

/// Length in bytes of a cache line, of which long shares have whole ones.
const LINE: usize = 64;

/// Returns how many of the next `rest` bytes of a message go in a frame with room for `most`. What follows in other frames
/// begins in a line as the message does, so that copies of it are as quick, unless a frame is so short that the bytes left
/// out would count.
pub(crate) fn share(most: usize, rest: usize) -> usize {
    match rest <= most || most < LINE * LINE {
        true => most.min(rest),
        false => most - most % LINE,
    }
}

/// Returns the length of a message's first share. Nothing can be read before it is written, so that of a long frame is half as
/// long as others.
pub(crate) fn first_share(most: usize, rest: usize) -> usize {
    match most < LINE * LINE {
        true => share(most, rest),
        false => share((most / 2).next_multiple_of(LINE), rest),
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
                assert!(!(1..=19).contains(&byte));
                continue;
            };
            assert_eq!(kind as u8, byte);
            for (orders, big) in [(false, false), (true, false), (true, true)] {
                let mut writer = Writer::new(kind);
                writer.put(&handle()).put(&3_u8);
                let mut frame = Frame(writer.finish(preamble(kind, 200, big)).to_vec());
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

    /// A composition without byte order conversion rejects a frame that carries the order.
    #[test]
    fn an_order_that_nobody_asked_for() {
        let mut writer = Writer::new(Kind::Eager);
        let frame = writer.finish(preamble(Kind::Eager, 0, true)).to_vec();
        assert!(Reader::new(&Frame(frame), false).is_none());
    }

    #[test]
    fn short_frames_are_not_read() {
        let mut writer = Writer::new(Kind::Eager);
        let head = writer.put(&5_u8).finish([Kind::Eager as u8, 0]).to_vec();
        for len in 0..PREAMBLE {
            assert!(Reader::new(&Frame(head[..len].to_vec()), false).is_none());
        }
        let frame = Frame(head[..PREAMBLE].to_vec());
        let (_, _, _, mut reader) = Reader::new(&frame, true).expect("the preamble is there");
        assert_eq!(reader.take::<u8>(), None);
    }

    /// A head beyond the limit is truncated without a panic; the communicator asserts that there is none.
    #[test]
    fn a_head_has_a_limit() {
        let mut writer = Writer::new(Kind::Eager);
        for _ in 0..100 {
            writer.put(&[9_u8; 50]);
        }
        assert_eq!(writer.finish([0; PREAMBLE]).len(), PREAMBLE + 100);
    }

    #[test]
    fn shares_are_whole_lines_and_fit() {
        assert_eq!(
            (share(16360, 65536), first_share(16360, 65536)),
            (16320, 8192)
        );
        for most in [1, 63, 64, 100, 1400, 4095, 4096, 16360] {
            for rest in [0, 1, most - 1, most, most + 1, 3 * most] {
                for len in [share(most, rest), first_share(most, rest)] {
                    assert!(len <= most.min(rest) && (len > 0 || rest == 0));
                    assert!(len == rest || most < 8192 || len % LINE == 0);
                }
                assert!(share(most, rest) + most / LINE >= most.min(rest));
            }
        }
    }
}
