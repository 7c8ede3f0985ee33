//! Memory for the long frames of a rank, and for medium ones of bursts, beside the rings: cells that it alone writes, or
//! those who have got them from it (`passed_cells`). Only `Connection` and `Shm` use it.
//!
//! A record in the ring tells where such a frame lies, so the frames leave in the order of the ring. Frames to one rank
//! share a cell as far as they fit. It is free again once they are read, for frames to any rank: so a rank that
//! communicates with few has much room for each, and one that communicates with all has not more memory. Cells are used in
//! turn, and they are more than a processor's own cache holds: then their lines have left the reader's cache when they are
//! written again, and need not be fetched from there. It depends on the machine how many that takes, so each rank decides
//! how many of its cells it uses.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | cells with unread frames to one rank, besides those given | `FreeCells::most` | the sender waits, as where a ring is full |
//! | cells of a rank | [`Layout::long_cells`](super::layout::Layout::long_cells) | the frame goes through the ring |
//!
//! Both sides check what they read: whatever the memory contains, no access leaves it and nothing panics.

use alloc::collections::VecDeque;
use core::ptr::NonNull;

use pombo_kernel::memory::{COPY_ALIGN, Part};

use super::layout::{CELL, FEWEST_CELLS, FRAME_LIMIT, LINE, LongCursor};
use super::passed_cells::{Hands, PassedCells};
use super::ring::{Producer, RingError, copy_in_order};
use super::ring_memory::RingMemory;
use super::store_choice::{StoreChoice, Stores};
use super::sync::{Ordering, fence};
use crate::tuning::{BURST_FRAME, LONG_FRAMES_ROOM};
use crate::wait;

/// Where a long frame lies, as its record tells.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The number of its cell.
    pub(super) cell: u16,
    /// The number of the line in the cell in which it begins, and how many bytes behind the beginning of the line.
    line: u8,
    lead: u8,
    /// Whether the consumer is to tell how long it reads the frame.
    is_timed: bool,
    /// Who has the cell when the frame is read.
    pub(super) hands: Hands,
    /// Its length in bytes.
    pub(super) len: usize,
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
    /// Whether the consumer had read everything before, so that it probably waits for the frame.
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
        let at = usize::from(place.line) * LINE + usize::from(place.lead);
        let fits = place.cell < self.count && place.len <= CELL - at;
        let start = usize::from(place.cell) * CELL + at;
        // SAFETY: the offset lies inside the cells, as was just checked.
        fits.then(|| unsafe { self.memory.add(start).as_ptr() })
    }
}

/// The side that writes: a rank's cells, of which each is free, or in one [`LongProducer`] or one [`PassedCells`].
pub(super) struct FreeCells {
    cells: LongCells,
    free: VecDeque<u16>,
    /// Most cells with unread frames to one rank.
    most: usize,
    /// Most cells given to one rank, and free cells that are not given.
    most_given: usize,
    kept_free: usize,
    /// Bytes of a second cache.
    cache: usize,
}

impl FreeCells {
    /// Takes the cells of a rank that has `peers` others, and uses as many of them as `bytes` bytes are.
    pub(super) fn new(cells: LongCells, bytes: usize, peers: usize) -> Self {
        let count = usize::from(cells.count).min(bytes.div_ceil(CELL).max(FEWEST_CELLS));
        let most = if peers > 1 { count / 2 } else { count };
        Self {
            cells,
            free: (0..count as u16).collect(),
            most,
            most_given: most / 2,
            kept_free: count / 2,
            cache: bytes / LONG_FRAMES_ROOM,
        }
    }

    /// Has no cells given to who answers.
    pub(super) fn give_none(&mut self) {
        self.most_given = 0;
    }

    /// Returns whether cells are given to who answers.
    pub(super) fn gives(&self) -> bool {
        self.most_given > 0
    }

    /// Takes the cells that a rank had been given which has gone, and which all its frames have left.
    pub(super) fn take_all(&mut self, passed: &mut PassedCells) {
        passed.collect_all(&mut self.free);
    }

    /// Returns the next free cell, if a frame of `len` bytes takes it along.
    fn given(&self, passed: &PassedCells, len: usize) -> Option<u16> {
        let first = self.free.front().copied();
        let first = first.filter(|_| self.free.len() > self.kept_free);
        first.filter(|cell| passed.gives(*cell, len, self.most_given))
    }

    /// Returns the number of free cells.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.free.len()
    }

    /// Returns the free cells.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = u16> {
        self.free.iter().copied()
    }
}

