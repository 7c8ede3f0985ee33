//! The layout of a segment: a header, a control block per rank, the consumers' positions, the rings, the boards, the
//! answers to questions, the cells of long frames, the mail lines. Only `Shm` and `Segment` use it; a change here needs a new [`VERSION`].
//!
//! The file is sparse: a ring occupies memory from its first frame on, so pairs of ranks that never communicate cost
//! nothing.

use super::returned_cells::Returned;
use crate::tuning::{LONG_FRAMES_OF_HOST, LONG_FRAMES_OF_RANK, MAIL};
use core::mem::{align_of, offset_of, size_of};
use core::ops::RangeInclusive;

use super::error::ShmError;
use super::event_count::EventCount;
use super::read_acks::ReadAcks;
use super::ring;
use super::sync::{AtomicU32, AtomicU64};
use crate::wait::yield_policy::YieldBackoff;
use static_assertions::{const_assert, const_assert_eq};

/// The first word of every segment: "pomboshm".
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"pomboshm");
/// The same of a machine with the other byte order.
const FOREIGN_MAGIC: u64 = MAGIC.swap_bytes();
/// The version of the layout and of everything else that all users of a segment must agree on.
pub(super) const VERSION: u64 = 21;

/// The largest number of ranks of a segment: more than the cores of a machine, and the rings then span 128 GiB of the
/// 128 TiB that a process can address.
pub const MAX_RANKS: usize = 1024;

/// Size in bytes of a ring, one per ordered pair. It holds short frames, and long ones of ranks that
/// share processors or that find no cell free.
pub(super) const RING: usize = 64 << 10;
/// Number of granules of a ring.
pub(super) const GRANULES: usize = RING / ring::GRANULE;
/// Number of cells for long frames where many ranks share a host: enough for some messages to be under way.
pub(super) const FEWEST_CELLS: usize = 8;
/// The longest frame, in bytes: a quarter of a ring.
pub const FRAME_LIMIT: usize = ring::limit(GRANULES);

/// Size of a cache line in bytes.
pub(super) const LINE: usize = 64;

/// Size of a cell in bytes: before a frame is some room, so that its payload begins where copies are fast.
pub(super) const CELL: usize = FRAME_LIMIT + 8;

/// Number of words for one bit per processor; ranks on processors beyond do not spin.
pub(super) const CPU_WORDS: usize = 16;

/// A cache line and its neighbour, which processors fetch together: data that different ranks write must not share
/// them.
#[repr(C, align(128))]
pub(super) struct CachePadded<T>(pub(super) T);

/// The header of a segment. All fields before `epoch` are written by its creator alone, except the fingerprint.
#[repr(C)]
pub(super) struct Header {
    pub(super) magic: AtomicU64,
    pub(super) version: AtomicU64,
    pub(super) ranks: AtomicU64,
    pub(super) size: AtomicU64,
    /// 1 if all ranks use asymmetric fences.
    pub(super) asymmetric: AtomicU32,
    /// Number of whole processors that the creator's control group grants; 0: no limit.
    pub(super) quota: AtomicU32,
    /// The fingerprint of the composition; 0 until a rank sets it, unless the creator did.
    pub(super) fingerprint: AtomicU64,
    /// The PID namespace of the ranks' processes, if they monitor each other; otherwise 0.
    pub(super) pid_namespace: AtomicU64,
    /// The longest frame in bytes; 0: [`FRAME_LIMIT`].
    pub(super) frame_limit: AtomicU32,
    /// The bytes of a processor's second cache on the creator's machine.
    pub(super) second_level: AtomicU32,
    /// A counter that every change of a rank's state increments.
    pub(super) epoch: CachePadded<AtomicU32>,
    /// The union of the processors that the ranks may run on.
    pub(super) cpus: CachePadded<[AtomicU64; CPU_WORDS]>,
    /// The backoff of all ranks from yields that do not pay.
    pub(super) backoff: CachePadded<YieldBackoff>,
    /// The number of the last question to all ranks.
    pub(super) question: CachePadded<AtomicU32>,
}

/// The processes and the state of a rank.
#[repr(C)]
pub(super) struct RankStatus {
    /// A `RankState`.
    pub(super) state: AtomicU32,
    /// The rank's process in the PID namespace of the monitoring ranks; otherwise 0.
    pub(super) monitored_pid: AtomicU32,
    /// One more than the rank because of which this one ended; otherwise 0.
    pub(super) root_cause: AtomicU32,
    /// The PID of the rank's process in its own namespace: only that process' memory is read as this rank's.
    pub(super) own_pid: AtomicU32,
    /// One more than the rank's number in its job, which may span hosts; 0 if it is that in the segment.
    pub(super) job_rank: AtomicU32,
}

/// The control block of a rank.
#[repr(C)]
pub(super) struct Control {
    /// The status, written by whoever claims the rank, monitors it, or finds it dead.
    pub(super) status: CachePadded<RankStatus>,
    /// The event count on which the rank sleeps.
    pub(super) event_count: CachePadded<EventCount>,
    /// One bit per peer that ever sent to this rank: the rings of others are not polled.
    pub(super) senders: CachePadded<[AtomicU64; MAX_RANKS / 64]>,
}

