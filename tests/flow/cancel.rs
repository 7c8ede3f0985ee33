//! Cancels in every state. Whatever comes first, both sides see the same: a message that arrives was sent, a send
//! that says cancelled brings nothing. Random orders are in the matching test.

use crate::common::*;
use crate::help::*;
use pombo_kernel::{Error, Mode, Peer, Ticket};

fn synchronous(rank: &mut Comm<Tiny>, to: u16, tag: i32, bytes: &[u8]) -> Ticket {
    let sent = rank.isend_as(
        Mode::Synchronous,
        Peer(to),
        tagged(tag),
        Bytes(bytes.to_vec()),
    );
    sent.map_err(Error::from).expect("sent")
}

/// A pool that is full of something else, so that what follows is held.
fn full(from: usize) -> Vec<Comm<Tiny>> {
    let mut ranks = world::<Tiny>(2, 1);
    ranks[from].put(1 - from as u16, 1, b"fills the pool");
    settle(&mut ranks);
    ranks
}

/// Nothing of a cancelled message is left on either side; what was in front and behind comes through.
fn comes_through(ranks: &mut [Comm<Tiny>], from: usize, tags: &[i32]) {
    for tag in tags {
        let posted = ranks[1 - from].post(Some(from as u16), Some(*tag), 4000);
        settle(ranks);
        assert!(!ranks[1 - from].bytes(posted).is_empty());
    }
    let none = ranks[1 - from].post(None, None, 4000);
    settle(ranks);
    assert!(ranks[1 - from].claim(none).expect("known").is_none());
    ranks[1 - from].cancel(none).expect("known");
    assert_eq!(ranks[1 - from].outcome(none), Err(Error::Cancelled));
    assert_eq!(ranks[1 - from].lengths().unexpected, 0);
    assert_eq!(ranks[0].rejected() + ranks[1].rejected(), 0);
}

#[test]
fn a_posted_receive() {
    let mut ranks = world::<Tiny>(2, 1);
    let tickets = [1, 2, 1].map(|tag| ranks[0].post(None, Some(tag), 8));
    ranks[0].cancel(tickets[0]).expect("known");
    assert_eq!(ranks[0].outcome(tickets[0]), Err(Error::Cancelled));
    ranks[1].put(0, 1, b"one");
    settle(&mut ranks);
    assert_eq!(ranks[0].bytes(tickets[2]), b"one");
    ranks[0].cancel(tickets[1]).expect("known");
    assert_eq!(ranks[0].outcome(tickets[1]), Err(Error::Cancelled));
    assert!(ranks[0].all_zero());
}

/// The receive has been asked for at a holder, and is cancelled while the offer is on its way.
#[test]
fn a_receive_whose_offer_is_on_its_way() {
    let mut ranks = full(1);
    let held = ranks[1].put(0, 2, b"held");
    settle(&mut ranks);
    let posted = ranks[0].post(None, Some(2), 8);
    ranks[0].turn();
    ranks[1].turn();
    ranks[0].cancel(posted).expect("known");
    assert_eq!(ranks[0].outcome(posted), Err(Error::Cancelled));
    settle(&mut ranks);
    assert!(ranks[1].claim(held).expect("known").is_none());
    comes_through(&mut ranks, 1, &[2, 1]);
    assert_eq!(ranks[1].outcome(held), Ok(4));
}

/// Another receive stands in the place of the cancelled one when the offer comes: it wants the first message, not the
/// offered one.
#[test]
fn a_receive_in_the_place_of_another() {
    let mut ranks = full(1);
    for tag in [3, 2] {
        ranks[1].put(0, tag, &[tag as u8]);
    }
    settle(&mut ranks);
    let posted = ranks[0].post(None, Some(2), 8);
    ranks[0].turn();
    ranks[1].turn();
    ranks[0].cancel(posted).expect("known");
    assert_eq!(ranks[0].outcome(posted), Err(Error::Cancelled));
    let first = ranks[0].post(None, Some(1), 100);
    assert_eq!(ranks[0].bytes(first), b"fills the pool");
    let any = ranks[0].post(None, None, 8);
    settle(&mut ranks);
    assert_eq!(ranks[0].bytes(any), [3]);
    comes_through(&mut ranks, 1, &[2]);
}

