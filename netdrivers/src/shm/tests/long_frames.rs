//! Long frames compared with a queue for each receiver, and with corrupt memory.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::ptr::NonNull;

use pombo_kernel::channel::{Arrival, Channel, Cookie, Event};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;

use super::{Lcg, frame};

use crate::shm::layout::{CELL, LongCursor};
use crate::shm::long_frames::{
    CursorAddress, FreeCells, LongCells, LongConsumer, LongProducer, Place,
};
use crate::shm::passed_cells::{Hands, PassedCells};
use crate::shm::ring::RingError;
use crate::shm::sync::Ordering;
use crate::shm::{FRAME_LIMIT, Segment, Shm};
use crate::tuning::{LONG_FRAME, MOST_LENT_FRAMES};

/// Number of cells.
const CELLS: u16 = 8;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u8; 64]);

/// A producer or a consumer, and its rank's passed cells.
struct Side<T>(T, PassedCells);

impl Side<LongProducer> {
    fn prepare(&mut self, free: &mut FreeCells, len: usize) -> bool {
        self.0.prepare(&mut self.1, free, len)
    }

    fn write(
        &mut self,
        free: &FreeCells,
        len: usize,
        parts: &[Part<'_>],
    ) -> Result<Option<Place>, RingError> {
        self.0.write(&self.1, free, len, parts, true)
    }

    fn commit(&mut self, place: Place, free: &mut FreeCells) {
        self.0.commit(place, &mut self.1, free);
    }

    fn reclaim(&mut self, free: &mut FreeCells) -> Result<(), RingError> {
        self.0.reclaim(&mut self.1, free, None)
    }
}

impl Side<LongConsumer> {
    fn take(&mut self, record: &[u8], f: impl FnOnce(&[u8])) {
        self.0.take(record, &mut self.1, f);
    }
}

/// Returns the cells in that memory, which the caller keeps, in one thread, until all sides are dropped.
fn cells_in(lines: &mut [Line]) -> LongCells {
    let count = size_of_val(lines) / CELL;
    // SAFETY: they are initialised, and live as long as the result, see above.
    unsafe { LongCells::new(NonNull::from(lines).cast(), count as u16) }
}

/// Returns the address of a cursor that the caller keeps as long.
fn address(cursor: &LongCursor) -> CursorAddress {
    // SAFETY: see above.
    unsafe { CursorAddress::new(cursor.into()) }
}

/// Runs `f` with a rank's cells and both sides of the frames to so many others, and the cursors of their consumers.
fn with_cells(
    peers: usize,
    f: impl FnOnce(FreeCells, &mut [(Side<LongProducer>, Side<LongConsumer>)], &[LongCursor]),
) {
    let mut lines = vec![Line([0; 64]); usize::from(CELLS) * CELL / 64];
    let cursors: Vec<LongCursor> = (0..peers).map(|_| LongCursor::default()).collect();
    let cells = cells_in(&mut lines);
    let side = |cursor| {
        let cursor = address(cursor);
        let (to, from) = (
            LongProducer::new(cursor, cells),
            LongConsumer::new(cells, cells, cursor),
        );
        let none = PassedCells::default;
        (Side(to, none()), Side(from, none()))
    };
    let mut sides: Vec<_> = cursors.iter().map(side).collect();
    f(
        FreeCells::new(cells, usize::MAX, peers),
        &mut sides,
        &cursors,
    );
    drop(sides);
    assert!(lines.iter().any(|line| line.0 != [0; 64]));
}

/// One of two ranks that send to each other.
struct Rank {
    free: FreeCells,
    producer: LongProducer,
    consumer: LongConsumer,
    passed: PassedCells,
    /// What the other one has sent and this one has not read.
    inbox: VecDeque<([u8; 8], Vec<u8>)>,
}

/// Runs `f` with two ranks of so many cells each, which use as many of them as these bytes are.
fn with_pair(cells: u16, bytes: usize, f: impl FnOnce([Rank; 2])) {
    let mut lines = vec![Line([0; 64]); 2 * usize::from(cells) * CELL / 64];
    let cursors = [LongCursor::default(), LongCursor::default()];
    let (own, others) = lines.split_at_mut(usize::from(cells) * CELL / 64);
    let memory = [own, others].map(cells_in);
    let read_by = [0, 1].map(|at: usize| address(&cursors[at]));
    f([0, 1].map(|me: usize| Rank {
        free: FreeCells::new(memory[me], bytes, 1),
        producer: LongProducer::new(read_by[1 - me], memory[1 - me]),
        consumer: LongConsumer::new(memory[1 - me], memory[me], read_by[me]),
        passed: PassedCells::default(),
        inbox: VecDeque::new(),
    }));
}

impl Rank {
    /// Sends a frame if there is room for it; returns whether it left.
    fn send(&mut self, to: &mut Rank, bytes: Vec<u8>, is_committed: bool) -> bool {
        let Rank { free, passed, .. } = self;
        if self.producer.prepare(passed, free, bytes.len()) {
            let reclaimed = self.producer.reclaim(passed, free, None);
            reclaimed.expect("a correct consumer");
        }
        let (head, rest) = bytes.split_at(bytes.len().min(24));
        let parts = [Part::Bytes(head), Part::Bytes(rest)];
        let written = self.producer.write(passed, free, bytes.len(), &parts, true);
        let Ok(Some(place)) = written else {
            return false;
        };
        if is_committed {
            self.producer.commit(place, passed, free);
            to.inbox.push_back((place.record(), bytes));
        }
        is_committed
    }

