//! The boards of a group: each rank has one that it alone writes, outside its cells, and all others read, without locks. Only
//! `collective` uses them.
//!
//! All ranks run the same operations, and in each the same rounds. In a round a rank publishes at most once; it may
//! publish for later rounds in advance. When it no longer needs the payloads of a round it releases the round, and at
//! the end of an operation all its rounds. A slot is reused when all ranks have released the round of its previous use:
//! so no payload is overwritten while a rank reads it, and a rank that is ahead of the others waits for room.
//!
//! The number of a round follows from its operation, so ranks that disagree on the number of rounds of an operation are
//! in step again in the next one: a rank that waits for a round that another has released without publishing gets an
//! error. A reader of a payload also gets the mark that its rank gave to the operation, and can compare.
//!
//! A slot begins with the number of its round, followed by a short payload; longer ones lie behind the slots, those of up
//! to [`BoardMemory::PAGE`] bytes on the page of their slot, and the longest one after the other in the rest of the
//! memory, round and round: so they use all of it, whatever their length. A payload can also be a block for each other rank
//! by itself, in cells behind all this: see `passed_blocks`. Numbers never repeat in a region: a later group
//! begins above the numbers of all its members, so no rank mistakes the payload of an earlier group for a current one.

use alloc::boxed::Box;
use alloc::vec;
use core::ops::Range;

use super::passed_blocks::{AHEAD, PassedBlocks, Side};
use super::sync::{AtomicU64, Ordering};

/// Size of a cache line in bytes, at which the longest payloads begin: loom explores this file by itself, so it has its own.
const LINE: usize = 64;

/// The memory of a group's boards, initially zero.
pub(super) trait BoardMemory {
    /// Number of slots of a board.
    const SLOTS: u64;
    /// Number of operations whose slots are claimed together.
    const CLAIMED: u64 = Self::SLOTS.div_ceil(4);
    /// Size in bytes of the longest payload in a slot.
    const INLINE: usize;
    /// Size in bytes of the longest payload on the page of a slot.
    const PAGE: usize;
    /// Size in bytes of the longest payload.
    const MAX_PAYLOAD: usize;

    /// Returns the number of ranks of the group.
    fn ranks(&self) -> usize;

    /// Returns the bytes of a board behind its slots: a page for each, and room for the longest payloads. Behind them are the
    /// cells: [`AHEAD`] times as many bytes as the longest payload has.
    fn bytes(&self) -> usize;
    /// Returns the bytes of a cell: those for each other rank together are as long as the longest payload.
    fn cell(&self) -> usize;
    /// Returns the words of a rank's slot, modulo the number of slots: the round's number, the payload's mark and length,
    /// and where it lies behind the slots.
    fn slot_words(&self, rank: usize, slot: u64) -> &[AtomicU64; 3];
    /// Returns the number below which a rank has released all rounds.
    fn released(&self, rank: usize) -> &AtomicU64;

