//! The behaviour of kernel and twin: the same tests on both.

use crate::face::{Face, Kernel, Label};
use crate::hand::Twin;
use crate::protocol::{CELL, OPERATIONS, PEERS, tagged, wanted};
use pombo_kernel::{Error, Limits, Loan, Peer, Refused, Ticket};
use pombo_netdrivers::Loopback;

/// Runs a test on both.
macro_rules! on_both {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            on::$name::<Kernel<'static, Loopback>>();
            on::$name::<Twin<'static, Loopback>>();
        }
    )*};
}

on_both! {
    messages_meet_posted_receives
    messages_wait_for_receives
    wildcards_take_the_first
    messages_do_not_overtake
    calls_block_until_they_are_over
    short_buffers_are_filled
    credit_is_the_bound
    tables_are_the_bound
    what_does_not_exist_is_refused
    a_cancelled_receive_takes_nothing
    a_lost_peer_is_named
}

fn world<R: Face<'static, Loopback>>(credit: u32) -> (R, R) {
    let limits = Limits {
        credit: Some(credit),
        eager: None,
        copies: None,
    };
    let mut world = Loopback::world(2).into_iter();
    let mut next = || {
        let channel = world.next().expect("a world of two");
        R::over(channel, limits).expect("it fits")
    };
    (next(), next())
}

fn settle<R: Face<'static, Loopback>>(zero: &mut R, one: &mut R) {
    let poll = |rank: &mut R| rank.check_messages().expect("it does not break");
    while poll(zero) | poll(one) {}
}

fn put<R: Face<'static, Loopback>>(rank: &mut R, tag: i32, bytes: &'static [u8]) -> Ticket {
    let sent = rank.isend(Peer(1), tagged(tag), bytes);
    sent.map_err(Error::from).expect("sent")
}

fn post<R: Face<'static, Loopback>>(
    rank: &mut R,
    source: Option<u16>,
    tag: Option<i32>,
    room: usize,
) -> Ticket {
    let posted = rank.irecv(wanted(source, tag), vec![0xEE; room].leak());
    posted.map_err(Error::from).expect("posted")
}

/// Returns the bytes of a complete receive.
fn got<R: Face<'static, Loopback>>(
    rank: &mut R,
    ticket: Ticket,
) -> (&'static [u8], Option<Label>, Result<usize, Error>) {
    let over = R::tell(rank.claim(ticket).expect("known").expect("over"));
    match over.loan {
        Loan::Received(bytes) => (bytes, over.envelope, over.outcome),
        Loan::Sent(_) => panic!("a receive"),
    }
}

fn sent<R: Face<'static, Loopback>>(rank: &mut R, ticket: Ticket) -> Result<usize, Error> {
    R::tell(rank.claim(ticket).expect("known").expect("over")).outcome
}

mod on {
    use super::*;

