//! A lock-free ring of records for one producer and one consumer, in shared memory. Only `Shm` uses it.
//!
//! The ring consists of granules, two in a cache line. A record is a header word and a frame, rounded up to a
//! granule or to lines; it never wraps. A record of one granule may share its line with another; longer ones start at a
//! line. The word at the producer's position does not have that position's tag until the record there is complete, so a
//! consumer polls the very line that holds a small frame. Positions count granules and never repeat.
//!
//! What lies at the producer's position is 0 or the word of a record that was there before: the producer clears it only
//! where bytes of a frame may lie, of which it keeps a list. Further ahead, it clears words to have their lines.
//!
//! Both sides check what they read: whatever the memory contains, no access leaves it and nothing panics.

use alloc::boxed::Box;
use alloc::vec;
use core::ops::Range;

use pombo_kernel::memory::Part;

use super::sync::{AtomicU64, Ordering};
use crate::tuning::{BURST_FRAME, FAST_PATHS};

/// The memory of a ring, initially zero.
pub(super) trait GranuleAccess {
    /// Number of granules.
    const GRANULES: usize;

    /// Returns the first word of a granule.
    fn word(&self, granule: usize) -> &AtomicU64;

    /// Hints that this side will write there soon.
    fn prefetch_write(&self, granule: usize) {
        let _ = granule;
    }

    /// Hints that the consumer will read there soon.
    fn prefetch_read(&self, granule: usize) {
        let _ = granule;
    }

    /// Returns the consumer's position, which the consumer alone writes.
    fn consumed(&self) -> &AtomicU64;

    /// Copies the parts, `len` bytes together, behind the first word of that granule, inside the ring; see
    /// [`copy_parts`].
    ///
    /// # Safety
    /// Nobody else reads or writes these bytes during the call.
    unsafe fn write_parts(&self, granule: usize, len: usize, parts: &[Part<'_>]);

    /// Passes `len` bytes behind the first word of that granule, inside the ring, to `f`.
    ///
    /// # Safety
    /// Nobody writes these bytes during the call.
    unsafe fn read(&self, granule: usize, len: usize, f: impl FnOnce(&[u8]));
}

/// Size of a granule in bytes: half a cache line, which suffices for a frame of MPI with one or two numbers.
pub(super) const GRANULE: usize = 32;
/// Number of granules in a cache line.
pub(super) const LINE_GRANULES: usize = 2;
/// Number of lines that a producer claims at once in bursts of small frames. By turns, with 3 and 4 lines 8 bytes passed at
/// 1.37 and 1.45 times the rate without claims at 165 ns from core to core, and at 1.04 and 1.05 times at 28 ns; in other
/// turns with 8 and 16 lines at 1.20 and 0.99, and at 1.07 and 1.04 times.
const CLAIMED_LINES: usize = 4;
/// Largest number of lines that a producer claims for a longer frame: those of a good KiB. More lines than a processor
/// waits for at a time delay the stores themselves.
const MAX_CLAIMED: usize = 24;
/// Number of lines that a consumer prefetches, its own included.
const PREFETCH_LINES: usize = 6;
/// Largest number of lines behind a frame's first that a consumer prefetches at once: as many as a processor waits for. By
/// turns, all-reductions by two ranks took 0.99, 0.98 and 0.98 of the time with the prefetch for 128, 256 and 512 bytes at 38
/// to 44 ns from core to core (0.99 to 1.02 for 256 in later runs), and 0.90 and 0.84 for 128 and 256 bytes at 212 ns. A
/// single line is left out: all-reductions of 64 bytes took 1.01 to 1.05 of the time with it at 41 ns.
const MAX_OWN_LINES: usize = 11;
/// Number of granules from which on a record is worth going back for; shorter ones are lines that are passed on anyway.
const RESTART_GRANULES: usize = 4;
/// A producer goes back to the beginning of its ring after this part of it, or this number of records if they take more.
const RESTART: (usize, usize) = (8, 3);
/// It does so only if its consumer is at most this part of the ring behind, or one record: else it would soon have to wait.
const RESTART_LAG: usize = 16;
/// If that leaves it without room before the consumer has come there, it was a mistake: bursts need the whole ring. So
/// many times must it be right to make up for it.
const MISTAKE: u32 = 4;
/// Most that mistakes add up to: then the producer does not go back in 64 rounds through the ring.
const MAX_BURSTS: u32 = 7 * MISTAKE;
/// Number of bits of a tag; in tests so few that tags repeat.
const TAG_BITS: u32 = if cfg!(test) { 14 } else { u32::BITS };
/// Number of granules after which the words of old records count as stale: an eighth of those after which tags repeat.
const SWEEP: u64 = 1 << (TAG_BITS - 4);
/// The largest number of granules of a ring, whose frames are shorter than [`FIRST_STAMP`].
pub(super) const MAX_GRANULES: usize = 1 << 12;
/// Size of a record's header word in bytes.
pub(super) const WORD: usize = 8;

/// Returns the length of the longest frame in bytes: a quarter of the ring, so that copying in, waiting, and copying
/// out overlap, and so that a record and the gap before it always fit into an empty ring.
pub(super) const fn limit(granules: usize) -> usize {
    granules / 4 * GRANULE - WORD
}

/// The reason why a push or pop failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RingError {
    /// There is no room until the consumer takes a record.
    Full,
    /// The memory contains values that no correct peer writes.
    Corrupt,
    /// The record has another stamp than expected: a mail precedes it.
    Early,
}

/// The producing side of a ring.
pub(super) struct Producer<S> {
    memory: S,
    position: u64,
    /// The consumer's position when last read.
    consumed: u64,
    /// The position from which on the producer may go back to the beginning.
    may_restart: u64,
    /// The position to which the producer went back last, unless that was a mistake.
    restarted: Option<u64>,
    /// What mistakes add up to, each [`MISTAKE`], less the number of times that it was none.
    bursts: u32,
    /// Granules that may begin with bytes of a frame, as bits.
    stale: Box<[u64]>,
    /// The position from which on the words of old records count as stale too.
    next_sweep: u64,
}

impl<S: GranuleAccess> Producer<S> {
    pub(super) fn new(memory: S) -> Self {
        Self {
            memory,
            position: 0,
            consumed: 0,
            may_restart: 0,
            restarted: None,
            bursts: 0,
            stale: vec![0; S::GRANULES.div_ceil(64)].into(),
            next_sweep: SWEEP,
        }
    }

