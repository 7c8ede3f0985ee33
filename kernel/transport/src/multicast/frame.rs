//! The frames of a group: one header, and the payload of each kind. Only `multicast` uses it.

use super::packet_bitmap::PacketBitmap;
use crate::reliable::frame::Refusal;
use pombo_kernel::channel::Arrival;
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use xxhash_rust::xxh64::Xxh64;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The header of every frame.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct FrameHeader {
    /// The version in the upper half, the kind in the lower.
    pub(super) kind: u8,
    /// The flags, such as [`ASK`].
    pub(super) flags: u8,
    /// Number of bytes after the header; a device may pad the frame.
    pub(super) len: U16,
    /// The lower half of XXH64 over the frame and its destination, with the source as the seed; 0 if the network checks
    /// frames.
    pub(super) check: U32,
    /// The epoch of the job.
    pub(super) epoch: U32,
    pub(super) group: U32,
    /// Report: number of packets from the first missing one that the receiver has room for; 0: none yet.
    pub(super) credit: U16,
    /// The number of the message among those of its sender in this group.
    pub(super) message: U32,
    /// Packet and repair: the (first) packet. Report: the first missing packet. Poll, announce: the number after the
    /// last sent.
    pub(super) packet: U32,
    /// From the sender: the transmission count. Report: the highest count received.
    pub(super) stamp: U32,
}

const _: () = assert!(size_of::<FrameHeader>() == HEADER_LEN);

/// The destination of a broadcast frame.
pub(super) const ALL: Peer = Peer(u16::MAX);

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 30;

/// The size of a message.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Announce {
    pub(super) len: U64,
    /// Size in bytes of every packet but the last.
    pub(super) chunk: U16,
}

/// The packets of a repair after the first one, as distances from it; 0: no more.
pub(super) type Deltas = [u8; EXTRA];
/// The largest number of packets in a repair after the first one.
pub(super) const EXTRA: usize = 7;

const VERSION: u8 = 1 << 4;
/// A packet of a message that was announced, or a whole message of a train.
pub(super) const PACKET: u8 = VERSION | 3;
/// [`Deltas`], then the exclusive or of the packets, short ones padded with zeros.
pub(super) const REPAIR: u8 = VERSION | 4;
/// A poll without payload.
pub(super) const POLL: u8 = VERSION | 5;
/// [`Announce`].
pub(super) const ANNOUNCE: u8 = VERSION | 6;
/// The report of a receiver: the packets after the first missing one that it has.
pub(super) const REPORT: u8 = VERSION | 7;

/// Requests an immediate report.
pub(super) const ASK: u8 = 1;
/// The packet belongs to a train: each packet is a message of its own.
pub(super) const WHOLE: u8 = 2;
/// Report: packets up to now were dropped, because the group was not open.
pub(super) const REFUSED: u8 = 4;
/// A unicast frame may have overtaken broadcast ones, so its stamp does not show the order.
pub(super) const UNICAST: u8 = 8;

impl FrameHeader {
    /// Writes the checksum over the header, the payload, the source and the destination.
    pub(super) fn set_checksum(&mut self, (from, to): (Peer, Peer), parts: &[Part<'_>]) {
        self.check = U32::ZERO;
        let mut check = self.begin(from);
        parts
            .iter()
            .for_each(|part| in_pieces(part, |piece| check.update(piece)));
        self.check = U32::new(end(&check, to));
    }

    /// Parses a frame. If frames carry a checksum, `me` is the peer that received it.
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

    /// Returns whether the checksum fits a frame to this peer or to all; the frame does not carry its destination.
    fn is_intact<A: Arrival>(&mut self, frame: &A, me: Peer) -> bool {
        let granted = core::mem::replace(&mut self.check, U32::ZERO).get();
        let mut check = self.begin(frame.from());
        frame.for_each_chunk(HEADER_LEN, self.len(), |piece| check.update(piece));
        end(&check, me) == granted || end(&check, ALL) == granted
    }

    /// Starts the checksum with source and destination, which frames do not carry: a wrong one gives a wrong sum.
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

/// Passes the bytes of a part to `f`, in chunks of at most 256 bytes if it is not contiguous.
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