/// Its data is coming: too late.
#[test]
fn a_receive_that_has_matched() {
    let mut ranks = world::<Tiny>(2, 1);
    let posted = ranks[0].post(None, None, 4000);
    let sent = ranks[1].put(0, 1, &payload(1, 4000));
    ranks[0].turn();
    ranks[0].cancel(posted).expect("known");
    assert!(ranks[0].claim(posted).expect("known").is_none());
    settle(&mut ranks);
    assert_eq!(ranks[0].bytes(posted), payload(1, 4000));
    assert_eq!(ranks[1].outcome(sent), Ok(4000));
}

#[test]
fn a_held_send() {
    for len in [4, 1000] {
        let mut ranks = full(1);
        ranks[1].put(0, 2, b"in front");
        let held = ranks[1].put(0, 3, &payload(1, len));
        ranks[1].put(0, 4, b"behind");
        settle(&mut ranks);
        ranks[1].cancel(held).expect("known");
        assert_eq!(ranks[1].outcome(held), Err(Error::Cancelled));
        comes_through(&mut ranks, 1, &[1, 2, 4]);
    }
}

/// The offer is taken before the cancel is known: the message arrives.
#[test]
fn an_offered_send_that_is_taken() {
    for len in [4, 1000] {
        let mut ranks = full(1);
        let held = ranks[1].put(0, 2, &payload(1, len));
        settle(&mut ranks);
        let posted = ranks[0].post(None, Some(2), 1000);
        ranks[0].turn();
        ranks[1].turn();
        ranks[1].cancel(held).expect("known");
        assert!(ranks[1].claim(held).expect("known").is_none());
        settle(&mut ranks);
        assert_eq!(ranks[1].outcome(held), Ok(len));
        assert_eq!(ranks[0].bytes(posted), payload(1, len));
        comes_through(&mut ranks, 1, &[1]);
    }
}

/// The offer is declined: the cancel comes first.
#[test]
fn an_offered_send_that_is_declined() {
    let mut ranks = full(1);
    let held = ranks[1].put(0, 2, b"held");
    ranks[1].put(0, 3, b"behind");
    settle(&mut ranks);
    let posted = ranks[0].post(None, Some(2), 8);
    ranks[0].turn();
    ranks[1].turn();
    ranks[1].cancel(held).expect("known");
    ranks[0].cancel(posted).expect("known");
    assert!(ranks[1].claim(held).expect("known").is_none());
    settle(&mut ranks);
    assert_eq!(ranks[1].outcome(held), Err(Error::Cancelled));
    assert_eq!(ranks[0].outcome(posted), Err(Error::Cancelled));
    comes_through(&mut ranks, 1, &[1, 3]);
}

/// Nobody has asked for it: the announce is taken back and its place in the pool is free.
#[test]
fn an_announced_send_that_is_revoked() {
    for len in [0, 4, 1000] {
        let mut ranks = world::<Tiny>(2, 1);
        for _ in 0..20 {
            let sent = synchronous(&mut ranks[1], 0, 2, &payload(1, len));
            settle(&mut ranks);
            assert_eq!(ranks[0].lengths().unexpected, 1);
            ranks[1].cancel(sent).expect("known");
            ranks[1].cancel(sent).expect("twice is not worse");
            settle(&mut ranks);
            assert_eq!(ranks[1].outcome(sent), Err(Error::Cancelled));
            assert_eq!(ranks[0].lengths().unexpected, 0);
        }
        ranks[1].put(0, 1, b"after it");
        comes_through(&mut ranks, 1, &[1]);
    }
}

/// The receiver has matched it already: it arrives.
#[test]
fn an_announced_send_that_is_requested() {
    for len in [0, 4, 1000] {
        let mut ranks = world::<Tiny>(2, 1);
        let sent = synchronous(&mut ranks[1], 0, 1, &payload(1, len));
        let posted = ranks[0].post(None, None, 1000);
        ranks[0].turn();
        ranks[1].cancel(sent).expect("known");
        assert!(ranks[1].claim(sent).expect("known").is_none());
        settle(&mut ranks);
        assert_eq!(ranks[1].outcome(sent), Ok(len));
        assert_eq!(ranks[0].bytes(posted), payload(1, len));
        comes_through(&mut ranks, 1, &[]);
    }
}