    /// Keeps the producer from going back to the beginning of the ring while its consumer is close behind.
    pub(super) fn disable_restarts(&mut self) {
        self.may_restart = u64::MAX;
    }

    /// Appends a frame of `len` bytes; `len` is the sum of the parts and at most the limit. The flags are those of
    /// `Mail`.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        flags: u32,
        len: usize,
        parts: &[Part<'_>],
    ) -> Result<(), RingError> {
        self.write(len, parts, flags)
    }

    /// Appends a frame with more flags: [`EXPOSED`] or [`LONG`].
    pub(super) fn push_flagged(
        &mut self,
        flags: u32,
        len: usize,
        parts: &[Part<'_>],
    ) -> Result<(), RingError> {
        self.write(len, parts, flags)
    }

    /// Looks at the consumer's position, so that [`Producer::has_more_room`] tells of what is taken from now on.
    #[inline]
    pub(super) fn look_for_room(&mut self) -> Result<(), RingError> {
        let consumed = self.memory.consumed().load(Ordering::Acquire);
        if consumed < self.consumed || consumed > self.position {
            return Err(RingError::Corrupt);
        }
        self.consumed = consumed;
        if self.position >= self.next_sweep {
            self.stale.fill(u64::MAX);
            self.next_sweep = self.position + SWEEP;
        }
        Ok(())
    }

    /// Returns whether the consumer had taken all frames at the last look.
    pub(super) fn is_consumed(&self) -> bool {
        self.consumed == self.position
    }

    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn write(&mut self, len: usize, parts: &[Part<'_>], flags: u32) -> Result<(), RingError> {
        debug_assert!(len == Part::total(parts) && len <= limit(S::GRANULES));
        let size = granules(len);
        let gap = if FAST_PATHS
            && size > RESTART_GRANULES
            && self.position >= self.may_restart
            && self.restarts(size)?
        {
            S::GRANULES - self.granule()
        } else {
            gap_before(size, self.granule(), S::GRANULES)
        };
        // One granule more is reserved, as the word behind the record becomes 0.
        self.reserve(gap + size + 1)?;
        if gap > 0 {
            self.leave_gap(gap);
        }
        let granule = self.granule();
        self.clear_behind(size);
        if size > 1 {
            self.mark_stale(granule + 1..granule + size);
        }
        // SAFETY: these granules are free: `reserve` has seen them after the consumer's last use, and the consumer does
        // not read past the word at our position before it is published below.
        unsafe { self.memory.write_parts(granule, len, parts) };
        self.publish(len as u32 | flags);
        self.position += size as u64;
        self.claim_ahead(size);
        Ok(())
    }

    #[inline(never)]
    fn leave_gap(&mut self, gap: usize) {
        self.clear_behind(gap);
        self.publish(GAP | gap as u32);
        self.position += gap as u64;
    }

    /// Returns whether a record of that size goes to the beginning of the ring although there is room before its end: the
    /// lines that both sides have used just before are passed on fastest.
    #[inline(never)]
    fn restarts(&mut self, size: usize) -> Result<bool, RingError> {
        let lap = (S::GRANULES / RESTART.0).max(RESTART.1 * size);
        let granule = self.granule();
        if granule < lap {
            self.may_restart = self.position + (lap - granule) as u64;
            return Ok(false);
        }
        let lag = (S::GRANULES / RESTART_LAG).max(size) as u64;
        let free = (granule - size) as u64;
        if self.position - self.consumed > lag {
            self.look_for_room()?;
        }
        let behind = self.position - self.consumed;
        if behind > lag || behind >= free {
            self.may_restart = self.position + lag;
            return Ok(false);
        }
        let beginning = self.position + (S::GRANULES - granule) as u64;
        if self.restarted.replace(beginning).is_some() {
            self.bursts = self.bursts.saturating_sub(1);
        }
        Ok(true)
    }

    /// Learns from a lack of room whether it was a mistake to go back.
    fn note_burst(&mut self) {
        if self
            .restarted
            .is_some_and(|position| self.consumed < position)
        {
            self.restarted = None;
            let rounds = 1 << (self.bursts / MISTAKE) >> 1;
            self.bursts = (self.bursts + MISTAKE).min(MAX_BURSTS);
            self.may_restart = self.position + rounds * S::GRANULES as u64;
        }
    }

    /// Claims lines for later frames: some at a time after small frames, and after a longer one those of another such frame,
    /// unless they are many; never the next line, which the consumer may be polling.
    #[inline(always)]
    fn claim_ahead(&self, size: usize) {
        const LINE: u64 = LINE_GRANULES as u64;
        let lines = match size <= LINE_GRANULES {
            true if self.position % (CLAIMED_LINES as u64 * LINE) < size as u64 => CLAIMED_LINES,
            true => return,
            false => size / LINE_GRANULES,
        };
        let first = self.position + LINE;
        let end = self.consumed + S::GRANULES as u64;
        if FAST_PATHS && lines <= MAX_CLAIMED && first + lines as u64 * LINE <= end {
            self.claim(first, lines);
        }
    }

    /// Claims free lines by stores. Those that the consumer has read take long to come back, and as stores leave a processor
    /// one after the other, a burst would wait for each; claims made together wait together. A hint (`prefetchw`) changed
    /// nothing on the processors where it was timed: the line is there, though shared.
    #[inline(never)]
    fn claim(&self, first: u64, lines: usize) {
        for line in 0..lines as u64 {
            let granule = (first + line * LINE_GRANULES as u64) % S::GRANULES as u64;
            self.memory
                .word(granule as usize)
                .store(0, Ordering::Relaxed);
        }
    }

    /// Returns the position behind the last frame.
    #[inline(always)]
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Returns whether a frame of `len` bytes may need room of records that are not known to be taken.
    pub(super) fn lacks_room(&self, len: usize) -> bool {
        self.position + granules(len) as u64 >= self.consumed + S::GRANULES as u64
    }

    /// Returns whether the consumer has taken a record since it was last looked at.
    pub(super) fn has_more_room(&self) -> bool {
        self.memory.consumed().load(Ordering::Acquire) != self.consumed
    }

    #[inline]
    fn granule(&self) -> usize {
        (self.position % S::GRANULES as u64) as usize
    }

    #[inline]
    fn reserve(&mut self, need: usize) -> Result<(), RingError> {
        let end = self.position + need as u64;
        if end - self.consumed <= S::GRANULES as u64 {
            return Ok(());
        }
        self.look_for_room()?;
        if end - self.consumed <= S::GRANULES as u64 {
            Ok(())
        } else {
            self.note_burst();
            Err(RingError::Full)
        }
    }

    /// Clears the word behind the record if it may be bytes of a frame.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn clear_behind(&mut self, granules: usize) {
        let behind = (self.granule() + granules) % S::GRANULES;
        let (bits, bit) = (&mut self.stale[behind / 64], 1 << (behind % 64));
        if *bits & bit != 0 {
            *bits &= !bit;
            self.memory.word(behind).store(0, Ordering::Relaxed);
        }
    }

    /// Notes that these granules begin with bytes of a frame.
    #[inline(never)]
    fn mark_stale(&mut self, granules: Range<usize>) {
        let (first, last) = (granules.start / 64, (granules.end - 1) / 64);
        let low = u64::MAX << (granules.start % 64);
        let high = u64::MAX >> (63 - (granules.end - 1) % 64);
        if first == last {
            self.stale[first] |= low & high;
        } else {
            self.stale[first] |= low;
            self.stale[first + 1..last].fill(u64::MAX);
            self.stale[last] |= high;
        }
    }

    #[inline]
    fn publish(&self, len: u32) {
        let word = u64::from(tag(self.position)) << 32 | u64::from(len);
        self.memory
            .word(self.granule())
            .store(word, Ordering::Release);
    }
}

/// The consuming side of a ring.
pub(super) struct Consumer<S> {
    memory: S,
    position: u64,
    /// Number of successive frames without an empty ring in between.
    streak: u32,
    /// Number of frames of a burst so far, from [`BURST_FRAME`] bytes on, and long ones; the owner begins it anew.
    pub(super) burst: u32,
    /// Number of bytes of all frames but long ones, whose bytes lie elsewhere.
    pub(super) bytes: u64,
}

impl<S: GranuleAccess> Consumer<S> {
    pub(super) fn new(memory: S) -> Self {
        Self {
            memory,
            position: 0,
            streak: 0,
            burst: 0,
            bytes: 0,
        }
    }

