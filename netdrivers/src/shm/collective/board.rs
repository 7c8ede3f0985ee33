//! Where the ranks of a group publish: each has a board that it alone writes and all others read. Without locks. Used
//! by `collective` only.
//!
//! All go through the same operations, and in each through rounds. In a round a rank publishes once at most; it may
//! publish for rounds to come. When it has no more use for what the others have published in a round it releases it, and
//! at the end of an operation all of its rounds. A slot is used again when all have released the round that it was used
//! for before: so nobody overwrites what somebody still reads, and who runs ahead of the others waits for room.
//!
//! The number of a round follows from its operation, so ranks that disagree on how many rounds an operation takes meet
//! again in the next one: who waits for a round that another has released without publishing hears of it. Who reads a
//! payload also gets the mark that its rank gave to the operation, and can compare.
//!
//! A slot begins with the number of its round, beside a short payload; long payloads lie in chunks, of which there are
//! fewer. Numbers never repeat in an region: a later group begins above those of all its members, so nobody takes for its
//! own what an earlier group has left behind.

use super::sync::{AtomicU64, Ordering};

/// The memory of a group's boards, all zero at first.
pub(super) trait BoardMemory {
    /// Slots of a board.
    const SLOTS: u64;
    /// Its chunks: a divisor of the slots.
    const CHUNKS: u64;
    /// The longest payload that lies beside the number of its round.
    const INLINE: usize;
    /// The longest one at all.
    const MAX_PAYLOAD: usize;

    /// The ranks of the group.
    fn ranks(&self) -> usize;

    /// The round's number, and mark and length of the payload, in a slot of a rank: the remainder of `slot`.
    fn slot_words(&self, rank: usize, slot: u64) -> &[AtomicU64; 2];

    /// The number up to which a rank has released.
    fn released(&self, rank: usize) -> &AtomicU64;

    /// Hands out `len` bytes, up to [`BoardMemory::MAX_PAYLOAD`], of the slot, or of the chunk if the payload is long.
    ///
    /// # Safety
    /// Nobody else reads or writes them during the call.
    unsafe fn fill<R>(
        &self,
        rank: usize,
        slot: u64,
        len: usize,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> R;

    /// Hands out `len` bytes, up to [`BoardMemory::MAX_PAYLOAD`], of the slot, or of the chunk if the payload is long.
    ///
    /// # Safety
    /// Nobody writes them during the call.
    unsafe fn read<R>(&self, rank: usize, slot: u64, len: usize, f: impl FnOnce(&[u8]) -> R) -> R;
}

/// Rounds of an operation. One that takes more goes on with those of the next one, which then begins behind it.
const ROUNDS: u64 = 1 << 20;
/// Operations that have numbers, of all groups of an region one after the other.
pub(super) const OPERATIONS: u64 = 1 << 43;
/// Places from the first one of an operation to that of the next: no divisor of the slots, so that short operations
/// use all of them, and enough for the rounds of most.
const STRIDE: u64 = 5;
/// Bits of a payload's length; those of the mark follow.
const LENGTH: u32 = 24;
/// Marks are below this.
pub(super) const MARK_LIMIT: u64 = 1 << (u64::BITS - LENGTH);

/// One rank's part in a group.
pub(super) struct Board<P> {
    slots: P,
    me: usize,
    /// The group's first operation.
    base: u64,
    /// What this rank's payloads say of the operation.
    mark: u64,
    /// The round for which this rank publishes next.
    next: u64,
    /// The round in which it reads.
    round: u64,
    /// Behind the last round for which it has published.
    published: u64,
    /// All have released the rounds before this one.
    behind: u64,
}

impl<P: BoardMemory> Board<P> {
    /// Of rank `me` in a group that begins with that operation, of which no member has used a board in this region.
    pub(super) fn new(slots: P, me: usize, base: u64) -> Self {
        Self {
            slots,
            me,
            base,
            mark: 0,
            next: base * ROUNDS,
            round: base * ROUNDS,
            published: 0,
            behind: 0,
        }
    }

    /// Is there a number for that operation of the group?
    #[inline]
    pub(super) fn has_number_for(&self, operation: u64) -> bool {
        self.base + operation < OPERATIONS
    }

    /// Begins that operation of the group, later than all before it.
    #[inline]
    pub(super) fn begin(&mut self, operation: u64, mark: u64) {
        self.round = self.round.max((self.base + operation) * ROUNDS);
        self.next = self.round;
        self.mark = mark << LENGTH;
    }

    /// The slot of a round.
    #[inline]
    fn slot(round: u64) -> u64 {
        round.wrapping_add(round / ROUNDS * STRIDE)
    }

    /// Is there room for this rank's next payload, of so many bytes? For one that is too long there never is.
    #[inline]
    fn has_room(&mut self, len: usize) -> bool {
        let needed = self.needed(len);
        if self.behind < needed {
            self.behind = self.slowest();
        }
        len <= P::MAX_PAYLOAD && self.behind >= needed
    }

