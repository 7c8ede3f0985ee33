//! Boards: payloads of all lengths, written far ahead of their readers, by both kinds of stores.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;

use super::{Lcg, frame};
use crate::shm::collective::{BoardGroup, MAX_PAYLOAD, ROUNDS_AHEAD};
use crate::shm::sync::Ordering;
use crate::shm::{Segment, Shm};

/// Ranks of one group in region 0.
fn group_of(ranks: usize) -> Vec<Shm> {
    group_with_caches(ranks, 1 << 20)
}

/// The same, of a machine whose second caches have that size in bytes.
fn group_with_caches(ranks: usize, second_level: u32) -> Vec<Shm> {
    let segment = Segment::create(ranks, 0).expect("a segment");
    let told = &segment.header().second_level;
    told.store(second_level, Ordering::Relaxed);
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
    let found = group.read(from, 0, |payload, mark| (payload == bytes, mark));
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
                for member in &mut members[..2] {
                    if let Some(read) = round.checked_sub(ROUNDS_AHEAD) {
                        for from in 0..2 {
                            expect(member, from, &text(from, read));
                        }
                        group(member).release();
                    }
                }
                for member in &mut members[2..] {
                    if round >= ROUNDS_AHEAD {
                        group(member).release();
                    }
                }
                for (rank, member) in members[..2].iter_mut().enumerate() {
                    if round < rounds {
                        publish(member, &text(rank, round));
                    }
                }
            }
            for member in &mut members {
                group(member).end();
            }
        }
    }
}