    /// Passes the oldest frame in place, and its flags, to `f`, and frees its room afterwards, if it is there and has that
    /// stamp and no other flags than [`INVITES`]. Returns false without effect if not: [`Consumer::pop`] tells why.
    #[inline(always)]
    pub(super) fn pop_plain(&mut self, stamp: u32, f: impl FnOnce(&[u8], u32)) -> bool {
        let word = self.memory.word(self.granule()).load(Ordering::Acquire);
        let other = word as u32 ^ stamp;
        let len = (other & !INVITES) as usize;
        if (word >> 32) as u32 != tag(self.position) || !self.fits(len) {
            return false;
        }
        self.prefetch(len);
        // SAFETY: the word has the tag of our position, so the record is complete, and it lies inside the ring by `fits`;
        // its producer does not touch it until our position has passed it.
        unsafe {
            self.memory
                .read(self.granule(), len, |bytes| f(bytes, other & INVITES))
        };
        self.pass(len, false);
        true
    }

    /// Passes the oldest frame in place, and its flags, to `f`, and frees its room afterwards. Returns false if there is
    /// none. The frame must have that stamp.
    #[inline(never)]
    pub(super) fn pop(
        &mut self,
        stamp: u32,
        f: &mut dyn FnMut(&[u8], u32),
    ) -> Result<bool, RingError> {
        let Some((len, flags)) = self.front()? else {
            self.streak = 0;
            return Ok(false);
        };
        if (flags ^ stamp) & STAMP != 0 {
            return Err(RingError::Early);
        }
        self.prefetch(len);
        // SAFETY: `front` has seen the complete record, which lies inside the ring; its producer does not touch it
        // until our position has passed it.
        unsafe {
            self.memory
                .read(self.granule(), len, |bytes| f(bytes, flags))
        };
        self.pass(len, flags & LONG != 0);
        Ok(true)
    }

