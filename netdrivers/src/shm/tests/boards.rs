//! Boards: payloads of all lengths, written far ahead of their readers, by both kinds of stores.

use alloc::vec::Vec;

use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;

use super::{Lcg, frame};
use crate::shm::collective::{BoardGroup, MAX_PAYLOAD, ROUNDS_AHEAD};
use crate::shm::{Segment, Shm};

/// Ranks of one group in region 0.
fn group_of(ranks: usize) -> Vec<Shm> {
    let segment = Segment::create(ranks, 0).expect("a segment");
    let attach = |rank| {
        let own = Segment::open(segment.fd()).expect("the segment");
        let mut rank = Shm::attach(own, rank, 0).expect("a rank");
        let peers = (0..ranks).map(|peer| Peer(peer as u16));
        assert!(rank.enter_group(0, peers, 0));
        rank
    };
    (0..ranks).map(attach).collect()
}

fn group(rank: &mut Shm) -> BoardGroup<'_> {
    rank.group(0).expect("the group").without_spinning()
}

/// Writes and publishes; there must be room.
fn publish(rank: &mut Shm, bytes: &[u8]) {
    let mut group = group(rank);
    let (front, back) = bytes.split_at(bytes.len() / 3);
    let written = group.write(bytes.len(), |room| {
        room.put(0, Part::Bytes(front));
        room.put(front.len(), Part::Bytes(back));
    });
    assert_eq!(written, Ok(true));
    assert!(group.publish(bytes.len()));
}

fn expect(rank: &mut Shm, from: usize, bytes: &[u8]) {
    let mut group = group(rank);
    let found = group.read(from, |payload, mark| (payload == bytes, mark));
    assert_eq!(found, Ok(Some((true, 7))), "{} bytes", bytes.len());
}

/// Each rank reads what all have published, in rounds of random lengths, of which as many are ahead as a board promises.
#[test]
fn payloads_of_all_lengths_arrive_whatever_was_ahead() {
    for ranks in [2, 3, 40] {
        let mut members = group_of(ranks);
        let mut rng = Lcg(ranks as u64);
        for operation in 0..if ranks == 2 { 60 } else { 4 } {
            for member in &mut members {
                group(member).begin(operation, 7);
            }
            let rounds = 60;
            let lens: Vec<usize> = (0..rounds)
                .map(|_| match rng.below(4) {
                    0 => rng.below(200) as usize,
                    1 => rng.below(6000) as usize,
                    2 => rng.below(MAX_PAYLOAD as u64 + 1) as usize,
                    _ => MAX_PAYLOAD,
                })
                .collect();
            let text = |rank: usize, round: usize| frame((rank * 1000 + round) as u64, lens[round]);
            for round in 0..rounds + ROUNDS_AHEAD {
                for rank in 0..2 {
                    if let Some(read) = round.checked_sub(ROUNDS_AHEAD) {
                        for from in 0..2 {
                            expect(&mut members[rank], from, &text(from, read));
                        }
                        group(&mut members[rank]).release();
                    }
                }
                for member in &mut members[2..] {
                    if round >= ROUNDS_AHEAD {
                        group(member).release();
                    }
                }
                for rank in 0..2 {
                    if round < rounds {
                        publish(&mut members[rank], &text(rank, round));
                    }
                }
            }
            for member in &mut members {
                group(member).end();
            }
        }
    }
}

/// One more than the room holds waits for the slowest reader.
#[test]
fn a_writer_waits_for_the_slowest_reader() {
    let mut members = group_of(3);
    let bytes = frame(1, MAX_PAYLOAD);
    for member in &mut members {
        group(member).begin(0, 7);
    }
    let write = |member: &mut Shm| {
        let mut group = group(member);
        let written = group.write(bytes.len(), |room| room.put(0, Part::Bytes(&bytes)));
        written == Ok(true) && group.publish(bytes.len())
    };
    let ahead = (0..).take_while(|_| write(&mut members[0])).count();
    assert!(ahead >= ROUNDS_AHEAD, "{ahead}");
    for reader in 1..3 {
        assert!(!write(&mut members[0]));
        for _ in 0..2 {
            group(&mut members[0]).release();
            expect(&mut members[reader], 0, &bytes);
            group(&mut members[reader]).release();
        }
    }
    assert!(write(&mut members[0]));
}
