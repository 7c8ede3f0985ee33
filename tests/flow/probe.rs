//! Tests probes of messages in every place: arrived, announced, or held by their sender.

use crate::common::*;
use crate::help::*;
use pombo_kernel::{Communicator, Error, Limits, Peer};
use pombo_netdrivers::Loopback;

/// A program that probes alternately for two kinds of message finds either, although both are held.
#[test]
fn probes_of_two_patterns_take_turns() {
    for tag in [2, 3] {
        let mut ranks = world::<Tiny>(2, 1);
        ranks[1].put(0, 1, b"fills the pool");
        ranks[1].put(0, tag, b"held");
        settle(&mut ranks);
        let found = (0..100).any(|_| {
            let found = [2, 3].into_iter().any(|tag| {
                let found = ranks[0].probe(wanted(Some(1), Some(tag))).unwrap();
                ranks[0].turn();
                found.is_some()
            });
            ranks[1].turn();
            found
        });
        assert!(found, "the message with tag {tag} is never found");
    }
}

/// A program that probes for a message and receives others in between finds it.
#[test]
fn a_probe_lives_through_receives() {
    let mut ranks = world::<Tiny>(2, 1);
    ranks[1].put(0, 1, b"fills the pool");
    ranks[1].put(0, 2, b"held");
    settle(&mut ranks);
    let mut found = false;
    for round in 0..100 {
        found |= ranks[0].probe(wanted(Some(1), Some(2))).unwrap().is_some();
        let other = ranks[0].post(Some(0), Some(9), 8);
        ranks[0].put(0, 9, &[round]);
        settle(&mut ranks);
        assert_eq!(ranks[0].bytes(other), [round]);
    }
    assert!(found, "the held message is never found");
}

/// A probe does not find a message that its sender has cancelled.
#[test]
fn a_probe_names_no_message_that_was_cancelled() {
    for more in [false, true] {
        let mut ranks = world::<Tiny>(2, 1);
        ranks[1].put(0, 1, b"fills the pool");
        let held = ranks[1].put(0, 2, b"held");
        if more {
            ranks[1].put(0, 3, b"held as well");
        }
        settle(&mut ranks);
        let pattern = wanted(Some(1), Some(2));
        assert!(ranks[0].probe(pattern).unwrap().is_none());
        settle(&mut ranks);
        ranks[1].cancel(held).unwrap();
        settle(&mut ranks);
        assert_eq!(ranks[1].outcome(held), Err(Error::Cancelled));
        assert!(ranks[0].probe(pattern).unwrap().is_none());
    }
}

/// A probe does not find a message that was announced meanwhile and then revoked.
#[test]
fn a_probe_names_no_message_that_was_revoked() {
    let mut ranks = world::<Tiny>(2, 1);
    ranks[1].put(0, 1, b"fills the pool");
    let held = ranks[1].put(0, 2, &payload(1, 1000));
    settle(&mut ranks);
    let pattern = wanted(Some(1), Some(2));
    assert!(ranks[0].probe(pattern).unwrap().is_none());
    settle(&mut ranks);
    let first = ranks[0].post(Some(1), Some(1), 100);
    settle(&mut ranks);
    assert_eq!(ranks[0].bytes(first), b"fills the pool");
    assert_eq!(ranks[0].lengths().unexpected, 1);
    ranks[1].cancel(held).unwrap();
    settle(&mut ranks);
    assert_eq!(ranks[1].outcome(held), Err(Error::Cancelled));
    assert!(ranks[0].probe(pattern).unwrap().is_none());
}

/// Probes that are never repeated, with and without an answer, do not block others.
#[test]
fn abandoned_probes_starve_nobody() {
    for abandoned in [10..20, 20..30] {
        let mut ranks = world::<Tiny>(2, 1);
        ranks[1].put(0, 1, b"fills the pool");
        for tag in (20..30).chain([2]) {
            ranks[1].put(0, tag, b"held");
        }
        settle(&mut ranks);
        for tag in abandoned {
            assert!(ranks[0].probe(wanted(None, Some(tag))).unwrap().is_none());
            settle(&mut ranks);
        }
        let found = (0..100).any(|_| {
            let found = ranks[0].probe(wanted(None, Some(2))).unwrap();
            settle(&mut ranks);
            found.is_some()
        });
        assert!(found, "the held message is never found");
    }
}

/// Probes with any number of alternating patterns find their messages.
#[test]
fn probes_of_many_patterns_take_turns() {
    let mut ranks = world::<Tiny>(2, 1);
    ranks[1].put(0, 1, b"fills the pool");
    ranks[1].put(0, 17, b"held");
    settle(&mut ranks);
    let found = (0..1000).any(|_| {
        let found = (2..20).any(|tag| {
            let found = ranks[0].probe(wanted(Some(1), Some(tag))).unwrap();
            ranks[0].turn();
            found.is_some()
        });
        ranks[1].turn();
        found
    });
    assert!(found, "the held message is never found");
}

