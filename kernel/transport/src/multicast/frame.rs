//! What travels within a group: one header, and what stands behind it. `multicast` only.

use super::packet_bitmap::PacketBitmap;
use crate::reliable::frame::Refusal;
use pombo_kernel::channel::Arrival;
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use xxhash_rust::xxh64::Xxh64;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// In front of everything.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct FrameHeader {
    /// Version in the upper half, which kind in the lower.
    pub(super) kind: u8,
    /// [`ASK`] or nothing.
    pub(super) flags: u8,
    /// Bytes behind the header; a device may fill the frame up.
    pub(super) len: U16,
    /// XXH64 over everything and the peer that it is for, the lower half, with its sender for a seed; 0 where the
    /// network checks.
    pub(super) check: U32,
    /// The life of the job.
    pub(super) epoch: U32,
    pub(super) group: U32,
    /// Report: how many packets from the first missing one it has room for; 0: none yet.
    pub(super) credit: U16,
    /// Which message of its sender in this group.
    pub(super) message: U32,
    /// Packet and repair: the (first) packet. Report: the first that is missing. Poll, announce: one past the last sent.
    pub(super) packet: U32,
    /// From the sender: counts transmissions. Report: the highest heard.
    pub(super) stamp: U32,
}

const _: () = assert!(size_of::<FrameHeader>() == HEADER_LEN);

/// In place of the peer that a frame is for, where it is for all.
pub(super) const ALL: Peer = Peer(u16::MAX);

/// Bytes of the header.
pub const HEADER_LEN: usize = 30;

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
/// A packet of a message that was announced, or a whole message of a train.
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
/// Of a train: each packet is a message of its own.
pub(super) const WHOLE: u8 = 2;
/// Report: what has come until now was dropped, for nobody was there.
pub(super) const REFUSED: u8 = 4;
/// To one receiver alone: it may have overtaken what went to all, so its stamp says nothing.
pub(super) const UNICAST: u8 = 8;

impl FrameHeader {
    /// Writes the checksum over the header, what follows it, and who it is from and for.
    pub(super) fn set_checksum(&mut self, (from, to): (Peer, Peer), parts: &[Part<'_>]) {
        self.check = U32::ZERO;
        let mut check = self.begin(from);
        parts
            .iter()
            .for_each(|part| in_pieces(part, |piece| check.update(piece)));
        self.check = U32::new(end(&check, to));
    }

    /// Looks at a frame. Where frames carry a checksum, `me` is the peer that it came to.
    pub(super) fn read<A: Arrival>(
        frame: &A,
        epoch: u32,
        me: Option<Peer>,
    ) -> Result<FrameHeader, Refusal> {
        let bytes = frame.head(HEADER_LEN).ok_or(Refusal::Foreign)?;
        let mut head = FrameHeader::read_from_bytes(bytes).map_err(|_| Refusal::Foreign)?;
        let whole = frame.len() >= HEADER_LEN + head.len();
        if me.is_some_and(|me| !whole || !head.is_intact(frame, me)) {
            return Err(Refusal::Corrupt);
        }
        let right = match head.kind {
            PACKET => head.len() > 0 || head.is_whole(),
            REPAIR => head.len() > EXTRA && !head.is_whole(),
            POLL => head.len() == 0,
            ANNOUNCE => head.len() == size_of::<Announce>() && !head.is_whole(),
            REPORT => head.len() == size_of::<PacketBitmap>(),
            _ => false,
        };
        if !whole || !right || head.flags & !(ASK | WHOLE | REFUSED | UNICAST) != 0 {
            return Err(Refusal::Foreign);
        }
        match head.epoch.get() == epoch {
            true => Ok(head),
            false => Err(Refusal::Stale),
        }
    }

    /// For this peer or for all: which of them does not travel.
    fn is_intact<A: Arrival>(&mut self, frame: &A, me: Peer) -> bool {
        let granted = core::mem::replace(&mut self.check, U32::ZERO).get();
        let mut check = self.begin(frame.from());
        frame.for_each_chunk(HEADER_LEN, self.len(), |piece| check.update(piece));
        end(&check, me) == granted || end(&check, ALL) == granted
    }

    /// Peers count although they do not travel: what a wrong one seems to say has the wrong sum.
    fn begin(&self, from: Peer) -> Xxh64 {
        let mut check = Xxh64::new(from.0.into());
        check.update(self.as_bytes());
        check
    }

    pub(super) fn len(&self) -> usize {
        self.len.get().into()
    }

    pub(super) fn is_whole(&self) -> bool {
        self.flags & WHOLE != 0
    }

    pub(super) fn asks(&self) -> bool {
        self.flags & ASK != 0
    }

    pub(super) fn announced<A: Arrival>(&self, frame: &A) -> Option<Announce> {
        let whole = frame.head(HEADER_LEN + size_of::<Announce>())?;
        Announce::read_from_bytes(&whole[HEADER_LEN..]).ok()
    }

    pub(super) fn deltas<A: Arrival>(&self, frame: &A) -> Option<Deltas> {
        let whole = frame.head(HEADER_LEN + EXTRA)?;
        Deltas::read_from_bytes(&whole[HEADER_LEN..]).ok()
    }

    pub(super) fn reported<A: Arrival>(&self, frame: &A) -> Option<PacketBitmap> {
        let whole = frame.head(HEADER_LEN + size_of::<PacketBitmap>())?;
        let words =
            <[U64; super::packet_bitmap::WORDS]>::read_from_bytes(&whole[HEADER_LEN..]).ok()?;
        Some(PacketBitmap(words.map(U64::get)))
    }
}

fn end(check: &Xxh64, to: Peer) -> u32 {
    let mut check = check.clone();
    check.update(&to.0.to_le_bytes());
    check.digest() as u32
}

/// Bytes of a part, in pieces of at most 256 where it does not lie in one.
fn in_pieces(part: &Part<'_>, mut f: impl FnMut(&[u8])) {
    if let Part::Bytes(bytes) = part {
        return f(bytes);
    }
    let mut piece = [0; 256];
    for at in (0..part.len()).step_by(piece.len()) {
        let piece = &mut piece[..(part.len() - at).min(256)];
        part.copy_to(at, piece);
        f(piece);
    }
}
