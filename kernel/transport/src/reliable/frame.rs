//! The frames of the protocol: one header, and behind it the payload of a data frame or the bitmap of a report. Only
//! `reliable` uses it.

use crate::checksum::Checksum;
use pombo_kernel::channel::Arrival;
use pombo_kernel::header::Peer;
use static_assertions::const_assert_eq;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The header of every frame. Both kinds acknowledge the other direction.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct FrameHeader {
    /// Version in the upper half, [`DATA`] or [`REPORT`] in the lower.
    pub(super) kind: u8,
    /// [`ASK`] or nothing.
    pub(super) flags: u8,
    /// Bytes behind the header; a device may pad the frame.
    pub(super) len: U16,
    /// Over everything, and from and to whom; 0 where the network checks.
    pub(super) check: U32,
    /// The epoch of the job.
    pub(super) epoch: U32,
    /// Data: the sequence number. Report: 0.
    pub(super) number: U32,
    /// Data: a count of transmissions, which distinguishes a frame that is sent again from the first. Report: 0.
    pub(super) stamp: U32,
    /// The next number that the sender of this frame expects; all numbers before it have arrived.
    pub(super) expected: U32,
    /// The highest stamp that the sender of this frame has received, 0 before the first.
    pub(super) echo: U32,
    /// How many numbers from the expected one on the sender of this frame has slots for.
    pub(super) credit: U16,
    pub(super) reserved: U16,
}

const_assert_eq!(size_of::<FrameHeader>(), HEADER_LEN);

/// Bytes of the header.
pub(super) const HEADER_LEN: usize = 32;
const VERSION: u8 = 1 << 4;
pub(super) const DATA: u8 = VERSION | 1;
/// The kind of a report. A [`U64`] behind the header says which numbers above the expected one have arrived.
pub(super) const REPORT: u8 = VERSION | 2;
/// The flag by which a sender requests a report at once.
pub(super) const ASK: u8 = 1;

/// Why a frame is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// It is too short, of another version or kind, or of a peer that does not exist.
    Foreign,
    /// Bytes were damaged or are missing.
    Corrupt,
    /// It belongs to another epoch.
    Stale,
}

impl FrameHeader {
    /// Writes the checksum: the last thing before it leaves.
    pub(super) fn seal(&mut self, way: (Peer, Peer), rest: &[u8]) {
        self.check = U32::ZERO;
        let mut check = self.begin(way);
        check.add(rest);
        self.check = U32::new(check.end());
    }

    /// Reads and verifies a frame that travelled `way`, from and to.
    pub(super) fn read<A: Arrival>(
        frame: &A,
        way: (Peer, Peer),
        epoch: u32,
        checked: bool,
    ) -> Result<FrameHeader, Refusal> {
        let bytes = frame.head(HEADER_LEN).ok_or(Refusal::Foreign)?;
        let mut head = FrameHeader::read_from_bytes(bytes).map_err(|_| Refusal::Foreign)?;
        let whole = frame.len() >= HEADER_LEN + head.len();
        if checked && (!whole || !head.is_intact(frame, way)) {
            return Err(Refusal::Corrupt);
        }
        let report = head.kind == REPORT && head.len() == size_of::<U64>();
        if !whole || !(report || head.kind == DATA) || head.flags & !ASK != 0 {
            return Err(Refusal::Foreign);
        }
        match head.epoch.get() == epoch {
            true => Ok(head),
            false => Err(Refusal::Stale),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len.get().into()
    }

    /// Returns the bitmap of a report.
    pub(super) fn seen<A: Arrival>(&self, frame: &A) -> Option<u64> {
        let whole = frame.head(HEADER_LEN + size_of::<U64>())?;
        let seen = U64::read_from_bytes(&whole[HEADER_LEN..]).ok()?;
        (self.kind == REPORT).then(|| seen.get())
    }

    fn is_intact<A: Arrival>(&mut self, frame: &A, way: (Peer, Peer)) -> bool {
        let told = core::mem::replace(&mut self.check, U32::ZERO);
        let mut check = self.begin(way);
        frame.for_each_chunk(HEADER_LEN, self.len(), |piece| check.add(piece));
        check.end() == told.get()
    }

    /// Peers count although they do not travel: a frame that went astray has the wrong sum.
    fn begin(&self, (from, to): (Peer, Peer)) -> Checksum {
        let mut check = Checksum::new(u64::from(from.0) << 16 | u64::from(to.0));
        check.add(self.as_bytes());
        check
    }
}