    /// The rounds before this one must be over to make room for the next payload.
    #[inline]
    fn needed(&self, len: usize) -> u64 {
        let slot = Self::slot(self.next);
        let used = |slot| {
            let [number, _] = self.slots.slot_words(self.me, slot);
            number.load(Ordering::Relaxed)
        };
        let mut last = used(slot);
        if len > P::INLINE {
            // The slots whose payloads, if long, lie in the same chunk.
            let others = (1..P::SLOTS / P::CHUNKS).map(|other| used(slot + other * P::CHUNKS));
            last = others.fold(last, u64::max);
        }
        // The number of an earlier group is nothing here.
        if last > self.base * ROUNDS { last } else { 0 }
    }

    /// Would [`Board::fill`] find room now?
    pub(super) fn has_room_now(&self, len: usize) -> bool {
        self.slowest() >= self.needed(len)
    }

    /// Hands out the room for this rank's next payload, if there is any. A payload may be written bit by bit.
    #[inline]
    pub(super) fn fill<R>(&mut self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        if !self.has_room(len) {
            return None;
        }
        // SAFETY: this rank alone writes its board. All others have released the round for which the slot, or the
        // chunk, was used before, and read nothing there before it is published.
        Some(unsafe { self.slots.fill(self.me, Self::slot(self.next), len, f) })
    }

    /// Publishes what was written, of so many bytes. False if there was no room.
    #[inline]
    pub(super) fn publish(&mut self, len: usize) -> bool {
        if !self.has_room(len) {
            return false;
        }
        let slot = Self::slot(self.next);
        let [number, about] = self.slots.slot_words(self.me, slot);
        about.store(self.mark | len as u64, Ordering::Relaxed);
        self.next += 1;
        self.published = self.next;
        number.store(self.next, Ordering::Release);
        // Fetches the line of the next operation's slot while this rank waits for the others. Whoever still wants
        // what the slot says may find it by this store.
        let [number, _] = self.slots.slot_words(self.me, slot + STRIDE);
        number.store(number.load(Ordering::Relaxed), Ordering::Release);
        true
    }

    /// Has that rank published for this round?
    #[inline]
    pub(super) fn has(&self, rank: usize) -> bool {
        let slot = Self::slot(self.round);
        let [number, _] = self.slots.slot_words(rank, slot);
        number.load(Ordering::Acquire) == self.round + 1
    }

    /// Has that rank passed this round without having published for it?
    pub(super) fn has_skipped(&self, rank: usize) -> bool {
        let released = self.slots.released(rank);
        // Whoever has published for a round has done so before it released.
        released.load(Ordering::Acquire) > self.round && !self.has(rank)
    }

    /// Hands out what that rank has published for this round, if it has, and the mark of its operation.
    #[inline]
    pub(super) fn read<R>(&self, rank: usize, f: impl FnOnce(&[u8], u64) -> R) -> Option<R> {
        if !self.has(rank) {
            return None;
        }
        let slot = Self::slot(self.round);
        let [_, about] = self.slots.slot_words(rank, slot);
        let about = about.load(Ordering::Relaxed);
        let len = (about % (1 << LENGTH)).min(P::MAX_PAYLOAD as u64) as usize;
        let f = |payload: &[u8]| f(payload, about >> LENGTH);
        // SAFETY: it was published, and its owner leaves it alone until this rank has released the round.
        Some(unsafe { self.slots.read(rank, slot, len, f) })
    }

    /// Releases the round: what was published for it is no longer read here.
    #[inline]
    pub(super) fn release(&mut self) {
        self.release_to(self.round + 1);
    }

    /// Ends the operation: nothing that was published for it is read here any more.
    #[inline]
    pub(super) fn end(&mut self) {
        self.release_to((self.round / ROUNDS + 1) * ROUNDS);
    }

    /// Leaves out all operations up to that one, as far as this rank has not ended them.
    pub(super) fn skip(&mut self, operation: u64) {
        let behind = (self.base + operation + 1) * ROUNDS;
        self.release_to(self.round.max(behind));
    }

    #[inline]
    fn release_to(&mut self, round: u64) {
        self.round = round;
        self.next = self.next.max(round);
        let released = self.slots.released(self.me);
        released.store(round, Ordering::Release);
    }

    /// Have all passed the rounds for which this rank has published?
    pub(super) fn all_released(&self) -> bool {
        self.slowest() >= self.published
    }

    /// An operation that no member of this group has come to, if all have gone through the same ones.
    pub(super) fn next_operation(&self) -> u64 {
        self.next.div_ceil(ROUNDS)
    }

    /// All have released the rounds before this one.
    #[inline(never)]
    fn slowest(&self) -> u64 {
        let ranks = 0..self.slots.ranks();
        let released = ranks.map(|rank| self.slots.released(rank).load(Ordering::Acquire));
        released.min().unwrap_or(0)
    }
}
