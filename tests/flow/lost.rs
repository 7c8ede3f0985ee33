//! A peer that goes away in every phase: what is here stays, what can still come comes, everything else says who
//! is gone.

use crate::common::*;
use crate::help::*;
use pombo_kernel::{Error, Node, Operate};

/// Messages sent before the end arrive, whatever the survivor tries to send meanwhile.
#[test]
fn messages_sent_before_the_end_arrive() {
    let mut ranks = world::<Tiny>(2, 2);
    let posted = ranks[0].post(Some(1), Some(1), 8);
    ranks[1].put(0, 1, b"farewell");
    drop(ranks.pop());
    let too_late = ranks[0].put(1, 1, b"hello");
    settle(&mut ranks);
    assert_eq!(ranks[0].outcome(too_late), Err(Error::PeerLost(Node(1))));
    assert_eq!(ranks[0].bytes(posted), b"farewell");
}

/// The data of a long message was all sent before the end.
#[test]
fn a_long_message_sent_before_the_end_arrives() {
    let mut ranks = world::<Tiny>(2, 2);
    let posted = ranks[0].post(Some(1), Some(1), 4000);
    let long = payload(1, 4000);
    let sent = ranks[1].put(0, 1, &long);
    ranks[0].turn();
    ranks[1].turn();
    assert_eq!(ranks[1].outcome(sent), Ok(4000));
    drop(ranks.pop());
    let too_late = ranks[0].put(1, 1, b"hello");
    settle(&mut ranks);
    assert_eq!(ranks[0].outcome(too_late), Err(Error::PeerLost(Node(1))));
    assert_eq!(ranks[0].bytes(posted), long);
}

/// What a probe has learned of a rank is forgotten with it.
#[test]
fn a_probe_names_no_message_of_a_lost_rank() {
    let mut ranks = world::<Tiny>(3, 1);
    for from in [1, 2] {
        ranks[from].put(0, 1, b"first");
        ranks[from].put(0, 2, b"held");
    }
    settle(&mut ranks);
    assert!(ranks[0].probe(wanted(None, Some(2))).unwrap().is_none());
    ranks[1].turn();
    ranks[0].turn();
    // The answer of rank 1 is here, rank 2 is silent.
    drop(ranks.remove(1));
    ranks[0].turn();
    for _ in 0..3 {
        let found = ranks[0].probe(wanted(None, Some(2))).unwrap();
        assert!(
            found.is_none_or(|envelope| envelope.node() == Node(2)),
            "{found:?}"
        );
        settle(&mut ranks);
    }
}