/// The frames to one rank.
pub(super) struct LongProducer {
    cursor: CursorAddress,
    /// The receiver's cells, of which it has given some.
    theirs: LongCells,
    /// The cells of frames that are not known to be read, in order, and the number of these frames.
    unread: VecDeque<(u16, u16)>,
    /// Number of lines in use in the last one of these.
    used: usize,
    /// Numbers of frames written, and of those that are known to be read.
    sent: u64,
    read: u64,
    /// How frames are written, by their sizes.
    choices: [StoreChoice; SIZES],
    /// The size of the next frame, how it is written, and whether it may be timed.
    next: Option<(usize, Stores, bool)>,
    /// The frame that was written last and is not committed, if it is to be timed.
    written: Option<TimedFrame>,
    /// The committed frame whose time the consumer has not told yet.
    timed: Option<TimedFrame>,
}

impl LongProducer {
    pub(super) fn new(cursor: CursorAddress, theirs: LongCells) -> Self {
        Self {
            cursor,
            theirs,
            unread: VecDeque::new(),
            used: 0,
            sent: 0,
            read: 0,
            choices: core::array::from_fn(|_| StoreChoice::new()),
            next: None,
            written: None,
            timed: None,
        }
    }

    /// Decides how the next frame is written, and returns whether [`LongProducer::reclaim`] is due before. That fetches
    /// the line of the consumer's cursor from its cache, so it is not due as long as there are cells and no times to learn.
    pub(super) fn prepare(
        &mut self,
        passed: &mut PassedCells,
        free: &mut FreeCells,
        len: usize,
    ) -> bool {
        if passed.owned(len, free.most_given).is_some() {
            self.next = None;
            return passed.awaits_cells();
        }
        passed.put_back(&mut free.free);
        let size = size_of_frame(len);
        let may_be_timed = match self.next {
            Some((of, _, may_be_timed)) if of == size => may_be_timed,
            _ => {
                let room = CELL / (FRAME_LIMIT / len.max(LINE)).max(1);
                let (stores, may_be_timed) = self.choices[size].next((room >> 10).max(1) as u32);
                self.next = Some((size, stores, may_be_timed));
                may_be_timed
            }
        };
        let are_few = self.unread.len() >= free.most / 2 || free.free.is_empty();
        may_be_timed || passed.awaits_cells() || are_few && self.place_behind(len).is_none()
    }

    /// Returns the time, in nanoseconds, if there are times to learn.
    pub(super) fn clock(&self) -> Option<u64> {
        self.timed.is_some().then(wait::now)
    }

    /// Frees the cells of frames that the consumer has read, and learns what a timed one cost. `began` is when the look at
    /// the line of the consumer's cursor began, if this call is the first to look at it.
    pub(super) fn reclaim(
        &mut self,
        passed: &mut PassedCells,
        free: &mut FreeCells,
        began: Option<u64>,
    ) -> Result<(), RingError> {
        let read = self.cursor.get().read.load(Ordering::Acquire);
        if read < self.read || read > self.sent {
            return Err(RingError::Corrupt);
        }
        let count = read - self.read;
        if let Some(began) = began.filter(|_| count > 0) {
            self.learn_distance(wait::now().saturating_sub(began));
        }
        passed.collect(&self.cursor.get().returned, &mut free.free);
        self.read = read;
        self.free(count, free);
        if let Some(frame) = self.timed.take_if(|frame| read >= frame.number) {
            let time = frame.time(self.cursor.get());
            self.choices[size_of_frame(frame.len)].learn(
                frame.stores,
                frame.is_awaited,
                frame.len,
                time,
            );
        }
        Ok(())
    }

    /// Does what [`LongProducer::reclaim`] does for frames to other ranks, which also get the cells that have come back.
    pub(super) fn reclaim_idle(
        &mut self,
        passed: &mut PassedCells,
        free: &mut FreeCells,
    ) -> Result<(), RingError> {
        passed.put_back(&mut free.free);
        self.reclaim(passed, free, None)
    }

    /// Learns how many nanoseconds it took to look at a line that the consumer had written.
    pub(super) fn learn_distance(&mut self, nanoseconds: u64) {
        self.choices
            .iter_mut()
            .for_each(|choice| choice.learn_distance(nanoseconds));
    }

    /// Learns the distance from a look at the consumer's position in the ring, if there is news.
    pub(super) fn learn_from(&mut self, ring: &Producer<RingMemory>) {
        let began = wait::now();
        if ring.has_more_room() {
            self.learn_distance(wait::now().saturating_sub(began));
        }
    }

    /// Returns whether the line to the consumer is long.
    pub(super) fn is_far(&self) -> bool {
        self.choices[0].is_far()
    }

    /// Returns whether it has cells.
    pub(super) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Frees all cells: the consumer has gone.
    pub(super) fn reclaim_all(&mut self, free: &mut FreeCells) {
        self.read = self.sent;
        free.free
            .extend(self.unread.drain(..).map(|(cell, _)| cell));
    }