/// The request overtakes the answer "no" and the other way round, with a second cancel in between.
#[test]
fn many_announced_sends_at_once() {
    let mut ranks = narrow_world::<Hosted>(2, 64, 1);
    let sent: Vec<_> = (0..40)
        .map(|id| ranks[1].put(0, id, &payload(id as usize, 5000)))
        .collect();
    settle(&mut ranks);
    let posted: Vec<_> = (0..40)
        .step_by(3)
        .map(|tag| ranks[0].post(None, Some(tag), 5000))
        .collect();
    for _ in 0..3 {
        for ticket in &sent {
            ranks[1].cancel(*ticket).expect("known");
        }
        ranks[1].turn();
    }
    settle(&mut ranks);
    for (index, ticket) in posted.into_iter().enumerate() {
        assert_eq!(ranks[0].bytes(ticket), payload(index * 3, 5000));
    }
    for (id, ticket) in sent.into_iter().enumerate() {
        let outcome = if id % 3 == 0 {
            Ok(5000)
        } else {
            Err(Error::Cancelled)
        };
        assert_eq!(ranks[1].outcome(ticket), outcome);
    }
    assert!(ranks[0].all_zero() && ranks[1].all_zero());
}

/// Its data is leaving: too late.
#[test]
fn a_send_that_is_under_way() {
    let mut ranks = narrow_world::<Tiny>(2, 1, 1);
    let posted = ranks[0].post(None, None, 4000);
    let sent = ranks[1].put(0, 1, &payload(1, 4000));
    for _ in 0..4 {
        ranks[0].turn();
        ranks[1].turn();
    }
    ranks[1].cancel(sent).expect("known");
    settle(&mut ranks);
    assert_eq!(ranks[1].outcome(sent), Ok(4000));
    assert_eq!(ranks[0].bytes(posted), payload(1, 4000));
}

/// Nobody else has to make progress for it.
#[test]
fn a_send_to_oneself() {
    for mut ranks in [world::<Tiny>(1, 1), narrow_world::<Tiny>(1, 1, 1)] {
        let rank = &mut ranks[0];
        for turn in 0..3 {
            let announced = synchronous(rank, 0, 1, b"announced");
            let long = rank.put(0, 1, &payload(1, 4000));
            rank.cancel(long).expect("known");
            rank.cancel(announced).expect("known");
            assert_eq!(rank.outcome(long), Err(Error::Cancelled), "{turn}");
            assert_eq!(rank.outcome(announced), Err(Error::Cancelled), "{turn}");
        }
        assert!(rank.probe(wanted(None, None)).expect("no error").is_none());
        assert!(rank.all_zero());
    }
}

/// Its announce was matched before the cancel: it comes through.
#[test]
fn a_send_to_oneself_that_has_matched() {
    let mut ranks = world::<Tiny>(1, 1);
    let posted = ranks[0].post(None, Some(1), 4000);
    let sent = ranks[0].put(0, 1, &payload(1, 4000));
    ranks[0].turn();
    ranks[0].cancel(sent).expect("known");
    settle(&mut ranks);
    assert_eq!(ranks[0].outcome(sent), Ok(4000));
    assert_eq!(ranks[0].bytes(posted), payload(1, 4000));
}

#[test]
fn what_is_over_stays_as_it_is() {
    let mut ranks = world::<Tiny>(2, 1);
    let posted = ranks[0].post(None, None, 8);
    let sent = ranks[1].put(0, 1, b"x");
    settle(&mut ranks);
    ranks[0].cancel(posted).expect("no effect");
    ranks[1].cancel(sent).expect("no effect");
    settle(&mut ranks);
    assert_eq!(ranks[0].bytes(posted), b"x");
    assert_eq!(ranks[1].outcome(sent), Ok(1));
}
