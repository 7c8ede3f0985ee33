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
use super::store_choice::StoreChoice;
#[cfg(target_arch = "x86_64")]
use super::store_choice::Stores;
use super::sync::{AtomicU64, Ordering};
use crate::wait;

/// Where a long frame lies, as its record tells.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Number of bytes before it, since the beginning.
    position: u64,
    /// Its length in bytes.
    len: usize,
}

/// Places begin at multiples of that many bytes: at lines.
const ALIGNMENT: u64 = 64;
/// Bytes before a frame: behind them, the payload of the kernel's frames begins where copies are fast.
const LEAD: usize = 8;

/// The memory.
pub(super) struct LongFrames {
    room: NonNull<u8>,
    /// Its size in bytes, a power of two.
    size: usize,
    /// The position behind the last frame that was read, which the consumer alone writes.
    consumed: NonNull<AtomicU64>,
}

// SAFETY: it is the address of memory that all processes share; the two sides below govern the accesses.
unsafe impl Send for LongFrames {}

impl LongFrames {
    /// # Safety
    /// Both addresses must stay valid as long as the result: a room of `size` initialised bytes, aligned to lines, and
    /// its consumer's position.
    pub(super) unsafe fn new(room: NonNull<u8>, size: usize, consumed: NonNull<AtomicU64>) -> Self {
        assert!(size.is_power_of_two() && size >= 4 * FRAME_LIMIT);
        Self {
            room,
            size,
            consumed,
        }
    }

    fn consumed(&self) -> &AtomicU64 {
        // SAFETY: the address is valid as long as the memory, see `new`.
        unsafe { self.consumed.as_ref() }
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
}

impl LongProducer {
    pub(super) fn new(memory: LongFrames) -> Self {
        Self {
            memory,
            position: 0,
            choice: StoreChoice::new(),
        }
    }

    /// Writes a frame of `len` bytes, at most [`FRAME_LIMIT`], and returns its place. It is there for good once
    /// [`LongProducer::commit`] is told of it.
    pub(super) fn write(&mut self, len: usize, parts: &[Part<'_>]) -> Result<Place, RingError> {
        let to_end = self.memory.size - (self.position as usize & (self.memory.size - 1));
        let gap = if LEAD + len <= to_end { 0 } else { to_end };
        let position = self.position + gap as u64;
        let consumed = self.memory.consumed().load(Ordering::Acquire);
        if consumed > self.position {
            return Err(RingError::Corrupt);
        }
        let place = Place { position, len };
        if place.end() - consumed > self.memory.size as u64 {
            return Err(RingError::Full);
        }
        let room = self.memory.frame(place).ok_or(RingError::Corrupt)?;
        // SAFETY: the bytes lie inside the room, which is initialised; they are free, as the consumer has passed them, and
        // it looks at them again only when it is told of this frame.
        let room = unsafe { core::slice::from_raw_parts_mut(room, len) };
        let (stores, is_timed) = self.choice.next();
        let start = if is_timed { wait::now() } else { 0 };
        match stores {
            #[cfg(target_arch = "x86_64")]
            Stores::Streamed => super::streaming_copy::stream_parts(parts, room),
            _ => copy_parts(parts, room),
        }
        if is_timed {
            self.choice.learn(stores, len, wait::now() - start);
        }
        Ok(place)
    }

    /// Keeps a frame whose record is in the ring.
    pub(super) fn commit(&mut self, place: Place) {
        self.position = place.end();
    }
}

impl Place {
    /// Returns the content of the record: both fields, in native order.
    pub(super) fn record(self) -> [u8; 16] {
        (u128::from(self.position) | (self.len as u128) << 64).to_ne_bytes()
    }

    fn parse(record: &[u8]) -> Option<Place> {
        let fields = u128::from_ne_bytes(record.try_into().ok()?);
        let (position, len) = (fields as u64, (fields >> 64) as usize);
        Some(Place { position, len })
    }

    /// Returns the position behind the frame.
    fn end(self) -> u64 {
        let end = self.position.saturating_add((LEAD + self.len) as u64);
        end.checked_next_multiple_of(ALIGNMENT).unwrap_or(end)
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
        f(unsafe { core::slice::from_raw_parts(frame, place.len) });
        self.0.consumed().store(place.end(), Ordering::Release);
    }
}
