//! A lock-free ring of records for one producer and one consumer, over memory that they share. Used by `Shm` only.
//!
//! The ring is cut into granules, two in a cache line. A record is a header word and a frame, rounded up to granules; it
//! never wraps. One of a single granule shares its line with another such; longer ones start with a line. The word at
//! the producer's position is 0 until the record there is complete, so a consumer polls the very line that holds a small
//! frame. Positions count granules and never repeat.
//!
//! Both sides check what they read: whatever the memory holds, nothing outside it is touched and nothing panics.

use pombo_kernel::memory::Part;

use super::sync::{AtomicU64, Ordering};

/// Memory of a ring, all zero at first.
pub(super) trait Slots {
    /// Number of granules.
    const GRANULES: usize;

    /// The first word of a granule.
    fn word(&self, granule: usize) -> &AtomicU64;

    /// The producer will write there soon.
    fn want(&self, granule: usize) {
        let _ = granule;
    }

    /// The consumer will read there soon.
    fn expect(&self, granule: usize) {
        let _ = granule;
    }

    /// How far the consumer is. Written by the consumer alone.
    fn taken(&self) -> &AtomicU64;

    /// Copies the parts, `len` bytes, to what follows the first word of that granule, inside the ring; see [`gather`].
    ///
    /// # Safety
    /// Nobody else reads or writes these bytes during the call.
    unsafe fn fill(&self, granule: usize, len: usize, parts: &[Part<'_>]);

    /// Hands out `len` bytes after the first word of that granule, inside the ring.
    ///
    /// # Safety
    /// Nobody writes these bytes during the call.
    unsafe fn read(&self, granule: usize, len: usize, f: impl FnOnce(&[u8]));
}

/// Bytes in a granule: half a cache line, which a frame of MPI with one or two numbers needs.
pub(super) const GRANULE: usize = 32;
/// Granules in a cache line.
const LINE: usize = 2;
/// Granules ahead of the producer: so far away are lines asked for.
const AHEAD: u64 = 16;
/// Most lines that a producer asks for at once: of a frame of 2 KiB.
const MOST_AHEAD: usize = 32;
/// Lines that a consumer looks ahead, its own included.
const LOOK: usize = 6;
/// Bytes of a record's header word.
pub(super) const WORD: usize = 8;

/// The longest frame: a quarter of the ring, so that copying in, waiting, and copying out overlap, and so that a
/// record and the gap before it always fit into an empty ring.
pub(super) const fn limit(granules: usize) -> usize {
    granules / 4 * GRANULE - WORD
}

/// Why nothing was put or taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RingError {
    /// No room before the consumer takes something.
    Full,
    /// The memory holds what no peer of this kind writes.
    Corrupt,
}

/// The side that puts frames in.
pub(super) struct Producer<S> {
    slots: S,
    position: u64,
    /// The consumer's position when last looked at.
    taken: u64,
}

impl<S: Slots> Producer<S> {
    pub(super) fn new(slots: S) -> Self {
        Self {
            slots,
            position: 0,
            taken: 0,
        }
    }