    /// Prefetches lines that the producer has written: those of the frame of `len` bytes, so that all of them come while
    /// its head is read, and further ones if successive frames show that it is ahead. A line not yet written would have to
    /// return to the producer.
    #[inline(always)]
    fn prefetch(&mut self, len: usize) {
        match self.streak {
            _ if !FAST_PATHS => {}
            0 => {
                let lines = ((granules(len) - 1) / LINE_GRANULES).min(MAX_OWN_LINES);
                if lines > 1 {
                    (1..=lines).for_each(|line| self.prefetch_line(line));
                }
            }
            1 => (1..PREFETCH_LINES).for_each(|line| self.prefetch_line(line)),
            _ => self.prefetch_line(PREFETCH_LINES - 1),
        }
        self.streak = self.streak.saturating_add(1);
    }

    /// Prefetches so many lines ahead.
    #[inline(always)]
    fn prefetch_line(&self, ahead: usize) {
        let granule = self.granule() + ahead * LINE_GRANULES;
        self.memory.prefetch_read(granule % S::GRANULES);
    }

    /// Returns whether a look for another frame pays right after [`Consumer::pop`]: its word lies in the line of the last
    /// one, or the producer is ahead. Otherwise the look would take a line that the producer is about to write, and its
    /// stores, perhaps those of the answer, would wait for it.
    #[inline(always)]
    pub(super) fn is_next_near(&self) -> bool {
        self.streak > 1 || !self.granule().is_multiple_of(LINE_GRANULES)
    }