/// A consumer's position and its acknowledgements of exposed memory, alone in their line.
#[repr(C, align(64))]
pub(super) struct ConsumerCursor {
    pub(super) position: AtomicU64,
    pub(super) acks: ReadAcks,
    pub(super) long: LongCursor,
}

/// What the consumer of one rank's frames writes.
#[repr(C)]
#[derive(Default)]
pub(super) struct LongCursor {
    /// Number of frames read.
    pub(super) read: AtomicU64,
    /// When the consumer began to read the last frame that was to be timed and when it ended, in nanoseconds.
    pub(super) began: AtomicU64,
    pub(super) ended: AtomicU64,
    /// The cells of frames that it was given and has returned.
    pub(super) returned: Returned,
}

/// Number of regions for boards, and of groups that may use them at a time.
pub(super) const REGIONS: usize = 16;
/// Number of slots of a board.
pub(super) const SLOTS: usize = 32;
/// Size in bytes of the longest payload.
pub(super) const MAX_PAYLOAD: usize = 64 << 10;
/// Number of rounds for which a board has room for the longest payloads, at least.
pub(super) const LONGEST_AHEAD: usize = 8;
/// Bytes of a board behind its slots: the fewest, with one more payload than those ahead, as none lies in two pieces; and the
/// most.
const BOARD: RangeInclusive<usize> = SLOTS * PAGE + (LONGEST_AHEAD + 1) * MAX_PAYLOAD..=8 << 20;
/// Most bytes of all boards of a region without their cells, as long as each has the fewest.
const BOARDS_OF_REGION: usize = 16 << 20;
/// Bytes of a board's cells.
pub(super) const BOARD_CELLS: usize = LONGEST_AHEAD * MAX_PAYLOAD;
/// Largest size in bytes of a payload in a slot.
pub(super) const INLINE: usize = size_of::<CachePadded<u8>>() - 3 * size_of::<u64>();

/// One slot of a board: two lines. The payload, of which only the address is ever taken, follows the words.
pub(super) type BoardSlot = CachePadded<[AtomicU64; 3]>;

/// A board without what lies behind its slots.
#[repr(C)]
pub(super) struct BoardSlots {
    pub(super) released: CachePadded<AtomicU64>,
    /// The number below which all groups begin that the rank has left, and the nanoseconds that all others have spent on
    /// reading the last payload that was to be timed.
    pub(super) rare: CachePadded<[AtomicU64; 2]>,
    pub(super) slots: [BoardSlot; SLOTS],
}

/// Number of words of an answer's text.
pub(super) const ANSWER_WORDS: usize = 511;

/// A rank's answer to a question: see `questions`.
#[repr(C)]
pub(super) struct Answer {
    /// The number of the question; 0 while the rank writes.
    pub(super) answered: AtomicU32,
    /// Size of the text in bytes.
    pub(super) len: AtomicU32,
    pub(super) words: [AtomicU64; ANSWER_WORDS],
}

/// The first words of a header, up to its size.
pub(super) type Start = [[u8; 8]; 4];

pub(super) const PAGE: usize = 4096;

