//! Boards of a group: nobody reads what is not complete, and nobody overwrites what somebody still reads.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::thread;

use crate::board::{Board, BoardMemory};
use crate::check;
use crate::event_count::{AWAKE, EventCount, WaitFor};
use crate::event_counts::ModelPark;
use crate::passed_blocks::AHEAD;

/// Slots of a board, and bytes of a payload beside its number: few, so that all are used again soon.
const SLOTS: usize = 2;
const INLINE: usize = 1;
const MAX_PAYLOAD: usize = 2;

/// The boards of so many ranks. Whoever uses bytes of a payload while another writes them fails the model.
struct Memory<const RANKS: usize>(Arc<[BoardAddress; RANKS]>);

struct BoardAddress {
    heads: [[AtomicU64; 3]; SLOTS],
    short: [UnsafeCell<[u8; INLINE]>; SLOTS],
    /// Room for one payload.
    long: UnsafeCell<[u8; MAX_PAYLOAD]>,
    /// The cells, each for the one other rank.
    cells: [UnsafeCell<[u8; MAX_PAYLOAD]>; AHEAD],
    released: AtomicU64,
    left: AtomicU64,
    spent: AtomicU64,
}

impl BoardAddress {
    fn new(released: u64) -> Self {
        Self {
            heads: core::array::from_fn(|_| core::array::from_fn(|_| AtomicU64::new(0))),
            short: core::array::from_fn(|_| UnsafeCell::new([0; INLINE])),
            long: UnsafeCell::new([0; MAX_PAYLOAD]),
            cells: core::array::from_fn(|_| UnsafeCell::new([0; MAX_PAYLOAD])),
            released: AtomicU64::new(released),
            left: AtomicU64::new(0),
            spent: AtomicU64::new(0),
        }
    }
}

impl<const RANKS: usize> Memory<RANKS> {
    fn new() -> Self {
        Self(Arc::new(core::array::from_fn(|_| BoardAddress::new(0))))
    }

    /// One board for every rank.
    fn boards(&self) -> [Board<Self>; RANKS] {
        self.boards_of(0)
    }

    /// The same memory for a group that begins with that operation.
    fn boards_of(&self, first: u64) -> [Board<Self>; RANKS] {
        core::array::from_fn(|me| Board::new(Self(self.0.clone()), me, first, true))
    }

    /// The long payload or the cell at that place.
    fn long(&self, rank: usize, at: usize) -> &UnsafeCell<[u8; MAX_PAYLOAD]> {
        let site = &self.0[rank];
        match at.checked_sub(self.bytes()) {
            None => &site.long,
            Some(at) => &site.cells[at / MAX_PAYLOAD],
        }
    }
}

impl<const RANKS: usize> BoardMemory for Memory<RANKS> {
    const SLOTS: u64 = SLOTS as u64;
    const INLINE: usize = INLINE;
    const PAGE: usize = 0;
    const MAX_PAYLOAD: usize = MAX_PAYLOAD;

    fn ranks(&self) -> usize {
        RANKS
    }

    fn bytes(&self) -> usize {
        MAX_PAYLOAD
    }

    fn cell(&self) -> usize {
        MAX_PAYLOAD
    }

    fn slot_words(&self, rank: usize, slot: u64) -> &[AtomicU64; 3] {
        &self.0[rank].heads[slot as usize % SLOTS]
    }

    fn released(&self, rank: usize) -> &AtomicU64 {
        &self.0[rank].released
    }

    fn left(&self, rank: usize) -> &AtomicU64 {
        &self.0[rank].left
    }

    fn spent(&self, rank: usize) -> &AtomicU64 {
        &self.0[rank].spent
    }