    /// Returns the position behind the last frame that was taken.
    #[inline(always)]
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Returns whether there is a record, valid or not.
    #[inline]
    pub(super) fn has_next(&self) -> bool {
        let word = self.memory.word(self.granule()).load(Ordering::Acquire);
        (word >> 32) as u32 == tag(self.position) || !self.is_old(word)
    }

    /// Returns whether the word is 0, or that of a record that was there before.
    #[inline]
    fn is_old(&self, word: u64) -> bool {
        let differs = (word >> 32) as u32 ^ tag(self.position);
        word == 0 || differs.is_multiple_of(2 * S::GRANULES as u32)
    }

    #[inline]
    fn granule(&self) -> usize {
        (self.position % S::GRANULES as u64) as usize
    }

    /// Returns the length of the oldest frame in bytes, and its flags.
    fn front(&mut self) -> Result<Option<(usize, u32)>, RingError> {
        let Some(word) = self.word()? else {
            return Ok(None);
        };
        if word & GAP == 0 {
            return self.validate(word).map(Some);
        }
        self.skip(word)?;
        // A record follows a gap.
        match self.word()? {
            None => Ok(None),
            Some(word) => self.validate(word).map(Some),
        }
    }

    /// Returns length and flags of the record at the position, if there is one with its tag.
    fn word(&self) -> Result<Option<u32>, RingError> {
        let word = self.memory.word(self.granule()).load(Ordering::Acquire);
        if (word >> 32) as u32 == tag(self.position) {
            Ok(Some(word as u32))
        } else if self.is_old(word) {
            Ok(None)
        } else {
            Err(RingError::Corrupt)
        }
    }

    fn validate(&self, word: u32) -> Result<(usize, u32), RingError> {
        let len = (word & !FLAGS) as usize;
        match self.fits(len) {
            true => Ok((len, word & FLAGS)),
            false => Err(RingError::Corrupt),
        }
    }

    /// Returns whether a record with that length is allowed and ends inside the ring.
    #[inline(always)]
    fn fits(&self, len: usize) -> bool {
        len <= limit(S::GRANULES)
            && len <= S::GRANULES * GRANULE - (self.granule() * GRANULE + WORD)
    }