    /// Puts a frame of `len` bytes in; `len` is the sum of the parts and at most the limit.
    #[inline(always)]
    pub(super) fn put(&mut self, len: usize, parts: &[Part<'_>]) -> Result<(), RingError> {
        self.write(len, parts, 0)
    }

    /// The same, marked for the consumer.
    pub(super) fn put_marked(&mut self, len: usize, parts: &[Part<'_>]) -> Result<(), RingError> {
        self.write(len, parts, MARK)
    }

    #[inline(always)]
    fn write(&mut self, len: usize, parts: &[Part<'_>], mark: u32) -> Result<(), RingError> {
        debug_assert!(len == Part::total(parts) && len <= limit(S::GRANULES));
        let size = granules(len);
        let gap = gap_before(size, self.granule(), S::GRANULES);
        // One granule more: the word behind the record becomes 0.
        self.reserve(gap + size + 1)?;
        if gap > 0 {
            self.clear_behind(gap);
            self.publish(GAP | gap as u32);
            self.position += gap as u64;
        }
        let granule = self.granule();
        self.clear_behind(size);
        // SAFETY: these granules are free, which `reserve` has seen after the consumer's last use of them, and the
        // consumer does not look past the word at our position before it is published below.
        unsafe { self.slots.fill(granule, len, parts) };
        self.publish(len as u32 | mark);
        self.position += size as u64;
        self.look_ahead(size);
        Ok(())
    }

    /// Lines that the consumer has read take long to come back: a burst would wait for each. So one line farther on after
    /// a small frame, and after a long one all that another such needs but the first, at which the consumer may look.
    #[inline(always)]
    fn look_ahead(&self, size: usize) {
        let end = self.taken + S::GRANULES as u64;
        let first = self.position + if size <= LINE { AHEAD } else { LINE as u64 };
        let lines = (size / LINE).clamp(1, MOST_AHEAD) as u64;
        if first + lines * LINE as u64 <= end {
            for line in 0..lines {
                let granule = (first + line * LINE as u64) % S::GRANULES as u64;
                self.slots.want(granule as usize);
            }
        }
    }

    /// Has the consumer taken something since [`RingError::Full`]?
    pub(super) fn has_more_room(&self) -> bool {
        self.slots.taken().load(Ordering::Acquire) != self.taken
    }

    #[inline]
    fn granule(&self) -> usize {
        (self.position % S::GRANULES as u64) as usize
    }

    #[inline]
    fn reserve(&mut self, need: usize) -> Result<(), RingError> {
        let end = self.position + need as u64;
        if end - self.taken <= S::GRANULES as u64 {
            return Ok(());
        }
        let taken = self.slots.taken().load(Ordering::Acquire);
        if taken < self.taken || taken > self.position {
            return Err(RingError::Corrupt);
        }
        self.taken = taken;
        if end - taken <= S::GRANULES as u64 {
            Ok(())
        } else {
            Err(RingError::Full)
        }
    }

    /// Nothing is there yet.
    #[inline(always)]
    fn clear_behind(&self, granules: usize) {
        let behind = (self.granule() + granules) % S::GRANULES;
        self.slots.word(behind).store(0, Ordering::Relaxed);
    }

    #[inline]
    fn publish(&self, len: u32) {
        let word = u64::from(tag(self.position)) << 32 | u64::from(len);
        self.slots
            .word(self.granule())
            .store(word, Ordering::Release);
    }
}

/// The side that takes frames out.
pub(super) struct Consumer<S> {
    slots: S,
    position: u64,
    /// Frames that were there one behind the other.
    streak: u32,
}

impl<S: Slots> Consumer<S> {
    pub(super) fn new(slots: S) -> Self {
        Self {
            slots,
            position: 0,
            streak: 0,
        }
    }

    /// Hands out the oldest frame in place, and whether it is marked, and frees its room afterwards. False if there is
    /// none.
    #[inline]
    pub(super) fn take(&mut self, f: impl FnOnce(&[u8], bool)) -> Result<bool, RingError> {
        let Some((len, marked)) = self.front()? else {
            self.streak = 0;
            return Ok(false);
        };
        self.look_ahead();
        // SAFETY: `front` has seen the complete record, which lies inside the ring; its producer leaves it alone until
        // our position has passed it.
        unsafe {
            self.slots
                .read(self.granule(), len, |bytes| f(bytes, marked))
        };
        self.advance(granules(len));
        Ok(true)
    }

    /// Where frames follow one another their producer is ahead: fetches lines that it has written. One that it has not
    /// would have to go back to it.
    #[inline(always)]
    fn look_ahead(&mut self) {
        let far = match self.streak {
            0 => 0..0,
            1 => 1..LOOK,
            _ => LOOK - 1..LOOK,
        };
        for line in far {
            let granule = self.granule() + line * LINE;
            self.slots.expect(granule % S::GRANULES);
        }
        self.streak = self.streak.saturating_add(1);
    }

    /// Is there anything to take, or to complain about?
    #[inline]
    pub(super) fn has_next(&self) -> bool {
        self.slots.word(self.granule()).load(Ordering::Acquire) != 0
    }

    #[inline]
    fn granule(&self) -> usize {
        (self.position % S::GRANULES as u64) as usize
    }

    /// Length of the oldest frame, and whether it is marked.
    #[inline]
    fn front(&mut self) -> Result<Option<(usize, bool)>, RingError> {
        let word = self.slots.word(self.granule()).load(Ordering::Acquire);
        if word == 0 {
            return Ok(None);
        }
        if word as u32 & GAP == 0 {
            return self.check(word).map(Some);
        }
        self.skip(word)?;
        // A gap is followed by a record.
        match self.slots.word(self.granule()).load(Ordering::Acquire) {
            0 => Ok(None),
            word => self.check(word).map(Some),
        }
    }

    /// A record lies before the end of the ring and bears the tag of its position.
    #[inline]
    fn check(&self, word: u64) -> Result<(usize, bool), RingError> {
        let len = (word as u32 & !MARK) as usize;
        let fits = len <= limit(S::GRANULES) && self.granule() + granules(len) <= S::GRANULES;
        if fits && (word >> 32) as u32 == tag(self.position) {
            Ok((len, word as u32 & MARK != 0))
        } else {
            Err(RingError::Corrupt)
        }
    }

    fn skip(&mut self, word: u64) -> Result<(), RingError> {
        let gap = (word as u32 & !GAP) as usize;
        let fits = (1..=S::GRANULES - self.granule()).contains(&gap);
        if !fits || (word >> 32) as u32 != tag(self.position) {
            return Err(RingError::Corrupt);
        }
        self.advance(gap);
        Ok(())
    }

    #[inline]
    fn advance(&mut self, granules: usize) {
        self.position += granules as u64;
        self.slots.taken().store(self.position, Ordering::Release);
    }
}

/// In place of a length, with a number of granules: they hold nothing.
pub(super) const GAP: u32 = 1 << 31;

/// Beside a length: the frame is of another kind.
pub(super) const MARK: u32 = 1 << 30;

/// Marks a record of that position; never 0.
#[inline]
pub(super) fn tag(position: u64) -> u32 {
    (position as u32) << 1 | 1
}

#[inline]
fn granules(len: usize) -> usize {
    (WORD + len).div_ceil(GRANULE)
}

/// Granules to leave out because the record would begin in the middle of a line, and not end there, or would wrap.
#[inline]
fn gap_before(size: usize, granule: usize, granules: usize) -> usize {
    if size == 1 {
        return 0;
    }
    let line = granule.next_multiple_of(LINE);
    if line + size > granules {
        granules - granule
    } else {
        line - granule
    }
}

/// Copies the parts one after the other. `room` is as long as all of them.
#[inline(always)]
pub(super) fn gather(parts: &[Part<'_>], room: &mut [u8]) {
    // What the kernel sends nearly always: here the compiler knows both parts.
    if let [head @ Part::Bytes(_), payload] = parts {
        let (front, back) = room.split_at_mut(head.len());
        head.copy_to(0, front);
        payload.copy_to(0, back);
        return;
    }
    let mut at = 0;
    for part in parts {
        let end = at + part.len();
        part.copy_to(0, &mut room[at..end]);
        at = end;
    }
}
