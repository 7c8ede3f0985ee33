//! Tests traffic from every rank to every rank, by every form of send and receive, and synchronous sends.

use crate::common::*;
use crate::help::*;
use pombo_kernel::{Communicator, Error, Loan, Mode, Peer};
use pombo_netdrivers::Loopback;

/// A synchronous send of any length completes only after a receive has matched.
#[test]
fn a_synchronous_send_waits_for_its_receive() {
    for len in [0, 1, 16, 17, 5000] {
        for to in [0, 1] {
            let mut ranks = world::<Tiny>(2, 1);
            let bytes = Bytes(payload(1, len));
            let sent = ranks[0].isend_as(Mode::Synchronous, Peer(to), tagged(1), bytes);
            let sent = sent.map_err(Error::from).expect("sent");
            for _ in 0..3 {
                settle(&mut ranks);
                assert!(ranks[0].claim(sent).expect("known").is_none());
            }
            let other = ranks[usize::from(to)].post(Some(0), Some(2), len);
            settle(&mut ranks);
            assert!(ranks[0].claim(sent).expect("known").is_none());
            let posted = ranks[usize::from(to)].post(Some(0), Some(1), len);
            settle(&mut ranks);
            assert_eq!(ranks[0].outcome(sent), Ok(len));
            assert_eq!(ranks[usize::from(to)].bytes(posted), payload(1, len));
            ranks[usize::from(to)].cancel(other).expect("known");
        }
    }
}

/// Without credit a synchronous send keeps its order among the others.
#[test]
fn synchronous_sends_keep_the_order() {
    let mut ranks = world::<Tiny>(2, 1);
    let modes = [Mode::Standard, Mode::Synchronous];
    let sent: Vec<_> = (0..40)
        .map(|id| {
            let bytes = Bytes(payload(id, 10 + id));
            let sent = ranks[0].isend_as(modes[id % 2], Peer(1), tagged(1), bytes);
            sent.map_err(Error::from).expect("sent")
        })
        .collect();
    for (id, sent) in sent.into_iter().enumerate() {
        let posted = ranks[1].post(None, None, 100);
        settle(&mut ranks);
        assert_eq!(ranks[1].bytes(posted), payload(id, 10 + id));
        assert_eq!(ranks[0].outcome(sent), Ok(10 + id));
    }
    assert!(ranks[0].all_zero() && ranks[1].all_zero());
}

/// Returns the length of the message from one rank to another in one round: all sizes, short ones more often.
fn len(from: u16, to: u16, round: usize) -> usize {
    let mut x = u64::from(from) << 40 | u64::from(to) << 20 | round as u64;
    x = (x ^ 0x9e37_79b9).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 29;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    let most = [0, 8, 64, 4096, 4097, 20_000, 200_000][(x >> 8) as usize % 7];
    (x >> 20) as usize % (most + 1)
}

fn message(from: u16, to: u16, round: usize) -> Vec<u8> {
    let id = usize::from(from) * 1009 + usize::from(to) * 31 + round;
    payload(id, len(from, to, round))
}

fn check(from: u16, to: u16, round: usize, bytes: &[u8]) {
    assert!(
        bytes == message(from, to, round),
        "{from} to {to}, round {round}"
    );
}

/// Posts all receives and sends at once, then waits for them in some order.
fn all_at_once(rank: &mut Comm<Hosted>, round: usize) {
    let (me, peers) = (rank.me().0, rank.peers() as u16);
    let posted: Vec<_> = (0..peers)
        .map(|from| rank.post(Some(from), Some(round as i32), 200_000))
        .collect();
    let sent: Vec<_> = (0..peers)
        .map(|to| rank.put(to, round as i32, &message(me, to, round)))
        .collect();
    for (from, ticket) in (0..peers).zip(posted).rev() {
        let completed = rank.wait(ticket).expect("known");
        let stored = completed.outcome.expect("received");
        let Loan::Received(Bytes(bytes)) = completed.loan else {
            panic!("a receive")
        };
        check(from, me, round, &bytes[..stored]);
    }
    for ticket in sent {
        assert!(rank.wait(ticket).expect("known").outcome.is_ok());
    }
}

/// Exchanges between pairs with a receive in a scope and a blocking send.
fn in_scopes(rank: &mut Comm<Hosted>, round: usize) {
    let (me, peers) = (rank.me().0, rank.peers() as u16);
    for step in 0..peers {
        let peer = me ^ step;
        let mut bytes = vec![0; len(peer, me, round)];
        let stored = rank.scope(|scope| {
            let ticket = scope.irecv(wanted(Some(peer), Some(round as i32)), &mut bytes)?;
            scope.send(Peer(peer), tagged(round as i32), &message(me, peer, round))?;
            scope.wait(ticket)?.outcome
        });
        assert_eq!(stored, Ok(bytes.len()));
        check(peer, me, round, &bytes);
    }
}

/// Uses blocking calls only: the lower rank of a pair sends first. Probes return the lengths.
fn blocking(rank: &mut Comm<Hosted>, round: usize) {
    let (me, peers) = (rank.me().0, rank.peers() as u16);
    for step in 1..peers {
        let peer = me ^ step;
        for sends in [me < peer, me > peer] {
            if sends {
                let bytes = message(me, peer, round);
                let sent = rank.send(Peer(peer), tagged(round as i32), &bytes);
                assert_eq!(sent, Ok(()));
            } else {
                let pattern = wanted(Some(peer), Some(round as i32));
                let probed = rank.wait_probe(pattern).expect("it comes");
                let mut bytes = vec![0; probed.len()];
                let got = rank.recv(pattern, &mut bytes).expect("received");
                assert_eq!(got.len(), probed.len());
                check(peer, me, round, &bytes);
            }
        }
    }
}

#[test]
fn everybody_talks_to_everybody() {
    for (peers, rounds) in [(2, 60), (4, 30), (8, 12)] {
        ranks(
            "everybody_talks_to_everybody",
            Loopback::world(peers),
            |channel| {
                let mut rank: Comm<Hosted> = Communicator::new(channel).expect("it fits");
                for round in 0..rounds {
                    match round % 3 {
                        0 => all_at_once(&mut rank, round),
                        1 => in_scopes(&mut rank, round),
                        _ => blocking(&mut rank, round),
                    }
                }
                assert!(rank.all_zero() || rank.lengths().unexpected > 0);
                assert_eq!(rank.rejected(), 0);
            },
        );
    }
}