    /// Reads the next frame; returns whether there was one.
    fn receive(&mut self) -> bool {
        let Some((record, bytes)) = self.inbox.pop_front() else {
            return false;
        };
        let passed = &mut self.passed;
        self.consumer
            .take(&record, passed, |frame| assert!(frame == bytes));
        true
    }
}

/// Two ranks send to each other at random, now one more and now the other: no cell is lost, and none has two users, so all
/// frames arrive as they were sent.
#[test]
fn cells_change_hands_and_none_is_lost() {
    // Where much is given at once both ways, frames are lent most of the time.
    for (cells, bytes, gives, expected) in [
        (8, usize::MAX, true, 1000..20_000),
        (8, usize::MAX, false, 0..1),
        (40, usize::MAX, true, 1000..20_000),
        (40, 40 * CELL, true, 100..10_000),
    ] {
        with_pair(cells, bytes, |mut ranks| {
            let mut rng = Lcg(11);
            let (mut most_given, mut answers) = (0, 0);
            if !gives {
                ranks.iter_mut().for_each(|it| it.free.give_none());
            }
            for number in 0..40_000 {
                // Each of some phases has a rank that sends more, or is one of answers by turns.
                let me = match number / 500 % 4 {
                    0 => usize::from(rng.below(10) == 0),
                    1 => usize::from(rng.below(10) > 0),
                    _ => number as usize / 5 % 2,
                };
                let [left, right] = &mut ranks;
                let (sender, other) = match me {
                    0 => (left, right),
                    _ => (right, left),
                };
                let len = match rng.below(8) {
                    0 => rng.below(LONG_FRAME as u64) as usize,
                    1 => LONG_FRAME,
                    _ => rng.below(FRAME_LIMIT as u64 + 1) as usize,
                };
                sender.send(other, frame(number, len), rng.below(10) > 0);
                most_given = most_given.max(sender.passed.given().len());
                answers += u32::from(!sender.passed.kept().is_empty());
                while rng.below(2) == 0 && other.receive() {}
            }
            assert_eq!(most_given > 0, gives);
            assert!(expected.contains(&answers), "{answers}");
            let most = usize::from(cells) / 2;
            assert!(most_given <= most, "{most_given}");
            for rank in &mut ranks {
                while rank.receive() {}
            }
            for me in [0, 1] {
                let rank = &mut ranks[me];
                let Rank { free, passed, .. } = rank;
                let reclaimed = rank.producer.reclaim(passed, free, None);
                reclaimed.expect("a correct consumer");
                let given = passed.given();
                let mut all = passed.own(free);
                all.sort_unstable();
                assert!(all.into_iter().eq(0..cells));
                let mut kept = ranks[1 - me].passed.kept().to_vec();
                kept.sort_unstable();
                assert_eq!(given, kept);
            }
        });
    }
}

/// Two ranks that both send more than their caches hold lend their frames, also if only one of them finds out; when they
/// answer each other by turns again, cells change hands again.
#[test]
fn both_ranks_lend_in_streams_and_give_again_for_answers() {
    with_pair(80, 80 * CELL, |[mut left, mut right]| {
        let passes = |rank: &Rank| {
            let (record, _) = rank.inbox.back().expect("a frame that was just sent");
            let place = Place::parse(record).expect("a record of this side");
            u32::from(place.hands != Hands::Lent)
        };
        let streamed = 40_000;
        let (mut by_left, mut by_right) = (0, 0);
        let mut number = 0;
        let mut next = || {
            number += 1;
            frame(number, FRAME_LIMIT)
        };
        for _ in 0..streamed / 40 {
            for at in 0..40 {
                if left.send(&mut right, next(), true) {
                    by_left += passes(&right);
                }
                // This one alone never gives more than a cache holds, so it has to hear of the other's lending.
                if at < 13 && right.send(&mut left, next(), true) {
                    by_right += passes(&left);
                }
            }
            while right.receive() {}
            while left.receive() {}
        }
        assert!((1..streamed / 10).contains(&by_left), "{by_left}");
        assert!((1..streamed / 40).contains(&by_right), "{by_right}");

        let turns = 2 * MOST_LENT_FRAMES;
        by_right = 0;
        for turn in 0..turns {
            assert!(left.send(&mut right, next(), true) && right.receive());
            assert!(right.send(&mut left, next(), true));
            by_right += passes(&left);
            assert!(left.receive(), "{turn}");
        }
        assert!(by_right >= turns - MOST_LENT_FRAMES - 100, "{by_right}");
    });
}

/// A rank whose frames are only read gets back what it has given.
#[test]
fn what_is_not_answered_is_returned() {
    with_pair(40, usize::MAX, |[mut left, mut right]| {
        for number in 0..10 {
            assert!(right.send(&mut left, frame(number, FRAME_LIMIT), true));
            assert!(left.receive());
        }
        for number in 0..10 {
            assert!(left.send(&mut right, frame(number, FRAME_LIMIT), true));
            assert!(right.receive());
        }
        assert_eq!(
            (left.passed.given().len(), right.passed.kept().len()),
            (10, 10)
        );
        for number in 0..10 {
            assert!(left.send(&mut right, frame(number, FRAME_LIMIT), true));
            assert!(right.receive());
        }
        assert!(right.passed.kept().is_empty());
        let reclaimed = left
            .producer
            .reclaim(&mut left.passed, &mut left.free, None);
        reclaimed.expect("a correct consumer");
        assert!(left.passed.given().is_empty());
        assert_eq!(left.free.count(), 40);
    });
}

#[test]
fn frames_arrive_as_from_queues() {
    for peers in 1..=4 {
        with_cells(peers, |mut free, sides, cursors| {
            let (mut rng, mut queues) = (Lcg(7), vec![VecDeque::new(); peers]);
            let (mut refused, mut without_cell, mut taken) = (0, 0, 0);
            for number in 0..20_000 {
                let peer = rng.below(peers as u64) as usize;
                let (producer, consumer) = &mut sides[peer];
                if rng.below(100) < 55 {
                    let len = match rng.below(4) {
                        0 => FRAME_LIMIT,
                        1 => rng.below(100) as usize,
                        _ => rng.below(FRAME_LIMIT as u64 + 1) as usize,
                    };
                    let bytes = frame(number, len);
                    let (head, rest) = bytes.split_at(len.min(24));
                    if producer.prepare(&mut free, len) {
                        producer.reclaim(&mut free).expect("a correct consumer");
                    }
                    match producer.write(&free, len, &[Part::Bytes(head), Part::Bytes(rest)]) {
                        Ok(Some(place)) => {
                            // What is not committed did not happen.
                            if rng.below(10) > 0 {
                                producer.commit(place, &mut free);
                                queues[peer].push_back((place.record(), bytes));
                            }
                        }
                        Ok(None) => {
                            // Others have the cells: they are not told that they are read.
                            let unread: usize = queues.iter().map(VecDeque::len).sum();
                            assert!(peers > 1);
                            without_cell += 1;
                            if unread < usize::from(CELLS) {
                                for (producer, _) in &mut *sides {
                                    producer.reclaim(&mut free).expect("a correct consumer");
                                }
                                let again = sides[peer].0.write(&free, len, &[Part::Bytes(&bytes)]);
                                assert!(matches!(again, Ok(Some(_))));
                            }
                        }
                        Err(error) => {
                            assert_eq!(error, RingError::Full);
                            let most = if peers > 1 { CELLS / 2 } else { CELLS };
                            assert!(queues[peer].len() >= most.into());
                            refused += 1;
                        }
                    }
                } else if let Some((record, bytes)) = queues[peer].pop_front() {
                    consumer.take(&record, |frame| assert!(frame == bytes));
                    taken += 1;
                }
            }
            assert!(refused > 50 && taken > 5000, "{refused} {taken}");
            assert_eq!(without_cell > 50, peers > 2, "{without_cell}");
            // The consumers were asked for times, and told them.
            for cursor in cursors {
                let began = cursor.began.load(Ordering::Relaxed);
                assert!(began > 0 && began <= cursor.ended.load(Ordering::Relaxed));
            }
        });
    }
}

#[test]
fn frames_share_cells_as_far_as_they_fit() {
    for (len, of_cell) in [
        (FRAME_LIMIT, 1),
        (FRAME_LIMIT / 2 + 8, 1),
        (8000, 2),
        (1066, 15),
        (1, 256),
    ] {
        with_cells(1, |mut free, sides, _| {
            let (producer, consumer) = &mut sides[0];
            let mut records = VecDeque::new();
            for round in 0..3 {
                let before = records.len() as u64;
                for number in before.. {
                    let bytes = frame(number, len);
                    let Ok(place) = producer.write(&free, len, &[Part::Bytes(&bytes)]) else {
                        break;
                    };
                    let place = place.expect("a cell");
                    producer.commit(place, &mut free);
                    records.push_back(place.record());
                }
                assert_eq!(records.len(), of_cell * usize::from(CELLS), "{len} {round}");
                // All are read, or all but those of one cell.
                let unread = if round == 0 { 0 } else { of_cell };
                for _ in 0..records.len() - unread {
                    let record = records.pop_front().expect("a frame");
                    consumer.take(&record, |frame| assert_eq!(frame.len(), len));
                }
                producer.reclaim(&mut free).expect("a correct consumer");
            }
        });
    }
}

#[test]
fn cells_of_a_lost_receiver_are_free_again() {
    with_cells(2, |mut free, sides, _| {
        let bytes = frame(1, FRAME_LIMIT);
        let part = [Part::Bytes(&bytes)];
        let mut written = 0;
        for (producer, _) in &mut *sides {
            while let Ok(Some(place)) = producer.write(&free, bytes.len(), &part) {
                producer.commit(place, &mut free);
                written += 1;
            }
        }
        assert_eq!(written, CELLS);
        sides[0].0.0.reclaim_all(&mut free);
        for _ in 0..CELLS / 2 {
            let place = sides[0].0.write(&free, bytes.len(), &part);
            let place = place.expect("room").expect("a cell");
            sides[0].0.commit(place, &mut free);
        }
    });
}

#[test]
fn corrupt_memory_is_survived() {
    with_cells(1, |mut free, sides, cursors| {
        let (producer, consumer) = &mut sides[0];
        let mut rng = Lcg(3);
        let bytes = frame(1, FRAME_LIMIT);
        let part = [Part::Bytes(&bytes)];
        let place = producer.write(&free, bytes.len(), &part);
        let place = place.expect("room").expect("a cell");
        producer.commit(place, &mut free);
        for _ in 0..10_000 {
            let mut record = [0; 16];
            for byte in &mut record {
                *byte = [0, 0xff, rng.below(256) as u8][rng.below(3) as usize];
            }
            let len = rng.below(17) as usize;
            consumer.take(&record[..len], |frame| assert!(frame.len() <= FRAME_LIMIT));
        }
        for read in [2, u64::MAX] {
            cursors[0].read.store(read, Ordering::Relaxed);
            assert_eq!(producer.reclaim(&mut free), Err(RingError::Corrupt));
        }
    });
}

/// Attaches four ranks that have a processor of their own each.
fn four_ranks() -> Vec<Shm> {
    let segment = Segment::create(4, 0).expect("a segment");
    let attach = |rank| {
        let own = Segment::open(segment.fd()).expect("the segment");
        Shm::attach(own, rank, 0).expect("a rank")
    };
    let ranks = (0..4).map(attach).collect();
    for word in &segment.header().cpus.0 {
        word.store(u64::MAX, Ordering::Relaxed);
    }
    segment.header().quota.store(0, Ordering::Relaxed);
    segment.header().epoch.0.fetch_add(1, Ordering::SeqCst);
    ranks
}

/// What ranks 1 and 2 have not read takes all cells of rank 0; its frames to rank 3 arrive all the same, in order.
#[test]
fn frames_go_through_the_ring_where_other_receivers_have_the_cells() {
    let mut ranks = four_ranks();
    let mut sent = [0; 4];
    let mut send = |ranks: &mut [Shm], to: usize| {
        let bytes = frame(sent[to], FRAME_LIMIT);
        let result = ranks[0].try_send(Peer(to as u16), Cookie::COPY, &[Part::Bytes(&bytes)]);
        sent[to] += u64::from(result.is_ok());
        result
    };
    for to in [1, 2] {
        while send(&mut ranks, to).is_ok() {}
    }
    let mut received = [0; 4];
    let mut poll = |ranks: &mut [Shm], at: usize| {
        let polled = ranks[at].poll(|event| {
            let Event::Arrival(arrival) = event else {
                panic!("no frame");
            };
            let mut bytes = Vec::new();
            arrival.for_each_chunk(0, arrival.len(), |chunk| bytes.extend_from_slice(chunk));
            assert!(bytes == frame(received[at], FRAME_LIMIT));
            received[at] += 1;
        });
        polled.expect("a poll");
        received[at]
    };
    while send(&mut ranks, 3).is_ok() {}
    let in_ring = poll(&mut ranks, 3);
    assert!((1..=4).contains(&in_ring), "{in_ring}");
    // Cells that a receiver has read serve the others.
    while poll(&mut ranks, 1) < 10 {}
    for _ in 0..10 {
        send(&mut ranks, 3).expect("room in the cells");
    }
    for (at, sent) in sent.into_iter().enumerate().skip(1) {
        while poll(&mut ranks, at) < sent {}
    }
}

/// Two ranks have not read what takes all cells; when one of them ends, its cells serve the others.
#[test]
fn cells_of_a_rank_that_ends_serve_the_others() {
    let mut ranks = four_ranks();
    let bytes = frame(1, FRAME_LIMIT);
    let fill = |rank: &mut Shm, to| {
        let part = [Part::Bytes(&bytes)];
        let sends = (0..).take_while(|_| rank.try_send(Peer(to), Cookie::COPY, &part).is_ok());
        sends.count()
    };
    let cells = fill(&mut ranks[0], 1);
    assert_eq!(fill(&mut ranks[0], 2), cells);
    let in_ring = fill(&mut ranks[0], 3);
    assert!(in_ring <= 4, "{in_ring}");
    drop(ranks.remove(1));
    // Rank 3 is the last now. It makes room in its ring.
    let mut taken = 0;
    while taken < in_ring {
        let polled =
            ranks[2].poll(|event| taken += usize::from(matches!(event, Event::Arrival(_))));
        polled.expect("a poll");
    }
    assert_eq!(fill(&mut ranks[0], 3), cells);
}

/// Sends the longest frame of that number; returns whether there was room for it.
fn send(rank: &mut Shm, to: u16, number: u64) -> bool {
    let bytes = frame(number, FRAME_LIMIT);
    let sent = rank.try_send(Peer(to), Cookie::COPY, &[Part::Bytes(&bytes)]);
    sent.is_ok()
}

/// Polls until the next frames, which have the numbers from this one on, or the loss of a peer. Returns the number behind
/// that of the last frame.
fn receive(rank: &mut Shm, first: u64) -> u64 {
    let (mut next, mut is_lost) = (first, false);
    while next == first && !is_lost {
        let polled = rank.poll(|event| match event {
            Event::Arrival(arrival) => {
                let mut bytes = Vec::new();
                arrival.for_each_chunk(0, arrival.len(), |chunk| bytes.extend_from_slice(chunk));
                assert!(bytes == frame(next, FRAME_LIMIT));
                next += 1;
            }
            Event::PeerLost(_) => is_lost = true,
            _ => {}
        });
        polled.expect("a poll");
    }
    next
}

/// Four ranks, of which rank 0 has given a cell to rank 1.
fn four_ranks_with_a_given_cell() -> Vec<Shm> {
    let mut ranks = four_ranks();
    assert!(send(&mut ranks[1], 0, 0) && receive(&mut ranks[0], 0) == 1);
    assert!(send(&mut ranks[0], 1, 1) && receive(&mut ranks[1], 1) == 2);
    ranks
}

/// The last frame of a rank lies in the cell that it was given when it ends: it stays until rank 0 has read it, though rank 0
/// looks for cells of ranks that have ended meanwhile.
#[test]
fn the_answer_of_a_rank_that_has_ended_stays_in_the_cell_that_it_was_given() {
    let mut ranks = four_ranks_with_a_given_cell();
    assert!(send(&mut ranks[1], 0, 2));
    drop(ranks.remove(1));
    for to in [2, 3] {
        while send(&mut ranks[0], to, 7) {}
    }
    assert_eq!(receive(&mut ranks[0], 2), 3);
}

/// Rank 0 has closed its connection to a rank that lives, and that still writes where it was given a cell.
#[test]
fn a_rank_that_seems_lost_keeps_the_cell_that_it_was_given() {
    let mut ranks = four_ranks_with_a_given_cell();
    ranks[0].connections[1].close();
    assert_eq!(receive(&mut ranks[0], 2), 2);
    let mut sent = [0; 2];
    for (to, sent) in [2, 3].into_iter().zip(&mut sent) {
        while send(&mut ranks[0], to, *sent) {
            *sent += 1;
        }
    }
    assert!(send(&mut ranks[1], 0, 99));
    for (rank, sent) in ranks[2..].iter_mut().zip(sent) {
        let mut next = 0;
        while next < sent {
            next = receive(rank, next);
        }
    }
}
