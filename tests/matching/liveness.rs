//! Tests that a repeated matched probe finds its message, whatever a program does in between.

use crate::common::*;
use pombo_kernel::{Communicator, Error, Limits, Peer, Ticket};
use pombo_netdrivers::Loopback;

const PLACES: Limits = Limits {
    credit: Some(1),
    eager: None,
    copies: None,
};

/// Returns two ranks with one cell each in the other's pool; that of rank 1 is in use.
fn crowded() -> [Comm<Tiny>; 2] {
    let channels = Loopback::world(2).try_into().ok().expect("two of them");
    let mut ranks = <[Loopback; 2]>::map(channels, |channel| {
        Communicator::with_limits(channel, PLACES).expect("it fits")
    });
    put(&mut ranks[1], 1, b"fills the pool");
    ranks
}

fn put(rank: &mut Comm<Tiny>, tag: i32, bytes: &[u8]) -> Ticket {
    let sent = rank.isend(Peer(0), tagged(tag), Bytes(bytes.to_vec()));
    sent.map_err(Error::from).expect("there is room")
}

fn post(rank: &mut Comm<Tiny>, source: u16, tag: i32) -> Ticket {
    let posted = rank.irecv(wanted(Some(source), Some(tag)), Bytes(vec![0; 64]));
    posted.map_err(Error::from).expect("there is room")
}

fn is_over(rank: &mut Comm<Tiny>, ticket: Ticket) -> bool {
    let completed = rank.claim(ticket).expect("it is known");
    completed.is_some_and(|completed| completed.outcome.expect("a message") > 0)
}

fn turn(rank: &mut Comm<Tiny>) {
    rank.check_messages().expect("loopback does not break");
}

fn seek(rank: &mut Comm<Tiny>, tag: i32) -> bool {
    let found = rank.matched_probe(wanted(Some(1), Some(tag)));
    let Some((ticket, envelope)) = found.expect("nobody is lost") else {
        return false;
    };
    assert_eq!(envelope.header(), tagged(tag));
    let into = Bytes(vec![0; envelope.len()]);
    let received = rank.irecv_matched(ticket, into);
    received.map_err(Error::from).expect("it was taken");
    true
}

#[test]
fn two_patterns_take_turns() {
    for tag in [2, 3] {
        let mut ranks = crowded();
        put(&mut ranks[1], tag, b"held");
        settle(&mut ranks);
        let found = (0..100).any(|_| {
            let found = [2, 3].into_iter().any(|tag| {
                let found = seek(&mut ranks[0], tag);
                turn(&mut ranks[0]);
                found
            });
            turn(&mut ranks[1]);
            found
        });
        assert!(found, "the message with tag {tag} is never found");
    }
}

/// The receives in between take messages of the same sender, which it holds as well.
#[test]
fn receives_in_between() {
    let mut ranks = crowded();
    put(&mut ranks[1], 2, b"held");
    let rounds = 100;
    for _ in 0..rounds {
        put(&mut ranks[1], 3, b"another");
    }
    settle(&mut ranks);
    let found = (0..rounds).any(|_| {
        let found = seek(&mut ranks[0], 2);
        let other = post(&mut ranks[0], 1, 3);
        while !is_over(&mut ranks[0], other) {
            turn(&mut ranks[0]);
            turn(&mut ranks[1]);
        }
        found
    });
    assert!(found, "the held message is never found");
}

/// Matched probes that are never repeated release their slots.
#[test]
fn abandoned_ones_starve_nobody() {
    let mut ranks = crowded();
    for tag in (20..30).chain([2]) {
        put(&mut ranks[1], tag, b"held");
    }
    settle(&mut ranks);
    for tag in 20..30 {
        assert!(!seek(&mut ranks[0], tag), "it must be asked for");
        settle(&mut ranks);
    }
    for tag in (20..30).chain([2]) {
        let found = (0..100).any(|_| {
            let found = seek(&mut ranks[0], tag);
            settle(&mut ranks);
            found
        });
        assert!(found, "the message with tag {tag} is never found");
    }
}

/// A message held for a matched probe that is not repeated is found by other probes at once.
#[test]
fn another_pattern_finds_it() {
    let mut ranks = crowded();
    put(&mut ranks[1], 2, b"held");
    settle(&mut ranks);
    assert!(seek(&mut ranks[0], 1), "it is here");
    assert!(!seek(&mut ranks[0], 2), "it must be asked for");
    settle(&mut ranks);
    let any = wanted(None, None);
    assert!(ranks[0].matched_probe(any).expect("fine").is_none());
    settle(&mut ranks);
    let (_, found) = ranks[0].matched_probe(any).expect("fine").expect("offered");
    assert_eq!(found.header(), tagged(2));
}
