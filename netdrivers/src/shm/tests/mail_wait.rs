//! A mail that a wait has found is taken first by the next poll, and all else is as without the wait.

use alloc::vec::Vec;

use pombo_kernel::channel::{Arrival, Channel, Cookie, Event};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;

use super::pair;
use crate::shm::Shm;
use crate::wait::WaitPolicy;

/// Calls `f` with two ranks that mail to each other, with processors of their own.
fn with_mailing_ranks(f: impl FnOnce(Shm, Shm)) {
    let [mut one, mut other] = pair();
    for rank in [&mut one, &mut other] {
        // A change of the other's state is seen before the policy is set.
        assert_eq!(poll(rank), Vec::<u8>::new());
        rank.wait_policy = WaitPolicy::of_ranks(2, 2, None);
        // Each look is due at once.
        (rank.timing.pause, rank.timing.interval) = (0, 0);
    }
    for _ in 0..4 {
        send(&mut one, 1);
        assert_eq!(poll(&mut other), [1]);
        send(&mut other, 2);
        assert_eq!(poll(&mut one), [2]);
    }
    f(one, other);
}

fn send(from: &mut Shm, byte: u8) {
    let to = Peer(1 - from.me().0);
    let sent = from.try_send(to, Cookie::COPY, &[Part::Bytes(&[byte])]);
    sent.expect("room");
}

/// Returns the bytes of the frames that one poll finds, and 0 for the loss of the peer.
fn poll(rank: &mut Shm) -> Vec<u8> {
    let mut bytes = Vec::new();
    let polled = rank.poll(|event| match event {
        Event::Arrival(frame) => frame.for_each_chunk(0, 1, |piece| bytes.extend(piece)),
        _ => bytes.push(0),
    });
    assert_eq!(polled, Ok(!bytes.is_empty()));
    bytes
}

/// Waits for the answer that is there.
fn find(rank: &mut Shm) {
    rank.wait(0).expect("a wait");
    assert_eq!(rank.answered_by, Some(1 - rank.me().0));
}

#[test]
fn what_a_wait_has_found_is_taken_once() {
    with_mailing_ranks(|mut one, mut other| {
        let invitations = one.invitations;
        for round in 1..=100 {
            send(&mut one, round);
            assert_eq!(one.invitations, invitations - 1);
            find(&mut other);
            assert_eq!(poll(&mut other), [round]);
            assert_eq!((other.answered_by, poll(&mut other)), (None, Vec::new()));
            send(&mut other, round + 100);
            find(&mut one);
            assert_eq!(poll(&mut one), [round + 100]);
            assert_eq!(one.invitations, invitations);
        }
    });
}

#[test]
fn frames_of_the_ring_follow_the_mail_that_was_found() {
    with_mailing_ranks(|mut one, mut other| {
        send(&mut one, 1);
        // The second frame of a turn goes through the ring.
        send(&mut one, 2);
        assert!(!one.connections[1].mail.suits(1));
        find(&mut other);
        // What is sent meanwhile changes nothing.
        send(&mut other, 3);
        assert_eq!(poll(&mut other), [1, 2]);
        assert_eq!(poll(&mut one), [3]);
    });
}

#[test]
fn a_mail_that_was_found_comes_before_the_loss() {
    with_mailing_ranks(|mut one, mut other| {
        send(&mut one, 1);
        find(&mut other);
        drop(one);
        let mut found = Vec::new();
        while found.len() < 2 {
            found.extend(poll(&mut other));
        }
        assert_eq!(found, [1, 0]);
        other.wait(0).expect("a wait");
        assert_eq!(poll(&mut other), Vec::<u8>::new());
    });
}