    fn skip(&mut self, word: u32) -> Result<(), RingError> {
        let gap = (word & !GAP) as usize;
        if !(1..=S::GRANULES - self.granule()).contains(&gap) {
            return Err(RingError::Corrupt);
        }
        self.advance(gap);
        Ok(())
    }

    /// Frees the room of a frame of `len` bytes.
    #[inline(always)]
    fn pass(&mut self, len: usize, is_long: bool) {
        if FAST_PATHS {
            let counts = is_long || len >= BURST_FRAME;
            self.burst = self.burst.saturating_add(u32::from(counts));
            self.bytes += if is_long { 0 } else { len as u64 };
        }
        self.advance(granules(len));
    }

    #[inline]
    fn advance(&mut self, granules: usize) {
        self.position += granules as u64;
        self.memory
            .consumed()
            .store(self.position, Ordering::Release);
    }
}

/// Flag in place of a length, with a number of empty granules.
pub(super) const GAP: u32 = 1 << 31;

/// Flag beside a length: the payload is still with its sender.
pub(super) const EXPOSED: u32 = 1 << 30;

/// Flag beside a length: the record tells where the frame lies.
pub(super) const LONG: u32 = 1 << 29;

/// Flag beside a length: the sender looks for mails.
pub(super) const INVITES: u32 = 1 << 28;

/// The bits beside a length that tell how many mails precede the record, the lowest first.
pub(super) const STAMP: u32 = 0xff * FIRST_STAMP;
pub(super) const FIRST_STAMP: u32 = 1 << 16;

/// Size in bytes of a cache line.
const LINE: usize = LINE_GRANULES * GRANULE;
/// Length in bytes of the longest frame in a granule.
const SHORT: usize = GRANULE - WORD;
/// Size in bytes of what lies beside the word in a record's first line.
const FIRST_LINE: usize = LINE - WORD;

const FLAGS: u32 = EXPOSED | LONG | INVITES | STAMP;

/// Returns the tag of a record at that position; never 0.
#[inline]
pub(super) fn tag(position: u64) -> u32 {
    ((position as u32) << 1 | 1) & (u32::MAX >> (u32::BITS - TAG_BITS))
}

/// Returns the number of granules of a record with that length: one, or those of whole lines. A record that ended inside a
/// line would leave a gap before the next such record, whose word its consumer would have to read first.
#[inline(always)]
pub(super) fn granules(len: usize) -> usize {
    match len {
        ..=SHORT => 1,
        _ => (WORD + len).div_ceil(LINE) * LINE_GRANULES,
    }
}

/// Returns the number of granules to skip, because the record would begin in the middle of a line without ending
/// there, or would wrap.
#[inline]
fn gap_before(size: usize, granule: usize, granules: usize) -> usize {
    if size == 1 {
        return 0;
    }
    let line = granule.next_multiple_of(LINE_GRANULES);
    if line + size > granules {
        granules - granule
    } else {
        line - granule
    }
}

/// Copies the parts one after the other into `room`, which has their total length. Of frames in two parts, as MPI's are,
/// the bytes that share a line with the head come last, just before the word, where the record begins a line: the reader
/// polls that one, and the next store there has to fetch it back each time.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub(super) fn copy_parts(parts: &[Part<'_>], room: &mut [u8]) {
    // Nearly all frames of the kernel have this form, which lets the compiler specialise the copies.
    if let [head @ Part::Bytes(_), payload] = parts {
        let (front, mut back) = room.split_at_mut(head.len());
        let at = FIRST_LINE.saturating_sub(head.len());
        if back.len() > at {
            payload.copy_to(at, &mut back[at..]);
            back = &mut back[..at];
        }
        head.copy_to(0, front);
        payload.copy_to(0, back);
        return;
    }
    copy_in_order(parts, room);
}

/// Copies the parts one after the other into `room`, which has their total length.
#[inline(always)]
pub(super) fn copy_in_order(parts: &[Part<'_>], mut room: &mut [u8]) {
    for part in parts {
        let (here, behind) = room.split_at_mut(part.len());
        part.copy_to(0, here);
        room = behind;
    }
}