    /// Returns the number below which all groups begin that a rank has left.
    fn left(&self, rank: usize) -> &AtomicU64;
    /// Returns the nanoseconds that readers have spent on a rank's last timed payload.
    fn spent(&self, rank: usize) -> &AtomicU64;
    /// Passes `len` bytes, up to [`BoardMemory::MAX_PAYLOAD`], of the slot, or from there on behind the slots if it
    /// cannot have them, to `f`.
    ///
    /// # Safety
    /// Nobody else reads or writes them during the call.
    unsafe fn fill<R>(
        &self,
        rank: usize,
        place: (u64, usize),
        len: usize,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> R;

    /// Passes `len` bytes, up to [`BoardMemory::MAX_PAYLOAD`], of the slot, or from there on behind the slots if it
    /// cannot have them, to `f`.
    ///
    /// # Safety
    /// Nobody writes them during the call.
    unsafe fn read<R>(
        &self,
        rank: usize,
        place: (u64, usize),
        len: usize,
        f: impl FnOnce(&[u8]) -> R,
    ) -> R;
}

/// Number of rounds of an operation. A longer one continues in the rounds of the next one, which then begins behind it.
const ROUNDS: u64 = 0x10_0000;
/// Number of operations of all groups of a region together.
pub(super) const OPERATIONS: u64 = 1 << 43;
/// Slots from the first one of an operation to that of the next: coprime to the slots, so that short operations use all
/// of them, and enough for the rounds of most.
const STRIDE: u64 = 5;
/// Number of bits of a payload's length, of which the highest are those below; the bits above them are the mark.
const LENGTH: u32 = 24;
/// Tells that the payload's reading is timed.
const TIMED: u64 = 1 << (LENGTH - 1);
/// Tells that the payload is a block for each rank, in cells.
const IN_CELLS: u64 = 1 << (LENGTH - 2);
/// Tells that these lie on the boards of their readers.
const ON_READERS_BOARDS: u64 = 1 << (LENGTH - 3);
/// The first bit of the cells' number.
const CELLS: u32 = LENGTH - 6;
const _: () = assert!(AHEAD as u64 * (1 << CELLS) <= ON_READERS_BOARDS);
/// Exclusive bound of marks.
pub(super) const MARK_LIMIT: u64 = 1 << (u64::BITS - LENGTH);

/// One rank's board in a group.
pub(super) struct Board<P> {
    slots: P,
    me: usize,
    /// The number of the group's first operation.
    base: u64,
    /// The mark of the operation in this rank's payloads.
    mark: u64,
    /// The round for which this rank publishes next.
    next: u64,
    /// The round in which this rank reads.
    round: u64,
    /// The number below which all ranks have released all rounds.
    behind: u64,
    /// Where the payloads in this rank's slots lie behind them: empty for short ones.
    places: Box<[Range<usize>]>,
    /// Where the next one of the longest payloads lies, if it fits there.
    cursor: usize,
    /// The operation in which this rank claims lines again.
    claim_at: u64,
    /// [`TIMED`] if the reading of the next payload is timed, else 0.
    timed: u64,
    blocks: PassedBlocks,
}

impl<P: BoardMemory> Board<P> {
    /// Creates the board of rank `me` in a group that begins with operation `base`, for which no member has used a
    /// board in this region. It publishes blocks in cells if it is to.
    pub(super) fn new(slots: P, me: usize, base: u64, in_cells: bool) -> Self {
        const { assert!((P::MAX_PAYLOAD as u64) < 1 << CELLS) };
        let blocks = PassedBlocks::new(me, slots.ranks(), in_cells);
        Self {
            blocks,
            slots,
            me,
            base,
            mark: 0,
            next: base * ROUNDS,
            round: base * ROUNDS,
            behind: 0,
            places: vec![0..0; P::SLOTS as usize].into(),
            cursor: 0,
            claim_at: 0,
            timed: 0,
        }
    }

    /// Returns whether that operation of the group is within the range of numbers.
    #[inline]
    pub(super) fn has_number_for(&self, operation: u64) -> bool {
        self.base + operation < OPERATIONS
    }

    /// Begins that operation of the group, which must be later than all before it.
    #[inline]
    pub(super) fn begin(&mut self, operation: u64, mark: u64) {
        self.round = self.round.max((self.base + operation) * ROUNDS);
        self.next = self.round;
        self.mark = mark << LENGTH;
        self.timed = 0;
    }

    /// Returns the slot of a round.
    #[inline]
    fn slot(round: u64) -> u64 {
        round.wrapping_add(round / ROUNDS * STRIDE)
    }

    /// Returns whether there is room for this rank's next payload of `len` bytes; always false for one that is too
    /// long.
    #[inline]
    pub(super) fn has_room(&mut self, len: usize) -> bool {
        if len > P::MAX_PAYLOAD {
            return false;
        }
        let needed = self.needed(len);
        if self.behind < needed {
            self.behind = self.slowest();
        }
        self.behind >= needed
    }