    unsafe fn fill<R>(
        &self,
        rank: usize,
        (slot, at): (u64, usize),
        len: usize,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> R {
        let site = &self.0[rank];
        if len > INLINE || at >= self.bytes() {
            // SAFETY: the checker fails before two uses of the same bytes meet.
            let f = |bytes: *mut [u8; MAX_PAYLOAD]| f(unsafe { &mut (&mut *bytes)[..len] });
            return self.long(rank, at).with_mut(f);
        }
        // SAFETY: as above.
        site.short[slot as usize % SLOTS].with_mut(|bytes| f(unsafe { &mut (&mut *bytes)[..len] }))
    }

    unsafe fn read<R>(
        &self,
        rank: usize,
        (slot, at): (u64, usize),
        len: usize,
        f: impl FnOnce(&[u8]) -> R,
    ) -> R {
        let site = &self.0[rank];
        if len > INLINE || at >= self.bytes() {
            // SAFETY: as above.
            let f = |bytes: *const [u8; MAX_PAYLOAD]| f(unsafe { &(&*bytes)[..len] });
            return self.long(rank, at).with(f);
        }
        // SAFETY: as above.
        site.short[slot as usize % SLOTS].with(|bytes| f(unsafe { &(&*bytes)[..len] }))
    }
}

/// What a rank publishes in a round: as many bytes as `len`, all the same.
fn payload(rank: usize, round: usize) -> u8 {
    (rank * 16 + round + 1) as u8
}

fn publish<const RANKS: usize>(board: &mut Board<Memory<RANKS>>, byte: u8, len: usize) {
    while board.fill(len, |room| room.fill(byte)).is_none() {
        thread::yield_now();
    }
    assert!(board.publish(len), "there was room");
}

fn expect<const RANKS: usize>(board: &mut Board<Memory<RANKS>>, rank: usize, byte: u8, len: usize) {
    loop {
        let read = board.read(rank, 0, |payload, _| {
            assert_eq!(payload.len(), len);
            assert!(
                payload.iter().all(|found| *found == byte),
                "another payload"
            );
        });
        match read {
            Some(()) => return,
            None => thread::yield_now(),
        }
    }
}

/// Runs each rank's part in a thread of its own.
fn ranks<const RANKS: usize, T: 'static>(
    boards: [T; RANKS],
    part: impl Fn(usize, &mut T) + Clone + Send + 'static,
) {
    let mut boards = boards.into_iter().enumerate();
    let (first, mut own) = boards.next().expect("a rank");
    let others = boards.map(|(rank, mut board)| {
        let part = part.clone();
        thread::spawn(move || part(rank, &mut board))
    });
    let others: Vec<_> = others.collect();
    part(first, &mut own);
    for other in others {
        other.join().expect("a rank");
    }
}

/// Everybody publishes and reads everybody, so often that slots are used again.
fn exchange<const RANKS: usize>(rank: usize, board: &mut Board<Memory<RANKS>>, lengths: &[usize]) {
    for (round, len) in lengths.iter().enumerate() {
        publish(board, payload(rank, round), *len);
        for other in 0..RANKS {
            expect(board, other, payload(other, round), *len);
        }
        board.release();
    }
}

/// Each rank counts itself before a barrier; behind it all are counted.
#[test]
fn a_barrier_holds_everybody() {
    check(2, || {
        let counts = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        ranks(Memory::<2>::new().boards(), move |rank, board| {
            for round in 0..3 {
                counts[rank].store(round + 1, Ordering::Relaxed);
                publish(board, 0, 0);
                expect(board, 1 - rank, 0, 0);
                board.release();
                assert!(counts[1 - rank].load(Ordering::Relaxed) > round);
            }
        });
    });
}

#[test]
fn short_texts_come_whole_and_stay() {
    check(2, || {
        ranks(Memory::<2>::new().boards(), |rank, board| {
            exchange(rank, board, &[1, 1, 1])
        });
    });
}

#[test]
fn long_texts_share_their_room() {
    check(2, || {
        ranks(Memory::<2>::new().boards(), |rank, board| {
            exchange(rank, board, &[2, 1, 2])
        });
    });
}

/// One publishes ahead as far as there is room; the other never publishes.
#[test]
fn a_root_runs_ahead() {
    check(2, || {
        ranks(Memory::<2>::new().boards(), |rank, board| {
            for round in 0..4 {
                match rank {
                    0 => publish(board, payload(0, round), 1),
                    _ => expect(board, 0, payload(0, round), 1),
                }
                board.release();
            }
        });
    });
}

/// The next round's payload is published before this round's is read, and a result built bit by bit.
#[test]
fn texts_for_rounds_to_come() {
    check(2, || {
        ranks(Memory::<2>::new().boards(), |rank, board| {
            publish(board, payload(rank, 0), 1);
            for round in 0..3 {
                if round < 2 {
                    publish(board, payload(rank, round + 1), 1);
                }
                expect(board, 1 - rank, payload(1 - rank, round), 1);
                board.release();
            }
        });
    });
}

/// Operations of one round each, so that the slots of one are those of another soon.
#[test]
fn operations_follow_each_other() {
    check(2, || {
        ranks(Memory::<2>::new().boards(), |rank, board| {
            for operation in 0..3 {
                board.begin(operation, operation);
                publish(board, payload(rank, operation as usize), 1);
                expect(board, 1 - rank, payload(1 - rank, operation as usize), 1);
                let mark = board.read(1 - rank, 0, |_, mark| mark);
                assert_eq!(mark, Some(operation), "a mark of another operation");
                board.end();
            }
        });
    });
}

/// One rank's operation has a round more than the other's: it hears that nothing comes, and they meet in the next one.
#[test]
fn who_leaves_early_is_missed_and_comes_back() {
    check(2, || {
        ranks(Memory::<2>::new().boards(), |rank, board| {
            board.begin(0, 0);
            publish(board, payload(rank, 0), 1);
            expect(board, 1 - rank, payload(1 - rank, 0), 1);
            if rank == 0 {
                board.release();
                publish(board, payload(rank, 1), 1);
                while !board.has_skipped(1) {
                    assert!(!board.has(1), "rank 1 has published nothing for it");
                    thread::yield_now();
                }
            }
            board.end();
            board.begin(1, 0);
            publish(board, payload(rank, 2), 1);
            expect(board, 1 - rank, payload(1 - rank, 2), 1);
            board.end();
        });
    });
}