    /// Frees the cells of the next `count` frames.
    fn free(&mut self, mut count: u64, free: &mut FreeCells) {
        while let Some((cell, frames)) = self.unread.front_mut() {
            if count < u64::from(*frames) {
                *frames -= count as u16;
                break;
            }
            count -= u64::from(*frames);
            free.free.push_back(*cell);
            self.unread.pop_front();
        }
    }

    /// Returns where the next frame lies in the last cell, if there is room.
    fn place_behind(&self, len: usize) -> Option<(u16, usize)> {
        let &(cell, _) = self.unread.back()?;
        (self.used * LINE + len.max(1) <= CELL).then_some((cell, self.used))
    }

    /// Writes a frame of `len` bytes, at most [`FRAME_LIMIT`], and returns its place; `None` if no cell is free. It is
    /// there for good once [`LongProducer::commit`] is told of it.
    pub(super) fn write(
        &mut self,
        passed: &PassedCells,
        free: &FreeCells,
        len: usize,
        parts: &[Part<'_>],
        is_awaited: bool,
    ) -> Result<Option<Place>, RingError> {
        let owned = passed.owned(len, free.most_given);
        let chosen = match owned {
            Some((cell, hands)) => Some((cell, 0, hands)),
            None => self.choose(passed, free, len)?,
        };
        let Some((cell, line, hands)) = chosen else {
            return Ok(None);
        };
        let next = self.next.filter(|_| owned.is_none());
        let (_, stores, may_be_timed) = next.unwrap_or((0, Stores::Cached, false));
        let is_timed = may_be_timed && self.timed.is_none() && hands == Hands::Lent;
        let place = Place {
            cell,
            line: line as u8,
            lead: lead(parts, CELL - line * LINE - len) as u8,
            is_timed,
            hands,
            len,
        };
        let cells = match hands {
            Hands::Back => self.theirs,
            _ => free.cells,
        };
        let room = cells.frame(place).ok_or(RingError::Corrupt)?;
        // SAFETY: the bytes lie inside the cell, which is initialised. The cell is free or has come back, as its last consumer
        // has passed it, or they lie behind those of all frames in it, or its owner has given it to this rank; nobody looks at
        // them before being told of this frame.
        let room = unsafe { core::slice::from_raw_parts_mut(room, len) };
        let began = is_timed.then(after_stores);
        match stores {
            #[cfg(target_arch = "x86_64")]
            Stores::Streamed => super::streaming_copy::stream_parts(parts, room),
            // Nobody polls a cell, so its first line need not be written last, as in a ring.
            _ => copy_in_order(parts, room),
        }
        self.written = began.map(|began| TimedFrame {
            number: self.sent + 1,
            len,
            stores,
            began,
            ended: after_stores(),
            is_awaited,
        });
        Ok(Some(place))
    }

    /// Returns the cell of the next frame where none is owned, the line in which it begins, and who has the cell afterwards;
    /// `None` if no cell is free.
    fn choose(
        &self,
        passed: &PassedCells,
        free: &FreeCells,
        len: usize,
    ) -> Result<Option<(u16, usize, Hands)>, RingError> {
        if let Some(cell) = free.given(passed, len) {
            return Ok(Some((cell, 0, Hands::Given)));
        }
        if let Some((cell, line)) = self.place_behind(len) {
            return Ok(Some((cell, line, Hands::Lent)));
        }
        match self.unread.len() >= free.most {
            true => Err(RingError::Full),
            false => Ok(free.free.front().map(|cell| (*cell, 0, Hands::Lent))),
        }
    }

    /// Keeps the frame that was written last, whose record is in the ring.
    pub(super) fn commit(&mut self, place: Place, passed: &mut PassedCells, free: &mut FreeCells) {
        self.next = None;
        if place.hands != Hands::Lent {
            if passed.sent(&place, free.cache) {
                free.free.pop_front();
            }
            return;
        }
        self.sent += 1;
        let lines = (usize::from(place.lead) + place.len.max(1)).div_ceil(LINE);
        match self.unread.back_mut() {
            Some((_, frames)) if place.line > 0 => *frames += 1,
            _ => self
                .unread
                .extend(free.free.pop_front().map(|cell| (cell, 1))),
        }
        self.used = usize::from(place.line) + lines;
        self.timed = self.written.take().or(self.timed);
    }
}

/// Returns how many bytes of at most `room` lie in front of a frame, so that its payload, behind the head, begins a line, or
/// at least where long copies are quick, as users' memory does.
fn lead(parts: &[Part<'_>], room: usize) -> usize {
    let head = parts.split_last().map_or(0, |(_, head)| Part::total(head));
    let aligned = [LINE, COPY_ALIGN].map(|to| head.next_multiple_of(to) - head);
    aligned.into_iter().find(|lead| *lead <= room).unwrap_or(0)
}

/// Returns the time, in nanoseconds, when all stores of before have reached the cache: a medium frame is written long before
/// they have.
fn after_stores() -> u64 {
    fence(Ordering::SeqCst);
    wait::now()
}

/// Number of sizes of frames, for each of which stores are chosen by themselves: that those past the caches are complete
/// must be waited for, which counts more for a short frame.
const SIZES: usize = 4;

/// Returns the number of a frame's size: below 2 KiB, 4 KiB, 8 KiB, and from there on.
fn size_of_frame(len: usize) -> usize {
    ((len / BURST_FRAME).max(1).ilog2() as usize).min(SIZES - 1)
}

impl Place {
    /// Returns the content of the record: the length, whether the frame is timed, and the place, in native order.
    pub(super) fn record(self) -> [u8; 8] {
        let line = u64::from(self.cell) << 8 | u64::from(self.line);
        let about = (line << 6 | u64::from(self.lead)) << 1 | u64::from(self.is_timed);
        let len = (self.hands as u64) << 30 | self.len as u64;
        (about << 32 | len).to_ne_bytes()
    }

    pub(super) fn parse(record: &[u8]) -> Option<Place> {
        let fields = u64::from_ne_bytes(record.try_into().ok()?);
        Some(Place {
            cell: (fields >> 47).try_into().ok()?,
            line: (fields >> 39) as u8,
            lead: (fields >> 33) as u8 % LINE as u8,
            is_timed: fields >> 32 & 1 != 0,
            hands: match fields >> 30 & 3 {
                0 => Hands::Lent,
                1 => Hands::Given,
                _ => Hands::Back,
            },
            len: fields as usize % (1 << 30),
        })
    }
}

impl TimedFrame {
    /// Returns the nanoseconds that the frame cost, which the consumer has read: those of both sides where the consumer
    /// waited for it, else those of the side that took longer, as both work beside each other. What passes between them
    /// says nothing of the stores: the consumer may have other frames to write first, or sleep.
    fn time(&self, cursor: &LongCursor) -> u64 {
        let (began, ended) = (&cursor.began, &cursor.ended);
        let (began, ended) = (began.load(Ordering::Relaxed), ended.load(Ordering::Relaxed));
        let (written, read) = (self.ended - self.began, ended.saturating_sub(began));
        match self.is_awaited {
            true => written.saturating_add(read),
            false => written.max(read),
        }
    }
}

/// The side that reads the frames of one rank.
pub(super) struct LongConsumer {
    cells: LongCells,
    own: LongCells,
    cursor: CursorAddress,
}

impl LongConsumer {
    /// Takes the frames that lie in that rank's cells, or in this rank's `own`; no other consumer may have the cursor.
    pub(super) fn new(cells: LongCells, own: LongCells, cursor: CursorAddress) -> Self {
        Self { cells, own, cursor }
    }

    /// Returns the address of a frame in a cell that the sender may use.
    fn frame(&self, place: Place, passed: &PassedCells) -> Option<*mut u8> {
        match place.hands {
            Hands::Back => self
                .own
                .frame(place)
                .filter(|_| passed.has_given(place.cell)),
            _ => self.cells.frame(place),
        }
    }

    /// Passes the frame that a record describes to `f`, and counts it as read afterwards. The frame is empty if the record
    /// is not valid.
    pub(super) fn take(&self, record: &[u8], passed: &mut PassedCells, f: impl FnOnce(&[u8])) {
        let place = Place::parse(record);
        let Some((place, frame)) = place.and_then(|it| Some((it, self.frame(it, passed)?))) else {
            return f(&[]);
        };
        // SAFETY: the bytes lie inside the cell, which is initialised; their producer does not touch them before it learns
        // below that they are read, or gets a cell back that is given. One of this rank's own is this rank's from here on.
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
        if place.hands == Hands::Lent {
            cursor.read.store(number, Ordering::Release);
        }
        passed.received(&place, &cursor.returned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_costs_what_both_sides_took_however_late_it_was_read() {
        let frame = |is_awaited| TimedFrame {
            number: 1,
            len: 8192,
            stores: Stores::Streamed,
            began: 1000,
            ended: 1400,
            is_awaited,
        };
        let cursor = LongCursor::default();
        for late in [0, 100, 1_000_000] {
            cursor.began.store(1400 + late, Ordering::Relaxed);
            cursor.ended.store(1900 + late, Ordering::Relaxed);
            assert_eq!(frame(true).time(&cursor), 900);
            assert_eq!(frame(false).time(&cursor), 500);
        }
        cursor.ended.store(0, Ordering::Relaxed);
        assert_eq!(
            frame(true).time(&cursor),
            400,
            "what another process wrote may be anything"
        );
    }
}
