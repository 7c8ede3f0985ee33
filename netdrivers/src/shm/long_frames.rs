//! Room for the long frames of an ordered pair of ranks, beside their ring. Only `Connection` uses it.
//!
//! A record in the ring tells where such a frame lies, so the frames leave in the order of the ring. The room is larger
//! than a processor's own cache where few ranks share the segment: then its lines have left the reader's cache when they
//! are written again, and need not be fetched from there.
//!
//! Both sides check what they read: whatever the memory contains, no access leaves it and nothing panics.

use core::ptr::NonNull;

use pombo_kernel::memory::Part;

use super::layout::FRAME_LIMIT;
use super::ring::{RingError, copy_parts};
use super::store_choice::{StoreChoice, Stores};
use super::sync::{AtomicU64, Ordering};
use crate::wait;

/// Where a long frame lies, as its record tells.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Number of bytes before it, since the beginning.
    position: u64,
    /// Its length in bytes.
    len: usize,
    /// Whether the consumer is to tell how long it reads the frame.
    is_timed: bool,
}

/// What the consumer writes.
#[repr(C)]
#[derive(Default)]
pub(super) struct LongCursor {
    /// The position behind the last frame that was read.
    pub(super) position: AtomicU64,
    /// The position of the last frame that was to be timed.
    pub(super) timed: AtomicU64,
    /// When the consumer began to read it and when it ended, in nanoseconds.
    pub(super) began: AtomicU64,
    pub(super) ended: AtomicU64,
}

/// A frame whose reading is to be timed.
#[derive(Clone, Copy)]
struct TimedFrame {
    place: Place,
    stores: Stores,
    /// When writing it began and ended, in nanoseconds.
    began: u64,
    ended: u64,
    /// Whether the consumer had read everything before, so that it waits for the frame.
    is_awaited: bool,
}

/// Places begin at multiples of that many bytes: at lines.
const ALIGNMENT: u64 = 64;
/// Bytes before a frame: behind them, the payload of the kernel's frames begins where copies are fast.
const LEAD: usize = 8;
/// The bit of a record's length that asks for the time.
const TIMED: u64 = 1 << 63;

/// The memory.
pub(super) struct LongFrames {
    room: NonNull<u8>,
    /// Its size in bytes, a power of two.
    size: usize,
    cursor: NonNull<LongCursor>,
}

// SAFETY: it is the address of memory that all processes share; the two sides below govern the accesses.
unsafe impl Send for LongFrames {}

impl LongFrames {
    /// # Safety
    /// Both addresses must stay valid as long as the result: a room of `size` initialised bytes, aligned to lines, and
    /// its consumer's cursor.
    pub(super) unsafe fn new(room: NonNull<u8>, size: usize, cursor: NonNull<LongCursor>) -> Self {
        assert!(size.is_power_of_two() && size >= 4 * FRAME_LIMIT);
        Self { room, size, cursor }
    }

    fn cursor(&self) -> &LongCursor {
        // SAFETY: the address is valid as long as the memory, see `new`.
        unsafe { self.cursor.as_ref() }
    }

    /// Returns the address of a frame that lies inside.
    fn frame(&self, place: Place) -> Option<*mut u8> {
        let start = (place.position as usize & (self.size - 1)) + LEAD;
        let fits = place.len <= FRAME_LIMIT && start + place.len <= self.size;
        // SAFETY: the offset lies inside the room, as was just checked.
        fits.then(|| unsafe { self.room.add(start).as_ptr() })
    }
}

/// The side that writes.
pub(super) struct LongProducer {
    memory: LongFrames,
    position: u64,
    choice: StoreChoice,
    /// The frame that was written last and is not committed, if it is to be timed.
    written: Option<TimedFrame>,
    /// The committed frame whose time the consumer has not told yet.
    timed: Option<TimedFrame>,
}

impl LongProducer {
    pub(super) fn new(memory: LongFrames) -> Self {
        Self {
            memory,
            position: 0,
            choice: StoreChoice::new(),
            written: None,
            timed: None,
        }
    }

