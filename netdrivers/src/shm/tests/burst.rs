//! Where messages of a burst lie, and when a rank looks for the next one.

use pombo_kernel::channel::{Channel, Cookie, Event};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;

use super::pair;
use crate::shm::Shm;
use crate::tuning::{BURST_FRAME, BURST_FRAMES, FAR_RING_FRAME, LONG_FRAME, MEDIUM_FRAME};
use crate::wait::WaitPolicy;

/// Number of frames of a burst.
const BURST: usize = BURST_FRAMES as usize;
/// A pause that no test outlasts, in ticks.
const FOR_EVER: u64 = u64::MAX / 4;

/// Calls `f` with two ranks that would pause that long.
fn with_ranks(pause: u64, spins: bool, f: impl FnOnce(&mut Shm, &mut Shm)) {
    let [mut sender, mut receiver] = pair();
    for rank in [&mut sender, &mut receiver] {
        // A change of the other's state is seen before the policy is set.
        poll(rank);
        rank.wait_policy = WaitPolicy::of_ranks(2, if spins { 2 } else { 1 }, None);
        (rank.timing.burst, rank.timing.far_burst) = (pause, pause);
        rank.timing.gap = FOR_EVER;
    }
    f(&mut sender, &mut receiver);
}

fn send(from: &mut Shm, len: usize) {
    let to = Peer(1 - from.me().0);
    let bytes = alloc::vec![7; len];
    let sent = from.try_send(to, Cookie::COPY, &[Part::Bytes(&bytes)]);
    sent.expect("room");
}

/// Returns the number of frames that one poll finds.
fn poll(rank: &mut Shm) -> usize {
    let mut frames = 0;
    let polled = rank.poll(|event| frames += usize::from(matches!(event, Event::Arrival(_))));
    polled.expect("a poll");
    frames
}

/// Receives that many frames, and looks for another one in vain.
fn receive_all(rank: &mut Shm, frames: usize) {
    let mut received = 0;
    while received < frames {
        received += poll(rank);
    }
    assert_eq!(poll(rank), 0);
}

#[test]
fn a_rank_that_has_caught_up_lets_its_peer_write_until_it_sends_itself() {
    for len in [BURST_FRAME, LONG_FRAME] {
        with_ranks(FOR_EVER, true, |sender, receiver| {
            for _ in 0..3 {
                (0..BURST).for_each(|_| send(sender, len));
                receive_all(receiver, BURST);
                send(sender, len);
                assert_eq!(poll(receiver), 0, "the peer may still write");
                assert!(receiver.has_pending(), "nobody sleeps meanwhile");
                send(receiver, 8);
                assert_eq!(poll(receiver), 1, "an answer is not waited for");
                receive_all(sender, 1);
            }
        });
    }
}

#[test]
fn a_pause_ends() {
    with_ranks(1, true, |sender, receiver| {
        (0..BURST).for_each(|_| send(sender, BURST_FRAME));
        receive_all(receiver, BURST);
        send(sender, BURST_FRAME);
        receive_all(receiver, 1);
    });
}

/// The bytes of long frames are elsewhere: they tell nothing of the line.
#[test]
fn the_pause_is_short_where_bytes_come_fast() {
    for (len, found) in [(BURST_FRAME, 1), (MEDIUM_FRAME, 0)] {
        with_ranks(FOR_EVER, true, |sender, receiver| {
            // However long they take, these bytes come fast.
            (receiver.timing.burst, receiver.timing.far_kib) = (1, u64::MAX);
            (0..BURST).for_each(|_| send(sender, len));
            receive_all(receiver, BURST);
            send(sender, len);
            assert_eq!(poll(receiver), found);
        });
    }
}

#[test]
fn what_is_no_burst_waits_for_nothing() {
    // Few messages, short ones, ranks that share a processor, and ranks that are told not to pause.
    for (frames, len, spins, pause) in [
        (BURST - 1, BURST_FRAME, true, FOR_EVER),
        (BURST, BURST_FRAME - 1, true, FOR_EVER),
        (BURST, BURST_FRAME, false, FOR_EVER),
        (BURST, BURST_FRAME, true, 0),
    ] {
        with_ranks(pause, spins, |sender, receiver| {
            (0..frames).for_each(|_| send(sender, len));
            receive_all(receiver, frames);
            send(sender, len);
            assert_eq!(poll(receiver), 1);
        });
    }
}

#[test]
fn medium_frames_that_follow_each_other_lie_in_cells() {
    for (on, spins, len) in [
        (true, true, BURST_FRAME),
        (true, true, LONG_FRAME - 1),
        (false, true, BURST_FRAME),
        (true, false, BURST_FRAME),
        (true, true, BURST_FRAME - 1),
    ] {
        with_ranks(0, spins, |sender, receiver| {
            sender.set_burst_cells(on);
            let ring = (64 << 10) / len;
            let bytes = alloc::vec![7; len];
            for _ in 0..3 {
                let parts = [Part::Bytes(&bytes)];
                let sends = (0..).take_while(|_| {
                    let sent = sender.try_send(Peer(1), Cookie::COPY, &parts);
                    sent.is_ok()
                });
                let frames = sends.count();
                let expects_cells = on && spins && len >= BURST_FRAME;
                assert_eq!(frames > 2 * ring, expects_cells, "{frames} of {len}");
                receive_all(receiver, frames);
            }
        });
    }
}

fn free(rank: &Shm) -> usize {
    rank.free_cells.as_ref().map_or(0, |free| free.count())
}

#[test]
fn over_a_long_line_only_longer_frames_lie_in_cells() {
    for (len, expects_cells) in [
        (BURST_FRAME, false),
        (FAR_RING_FRAME, false),
        (FAR_RING_FRAME + 1, true),
        (LONG_FRAME - 1, true),
    ] {
        with_ranks(0, true, |sender, receiver| {
            let cells = free(sender);
            sender.connections[1].seem_far();
            (0..2 * BURST).for_each(|_| send(sender, len));
            assert_eq!(free(sender) < cells, expects_cells, "{len}");
            receive_all(receiver, 2 * BURST);
        });
    }
}

/// A rank that hears of its peer meanwhile sends no burst: its frames need no cells.
#[test]
fn frames_that_are_answered_need_no_cells() {
    with_ranks(0, true, |sender, receiver| {
        let cells = free(sender);
        assert!(cells > 0);
        for _ in 0..100 {
            (0..BURST).for_each(|_| send(sender, BURST_FRAME));
            receive_all(receiver, BURST);
            assert_eq!(free(sender), cells);
            send(receiver, 8);
            receive_all(sender, 1);
        }
        (0..=BURST).for_each(|_| send(sender, BURST_FRAME));
        assert_eq!(free(sender), cells - 1);
        // Those that come one by one are none either.
        sender.timing.gap = 0;
        (0..BURST).for_each(|_| send(sender, BURST_FRAME));
        receive_all(receiver, 2 * BURST + 1);
        (0..BURST).for_each(|_| send(sender, 2 * BURST_FRAME));
        assert_eq!(free(sender), cells - 1);
    });
}
