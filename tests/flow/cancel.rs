//! Tests cancels in every state. In any order of events both sides agree: a message that arrives was sent, and a
//! cancelled send delivers nothing. The matching test covers random orders.

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

/// Returns ranks with a pool that is full of other messages, so that further ones are held.
fn full(from: usize) -> Vec<Comm<Tiny>> {
    let mut ranks = world::<Tiny>(2, 1);
    ranks[from].put(1 - from as u16, 1, b"fills the pool");
    settle(&mut ranks);
    ranks
}

/// Checks that nothing of a cancelled message is left on either side, and that the messages around it arrive.
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

/// The receiver has queried the holder; the receive is cancelled while the offer is under way.
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

/// When the offer arrives another receive has replaced the cancelled one: it matches the first message, not the offered
/// one.
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

/// The data is under way, so the cancel comes too late.
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

/// The offer is accepted before the cancel is known: the message arrives.
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

/// The offer is rejected: the cancel comes first.
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

/// The message is not requested: the announcement is revoked and its cell is free.
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

/// The receiver has matched the message already: it arrives.
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

/// The data is leaving, so the cancel comes too late.
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

/// The cancel needs no progress of another rank.
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

/// The announcement was matched before the cancel: the message arrives.
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
