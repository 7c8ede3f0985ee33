//! Memory for the long frames of a rank, beside the rings: cells that it alone writes. Only `Connection` and `Shm` use it.
//!
//! A record in the ring tells in which cell such a frame lies, so the frames leave in the order of the ring. A cell is free
//! again once its frame is read, for frames to any rank: so a rank that communicates with few has much room for each, and
//! one that communicates with all has not more memory. Cells are used in turn, and they are more than a processor's own
//! cache holds: then their lines have left the reader's cache when they are written again, and need not be fetched from
//! there. It depends on the machine how many that takes, so each rank decides how many of its cells it uses.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | unread frames to one rank | `FreeCells::most` | the sender waits, as where a ring is full |
//! | cells of a rank | [`Layout::long_cells`](super::layout::Layout::long_cells) | the frame goes through the ring |
//!
//! Both sides check what they read: whatever the memory contains, no access leaves it and nothing panics.

use alloc::collections::VecDeque;
use core::ptr::NonNull;

use pombo_kernel::memory::Part;

use super::layout::{CELL, FEWEST_CELLS, FRAME_LIMIT, LEAD, LongCursor};
use super::ring::{RingError, copy_parts};
use super::store_choice::{StoreChoice, Stores};
use super::sync::Ordering;
use crate::wait;

/// Where a long frame lies, as its record tells.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The number of its cell.
    cell: u16,
    /// Whether the consumer is to tell how long it reads the frame.
    is_timed: bool,
    /// Its length in bytes.
    len: usize,
}

/// The address of a cursor.
#[derive(Clone, Copy)]
pub(super) struct CursorAddress(NonNull<LongCursor>);

// SAFETY: the memory is that of all processes, and only its atomics are used.
unsafe impl Send for CursorAddress {}

impl CursorAddress {
    /// # Safety
    /// The address must stay valid as long as the result.
    pub(super) unsafe fn new(cursor: NonNull<LongCursor>) -> Self {
        Self(cursor)
    }

    fn get(&self) -> &LongCursor {
        // SAFETY: it is valid as long as this, see `new`.
        unsafe { self.0.as_ref() }
    }
}

/// A frame whose reading is to be timed.
#[derive(Clone, Copy)]
struct TimedFrame {
    /// One more than the number of frames before it.
    number: u64,
    len: usize,
    stores: Stores,
    /// When writing it began and ended, in nanoseconds.
    began: u64,
    ended: u64,
    /// Whether the consumer had read everything before, so that it waits for the frame.
    is_awaited: bool,
}

/// The cells of a rank.
#[derive(Clone, Copy)]
pub(super) struct LongCells {
    memory: NonNull<u8>,
    count: u16,
}

// SAFETY: it is the address of memory that all processes share; the sides below govern the accesses.
unsafe impl Send for LongCells {}

impl LongCells {
    /// # Safety
    /// The address must stay valid as long as the result: `count` cells of [`CELL`] initialised bytes.
    pub(super) unsafe fn new(memory: NonNull<u8>, count: u16) -> Self {
        Self { memory, count }
    }

    /// Returns the address of a frame that lies inside.
    fn frame(self, place: Place) -> Option<*mut u8> {
        let fits = place.cell < self.count && place.len <= FRAME_LIMIT;
        let start = usize::from(place.cell) * CELL + LEAD;
        // SAFETY: the offset lies inside the cells, as was just checked.
        fits.then(|| unsafe { self.memory.add(start).as_ptr() })
    }
}

/// The side that writes: a rank's cells, of which each is free or in one [`LongProducer`].
pub(super) struct FreeCells {
    cells: LongCells,
    free: VecDeque<u16>,
    /// Most unread frames to one rank.
    most: usize,
}

impl FreeCells {
    /// Takes the cells of a rank that has `peers` others, and uses as many of them as `bytes` bytes are.
    pub(super) fn new(cells: LongCells, bytes: usize, peers: usize) -> Self {
        let count = usize::from(cells.count).min(bytes.div_ceil(CELL).max(FEWEST_CELLS));
        Self {
            cells,
            free: (0..count as u16).collect(),
            most: if peers > 1 { count / 2 } else { count },
        }
    }
}

/// The frames to one rank.
pub(super) struct LongProducer {
    cursor: CursorAddress,
    /// The cells of frames that are not known to be read, in order.
    unread: VecDeque<u16>,
    /// Number of frames before these.
    read: u64,
    choice: StoreChoice,
    /// How the next frame is written, and whether it may be timed.
    next: Option<(Stores, bool)>,
    /// The frame that was written last and is not committed, if it is to be timed.
    written: Option<TimedFrame>,
    /// The committed frame whose time the consumer has not told yet.
    timed: Option<TimedFrame>,
}

impl LongProducer {
    pub(super) fn new(cursor: CursorAddress) -> Self {
        Self {
            cursor,
            unread: VecDeque::new(),
            read: 0,
            choice: StoreChoice::new(),
            next: None,
            written: None,
            timed: None,
        }
    }

    /// Decides how the next frame is written, and returns whether [`LongProducer::reclaim`] is due before. That fetches
    /// the line of the consumer's cursor from its cache, so it is not due as long as there are cells and no times to learn.
    pub(super) fn prepare(&mut self, free: &FreeCells) -> bool {
        let (_, may_be_timed) = *self.next.get_or_insert_with(|| self.choice.next());
        let are_few = self.unread.len() >= free.most / 2 || free.free.is_empty();
        are_few || may_be_timed
    }

    /// Returns the time, in nanoseconds, if there are times to learn.
    pub(super) fn clock(&self) -> Option<u64> {
        self.timed.is_some().then(wait::now)
    }

