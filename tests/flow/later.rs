//! Tests a channel that accepts frames and needs their memory until later.

use crate::common::*;
use pombo_kernel::{Communicator, Endpoint, Error, Limits, Loan, Mode, Peer, Port, Ticket};
use pombo_netdrivers::Loopback;
use pombo_netdrivers::fault::Rate;
use pombo_testing::{AdversarialChannel, Profile};

type Rank = Communicator<Tagged, AdversarialChannel<Loopback>, Owned, Tiny>;

/// Every frame with a loan completes late, and completions are held back until a test releases them.
const LATE: Profile = Profile {
    later: Rate::ALWAYS,
    late_completion: Rate::ALWAYS,
    ..Profile::BENIGN
};

fn late_world(in_flight: usize) -> (Rank, Rank) {
    let limits = Limits {
        credit: Some(1),
        eager: None,
        copies: None,
    };
    let over = |channel| Communicator::with_limits(channel, limits).expect("it fits");
    let mut ranks = adversarial(2, in_flight, LATE, 7).into_iter().map(over);
    (ranks.next().expect("rank 0"), ranks.next().expect("rank 1"))
}

fn rounds(ranks: [&mut Rank; 2]) {
    for _ in 0..100 {
        for rank in [0, 1] {
            ranks[rank].check_messages().expect("it does not break");
        }
    }
}

fn outcome(rank: &mut Rank, ticket: Ticket) -> Option<Result<usize, Error>> {
    Some(rank.claim(ticket).expect("known")?.outcome)
}

/// A send, short or long, is complete when the channel no longer needs its memory, and not before.
#[test]
fn a_send_is_over_when_its_memory_is_free() {
    for len in [0, 10, 17, 1000] {
        let (mut left, mut right) = late_world(8);
        let posted = right
            .irecv(wanted(Some(0), None), Bytes(vec![0; len]))
            .map_err(Error::from)
            .expect("posted");
        let sent = left
            .isend(Peer(1), tagged(1), Bytes(payload(3, len)))
            .map_err(Error::from)
            .expect("sent");
        rounds([&mut left, &mut right]);
        let received = right.claim(posted).expect("known").expect("over");
        assert_eq!(received.outcome, Ok(len));
        assert!(matches!(received.loan, Loan::Received(Bytes(bytes)) if bytes == payload(3, len)));
        assert_eq!(outcome(&mut left, sent), None, "{len} bytes are in use");
        left.cancel(sent).expect("too late, and that is no error");
        left.channel_mut().set_profile(Profile::BENIGN);
        rounds([&mut left, &mut right]);
        assert_eq!(outcome(&mut left, sent), Some(Ok(len)));
    }
}

/// The peer is lost while frames need their memory: no completion follows, and the sends are complete.
#[test]
fn a_loss_ends_sends_whose_memory_is_in_use() {
    for len in [10, 1000] {
        let (mut left, mut right) = late_world(8);
        right
            .irecv(wanted(Some(0), None), Bytes(vec![0; 1000]))
            .map_err(Error::from)
            .expect("posted");
        let sent = left
            .isend(Peer(1), tagged(1), Bytes(payload(3, len)))
            .map_err(Error::from)
            .expect("sent");
        rounds([&mut left, &mut right]);
        drop(right);
        left.check_messages().expect("it does not break");
        assert_eq!(
            outcome(&mut left, sent),
            Some(Err(Error::PeerLost(Peer(1))))
        );
        assert_eq!(left.lengths().operations, 0);
    }
}

/// That a frame can no longer be sent says nothing about the frames before it: their memory is in use until the channel
/// reports otherwise.
#[test]
fn a_refused_frame_frees_no_memory() {
    for completed in [false, true] {
        let (mut left, right) = late_world(8);
        let sent = left.isend(Peer(1), tagged(1), Bytes(payload(3, 10)));
        let sent = sent.map_err(Error::from).expect("sent");
        drop(right);
        let refused = left.isend(Peer(1), tagged(1), Bytes(payload(3, 1000)));
        let refused = refused.map_err(Error::from).expect("not yet known");
        let too_late = left.isend(Peer(1), tagged(1), Bytes(Vec::new()));
        drop(too_late);
        assert_eq!(outcome(&mut left, sent), None, "its memory is in use");
        if completed {
            // The completion is reported before the loss.
            left.channel_mut().set_profile(Profile {
                skipped_sender: Rate::ALWAYS,
                ..Profile::BENIGN
            });
        }
        left.check_messages().expect("it does not break");
        assert!(outcome(&mut left, sent).is_some());
        left.channel_mut().set_profile(Profile::BENIGN);
        left.check_messages().expect("it does not break");
        assert_eq!(
            outcome(&mut left, refused),
            Some(Err(Error::PeerLost(Peer(1))))
        );
    }
}

