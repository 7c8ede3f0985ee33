//! Tests the refusals of a communicator, and their errors.

use crate::common::*;
use crate::help::*;
use pombo_kernel::aspect::{Rendezvous, Static};
use pombo_kernel::matching::Linear;
use pombo_kernel::{Capacities, Communicator, Composition, Error, Peer};
use pombo_netdrivers::Loopback;
use zerocopy::little_endian::U32;

/// At the bound of operations sends and receives are refused; a claim makes room again.
#[test]
fn a_full_table_gives_the_buffer_back() {
    let mut ranks = world::<Tiny>(1, 1);
    let rank = &mut ranks[0];
    let held: Vec<_> = (0..512)
        .map(|id| match id % 2 {
            0 => rank.post(Some(0), Some(1), 8),
            _ => rank.put(0, 2, b"held"),
        })
        .collect();
    for _ in 0..3 {
        let refused = rank.isend(Peer(0), tagged(1), Bytes(vec![1]));
        let refused = refused.expect_err("the table is full");
        assert_eq!((refused.error, refused.loan.0), (Error::Full, vec![1]));
        let refused = rank.irecv(wanted(None, None), Bytes(vec![2]));
        let refused = refused.expect_err("the table is full");
        assert_eq!((refused.error, refused.loan.0), (Error::Full, vec![2]));
        let in_scope = rank.scope(|scope| scope.isend(Peer(0), tagged(1), b"no").map(drop));
        assert_eq!(in_scope.expect_err("full").error, Error::Full);
    }
    rank.cancel(held[0]).expect("known");
    assert_eq!(rank.outcome(held[0]), Err(Error::Cancelled));
    let sent = rank.put(0, 1, b"room");
    settle(&mut ranks);
    assert_eq!(ranks[0].bytes(held[2]), b"room");
    assert_eq!(ranks[0].outcome(sent), Ok(4));
}

#[test]
fn a_world_must_fit_the_composition() {
    let error = |peers| {
        let channel = Loopback::world(peers).remove(0);
        Communicator::<Tagged, _, Owned, Tiny>::new(channel)
            .map(drop)
            .expect_err("it does not fit")
    };
    let too_many = Error::TooManyPeers { peers: 5, bound: 4 };
    assert_eq!(error(5), too_many);
    type Shallow = Composition<U32, Rendezvous<16>, Linear, Static, Capacities<8, 2, 64, 4>>;
    let channel = Loopback::world(3).remove(0);
    let result = Communicator::<Tagged, _, Owned, Shallow>::new(channel).map(drop);
    assert_eq!(result, Err(Error::PoolTooSmall { peers: 3, pool: 2 }));
}

#[test]
fn nodes_that_do_not_exist() {
    for peer in [2, 100, 65534, 65535] {
        let mut ranks = world::<Tiny>(2, 1);
        let rank = &mut ranks[0];
        let no_peer = Error::NoSuchPeer(Peer(peer));
        let refused = rank.isend(Peer(peer), tagged(1), Bytes(vec![1]));
        let refused = refused.expect_err("no such peer");
        assert_eq!((refused.error, refused.loan.0), (no_peer, vec![1]));
        assert_eq!(rank.send(Peer(peer), tagged(1), b"x"), Err(no_peer));
        if peer != 65535 {
            // 65535 is the wildcard of this header.
            let refused = rank.irecv(wanted(Some(peer), None), Bytes(vec![2]));
            let refused = refused.expect_err("no such peer");
            assert_eq!((refused.error, refused.loan.0), (no_peer, vec![2]));
            assert_eq!(rank.probe(wanted(Some(peer), None)).err(), Some(no_peer));
        }
        assert!(rank.all_zero());
    }
}

/// A ticket can be claimed once.
#[test]
fn a_ticket_is_claimed_once() {
    let mut ranks = world::<Tiny>(1, 1);
    let rank = &mut ranks[0];
    let sent = rank.put(0, 1, b"x");
    assert_eq!(rank.outcome(sent), Ok(1));
    for _ in 0..3 {
        assert_eq!(rank.claim(sent).err(), Some(Error::UnknownTicket));
        assert_eq!(rank.wait(sent).err(), Some(Error::UnknownTicket));
        assert_eq!(rank.cancel(sent), Err(Error::UnknownTicket));
        // The slot is reused; the old ticket does not name the new operation.
        rank.post(Some(0), Some(9), 8);
    }
}

/// A scope and its communicator do not know each other's tickets.
#[test]
fn tickets_stay_in_their_scope() {
    let mut ranks = world::<Tiny>(1, 1);
    let rank = &mut ranks[0];
    let outer = rank.post(Some(0), Some(9), 8);
    let mut bytes = [0; 8];
    let mut more = [0; 8];
    let inner = rank.scope(|scope| {
        assert_eq!(scope.claim(outer).err(), Some(Error::UnknownTicket));
        assert_eq!(scope.cancel(outer), Err(Error::UnknownTicket));
        let inner = scope.irecv(wanted(None, Some(8)), &mut bytes);
        let inner = inner.map_err(Error::from).expect("posted");
        let innermost = scope.scope(|innermost| {
            assert_eq!(innermost.claim(outer).err(), Some(Error::UnknownTicket));
            assert_eq!(innermost.wait(inner).err(), Some(Error::UnknownTicket));
            let posted = innermost.irecv(wanted(None, Some(8)), &mut more);
            posted.map_err(Error::from).expect("posted")
        });
        assert_eq!(scope.claim(innermost).err(), Some(Error::UnknownTicket));
        inner
    });
    assert_eq!(rank.claim(inner).err(), Some(Error::UnknownTicket));
    assert_eq!(rank.cancel(inner), Err(Error::UnknownTicket));
    assert_eq!(rank.lengths().operations, 1);
    rank.put(0, 9, b"outer");
    settle(&mut ranks);
    assert_eq!(ranks[0].bytes(outer), b"outer");
}

/// A message that does not fit the buffer is truncated, and both lengths are reported.
#[test]
fn a_short_buffer_is_filled() {
    for (sent, room) in [(1, 0), (16, 15), (17, 16), (500, 499), (500, 0), (500, 130)] {
        for posted_first in [true, false] {
            let mut ranks = world::<Tiny>(2, 1);
            let mut posted = posted_first.then(|| ranks[0].post(None, None, room));
            let ticket = ranks[1].put(0, 1, &payload(4, sent));
            settle(&mut ranks);
            let posted = *posted.get_or_insert_with(|| ranks[0].post(None, None, room));
            settle(&mut ranks);
            assert_eq!(ranks[1].outcome(ticket), Ok(sent));
            let completed = ranks[0].claim(posted).expect("known").expect("over");
            assert_eq!(completed.outcome, Err(Error::Truncated { sent, room }));
            assert_eq!(completed.envelope.expect("a message came").len(), sent);
            let pombo_kernel::Loan::Received(Bytes(bytes)) = completed.loan else {
                panic!("a receive")
            };
            assert_eq!(bytes, payload(4, sent)[..room]);
        }
    }
}