    /// Frees the cells of frames that the consumer has read, and learns what a timed one cost. `began` is when the look at
    /// the line of the consumer's cursor began, if it was not looked at before.
    pub(super) fn reclaim(
        &mut self,
        free: &mut FreeCells,
        began: Option<u64>,
    ) -> Result<(), RingError> {
        let read = self.cursor.get().read.load(Ordering::Acquire);
        let count = read.checked_sub(self.read).ok_or(RingError::Corrupt)? as usize;
        if count > self.unread.len() {
            return Err(RingError::Corrupt);
        }
        if let Some(began) = began.filter(|_| count > 0) {
            self.choice
                .learn_distance(wait::now().saturating_sub(began));
        }
        free.free.extend(self.unread.drain(..count));
        self.read = read;
        if let Some(frame) = self.timed.take_if(|frame| read >= frame.number) {
            let time = frame.time(self.cursor.get());
            self.choice
                .learn(frame.stores, frame.is_awaited, frame.len, time);
        }
        Ok(())
    }

    /// Returns whether it has cells.
    pub(super) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Frees all cells: the consumer has gone.
    pub(super) fn reclaim_all(&mut self, free: &mut FreeCells) {
        self.read += self.unread.len() as u64;
        free.free.extend(self.unread.drain(..));
    }

    /// Writes a frame of `len` bytes, at most [`FRAME_LIMIT`], and returns its place; `None` if no cell is free. It is
    /// there for good once [`LongProducer::commit`] is told of it.
    pub(super) fn write(
        &mut self,
        free: &FreeCells,
        len: usize,
        parts: &[Part<'_>],
    ) -> Result<Option<Place>, RingError> {
        if self.unread.len() >= free.most {
            return Err(RingError::Full);
        }
        let Some(&cell) = free.free.front() else {
            return Ok(None);
        };
        let (stores, may_be_timed) = self.next.unwrap_or((Stores::Cached, false));
        let is_timed = may_be_timed && self.timed.is_none();
        let place = Place {
            cell,
            is_timed,
            len,
        };
        let room = free.cells.frame(place).ok_or(RingError::Corrupt)?;
        // SAFETY: the bytes lie inside the cell, which is initialised; it is free, as its last consumer has passed it, and
        // nobody looks at it again before being told of this frame.
        let room = unsafe { core::slice::from_raw_parts_mut(room, len) };
        let began = is_timed.then(wait::now);
        match stores {
            #[cfg(target_arch = "x86_64")]
            Stores::Streamed => super::streaming_copy::stream_parts(parts, room),
            _ => copy_parts(parts, room),
        }
        self.written = began.map(|began| TimedFrame {
            number: self.read + self.unread.len() as u64 + 1,
            len,
            stores,
            began,
            ended: wait::now(),
            is_awaited: self.unread.is_empty(),
        });
        Ok(Some(place))
    }

    /// Keeps the frame that was written last, whose record is in the ring.
    pub(super) fn commit(&mut self, free: &mut FreeCells) {
        self.next = None;
        self.unread.extend(free.free.pop_front());
        self.timed = self.written.take().or(self.timed);
    }
}

impl Place {
    /// Returns the content of the record: the length, the cell and whether the frame is timed, in native order.
    pub(super) fn record(self) -> [u8; 8] {
        let about = u64::from(self.cell) << 1 | u64::from(self.is_timed);
        (about << 32 | self.len as u64).to_ne_bytes()
    }

    fn parse(record: &[u8]) -> Option<Place> {
        let fields = u64::from_ne_bytes(record.try_into().ok()?);
        Some(Place {
            cell: (fields >> 33).try_into().ok()?,
            is_timed: fields >> 32 & 1 != 0,
            len: fields as u32 as usize,
        })
    }
}

impl TimedFrame {
    /// Returns the nanoseconds that the frame cost, which the consumer has read: all from the beginning of its writing to
    /// the end of its reading where the consumer waited for it, else those of the side that took longer, as both work
    /// beside each other.
    fn time(&self, cursor: &LongCursor) -> u64 {
        let (began, ended) = (&cursor.began, &cursor.ended);
        let (began, ended) = (began.load(Ordering::Relaxed), ended.load(Ordering::Relaxed));
        match self.is_awaited {
            true => ended.saturating_sub(self.began),
            false => ended.saturating_sub(began).max(self.ended - self.began),
        }
    }
}

/// The side that reads the frames of one rank.
pub(super) struct LongConsumer {
    cells: LongCells,
    cursor: CursorAddress,
}

impl LongConsumer {
    /// Takes the frames that lie in that rank's cells; no other consumer may have the cursor.
    pub(super) fn new(cells: LongCells, cursor: CursorAddress) -> Self {
        Self { cells, cursor }
    }

    /// Passes the frame that a record describes to `f`, and frees its cell afterwards. The frame is empty if the record
    /// is not valid.
    pub(super) fn take(&self, record: &[u8], f: impl FnOnce(&[u8])) {
        let place = Place::parse(record);
        let Some((place, frame)) = place.and_then(|it| Some((it, self.cells.frame(it)?))) else {
            return f(&[]);
        };
        // SAFETY: the bytes lie inside the cell, which is initialised; their producer does not touch them before it learns
        // below that they are read.
        let frame = unsafe { core::slice::from_raw_parts(frame, place.len) };
        let cursor = self.cursor.get();
        let number = cursor.read.load(Ordering::Relaxed).wrapping_add(1);
        if place.is_timed {
            let began = wait::now();
            f(frame);
            cursor.began.store(began, Ordering::Relaxed);
            cursor.ended.store(wait::now(), Ordering::Relaxed);
        } else {
            f(frame);
        }
        cursor.read.store(number, Ordering::Release);
    }
}