/// A scope ends while the channel needs its memory: the operation ends when the channel completes it or the peer is
/// lost.
#[test]
fn a_dead_scope_leaves_nothing_behind() {
    for (len, in_flight, outcome_there) in [
        (10, 100, Ok(10)),
        (1000, 100, Ok(1000)),
        (1000, 2, Err(Error::Revoked)),
    ] {
        for lost in [false, true] {
            let (mut left, mut right) = late_world(in_flight);
            let posted = right
                .irecv(wanted(Some(0), None), Bytes(vec![0; 1000]))
                .map_err(Error::from)
                .expect("posted");
            let bytes = payload(3, len);
            left.scope(|scope| {
                let sent = scope.isend(Peer(1), tagged(1), &bytes);
                sent.map_err(Error::from).expect("sent");
                right.check_messages().expect("it does not break");
                scope.check_messages().expect("it does not break");
            });
            rounds([&mut left, &mut right]);
            assert_eq!(outcome(&mut right, posted), Some(outcome_there));
            assert_eq!(left.lengths().operations, 1, "{len} bytes are in use");
            if lost {
                drop(right);
            } else {
                left.channel_mut().set_profile(Profile::BENIGN);
            }
            left.check_messages().expect("it does not break");
            assert_eq!(left.lengths().operations, 0, "{len} bytes, {lost}");
        }
    }
}

/// Empty synchronous sends, like long ones, wait for the receive alone: no frame carries their memory.
#[test]
fn an_empty_synchronous_send_needs_no_completion() {
    let (mut left, mut right) = late_world(8);
    let sent = left
        .isend_as(Mode::Synchronous, Peer(1), tagged(1), Bytes(Vec::new()))
        .map_err(Error::from)
        .expect("sent");
    rounds([&mut left, &mut right]);
    assert_eq!(outcome(&mut left, sent), None);
    right
        .irecv(wanted(None, None), Bytes(Vec::new()))
        .map_err(Error::from)
        .expect("posted");
    rounds([&mut left, &mut right]);
    assert_eq!(outcome(&mut left, sent), Some(Ok(0)));
    let mut ranks = [left, right];
    settle_adversarial(&mut ranks);
}

/// Completions reach the right one of several ports, however many operations there were before.
#[test]
fn completions_find_their_port() {
    type Two = Endpoint<
        AdversarialChannel<Loopback>,
        (Port<Tagged, Owned, Tiny>, Port<Tagged, Owned, Tiny>),
    >;
    let mut ranks = adversarial(1, 8, LATE, 1);
    let mut rank = Two::two(ranks.remove(0)).expect("it fits");
    for operations in [0, (1 << 24) + 10] {
        for _ in 0..operations {
            let posted = rank
                .port::<1>()
                .irecv(wanted(None, None), Bytes(Vec::new()));
            let ticket = posted.map_err(Error::from).expect("posted");
            rank.port::<1>().cancel(ticket).expect("known");
            let over = rank.port::<1>().claim(ticket).expect("known");
            assert!(over.is_some());
        }
        rank.channel_mut().set_profile(LATE);
        for len in [4, 1000] {
            let posted = rank
                .port::<1>()
                .irecv(wanted(None, None), Bytes(vec![0; len]));
            let posted = posted.map_err(Error::from).expect("posted");
            let sent = rank
                .port::<1>()
                .isend(Peer(0), tagged(1), Bytes(payload(1, len)));
            let sent = sent.map_err(Error::from).expect("sent");
            let other = rank
                .port::<0>()
                .isend(Peer(0), tagged(1), Bytes(payload(2, 4)));
            let other = other.map_err(Error::from).expect("sent");
            for _ in 0..100 {
                rank.port::<0>()
                    .check_messages()
                    .expect("it does not break");
            }
            assert!(rank.port::<1>().claim(sent).expect("known").is_none());
            assert!(rank.port::<0>().claim(other).expect("known").is_none());
            rank.channel_mut().set_profile(Profile::BENIGN);
            rank.port::<0>()
                .check_messages()
                .expect("it does not break");
            let over = rank.port::<1>().claim(sent).expect("known").expect("over");
            assert_eq!(over.outcome, Ok(len));
            let over = rank.port::<0>().claim(other).expect("known").expect("over");
            assert_eq!(over.outcome, Ok(4));
            let received = rank
                .port::<1>()
                .claim(posted)
                .expect("known")
                .expect("over");
            assert_eq!(received.outcome, Ok(len));
            let mut bytes = [0; 4];
            let taken = rank.port::<0>().recv(wanted(None, None), &mut bytes);
            assert_eq!(
                (taken.expect("it is here").len(), &bytes[..]),
                (4, &payload(2, 4)[..])
            );
            rank.channel_mut().set_profile(LATE);
        }
    }
}
