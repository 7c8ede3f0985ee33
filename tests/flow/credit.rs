//! Tests compositions without rendezvous: credit alone keeps the pool within its bound.

use crate::common::*;
use crate::help::*;
use pombo_kernel::facade::PointToPointExt;
use pombo_kernel::{Communicator, Error, Mode, Peer};
use pombo_netdrivers::Loopback;

/// Cells that one of two peers has in the pool of [`Plain`].
const CREDIT: usize = 32;

/// At the bound a send is refused and its buffer comes back; messages that were accepted before arrive. The bound is
/// reached again and again, so that a lost cell would show.
#[test]
fn a_flood_is_refused_at_the_bound() {
    for to in [0, 1] {
        let mut ranks = world::<Plain>(2, CREDIT as u32);
        let at = usize::from(to);
        for _ in 0..5 {
            let mut sent = Vec::new();
            let mut refusals = 0;
            while refusals < 3 {
                match ranks[0].isend(Peer(to), tagged(1), Bytes(payload(sent.len(), 64))) {
                    Ok(ticket) => sent.push(ticket),
                    Err(refused) => {
                        assert_eq!(refused.error, Error::NoCredit(Peer(to)));
                        assert_eq!(refused.loan.0, payload(sent.len(), 64));
                        refusals += 1;
                        settle(&mut ranks);
                    }
                }
            }
            assert_eq!(ranks[at].lengths().unexpected, CREDIT);
            assert_eq!(sent.len(), CREDIT);
            for ticket in sent {
                assert_eq!(ranks[0].outcome(ticket), Ok(64));
            }
            for id in 0..CREDIT {
                let posted = ranks[at].post(Some(0), None, 64);
                assert_eq!(ranks[at].bytes(posted), payload(id, 64));
            }
            settle(&mut ranks);
        }
        assert!(ranks[0].all_zero() && ranks[1].all_zero());
    }
}

/// A receive that nobody posted returns the cell that its message did not need.
#[test]
fn direct_receives_return_credit() {
    let mut ranks = world::<Plain>(2, 1);
    for id in 0..100 {
        let sent = ranks[0].isend(Peer(1), tagged(1), Bytes(payload(id, 64)));
        let sent = sent.map_err(Error::from).expect("the credit is back");
        let mut into = Bytes(vec![0; 64]);
        let mut received = None;
        let polled = ranks[1].recv_direct(&wanted(Some(0), Some(1)), &mut into, 1, &mut received);
        polled.expect("no loss");
        let received = received.expect("it has arrived");
        assert_eq!((received.outcome, into.0), (Ok(64), payload(id, 64)));
        settle(&mut ranks);
        assert_eq!(ranks[0].outcome(sent), Ok(64));
    }
    assert!(ranks[0].all_zero() && ranks[1].all_zero());
}

/// A posted receive stays while others take its messages, which return their credit, and gets the one that they leave.
#[test]
fn receives_in_place_of_a_posted_one() {
    let mut ranks = world::<Plain>(2, 1);
    let posted = ranks[1].post(Some(0), Some(1), 64);
    let mut into = Bytes(vec![0; 64]);
    for id in 0..100 {
        let sent = ranks[0].put(1, 1, &payload(id, 64));
        let mut received = None;
        let polled = ranks[1].recv_instead(posted, &mut into, 1, &mut received);
        polled.expect("no loss");
        let received = received.expect("it has arrived");
        assert_eq!((received.outcome, &into.0), (Ok(64), &payload(id, 64)));
        settle(&mut ranks);
        assert_eq!(ranks[0].outcome(sent), Ok(64));
    }
    // What does not match goes to the queues, and so does all that arrives once the receive has its message.
    let other = ranks[0].put(1, 2, &payload(100, 8));
    let mut received = None;
    let polled = ranks[1].recv_instead(posted, &mut into, 1, &mut received);
    assert!(polled.is_ok() && received.is_none());
    let unmatched = ranks[1].post(Some(0), Some(2), 64);
    assert_eq!(ranks[1].bytes(unmatched), payload(100, 8));
    settle(&mut ranks);
    let last = ranks[0].put(1, 1, &payload(101, 8));
    settle(&mut ranks);
    let polled = ranks[1].recv_instead(posted, &mut into, 1, &mut received);
    assert!(polled.is_ok() && received.is_none());
    assert_eq!(into.0, payload(99, 64));
    assert_eq!(ranks[1].bytes(posted), payload(101, 8));
    assert_eq!(ranks[0].outcome(other), Ok(8));
    assert_eq!(ranks[0].outcome(last), Ok(8));
    assert!(ranks[0].all_zero() && ranks[1].all_zero());
}

