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
use crate::shm::long_frames::{CursorAddress, FreeCells, LongCells, LongConsumer, LongProducer};
use crate::shm::ring::RingError;
use crate::shm::sync::Ordering;
use crate::shm::{FRAME_LIMIT, Segment, Shm};

/// Number of cells.
const CELLS: u16 = 8;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u8; 64]);

/// Runs `f` with a rank's cells and both sides of the frames to so many others, and the cursors of their consumers.
fn with_cells(
    peers: usize,
    f: impl FnOnce(FreeCells, &mut [(LongProducer, LongConsumer)], &[LongCursor]),
) {
    let mut lines = vec![Line([0; 64]); usize::from(CELLS) * CELL / 64];
    let cursors: Vec<LongCursor> = (0..peers).map(|_| LongCursor::default()).collect();
    // SAFETY: the cells are initialised, and they live, as the cursors do, until `f` has dropped all sides; one thread uses
    // them.
    let cells = unsafe { LongCells::new(NonNull::from(&mut lines[..]).cast(), CELLS) };
    let side = |cursor| {
        // SAFETY: as above.
        let cursor = unsafe { CursorAddress::new(NonNull::from(cursor)) };
        (LongProducer::new(cursor), LongConsumer::new(cells, cursor))
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
                    if producer.prepare(&free, len) {
                        producer
                            .reclaim(&mut free, None)
                            .expect("a correct consumer");
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
                                    producer
                                        .reclaim(&mut free, None)
                                        .expect("a correct consumer");
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
                producer
                    .reclaim(&mut free, None)
                    .expect("a correct consumer");
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
        sides[0].0.reclaim_all(&mut free);
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
            assert_eq!(producer.reclaim(&mut free, None), Err(RingError::Corrupt));
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