    /// Returns the round below which all must be released to make room for the next payload.
    #[inline]
    fn needed(&self, len: usize) -> u64 {
        let used = |slot| {
            let [number, ..] = self.slots.slot_words(self.me, slot);
            number.load(Ordering::Relaxed)
        };
        let mut last = used(Self::slot(self.next));
        if len > P::PAGE {
            let place = self.place(len);
            let meets = |(_, other): &(_, &Range<usize>)| {
                other.start < place.end && place.start < other.end
            };
            let others = (0..).zip(&self.places).filter(meets);
            last = others.map(|(slot, _)| used(slot)).fold(last, u64::max);
        }
        // Rounds of an earlier group do not count.
        if last > self.base * ROUNDS { last } else { 0 }
    }

    /// Returns where the next payload lies behind the slots, if it is not short.
    #[inline]
    fn place(&self, len: usize) -> Range<usize> {
        let pages = P::SLOTS as usize * P::PAGE;
        let start = match len {
            len if len <= P::INLINE => return 0..0,
            len if len <= P::PAGE => (Self::slot(self.next) % P::SLOTS) as usize * P::PAGE,
            _ if self.cursor + len > self.slots.bytes() => pages,
            _ => self.cursor.max(pages),
        };
        start..start + len
    }

    /// Returns whether [`Board::fill`] would find room now.
    pub(super) fn has_room_now(&self, len: usize) -> bool {
        len <= P::MAX_PAYLOAD && self.slowest() >= self.needed(len)
    }

    /// Passes the room for this rank's next payload to `f`, if there is any. A payload may be written in several calls.
    #[inline]
    pub(super) fn fill<R>(&mut self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        if !self.has_room(len) {
            return None;
        }
        let place = (Self::slot(self.next), self.place(len).start);
        Some(self.write((self.me, place), len, f))
    }