/// A sender that always has new messages does not displace its earlier answer at the receiver.
#[test]
fn news_do_not_drown_an_answer() {
    let mut ranks = world::<Tiny>(2, 1);
    ranks[1].put(0, 1, b"fills the pool");
    ranks[1].put(0, 2, b"held");
    let found = (0..100).any(|_| {
        settle(&mut ranks);
        let found = [2, 3].map(|tag| ranks[0].probe(wanted(Some(1), Some(tag))).unwrap());
        settle(&mut ranks);
        ranks[1].put(0, 4, b"news");
        found[0].is_some()
    });
    assert!(found, "the held message is never found");
}

/// Thousands of messages, all but one held, are found by probe in an unfavourable order; each is received with exactly
/// the length that the probe returned.
#[test]
fn probes_find_everything_behind_everything() {
    const MANY: usize = 1000;
    let len = |tag: usize| [0, 9, 64, 700][tag % 4];
    let name = "probes_find_everything_behind_everything";
    ranks(name, Loopback::world(2), |channel| {
        let limits = Limits {
            credit: Some(1),
            eager: Some(64),
            copies: None,
        };
        let sends = channel_is(&channel, 1);
        let mut rank: Comm<Hosted> = Communicator::with_limits(channel, limits).expect("it fits");
        if sends {
            let sent: Vec<_> = (0..MANY)
                .map(|tag| rank.put(0, tag as i32, &payload(tag, len(tag))))
                .collect();
            for (tag, ticket) in sent.into_iter().enumerate() {
                assert_eq!(rank.wait(ticket).expect("known").outcome, Ok(len(tag)));
            }
            return;
        }
        // A stride that is coprime to the number of messages visits all of them.
        for step in 0..MANY {
            let tag = (step * 997 + 1500) % MANY;
            let source = [None, Some(1)][step % 2];
            let found = rank.wait_probe(wanted(source, Some(tag as i32)));
            let found = found.expect("it is there");
            assert_eq!(found.header(), tagged(tag as i32));
            assert_eq!((found.peer(), found.len()), (Peer(1), len(tag)));
            let mut bytes = vec![0; found.len()];
            let got = rank.recv(wanted(Some(1), Some(tag as i32)), &mut bytes);
            assert_eq!(got.expect("received").header(), tagged(tag as i32));
            assert_eq!(bytes, payload(tag, len(tag)));
            assert!(rank.lengths().unexpected <= 1);
        }
        assert!(rank.all_zero());
    });
}

/// Messages that have arrived or are announced are found at once, and not removed.
#[test]
fn a_probe_takes_nothing() {
    for len in [0, 10, 1000] {
        let mut ranks = world::<Tiny>(2, 1);
        let sent = ranks[1].put(0, 1, &payload(1, len));
        settle(&mut ranks);
        for pattern in [wanted(None, None), wanted(Some(1), Some(1))] {
            for _ in 0..3 {
                let found = ranks[0].probe(pattern).expect("fine").expect("it is here");
                assert_eq!((found.len(), found.peer()), (len, Peer(1)));
                assert_eq!(found.is_empty(), len == 0);
            }
        }
        assert!(
            ranks[0]
                .probe(wanted(Some(0), None))
                .expect("fine")
                .is_none()
        );
        let posted = ranks[0].post(None, None, len);
        settle(&mut ranks);
        assert_eq!(ranks[0].bytes(posted), payload(1, len));
        assert_eq!(ranks[1].outcome(sent), Ok(len));
    }
}

/// A probe does not find a message that a posted receive will take.
#[test]
fn posted_receives_come_before_probes() {
    for len in [10, 1000] {
        let mut ranks = world::<Tiny>(2, 1);
        ranks[1].put(0, 1, b"fills the pool");
        for id in 0..3 {
            ranks[1].put(0, 2, &payload(id, len + id));
        }
        settle(&mut ranks);
        let pattern = wanted(Some(1), Some(2));
        assert!(ranks[0].probe(pattern).expect("fine").is_none());
        let posted = ranks[0].post(Some(1), None, 20);
        assert_eq!(ranks[0].bytes(posted), b"fills the pool");
        let posted = [0, 1].map(|_| ranks[0].post(None, Some(2), 2000));
        let found = (0..10).find_map(|_| {
            let found = ranks[0].probe(pattern).expect("fine");
            settle(&mut ranks);
            found
        });
        assert_eq!(found.expect("the third").len(), len + 2);
        for (id, ticket) in posted.into_iter().enumerate() {
            assert_eq!(ranks[0].bytes(ticket), payload(id, len + id));
        }
    }
}