/// Blocking sends wait for credit: no message is lost and the order is kept.
#[test]
fn blocking_sends_wait_for_credit() {
    const MANY: usize = 20_000;
    for credit in [1, 3, 32] {
        ranks(
            "blocking_sends_wait_for_credit",
            Loopback::world(2),
            |channel| {
                let limits = pombo_kernel::Limits {
                    credit: Some(credit),
                    eager: None,
                    copies: None,
                };
                let sends = channel_is(&channel, 0);
                let mut rank: Comm<Plain> =
                    Communicator::with_limits(channel, limits).expect("it fits");
                for id in 0..MANY {
                    if sends {
                        let sent = rank.send(Peer(1), tagged(id as i32), &payload(id, id % 65));
                        assert_eq!(sent, Ok(()));
                    } else {
                        let mut bytes = [0; 64];
                        let got = rank
                            .recv(wanted(Some(0), None), &mut bytes)
                            .expect("received");
                        assert_eq!((got.header(), got.len()), (tagged(id as i32), id % 65));
                        assert_eq!(bytes[..got.len()], payload(id, id % 65));
                        assert!(rank.lengths().unexpected <= credit as usize);
                    }
                }
            },
        );
    }
}

/// A cell is the limit whatever the channel carries; the buffer comes back.
#[test]
fn what_fits_no_cell_is_refused() {
    let mut ranks = world::<Plain>(2, 1);
    let refused = ranks[0].isend(Peer(1), tagged(1), Bytes(payload(5, 65)));
    let refused = refused.expect_err("it is too long");
    assert_eq!(refused.error, Error::TooLong { limit: 64 });
    assert_eq!(refused.loan.0, payload(5, 65));
    assert!(ranks[0].all_zero());
}

#[test]
fn synchronous_sends_need_rendezvous() {
    let mut ranks = world::<Plain>(2, 1);
    let refused = ranks[0].isend_as(Mode::Synchronous, Peer(1), tagged(1), Bytes(vec![1]));
    let refused = refused.expect_err("it is not composed");
    assert_eq!(refused.error, Error::FeatureDisabled("rendezvous"));
    assert_eq!(refused.loan.0, [1]);
    assert!(ranks[0].all_zero());
}

/// A sender that waits for credit gets the free cells, even if they are few.
#[test]
fn a_free_place_reaches_a_sender_that_waits() {
    for credit in 2..8usize {
        let mut ranks = world::<Plain>(2, credit as u32);
        for _ in 0..credit {
            ranks[1].put(0, 1, b"early");
        }
        settle(&mut ranks);
        let first = ranks[0].post(Some(1), Some(1), 8);
        let wanted = ranks[0].post(Some(1), Some(2), 8);
        settle(&mut ranks);
        assert_eq!(ranks[0].bytes(first), b"early");
        let late = ranks[1].isend(Peer(0), tagged(2), Bytes(b"wanted".to_vec()));
        let late = late.map_err(Error::from).map(drop);
        assert_eq!(late, Ok(()), "credit {credit}: a place is free");
        settle(&mut ranks);
        assert_eq!(ranks[0].bytes(wanted), b"wanted");
    }
}