    /// Passes the room for this rank's next payload on its own board, or a cell that it holds, to `f`.
    #[inline]
    fn write<R>(
        &self,
        (board, place): (usize, (u64, usize)),
        len: usize,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> R {
        // SAFETY: but for cells, this rank alone writes its board. All others have released the rounds for which the slot, or
        // the place behind them, was used before, and read nothing there before it is published. A cell that this rank holds
        // was never used in this group, or it has read what the other one of its two ranks wrote there: that one writes
        // there again only when it has read what this one writes, and if it holds none any more, never.
        unsafe { self.slots.fill(board, place, len, f) }
    }

    /// Publishes the written payload of `len` bytes. Returns false if there was no room.
    #[inline]
    pub(super) fn publish(&mut self, len: usize) -> bool {
        if !self.has_room(len) {
            return false;
        }
        let place = self.place(len);
        let [.., start] = self.slots.slot_words(self.me, Self::slot(self.next));
        if len > P::INLINE {
            start.store(place.start as u64, Ordering::Relaxed);
        }
        if len > P::PAGE {
            self.cursor = place.end.next_multiple_of(LINE);
        }
        let timed = core::mem::take(&mut self.timed);
        self.announce(timed | len as u64, place);
        true
    }

    /// Returns whether there is a cell for this rank's next block for each other one, of up to `len` bytes.
    #[inline]
    pub(super) fn has_cells(&self, len: usize) -> bool {
        len <= self.slots.cell() && self.blocks.free().is_some()
    }

    /// Publishes a block of `len` bytes for each other rank, which `f` writes. Returns false if there were no cells, or no slot.
    pub(super) fn publish_blocks(
        &mut self,
        len: usize,
        mut f: impl FnMut(usize, &mut [u8]),
    ) -> bool {
        let Some(cells) = self.blocks.free() else {
            return false;
        };
        if len > self.slots.cell() || !self.has_room(0) {
            return false;
        }
        for rank in (0..self.slots.ranks()).filter(|rank| *rank != self.me) {
            let cell = self.cell(cells, self.me, rank);
            // All of it, as so few bytes as some blocks have would be those of a slot.
            self.write(cell, self.slots.cell(), |room| f(rank, &mut room[..len]));
        }
        self.blocks.published(self.next);
        let (number, side) = cells;
        let side = match side {
            Side::Own => 0,
            Side::Readers => ON_READERS_BOARDS,
        };
        let about = IN_CELLS | side | (number as u64) << CELLS | len as u64;
        self.announce(about, 0..0);
        true
    }

    /// Returns the board and the place of the cell of that number in which rank `from` writes on that side for rank `to`.
    #[inline]
    fn cell(&self, (number, side): (usize, Side), from: usize, to: usize) -> (usize, (u64, usize)) {
        let (board, other) = match side {
            Side::Own => (from, to),
            Side::Readers => (to, from),
        };
        let cells = self.slots.bytes() + number % AHEAD * P::MAX_PAYLOAD;
        // Cells of ranks below it begin with the first one: a board has none for its own rank.
        let cell = other - usize::from(other > board);
        (board, (0, cells + cell * self.slots.cell()))
    }

    /// Publishes what lies at that place: `about` are its length and the bits above it.
    #[inline]
    fn announce(&mut self, about: u64, place: Range<usize>) {
        let slot = Self::slot(self.next);
        let [number, text, _] = self.slots.slot_words(self.me, slot);
        text.store(self.mark | about, Ordering::Relaxed);
        self.places[(slot % P::SLOTS) as usize] = place;
        self.next += 1;
        number.store(self.next, Ordering::Release);
        let operation = self.round / ROUNDS;
        if operation >= self.claim_at {
            self.claim_at = operation + P::CLAIMED;
            self.claim(operation);
        }
    }

    /// Fetches the lines of the slots with which later operations begin, where readers have them, by stores: several together
    /// take as long as one. They are releases, because a rank that still needs the round in a slot may read its number from
    /// this store.
    #[inline(never)]
    fn claim(&self, operation: u64) {
        for operation in operation..self.claim_at {
            let slot = Self::slot((operation + P::CLAIMED) * ROUNDS);
            let [number, ..] = self.slots.slot_words(self.me, slot);
            number.store(number.load(Ordering::Relaxed), Ordering::Release);
        }
    }

    /// Returns whether that rank has published for this round.
    #[inline]
    pub(super) fn has(&self, rank: usize) -> bool {
        let slot = Self::slot(self.round);
        let [number, ..] = self.slots.slot_words(rank, slot);
        number.load(Ordering::Acquire) == self.round + 1
    }

    /// Returns whether that rank has passed this round without publishing for it.
    pub(super) fn has_skipped(&self, rank: usize) -> bool {
        let released = self.slots.released(rank);
        // A rank that publishes for a round does so before it releases it.
        released.load(Ordering::Acquire) > self.round && !self.has(rank)
    }

    /// Passes what the rank has published for this round, if anything, and the mark of its operation to `f`: the payload from
    /// byte `at` on, or its block for this rank, of which it has none for itself.
    #[inline]
    pub(super) fn read<R>(
        &mut self,
        rank: usize,
        at: usize,
        f: impl FnOnce(&[u8], u64) -> R,
    ) -> Option<R> {
        if !self.has(rank) {
            return None;
        }
        let slot = Self::slot(self.round);
        let [_, about, start] = self.slots.slot_words(rank, slot);
        let about = about.load(Ordering::Relaxed);
        let len = (about % (1 << CELLS)) as usize;
        let ((board, place), bytes, part) = match about & IN_CELLS {
            0 => {
                let place = (slot, start.load(Ordering::Relaxed) as usize);
                let len = len.min(P::MAX_PAYLOAD);
                ((rank, place), len, at.min(len)..len)
            }
            _ if rank == self.me => return Some(f(&[], about >> LENGTH)),
            _ => {
                let side = match about & ON_READERS_BOARDS {
                    0 => Side::Own,
                    _ => Side::Readers,
                };
                let number = ((about % ON_READERS_BOARDS) >> CELLS) as usize;
                self.blocks.reads(rank, (number, side), self.round);
                let cell = self.slots.cell();
                let place = self.cell((number, side), rank, self.me);
                (place, cell, 0..len.min(cell))
            }
        };
        let f = |text: &[u8]| f(&text[part], about >> LENGTH);
        // SAFETY: it was published, and its writer leaves it alone until this rank has released the round; a cell until that
        // one has read what this rank writes there later.
        Some(unsafe { self.slots.read(board, place, bytes, f) })
    }

    /// Has the reading of the next payload timed, and returns the payload's round.
    pub(super) fn time_next(&mut self) -> u64 {
        self.slots.spent(self.me).store(0, Ordering::Relaxed);
        self.timed = TIMED;
        self.next
    }

    /// Returns whether the reading of what that rank has published for this round is timed.
    pub(super) fn is_timed(&self, rank: usize) -> bool {
        let [_, about, _] = self.slots.slot_words(rank, Self::slot(self.round));
        about.load(Ordering::Relaxed) & TIMED != 0
    }

    /// Tells that rank how long this one has read its timed payload.
    pub(super) fn spend(&self, rank: usize, nanoseconds: u64) {
        self.slots
            .spent(rank)
            .fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Returns how long the others have read the timed payload of that round, once they have.
    pub(super) fn spent(&self, round: u64) -> Option<u64> {
        let is_read = self.slowest() > round;
        is_read.then(|| self.slots.spent(self.me).load(Ordering::Relaxed))
    }

    /// Releases the round: this rank no longer reads its payloads.
    #[inline]
    pub(super) fn release(&mut self) {
        self.release_to(self.round + 1);
    }

    /// Ends the operation: this rank no longer reads its payloads.
    #[inline]
    pub(super) fn end(&mut self) {
        self.release_to((self.round / ROUNDS + 1) * ROUNDS);
    }

    /// Skips all operations up to that one that this rank has not ended.
    #[inline]
    pub(super) fn skip(&mut self, operation: u64) {
        let behind = (self.base + operation + 1) * ROUNDS;
        self.release_to(self.round.max(behind));
    }

    /// Returns whether that rank has ended or skipped that operation.
    pub(super) fn has_left(&self, rank: usize, operation: u64) -> bool {
        let behind = (self.base + operation + 1) * ROUNDS;
        self.slots.released(rank).load(Ordering::Acquire) >= behind
    }

    #[inline]
    fn release_to(&mut self, round: u64) {
        self.blocks.released(round);
        self.round = round;
        self.next = self.next.max(round);
        let released = self.slots.released(self.me);
        released.store(round, Ordering::Release);
    }

    /// Leaves the group: this rank neither reads nor writes in it from now on.
    pub(super) fn leave(&self) {
        let left = self.slots.left(self.me);
        left.store(self.base + 1, Ordering::Release);
    }

    /// Returns whether that rank has left the group.
    pub(super) fn has_left_group(&self, rank: usize) -> bool {
        self.slots.left(rank).load(Ordering::Acquire) > self.base
    }

    /// Returns the number of an operation that no member of this group has reached, if all have run the same ones.
    pub(super) fn next_operation(&self) -> u64 {
        // Also one that has run none has numbers of its own, or its members would seem to have left the next one.
        self.next.div_ceil(ROUNDS).max(self.base + 1)
    }

    /// Returns the number below which all ranks have released all rounds.
    #[inline(never)]
    fn slowest(&self) -> u64 {
        let ranks = 0..self.slots.ranks();
        let released = ranks.map(|rank| self.slots.released(rank).load(Ordering::Acquire));
        released.min().unwrap_or(0)
    }
}
