//! What lies where in a segment: a header, a control block per rank, the consumers' positions, the rings, the boards.
//! Used by `Shm` and `Segment` only; a change here needs a new [`VERSION`].
//!
//! The file is sparse: a ring costs memory from its first frame on, so ranks that never talk cost nothing.

use core::mem::{align_of, offset_of, size_of};

use super::answers::Answers;
use super::bell::Bell;
use super::error::ShmError;
use super::ring;
use super::sync::{AtomicU32, AtomicU64};
use crate::courtesy::Penance;

/// First word of every segment: "pomboshm".
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"pomboshm");
/// Counts the layouts, and everything else that all users of a segment must agree on.
pub(super) const VERSION: u64 = 6;

/// The most ranks that one segment takes: more than the cores of a machine, and the rings then span 256 GiB of the 128
/// TiB that a process can address.
pub const MAX_RANKS: usize = 1024;

/// Bytes of a ring, one per ordered pair. Measured with 64 KiB to 1 MiB: all stream equally fast, so the smallest, as
/// every pair that talks for long touches all of its ring.
pub(super) const RING: usize = 64 << 10;
/// Granules of a ring.
pub(super) const GRANULES: usize = RING / ring::GRANULE;
/// The longest frame, in bytes: a quarter of a ring.
pub const FRAME_LIMIT: usize = ring::limit(GRANULES);

/// Words for one bit per processor; ranks on processors beyond do not spin.
pub(super) const CPU_WORDS: usize = 16;

/// One cache line and its neighbour, which processors fetch together: what one rank writes shares none with another.
#[repr(C, align(128))]
pub(super) struct Apart<T>(pub(super) T);

/// Starts the segment. All fields before `epoch` are written by its creator alone, but for the fingerprint.
#[repr(C)]
pub(super) struct Header {
    pub(super) magic: AtomicU64,
    pub(super) version: AtomicU64,
    pub(super) ranks: AtomicU64,
    pub(super) size: AtomicU64,
    /// 1 if all ranks use asymmetric fences.
    pub(super) asymmetric: AtomicU32,
    /// Whole processors' time that the creator's control group grants; 0 without a limit.
    pub(super) quota: AtomicU32,
    /// 0 until a rank brings it, unless the creator did.
    pub(super) fingerprint: AtomicU64,
    /// Where the ranks watch over each other: the space in which the numbers of their processes hold. Else 0.
    pub(super) watched: AtomicU64,
    /// Goes up with every change of a rank's state.
    pub(super) epoch: Apart<AtomicU32>,
    /// Processors that the ranks may run on, all together.
    pub(super) cpus: Apart<[AtomicU64; CPU_WORDS]>,
    /// Whether yields pay, for all ranks.
    pub(super) penance: Apart<Penance>,
}

/// Who a rank is, and how it is.
#[repr(C)]
pub(super) struct Standing {
    /// A `RankState`.
    pub(super) state: AtomicU32,
    /// The process that has it where ranks watch over each other, by the number that holds in their space; else 0.
    pub(super) watched: AtomicU32,
    /// If it ended because of another rank, one more than that one's number; else 0.
    pub(super) blamed: AtomicU32,
    /// The process that has it, by the number that it has for itself: only that one's memory is read as this rank's.
    pub(super) process: AtomicU32,
}

/// One rank's own part of the segment.
#[repr(C)]
pub(super) struct Control {
    /// Written by whoever takes the rank, watches it, or finds it dead.
    pub(super) standing: Apart<Standing>,
    /// Whether the rank sleeps.
    pub(super) bell: Apart<Bell>,
    /// One bit per peer that ever sent to this rank: the others' rings are not looked at.
    pub(super) heard: Apart<[AtomicU64; MAX_RANKS / 64]>,
}

/// A consumer's position, and what it answered to offers, alone in their line.
#[repr(C, align(64))]
pub(super) struct Taken {
    pub(super) position: AtomicU64,
    pub(super) answers: Answers,
}

/// Areas for boards: as many groups of ranks may have them at a time.
pub(super) const AREAS: usize = 16;
/// Places of a board.
pub(super) const PLACES: usize = 32;
/// Chunks of a board, for texts that are too long for a place.
pub(super) const CHUNKS: usize = 8;
/// Bytes of a chunk.
pub(super) const CHUNK: usize = 32 << 10;
/// Bytes of a text in a place.
pub(super) const SHORT: usize = size_of::<Apart<u8>>() - 2 * size_of::<u64>();

/// One place of a board: two lines. The text, of which only addresses are ever taken, follows the words.
pub(super) type Place = Apart<[AtomicU64; 2]>;

/// A board without its chunks.
#[repr(C)]
pub(super) struct Lines {
    pub(super) passed: Apart<AtomicU64>,
    pub(super) places: [Place; PLACES],
}

/// The first words of a header, up to its size.
pub(super) type Start = [[u8; 8]; 4];

const PAGE: usize = 4096;

