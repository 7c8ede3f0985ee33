//! Where the ranks of a group publish: each has a board that it alone writes and all others read. Without locks. Used
//! by `collective` only.
//!
//! All go through the same rounds. In a round a rank publishes once at most, a place further on its board each time;
//! it may publish for rounds to come. When it has no more use for what the others have published in a round it passes
//! it. A place is used again when all have passed the round that it was used for before: so nobody overwrites what
//! somebody still reads, and who runs ahead of the others waits at the end of its board.
//!
//! A place begins with the number of its round, beside a short text; long texts lie in chunks, of which there are
//! fewer. Numbers carry the group's own in front and never repeat, so nobody takes for its own what an earlier group
//! has left behind.

use super::sync::{AtomicU64, Ordering};

/// The memory of a group's boards, all zero at first.
pub(super) trait Places {
    /// Places of a board.
    const PLACES: u64;
    /// Its chunks, no more than places.
    const CHUNKS: u64;
    /// The longest text that lies beside the number of its round.
    const SHORT: usize;
    /// The longest one at all.
    const LONG: usize;

    /// The ranks of the group.
    fn ranks(&self) -> usize;

    /// The round's number and the length of the text, in the place that a rank has for that round.
    fn head(&self, rank: usize, round: u64) -> &[AtomicU64; 2];

    /// The number up to which a rank has passed.
    fn passed(&self, rank: usize) -> &AtomicU64;

    /// Hands out `len` bytes, up to [`Places::LONG`], of the place, or of the chunk if the text is long.
    ///
    /// # Safety
    /// Nobody else reads or writes them during the call.
    unsafe fn fill<R>(
        &self,
        rank: usize,
        round: u64,
        len: usize,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> R;

    /// Hands out `len` bytes, up to [`Places::LONG`], of the place, or of the chunk if the text is long.
    ///
    /// # Safety
    /// Nobody writes them during the call.
    unsafe fn read<R>(&self, rank: usize, round: u64, len: usize, f: impl FnOnce(&[u8]) -> R) -> R;
}

/// Numbers of a group: 1 for its first round, and so on.
const ROUNDS: u64 = 1 << 44;
/// Groups that have numbers.
pub(super) const GROUPS: u64 = 1 << 20;

/// One rank's part in a group.
pub(super) struct Board<P> {
    places: P,
    me: usize,
    /// The group's part of all numbers.
    base: u64,
    /// The round for which this rank publishes next.
    next: u64,
    /// The round in which it reads.
    round: u64,
    /// All have passed the rounds before this one.
    behind: u64,
}

impl<P: Places> Board<P> {
    /// Of rank `me` in the group with that number, below [`GROUPS`].
    pub(super) fn new(places: P, me: usize, group: u64) -> Self {
        Self {
            places,
            me,
            base: group * ROUNDS,
            next: 0,
            round: 0,
            behind: 0,
        }
    }

    /// Rounds that are left.
    #[inline]
    pub(super) fn rounds(&self) -> u64 {
        (ROUNDS - 1).saturating_sub(self.next)
    }

    /// Is there room for this rank's next text, of so many bytes? For one that is too long there never is.
    #[inline]
    fn has_room(&mut self, len: usize) -> bool {
        let needed = self.needed(len);
        if self.behind < needed {
            self.behind = self.slowest();
        }
        len <= P::LONG && self.behind >= needed && self.rounds() > 0
    }

    /// The rounds before this one must be over to make room for the next text.
    #[inline]
    fn needed(&self, len: usize) -> u64 {
        let places = if len > P::SHORT { P::CHUNKS } else { P::PLACES };
        (self.next + 1).saturating_sub(places)
    }

    /// Would [`Board::fill`] find room now?
    pub(super) fn finds_room(&self, len: usize) -> bool {
        self.slowest() >= self.needed(len)
    }

    /// Hands out the room for this rank's next text, if there is any. A text may be written bit by bit.
    #[inline]
    pub(super) fn fill<R>(&mut self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        if !self.has_room(len) {
            return None;
        }
        // SAFETY: this rank alone writes its board. All others have passed the round for which the place, or the
        // chunk, was used before, and read nothing there before it is published.
        Some(unsafe { self.places.fill(self.me, self.next, len, f) })
    }

    /// Publishes what was written, of so many bytes. False if there was no room.
    #[inline]
    pub(super) fn publish(&mut self, len: usize) -> bool {
        if !self.has_room(len) {
            return false;
        }
        let [number, length] = self.places.head(self.me, self.next);
        length.store(len as u64, Ordering::Relaxed);
        self.next += 1;
        number.store(self.base + self.next, Ordering::Release);
        // Fetches the line of the next place while this rank waits for the others. Whoever still wants what the place
        // says may find it by this store.
        let [number, _] = self.places.head(self.me, self.next);
        number.store(number.load(Ordering::Relaxed), Ordering::Release);
        true
    }

    /// Has that rank published for this round?
    #[inline]
    pub(super) fn has(&self, rank: usize) -> bool {
        let [number, _] = self.places.head(rank, self.round);
        number.load(Ordering::Acquire) == self.base + self.round + 1
    }

    /// Hands out what that rank has published for this round, if it has.
    #[inline]
    pub(super) fn read<R>(&self, rank: usize, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        if !self.has(rank) {
            return None;
        }
        let [_, length] = self.places.head(rank, self.round);
        let len = length.load(Ordering::Relaxed).min(P::LONG as u64) as usize;
        // SAFETY: it was published, and its owner leaves it alone until this rank has passed the round.
        Some(unsafe { self.places.read(rank, self.round, len, f) })
    }

    /// Passes the round: what was published for it is no longer read here.
    #[inline]
    pub(super) fn pass(&mut self) {
        self.round += 1;
        self.next = self.next.max(self.round);
        let passed = self.places.passed(self.me);
        passed.store(self.base + self.round, Ordering::Release);
    }

    /// Have all passed the rounds that this rank has?
    pub(super) fn is_over(&self) -> bool {
        self.slowest() >= self.round
    }

    /// All have passed the rounds before this one.
    #[inline(never)]
    fn slowest(&self) -> u64 {
        let passed = (0..self.places.ranks()).map(|rank| {
            let passed = self.places.passed(rank).load(Ordering::Acquire);
            // A number of an earlier group is nothing here, one of a later group more than all rounds.
            passed.saturating_sub(self.base)
        });
        passed.min().unwrap_or(0)
    }
}