/// A rank runs operations as far ahead as it has room, and claims lines of slots that the other one has not read.
#[test]
fn operations_ahead_of_their_reader_stay() {
    let mut members = group_of(2);
    let [writer, reader] = &mut members[..] else {
        panic!("two ranks")
    };
    let mut ahead = 0_u64;
    for operation in 0..200 {
        loop {
            group(writer).begin(ahead, 7);
            let text = ahead.to_ne_bytes();
            let filled = group(writer).fill(8, |room| room.copy_from_slice(&text));
            if filled != Ok(Some(())) {
                break;
            }
            assert!(group(writer).publish(8));
            group(writer).end();
            ahead += 1;
        }
        assert!(ahead > operation + 16, "{ahead} {operation}");
        group(reader).begin(operation, 7);
        expect(reader, 0, &operation.to_ne_bytes());
        group(reader).end();
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

/// Rank 0 writes until it is refused; two ranks read what it has written in order, each as far behind as it likes.
#[test]
fn payloads_stay_until_the_slowest_has_read_them() {
    for (ranks, second_level) in [(3, 0), (3, 1 << 18), (4, 1 << 20), (3, u32::MAX)] {
        let mut members = group_with_caches(ranks, second_level);
        let mut rng = Lcg(u64::from(second_level));
        let (mut number, mut refused) = (0, 0);
        for operation in 0..6 {
            for member in &mut members {
                group(member).begin(operation, 7);
            }
            for member in &mut members[3..] {
                group(member).end();
            }
            let (mut unread, mut unreleased) = ([const { VecDeque::new() }; 2], 0);
            for _ in 0..1500 {
                let reader = rng.below(4) as usize;
                if reader < 2 {
                    if let Some((number, len)) = unread[reader].pop_front() {
                        expect(&mut members[1 + reader], 0, &frame(number, len));
                        group(&mut members[1 + reader]).release();
                    }
                    continue;
                }
                let len = match rng.below(4) {
                    0 => rng.below(200) as usize,
                    1 => 4090 + rng.below(5000) as usize,
                    2 => rng.below(MAX_PAYLOAD as u64 + 1) as usize,
                    _ => MAX_PAYLOAD,
                };
                let bytes = frame(number, len);
                let ahead = unread.iter().map(VecDeque::len).max().unwrap_or(0);
                let mut writer = group(&mut members[0]);
                if writer.write(len, |room| room.put(0, Part::Bytes(&bytes))) == Ok(true) {
                    assert!(writer.publish(len));
                    unread
                        .iter_mut()
                        .for_each(|queue| queue.push_back((number, len)));
                    (number, unreleased) = (number + 1, unreleased + 1);
                } else {
                    assert!(ahead.max(unreleased) >= ROUNDS_AHEAD);
                    (0..unreleased).for_each(|_| writer.release());
                    (refused, unreleased) = (refused + 1, 0);
                }
            }
            for member in &mut members[..3] {
                group(member).end();
            }
        }
        assert!(refused > 100, "{refused}");
    }
}

/// Publishes a block for each other rank, in a cell if there is one. Returns whether there was.
fn publish_blocks(member: &mut Shm, len: usize, blocks: &[Vec<u8>]) -> bool {
    let has_cells = group(member).has_cells(len);
    match has_cells {
        true => {
            let write = |to: usize, room: &mut [u8]| room.copy_from_slice(&blocks[to]);
            assert_eq!(group(member).publish_blocks(len, write), Ok(true));
        }
        false => publish(member, &blocks.concat()),
    }
    has_cells
}

/// Ranks publish blocks for each other, and between them payloads for all, as far ahead as they may. From some operation on
/// one rank or the other does not read all blocks.
#[test]
fn blocks_arrive_whatever_lay_in_their_cells() {
    for ranks in [2, 3, 7, 64, 65] {
        let mut members = group_of(ranks);
        let mut rng = Lcg(ranks as u64);
        let operations = if ranks < 10 { 60 } else { 6 };
        let mut in_cells = [0; 2];
        for operation in 0..operations {
            let leaves = operation > operations / 2;
            for member in &mut members {
                group(member).begin(operation, 7);
            }
            let rounds = 1 + rng.below(20) as usize;
            let lens: Vec<(bool, usize)> = (0..rounds)
                .map(|_| {
                    let most = MAX_PAYLOAD / ranks;
                    let short = rng.below(2) == 0;
                    let len = 1 + rng.below(if short { 120 } else { most as u64 }) as usize;
                    (rng.below(3) > 0, len)
                })
                .collect();
            let seed = |from: usize, to: usize, round: usize| (from * 70 + to) * 70 + round;
            let block = |from, to, round| frame(seed(from, to, round) as u64, lens[round].1);
            for round in 0..rounds + ROUNDS_AHEAD {
                if let Some(read) = round.checked_sub(ROUNDS_AHEAD) {
                    let (is_exchange, len) = lens[read];
                    for (me, member) in members.iter_mut().enumerate() {
                        let reads_all = !leaves || rng.below(4) > 0;
                        for from in (0..ranks).filter(|from| *from != me && reads_all) {
                            let (at, to) = if is_exchange { (me * len, me) } else { (0, 0) };
                            let bytes = block(from, to, read);
                            let found = group(member).read(from, at, |text, mark| {
                                (text.get(..len) == Some(&bytes[..]), mark)
                            });
                            assert_eq!(found, Ok(Some((true, 7))), "{len} bytes of {from}");
                        }
                        group(member).release();
                    }
                }
                for (me, member) in members.iter_mut().enumerate() {
                    match lens.get(round) {
                        Some((true, len)) => {
                            let blocks: Vec<_> =
                                (0..ranks).map(|to| block(me, to, round)).collect();
                            let got = publish_blocks(member, *len, &blocks);
                            in_cells[usize::from(leaves)] += usize::from(got);
                        }
                        Some((false, _)) => publish(member, &block(me, 0, round)),
                        None => {}
                    }
                }
            }
            for member in &mut members {
                group(member).end();
            }
        }
        let [read, left] = in_cells;
        assert_eq!(read > 20, ranks <= 64, "{read} of {ranks} ranks");
        assert!(left < read || ranks > 64, "{left} {read}");
    }
}

/// A region is free when all have left it, or have ended; the next group begins with all cells, unless it is to have none.
#[test]
fn a_later_group_begins_anew_when_all_have_left() {
    for (switch, ends) in [(true, false), (false, true)] {
        let mut members = group_of(2);
        for member in &mut members {
            group(member).begin(0, 7);
            assert!(publish_blocks(member, 1, &[frame(1, 1), frame(1, 1)]));
        }
        for (me, member) in members.iter_mut().enumerate() {
            let mut group = group(member);
            let found = group.read(1 - me, 0, |text, _| text == frame(1, 1));
            assert_eq!(found, Ok(Some(true)));
            group.end();
        }
        members[0].set_passed_cells(switch);
        members[0].leave_group(0);
        assert_eq!(members[0].free_regions()[0], None, "the other one is there");
        if ends {
            members.pop();
        } else {
            members[1].leave_group(0);
        }
        assert_eq!(members[0].free_regions()[0], Some(1));
        assert!(members[0].enter_group(0, [Peer(0), Peer(1)].into_iter(), 10));
        group(&mut members[0]).begin(0, 7);
        assert_eq!(group(&mut members[0]).has_cells(1), switch);
    }
}

/// What a rank has left before says nothing of a group that begins where one ended that has run no operation.
#[test]
fn a_group_without_operations_is_followed_by_another_number() {
    let mut members = group_of(2);
    for member in &mut members {
        member.leave_group(0);
    }
    assert_eq!(members[0].free_regions()[0], Some(1));
    for member in &mut members {
        assert!(member.enter_group(0, [Peer(0), Peer(1)].into_iter(), 1));
    }
    members[0].leave_group(0);
    assert_eq!(members[0].free_regions()[0], None, "the other one is there");
}

#[test]
fn a_payload_that_is_too_long_has_no_room() {
    let mut members = group_of(2);
    let mut group = group(&mut members[0]);
    group.begin(0, 7);
    assert_eq!(group.write(MAX_PAYLOAD, |_| ()), Ok(true));
    assert!(group.publish(MAX_PAYLOAD));
    assert_eq!(group.fill(usize::MAX, |_| ()), Ok(None));
}