    /// Writes a frame of `len` bytes, at most [`FRAME_LIMIT`], and returns its place. It is there for good once
    /// [`LongProducer::commit`] is told of it.
    pub(super) fn write(&mut self, len: usize, parts: &[Part<'_>]) -> Result<Place, RingError> {
        let to_end = self.memory.size - (self.position as usize & (self.memory.size - 1));
        let gap = if LEAD + len <= to_end { 0 } else { to_end };
        let position = self.position + gap as u64;
        let cursor = self.memory.cursor();
        let consumed = cursor.position.load(Ordering::Acquire);
        if consumed > self.position {
            return Err(RingError::Corrupt);
        }
        if let Some(frame) = self.timed
            && let Some(time) = frame.time(cursor)
        {
            self.choice.learn(frame.stores, frame.place.len, time);
            self.timed = None;
        }
        let (stores, is_timed) = self.choice.next();
        let place = Place {
            position,
            len,
            is_timed: is_timed && self.timed.is_none(),
        };
        if place.end() - consumed > self.memory.size as u64 {
            return Err(RingError::Full);
        }
        let room = self.memory.frame(place).ok_or(RingError::Corrupt)?;
        // SAFETY: the bytes lie inside the room, which is initialised; they are free, as the consumer has passed them, and
        // it looks at them again only when it is told of this frame.
        let room = unsafe { core::slice::from_raw_parts_mut(room, len) };
        let began = place.is_timed.then(wait::now);
        match stores {
            #[cfg(target_arch = "x86_64")]
            Stores::Streamed => super::streaming_copy::stream_parts(parts, room),
            _ => copy_parts(parts, room),
        }
        self.written = began.map(|began| TimedFrame {
            place,
            stores,
            began,
            ended: wait::now(),
            is_awaited: consumed == self.position,
        });
        Ok(place)
    }

    /// Keeps a frame whose record is in the ring.
    pub(super) fn commit(&mut self, place: Place) {
        self.position = place.end();
        self.timed = self.written.take().or(self.timed);
    }
}

impl Place {
    /// Returns the content of the record: both fields, in native order.
    pub(super) fn record(self) -> [u8; 16] {
        let len = self.len as u64 | if self.is_timed { TIMED } else { 0 };
        (u128::from(self.position) | u128::from(len) << 64).to_ne_bytes()
    }

    fn parse(record: &[u8]) -> Option<Place> {
        let fields = u128::from_ne_bytes(record.try_into().ok()?);
        let (position, len) = (fields as u64, (fields >> 64) as u64);
        Some(Place {
            position,
            len: (len & !TIMED) as usize,
            is_timed: len & TIMED != 0,
        })
    }

    /// Returns the position behind the frame.
    fn end(self) -> u64 {
        let end = self.position.saturating_add((LEAD + self.len) as u64);
        end.checked_next_multiple_of(ALIGNMENT).unwrap_or(end)
    }
}

impl TimedFrame {
    /// Returns the nanoseconds that the frame cost, if the consumer has read it: all from the beginning of its writing to
    /// the end of its reading where the consumer waited for it, else those of the side that took longer, as both work
    /// beside each other.
    fn time(&self, cursor: &LongCursor) -> Option<u64> {
        if cursor.timed.load(Ordering::Relaxed) != self.place.position {
            return None;
        }
        let (began, ended) = (&cursor.began, &cursor.ended);
        let (began, ended) = (began.load(Ordering::Relaxed), ended.load(Ordering::Relaxed));
        Some(match self.is_awaited {
            true => ended.saturating_sub(self.began),
            false => ended.saturating_sub(began).max(self.ended - self.began),
        })
    }
}

/// The side that reads.
pub(super) struct LongConsumer(LongFrames);

impl LongConsumer {
    pub(super) fn new(memory: LongFrames) -> Self {
        Self(memory)
    }

    /// Passes the frame that a record describes to `f`, and frees its room afterwards. The frame is empty if the record
    /// is not valid.
    pub(super) fn take(&self, record: &[u8], f: impl FnOnce(&[u8])) {
        let place = Place::parse(record);
        let Some((place, frame)) = place.and_then(|it| Some((it, self.0.frame(it)?))) else {
            return f(&[]);
        };
        // SAFETY: the bytes lie inside the room, which is initialised; their producer does not touch them before the
        // position below has passed them.
        let frame = unsafe { core::slice::from_raw_parts(frame, place.len) };
        let cursor = self.0.cursor();
        if place.is_timed {
            let began = wait::now();
            f(frame);
            cursor.timed.store(place.position, Ordering::Relaxed);
            cursor.began.store(began, Ordering::Relaxed);
            cursor.ended.store(wait::now(), Ordering::Relaxed);
        } else {
            f(frame);
        }
        cursor.position.store(place.end(), Ordering::Release);
    }
}
