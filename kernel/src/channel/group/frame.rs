//! What travels within a group: one header, and what stands behind it. `group` only.

use super::bits::Bits;
use crate::channel::Arrival;
use crate::channel::reliable::check::Check;
use crate::channel::reliable::frame::Refusal;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// In front of everything.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Head {
    /// Version in the upper half, which kind in the lower.
    pub(super) kind: u8,
    /// [`ASK`] or nothing.
    pub(super) flags: u8,
    /// Bytes behind the header; a device may fill the frame up.
    pub(super) len: U16,
    /// Over everything; 0 where the network checks.
    pub(super) check: U32,
    /// The life of the job.
    pub(super) epoch: U32,
    pub(super) group: U16,
    /// Report: how many packets it may be sent; 0: nobody receives yet.
    pub(super) credit: U16,
    /// Which message of its source in this group.
    pub(super) message: U32,
    /// Packet and repair: the (first) packet. Report: the first that is missing. Poll, announce: one past the last sent.
    pub(super) packet: U32,
    /// From the source: counts transmissions. Report: the highest heard.
    pub(super) stamp: U32,
}

const _: () = assert!(size_of::<Head>() == HEAD);

/// Bytes of the header.
pub const HEAD: usize = 28;

/// How large a message is.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Announce {
    pub(super) len: U64,
    /// Bytes of every packet but the last.
    pub(super) chunk: U16,
}

/// Which packets a repair is the exclusive or of: the first, and those at these distances; 0: no more.
pub(super) type Deltas = [u8; EXTRA];
/// A repair covers at most one packet more.
pub(super) const EXTRA: usize = 7;

const VERSION: u8 = 1 << 4;
/// A packet of a message that was announced; of one packet: the whole message.
pub(super) const PACKET: u8 = VERSION | 3;
/// [`Deltas`], then the exclusive or, short packets filled up with zeros.
pub(super) const REPAIR: u8 = VERSION | 4;
/// Nothing: it asks.
pub(super) const POLL: u8 = VERSION | 5;
/// [`Announce`].
pub(super) const ANNOUNCE: u8 = VERSION | 6;
/// From a receiver: which packets above the first missing one it has.
pub(super) const REPORT: u8 = VERSION | 7;

/// Please report at once.
pub(super) const ASK: u8 = 1;
/// This packet is the whole message.
pub(super) const WHOLE: u8 = 2;

impl Head {
    /// Writes the checksum over the header and what follows it, in pieces.
    pub(super) fn seal(&mut self, parts: &[&[u8]]) {
        self.check = U32::ZERO;
        let mut check = Check::new(0);
        check.add(self.as_bytes());
        parts.iter().for_each(|part| check.add(part));
        self.check = U32::new(check.end());
    }

    /// Looks at a frame.
    pub(super) fn read<A: Arrival>(
        frame: &A,
        group: u16,
        epoch: u32,
        checked: bool,
    ) -> Result<Head, Refusal> {
        let bytes = frame.head(HEAD).ok_or(Refusal::Foreign)?;
        let mut head = Head::read_from_bytes(bytes).map_err(|_| Refusal::Foreign)?;
        let whole = frame.len() >= HEAD + head.len();
        if checked && (!whole || !head.is_intact(frame)) {
            return Err(Refusal::Corrupt);
        }
        let right = match head.kind {
            PACKET => head.len() > 0 || head.flags & WHOLE != 0,
            REPAIR => head.len() > EXTRA,
            POLL => head.len() == 0,
            ANNOUNCE => head.len() == size_of::<Announce>(),
            REPORT => head.len() == size_of::<Bits>(),
            _ => false,
        };
        if !whole || !right || head.flags & !(ASK | WHOLE) != 0 || head.group.get() != group {
            return Err(Refusal::Foreign);
        }
        match head.epoch.get() == epoch {
            true => Ok(head),
            false => Err(Refusal::Stale),
        }
    }

    fn is_intact<A: Arrival>(&mut self, frame: &A) -> bool {
        let told = core::mem::replace(&mut self.check, U32::ZERO);
        let mut check = Check::new(0);
        check.add(self.as_bytes());
        frame.pieces(HEAD, self.len(), |piece| check.add(piece));
        check.end() == told.get()
    }

    pub(super) fn len(&self) -> usize {
        self.len.get().into()
    }

    pub(super) fn announced<A: Arrival>(&self, frame: &A) -> Option<Announce> {
        let whole = frame.head(HEAD + size_of::<Announce>())?;
        Announce::read_from_bytes(&whole[HEAD..]).ok()
    }

    pub(super) fn deltas<A: Arrival>(&self, frame: &A) -> Option<Deltas> {
        let whole = frame.head(HEAD + EXTRA)?;
        Deltas::read_from_bytes(&whole[HEAD..]).ok()
    }

    pub(super) fn reported<A: Arrival>(&self, frame: &A) -> Option<Bits> {
        let whole = frame.head(HEAD + size_of::<Bits>())?;
        let words = <[U64; super::bits::WORDS]>::read_from_bytes(&whole[HEAD..]).ok()?;
        Some(Bits(words.map(U64::get)))
    }
}