/// One rank leaves an operation out, and the next one finds both.
#[test]
fn who_skips_an_operation_holds_nobody() {
    check(2, || {
        ranks(Memory::<2>::new().boards(), |rank, board| {
            board.begin(0, 0);
            if rank == 0 {
                publish(board, payload(rank, 0), 2);
                while !board.has_skipped(1) {
                    assert!(!board.has(1), "rank 1 has published nothing for it");
                    thread::yield_now();
                }
            }
            board.end();
            board.begin(1, 0);
            publish(board, payload(rank, 1), 2);
            expect(board, 1 - rank, payload(1 - rank, 1), 2);
            board.end();
        });
    });
}

/// What rank `from` publishes for that one in an operation.
fn block(from: usize, to: usize, operation: u64) -> u8 {
    (from * 64 + to * 16) as u8 + operation as u8 + 1
}

fn publish_block<const RANKS: usize>(
    rank: usize,
    board: &mut Board<Memory<RANKS>>,
    operation: u64,
) {
    while !board.publish_blocks(1, |to, room| room.fill(block(rank, to, operation))) {
        thread::yield_now();
    }
}

/// Each rank publishes a block for every other one in cells, and reads those of all.
fn exchange_blocks<const RANKS: usize>(
    rank: usize,
    board: &mut Board<Memory<RANKS>>,
    operation: u64,
) {
    assert!(board.has_cells(1), "cells change hands");
    publish_block(rank, board, operation);
    for other in (0..RANKS).filter(|other| *other != rank) {
        expect(board, other, block(other, rank, operation), 1);
    }
}

/// Cells change hands in each operation, and nobody waits for room in them.
#[test]
fn blocks_lie_where_their_writer_has_read_one() {
    check(2, || {
        ranks(Memory::<2>::new().boards(), |rank, board| {
            for operation in 0..3 {
                board.begin(operation, operation);
                exchange_blocks(rank, board, operation);
                board.end();
            }
        });
    });
}

/// One rank publishes nothing for the other, which goes on while it reads: they use other cells, and soon the same ones.
#[test]
fn cells_for_which_none_came_back_are_not_used_again() {
    check(2, || {
        ranks(Memory::<2>::new().boards(), |rank, board| {
            board.begin(0, 0);
            exchange_blocks(rank, board, 0);
            board.end();
            board.begin(1, 0);
            match rank {
                0 => publish_block(0, board, 1),
                _ => expect(board, 0, block(0, 1, 1), 1),
            }
            board.end();
            for operation in 2..4 {
                board.begin(operation, 0);
                exchange_blocks(rank, board, operation);
                board.end();
            }
        });
    });
}

/// The next group begins when all have left this one, wherever its cells are and whoever has lost some.
#[test]
fn a_group_after_another_with_cells() {
    for reads in [true, false] {
        check(2, move || {
            let memory = Memory::<2>::new();
            let ([a, b], [c, d]) = (memory.boards(), memory.boards_of(5));
            ranks([[a, c], [b, d]], move |rank, [board, next]| {
                board.begin(0, 0);
                match reads || rank == 0 {
                    true => exchange_blocks(rank, board, 0),
                    false => publish_block(rank, board, 0),
                }
                board.end();
                board.leave();
                while !board.has_left_group(1 - rank) {
                    thread::yield_now();
                }
                exchange_blocks(rank, next, 6);
            });
        });
    }
}

/// What an earlier group has left behind is nothing to the next one.
#[test]
fn a_group_after_another() {
    check(2, || {
        let memory = Memory::<2>::new();
        ranks(memory.boards(), |rank, board| {
            exchange(rank, board, &[1, 2])
        });
        ranks(memory.boards_of(5), |rank, board| {
            exchange(rank, board, &[2, 1])
        });
    });
}

/// Who sleeps until a payload is there, or room, is woken by whoever publishes or passes.
#[test]
fn nobody_sleeps_through_a_round() {
    check(2, || {
        let event_counts =
            Arc::new([(); 2].map(|()| (EventCount(AtomicU32::new(AWAKE)), ModelPark::new())));
        ranks(Memory::<2>::new().boards(), move |rank, board| {
            let notify = || {
                event_counts[1 - rank]
                    .0
                    .notify(WaitFor::Frame, &event_counts[1 - rank].1)
            };
            let (own, system) = &event_counts[rank];
            for round in 0..2 {
                if rank == 0 {
                    while board.fill(2, |room| room.fill(round)).is_none() {
                        own.sleep(WaitFor::Frame, None, None, system, || board.has_room_now(2));
                    }
                    assert!(board.publish(2), "there was room");
                    notify();
                } else {
                    while board
                        .read(0, 0, |payload, _| assert_eq!(payload, [round; 2]))
                        .is_none()
                    {
                        own.sleep(WaitFor::Frame, None, None, system, || board.has(0));
                    }
                }
                board.release();
                notify();
            }
        });
    });
}