/// Offsets in a segment for that many ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    ranks: usize,
}

impl Layout {
    pub(super) fn new(ranks: usize) -> Result<Self, ShmError> {
        if (1..=MAX_RANKS).contains(&ranks) {
            Ok(Self { ranks })
        } else {
            Err(ShmError::Ranks { ranks })
        }
    }

    /// The layout that a file of this size states in its first words.
    pub(super) fn read(start: Start, size: usize) -> Result<Self, ShmError> {
        let [magic, version, ranks, stated] = start.map(u64::from_ne_bytes);
        if magic != MAGIC {
            return Err(ShmError::NotASegment);
        }
        if version != VERSION {
            let (ours, theirs) = (VERSION, version);
            return Err(ShmError::Version { ours, theirs });
        }
        match Self::new(usize::try_from(ranks).unwrap_or(0)) {
            Ok(layout) if layout.size() == size && stated == size as u64 => Ok(layout),
            _ => Err(ShmError::NotASegment),
        }
    }

    pub(super) fn ranks(self) -> usize {
        self.ranks
    }

    pub(super) fn size(self) -> usize {
        self.chunks(AREAS, 0)
    }

    pub(super) fn control(self, rank: usize) -> usize {
        CONTROLS + rank * size_of::<Control>()
    }

    /// A consumer's positions lie together: it alone writes them.
    pub(super) fn taken(self, from: usize, to: usize) -> usize {
        self.takens() + self.pair(from, to) * size_of::<Taken>()
    }

    pub(super) fn ring(self, from: usize, to: usize) -> usize {
        self.rings() + self.pair(from, to) * RING
    }

    /// A rank's places on its board in an area; the boards of an area lie together.
    pub(super) fn board(self, area: usize, rank: usize) -> usize {
        let rings = self.rings() + self.ranks * self.ranks * RING;
        rings + (area * self.ranks + rank) * size_of::<Lines>()
    }

    /// A rank's chunks in an area.
    pub(super) fn chunks(self, area: usize, rank: usize) -> usize {
        let boards = self.board(AREAS, 0).next_multiple_of(PAGE);
        boards + (area * self.ranks + rank) * CHUNKS * CHUNK
    }

    fn pair(self, from: usize, to: usize) -> usize {
        to * self.ranks + from
    }

    fn takens(self) -> usize {
        self.control(self.ranks).next_multiple_of(PAGE)
    }

    fn rings(self) -> usize {
        let takens = self.ranks * self.ranks * size_of::<Taken>();
        (self.takens() + takens).next_multiple_of(PAGE)
    }
}

const CONTROLS: usize = size_of::<Header>().next_multiple_of(size_of::<Apart<u8>>());

/// Programs that were built apart share a segment: all of this is the same in each of them, or its [`VERSION`] is not.
const _: () = {
    assert!(size_of::<Apart<u8>>() == 128 && align_of::<Apart<u8>>() == 128);
    assert!(size_of::<Penance>() == 8 && size_of::<Answers>() == 8 && size_of::<Bell>() == 64);
    assert!(offset_of!(Header, magic) == 0 && offset_of!(Header, version) == 8);
    assert!(offset_of!(Header, ranks) == 16 && offset_of!(Header, size) == 24);
    assert!(offset_of!(Header, asymmetric) == 32 && offset_of!(Header, quota) == 36);
    assert!(offset_of!(Header, fingerprint) == 40 && offset_of!(Header, watched) == 48);
    assert!(offset_of!(Header, epoch) == 128 && offset_of!(Header, cpus) == 256);
    assert!(offset_of!(Header, penance) == 384 && size_of::<Header>() == 512);
    assert!(offset_of!(Standing, state) == 0 && offset_of!(Standing, watched) == 4);
    assert!(offset_of!(Standing, blamed) == 8 && offset_of!(Standing, process) == 12);
    assert!(offset_of!(Control, standing) == 0 && offset_of!(Control, bell) == 128);
    assert!(offset_of!(Control, heard) == 256 && size_of::<Control>() == 384);
    assert!(offset_of!(Taken, position) == 0 && offset_of!(Taken, answers) == 8);
    assert!(size_of::<Taken>() == 64 && size_of::<Place>() == 128);
    assert!(offset_of!(Lines, passed) == 0 && offset_of!(Lines, places) == 128);
    assert!(size_of::<Lines>() == 128 * (1 + PLACES));
};

const _: () = {
    assert!(offset_of!(Header, size) == size_of::<Start>() - 8);
    assert!(CONTROLS <= PAGE && size_of::<Control>().is_multiple_of(128));
    assert!(RING.is_power_of_two() && RING.is_multiple_of(PAGE));
    assert!(CHUNK.is_multiple_of(PAGE) && PLACES.is_multiple_of(CHUNKS) && SHORT < CHUNK);
    assert!(FRAME_LIMIT >= pombo_kernel::channel::MIN_LIMIT);
};