/// The offsets in a segment for that many ranks.
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

    /// Reads the layout of a file of this size from its first words.
    pub(super) fn read(start: Start, size: usize) -> Result<Self, ShmError> {
        let [magic, version, ranks, stated] = start.map(u64::from_ne_bytes);
        match magic {
            MAGIC => {}
            FOREIGN_MAGIC => return Err(ShmError::ByteOrder),
            _ => return Err(ShmError::NotASegment),
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
        self.mail(0, self.ranks)
    }

    pub(super) fn control(self, rank: usize) -> usize {
        CONTROLS + rank * size_of::<Control>()
    }

    /// Returns the offset of a cursor. Those of one consumer are adjacent, as it alone writes them; a line is free before
    /// those of the next one, as processors fetch the lines beside one that they miss.
    pub(super) fn cursor(self, from: usize, to: usize) -> usize {
        self.cursors() + (to * (self.ranks + 1) + from) * size_of::<ConsumerCursor>()
    }

    pub(super) fn ring(self, from: usize, to: usize) -> usize {
        self.rings() + self.pair(from, to) * RING
    }

    /// Returns the offset of a rank's slots in a region; the boards of a region are adjacent.
    pub(super) fn board(self, region: usize, rank: usize) -> usize {
        let rings = self.rings() + self.ranks * self.ranks * RING;
        rings + (region * self.ranks + rank) * size_of::<BoardSlots>()
    }

    /// Returns the offset of what a rank's board has behind its slots in a region.
    pub(super) fn behind_slots(self, region: usize, rank: usize) -> usize {
        let boards = self.board(REGIONS, 0).next_multiple_of(PAGE);
        boards + (region * self.ranks + rank) * (self.share(BOARDS_OF_REGION) + BOARD_CELLS)
    }

    /// Returns the bytes of a board behind its slots that are used, where a processor's second cache has that many. All
    /// boards together have four times as many, as long as each has the fewest: then their lines have left the caches of writer and readers when they
    /// are written again, and the third cache answers sooner than another processor.
    pub(super) fn board_bytes(self, second_level: usize) -> usize {
        self.share(BOARDS_OF_REGION)
            .min(self.share(second_level.saturating_mul(4)))
    }

    /// Returns each board's share of so many bytes, whole pages; the fewest of a rank that is alone, which has no readers.
    fn share(self, bytes: usize) -> usize {
        let share = match self.ranks {
            1 => 0,
            ranks => bytes / ranks / PAGE * PAGE,
        };
        share.clamp(*BOARD.start(), *BOARD.end())
    }

    pub(super) fn answer(self, rank: usize) -> usize {
        self.behind_slots(REGIONS, 0) + rank * size_of::<Answer>()
    }

    /// Returns the offset of the cells in which a rank's long frames lie.
    pub(super) fn cells(self, rank: usize) -> usize {
        let answers = self.answer(self.ranks).next_multiple_of(PAGE);
        answers + rank * usize::from(self.long_cells()) * CELL
    }

    /// Returns the number of these cells of each rank, which uses as many of them as pay; of one that is alone, the fewest.
    pub(super) fn long_cells(self) -> u16 {
        let bytes = match self.ranks {
            1 => 0,
            ranks => LONG_FRAMES_OF_RANK.min(LONG_FRAMES_OF_HOST / ranks),
        };
        (bytes / CELL).max(FEWEST_CELLS) as u16
    }

    /// Returns the offset of the mail line of a pair, whose ranks come in order.
    pub(super) fn mail(self, lower: usize, upper: usize) -> usize {
        let number = upper * (upper + 1) / 2 + lower;
        self.cells(self.ranks) + number * MAIL
    }

    fn pair(self, from: usize, to: usize) -> usize {
        to * self.ranks + from
    }

    fn cursors(self) -> usize {
        self.control(self.ranks).next_multiple_of(PAGE)
    }

    fn rings(self) -> usize {
        let cursors = self.ranks * (self.ranks + 1) * size_of::<ConsumerCursor>();
        (self.cursors() + cursors).next_multiple_of(PAGE)
    }
}

const CONTROLS: usize = size_of::<Header>().next_multiple_of(size_of::<CachePadded<u8>>());

/// Asserts sizes and offsets. Programs that were built separately share a segment: the layout must be equal in all of
/// them, or its [`VERSION`] must differ.
macro_rules! layout {
    ($type:ty = $size:expr, { $($field:ident: $offset:literal),* }) => {
        const_assert_eq!(size_of::<$type>(), $size);
        $(const_assert_eq!(offset_of!($type, $field), $offset);)*
    };
}

layout!(Header = 640, {
    magic: 0, version: 8, ranks: 16, size: 24, asymmetric: 32, quota: 36, fingerprint: 40, pid_namespace: 48,
    frame_limit: 56, second_level: 60, epoch: 128, cpus: 256, backoff: 384, question: 512
});
layout!(RankStatus = 20, { state: 0, monitored_pid: 4, root_cause: 8, own_pid: 12, job_rank: 16 });
layout!(Control = 384, { status: 0, event_count: 128, senders: 256 });
layout!(ConsumerCursor = 64, { position: 0, acks: 8, long: 16 });
layout!(LongCursor = 48, { read: 0, began: 8, ended: 16, returned: 24 });
layout!(BoardSlots = 128 * (2 + SLOTS), { released: 0, rare: 128, slots: 256 });
layout!(BoardSlot = 128, {});
layout!(Answer = 4096, { answered: 0, len: 4, words: 8 });
layout!(YieldBackoff = 8, {});
layout!(ReadAcks = 8, {});
layout!(EventCount = 64, {});
layout!(CachePadded<u8> = 128, {});
const_assert_eq!(align_of::<CachePadded<u8>>(), 128);

const_assert_eq!(offset_of!(Header, size), size_of::<Start>() - 8);
const_assert!(CONTROLS <= PAGE && size_of::<Control>().is_multiple_of(128));
const_assert!(MAIL.is_multiple_of(size_of::<CachePadded<u8>>()) && GRANULES <= ring::MAX_GRANULES);
const_assert!(RING.is_power_of_two() && RING.is_multiple_of(PAGE));
const_assert!(CELL.is_multiple_of(LINE) && LONG_FRAMES_OF_RANK / CELL <= u16::MAX as usize);
const_assert!(BOARD.start().is_multiple_of(PAGE) && INLINE < PAGE && PAGE < MAX_PAYLOAD);
const_assert!(MAX_PAYLOAD.is_multiple_of(LINE));
const_assert!(FRAME_LIMIT >= pombo_kernel::channel::MIN_LIMIT);