    pub(super) fn messages_meet_posted_receives<R: Face<'static, Loopback>>() {
        let (mut zero, mut one) = world::<R>(4);
        let posted = post(&mut one, Some(0), Some(7), 6);
        assert!(one.claim(posted).is_ok_and(|over| over.is_none()));
        let ticket = put(&mut zero, 7, b"hello");
        settle(&mut zero, &mut one);
        let label = Label(tagged(7), 5, Peer(0));
        assert_eq!(
            got(&mut one, posted),
            (&b"hello\xEE"[..], Some(label), Ok(5))
        );
        assert_eq!(sent(&mut zero, ticket), Ok(5));
        assert_eq!(zero.claim(ticket).err(), Some(Error::UnknownTicket));
        assert_eq!((zero.rejected(), one.rejected()), (0, 0));
    }

    pub(super) fn messages_wait_for_receives<R: Face<'static, Loopback>>() {
        let (mut zero, mut one) = world::<R>(4);
        put(&mut zero, 7, b"hello");
        put(&mut zero, 8, b"");
        settle(&mut zero, &mut one);
        assert_eq!(one.lengths().unexpected, 2);
        let label = Label(tagged(8), 0, Peer(0));
        let known = one.probe(wanted(None, Some(8))).expect("no error");
        assert_eq!(known.map(R::label), Some(label));
        let empty = post(&mut one, None, Some(8), 1);
        assert_eq!(got(&mut one, empty), (&b"\xEE"[..], Some(label), Ok(0)));
        let hello = post(&mut one, None, None, 5);
        assert_eq!(got(&mut one, hello).0, b"hello");
        assert_eq!(one.lengths().unexpected, 0);
    }

    pub(super) fn wildcards_take_the_first<R: Face<'static, Loopback>>() {
        let (mut zero, mut one) = world::<R>(4);
        for (tag, bytes) in [(3, &b"three"[..]), (2, b"two"), (3, b"again")] {
            put(&mut zero, tag, bytes);
        }
        settle(&mut zero, &mut one);
        for (tag, bytes) in [
            (Some(2), &b"two"[..]),
            (None, b"three"),
            (Some(3), b"again"),
        ] {
            let posted = post(&mut one, None, tag, bytes.len());
            assert_eq!(got(&mut one, posted).0, bytes);
        }
    }

    pub(super) fn messages_do_not_overtake<R: Face<'static, Loopback>>() {
        let (mut zero, mut one) = world::<R>(4);
        let any = post(&mut one, None, None, 1);
        let exact = post(&mut one, Some(0), Some(1), 1);
        let other = post(&mut one, Some(0), Some(2), 1);
        for (tag, bytes) in [(1, &b"a"[..]), (2, b"b"), (1, b"c")] {
            put(&mut zero, tag, bytes);
        }
        settle(&mut zero, &mut one);
        assert_eq!(got(&mut one, any).0, b"a");
        assert_eq!(got(&mut one, exact).0, b"c");
        assert_eq!(got(&mut one, other).0, b"b");
    }

    pub(super) fn calls_block_until_they_are_over<R: Face<'static, Loopback>>() {
        let (mut zero, _) = world::<R>(2);
        let me = Peer(0);
        for round in 0..5 {
            let sent = [round; 3];
            assert_eq!(zero.send(me, tagged(1), &sent), Ok(()));
            assert_eq!(zero.try_inject(me, tagged(2), b"now"), Ok(true));
            assert_eq!(zero.try_inject(me, tagged(2), b"no credit"), Ok(false));
            let mut got = [0; 4];
            let envelope = zero.recv(wanted(None, Some(1)), &mut got);
            assert_eq!(envelope.map(R::label), Ok(Label(tagged(1), 3, me)));
            assert_eq!(got[..3], sent);
            let cut = zero.recv(wanted(Some(0), None), &mut got[..2]);
            let outcome = Err(Error::Truncated { sent: 3, room: 2 });
            assert_eq!(cut.map(R::label), outcome);
            while zero.check_messages() == Ok(true) {}
        }
        assert_eq!(zero.lengths().operations, 0);
    }

    pub(super) fn short_buffers_are_filled<R: Face<'static, Loopback>>() {
        for posted_first in [true, false] {
            let (mut zero, mut one) = world::<R>(4);
            let posted = posted_first.then(|| post(&mut one, None, None, 3));
            put(&mut zero, 1, b"hello");
            settle(&mut zero, &mut one);
            let posted = posted.unwrap_or_else(|| post(&mut one, None, None, 3));
            let outcome = Err(Error::Truncated { sent: 5, room: 3 });
            let label = Label(tagged(1), 5, Peer(0));
            assert_eq!(got(&mut one, posted), (&b"hel"[..], Some(label), outcome));
        }
    }

    pub(super) fn credit_is_the_bound<R: Face<'static, Loopback>>() {
        let (mut zero, mut one) = world::<R>(3);
        for round in 0..20 {
            let tickets: Vec<_> = (0..3).map(|_| put(&mut zero, 1, b"one")).collect();
            let refused = zero.isend(Peer(1), tagged(1), b"more").map_err(Some);
            let Err(Some(Refused { loan, error })) = refused else {
                panic!("round {round}: no credit is left");
            };
            assert_eq!((loan, error), (&b"more"[..], Error::NoCredit(Peer(1))));
            for ticket in tickets {
                assert_eq!(sent(&mut zero, ticket), Ok(3));
            }
            settle(&mut zero, &mut one);
            assert_eq!(one.lengths().unexpected, 3);
            for _ in 0..3 {
                let posted = post(&mut one, None, None, 3);
                assert_eq!(got(&mut one, posted).0, b"one");
            }
            settle(&mut zero, &mut one);
        }
    }

    pub(super) fn tables_are_the_bound<R: Face<'static, Loopback>>() {
        let (mut zero, _) = world::<R>(4);
        for _ in 0..OPERATIONS {
            post(&mut zero, None, None, 1);
        }
        let refused = zero.irecv(wanted(None, None), vec![7].leak());
        let refused = refused.expect_err("the table is full");
        assert_eq!((refused.loan, refused.error), (&mut [7][..], Error::Full));
        let refused = zero.isend(Peer(1), tagged(1), b"no place");
        let refused = refused.expect_err("the table is full");
        assert_eq!(
            (refused.loan, refused.error),
            (&b"no place"[..], Error::Full)
        );
        let long = vec![0; CELL + 1].leak();
        let refused = zero.isend(Peer(1), tagged(1), long);
        let refused = refused.expect_err("it is too long");
        assert_eq!(refused.error, Error::TooLong { limit: CELL });
    }

    pub(super) fn what_does_not_exist_is_refused<R: Face<'static, Loopback>>() {
        let channel = Loopback::world(PEERS as u16 + 1).remove(0);
        let bound = PEERS;
        let peers = PEERS + 1;
        let refused = R::over(channel, Limits::default()).err();
        assert_eq!(refused, Some(Error::TooManyPeers { peers, bound }));
        let (mut zero, _) = world::<R>(4);
        let none = Some(Error::NoSuchPeer(Peer(2)));
        let refused = zero.isend(Peer(2), tagged(1), b"").map_err(Error::from);
        assert_eq!(refused.err(), none);
        let refused = zero.irecv(wanted(Some(2), None), &mut []);
        assert_eq!(refused.map_err(Error::from).err(), none);
        assert_eq!(zero.probe(wanted(Some(2), None)).err(), none);
        let unknown = Ticket::from_bits(1 << 32);
        assert_eq!(zero.claim(unknown).err(), Some(Error::UnknownTicket));
        assert_eq!(zero.cancel(unknown), Err(Error::UnknownTicket));
    }

    pub(super) fn a_cancelled_receive_takes_nothing<R: Face<'static, Loopback>>() {
        let (mut zero, mut one) = world::<R>(4);
        let first = post(&mut one, None, None, 5);
        let second = post(&mut one, None, None, 5);
        assert_eq!(one.cancel(first), Ok(()));
        put(&mut zero, 1, b"hello");
        settle(&mut zero, &mut one);
        assert_eq!(
            got(&mut one, first),
            (&[0xEE; 5][..], None, Err(Error::Cancelled))
        );
        assert_eq!(one.cancel(second), Ok(()));
        assert_eq!(got(&mut one, second).0, b"hello");
    }

    pub(super) fn a_lost_peer_is_named<R: Face<'static, Loopback>>() {
        let (zero, mut one) = world::<R>(4);
        let named = post(&mut one, Some(0), None, 1);
        let any = post(&mut one, None, None, 1);
        drop(zero);
        while one.check_messages() == Ok(true) {}
        let lost = Error::PeerLost(Peer(0));
        assert_eq!(got(&mut one, named).2, Err(lost));
        assert!(one.claim(any).is_ok_and(|over| over.is_none()));
        let refused = one.isend(Peer(0), tagged(1), b"").map_err(Error::from);
        assert_eq!(refused.err(), Some(lost));
        let late = post(&mut one, Some(0), None, 1);
        assert_eq!(got(&mut one, late).2, Err(lost));
        assert_eq!(one.probe(wanted(Some(0), None)).err(), Some(lost));
    }
}
