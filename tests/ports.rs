//! Tests several headers over one channel: each port has its own queues, pool and credit.

mod common;

use common::*;
use pombo_kernel::{Endpoint, Error, Header, Loan, Pattern, Peer, Port};
use pombo_netdrivers::{Loopback, loopback};
use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A protocol unlike MPI's: letters to numbered mailboxes, from any sender.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct MailHeader {
    mailbox: U64,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Mailbox(U64);

impl Header for MailHeader {
    const NAME: &str = "Mail";
    type Pattern = Mailbox;
}

impl Pattern<MailHeader> for Mailbox {
    fn matches(&self, _: Peer, header: &MailHeader) -> bool {
        self.0 == header.mailbox
    }

    fn source(&self) -> Option<Peer> {
        None
    }
}

fn mail(mailbox: u64) -> MailHeader {
    MailHeader {
        mailbox: U64::new(mailbox),
    }
}

type Two = Endpoint<Loopback, (Port<Tagged, Owned, Tiny>, Port<MailHeader, Owned, Plain>)>;
type Three = Endpoint<
    Loopback,
    (
        Port<Tagged, Owned, Tiny>,
        Port<MailHeader, Owned, Tiny>,
        Port<MailHeader, Owned, Hosted>,
    ),
>;

fn limits() -> loopback::Limits {
    loopback::Limits {
        frame: 128,
        frames_in_flight: 2,
    }
}

/// Unread messages at one port do not block the other ports.
#[test]
fn unread_traffic_on_one_port_does_not_stop_another() {
    let mut world = Loopback::world_with(2, limits()).into_iter();
    let mut next = || Two::two(world.next().expect("a world of two")).expect("it fits");
    let (mut zero, mut one) = (next(), next());
    // These fill the pool of port 0 at rank 1, and more.
    let unread: Vec<_> = (0..100)
        .map(|id| {
            let sent = zero
                .port::<0>()
                .isend(Peer(1), tagged(7), Bytes(payload(id, 40)));
            sent.map_err(Error::from)
                .expect("the table is large enough")
        })
        .collect();
    for round in 0..500u64 {
        let bytes = Bytes(round.to_le_bytes().to_vec());
        let sent = zero.port::<1>().isend(Peer(1), mail(round), bytes);
        let ticket = sent.map_err(Error::from).expect("port 1 has credit");
        let pattern = Mailbox(U64::new(round));
        let received = one.port::<1>().irecv(pattern, Bytes(vec![0; 8]));
        let receive = received
            .map_err(Error::from)
            .expect("the table is large enough");
        let mut turns = 0;
        let completed = loop {
            zero.port::<1>()
                .check_messages()
                .expect("loopback does not break");
            // Calls on either port make progress on both.
            one.port::<0>()
                .check_messages()
                .expect("loopback does not break");
            if let Some(completed) = one.port::<1>().claim(receive).expect("it is known") {
                break completed;
            }
            turns += 1;
            assert!(turns < 1000, "letter {round} never arrives");
        };
        let Loan::Received(Bytes(bytes)) = completed.loan else {
            panic!("a receive")
        };
        assert_eq!(bytes, round.to_le_bytes());
        let sent = zero
            .port::<1>()
            .claim(ticket)
            .expect("it is known")
            .expect("it has left");
        assert_eq!(sent.outcome, Ok(8));
    }
    assert!(one.port::<0>().lengths().unexpected <= 4);
    // No message of port 0 is lost.
    for id in 0..100 {
        let posted = one
            .port::<0>()
            .irecv(wanted(Some(0), Some(7)), Bytes(vec![0; 40]));
        let ticket = posted
            .map_err(Error::from)
            .expect("the table is large enough");
        let completed = loop {
            zero.port::<0>()
                .check_messages()
                .expect("loopback does not break");
            one.port::<1>()
                .check_messages()
                .expect("loopback does not break");
            if let Some(completed) = one.port::<0>().claim(ticket).expect("it is known") {
                break completed;
            }
        };
        let Loan::Received(Bytes(bytes)) = completed.loan else {
            panic!("a receive")
        };
        assert_eq!(bytes, payload(id, 40));
    }
    for ticket in unread {
        let completed = zero.port::<0>().claim(ticket).expect("it is known");
        assert_eq!(completed.expect("it was received").outcome, Ok(40));
    }
    assert_eq!(
        (one.port::<0>().rejected(), one.port::<1>().rejected()),
        (0, 0)
    );
}

/// Three ports block in threads: messages of one never reach another, scopes included.
#[test]
fn three_ports_do_not_mix() {
    let ranks: Vec<_> = Loopback::world_with(2, limits())
        .into_iter()
        .map(|channel| {
            std::thread::spawn(move || -> Result<(), Error> {
                let mut endpoint = Three::three(channel)?;
                let peer = Peer(1 - endpoint.me().0);
                for round in 0..200u64 {
                    let long = payload(round as usize, 3000);
                    let mut into = vec![0; 3000];
                    let number = round.to_le_bytes();
                    let ticket = endpoint
                        .port::<2>()
                        .isend(peer, mail(1), Bytes(long.clone()))
                        .map_err(Error::from)?;
                    endpoint.port::<0>().scope(|scope| {
                        let sent = scope.isend(peer, tagged(1), &number[..7])?;
                        let mut seven = [0; 7];
                        scope.recv(wanted(Some(peer.0), Some(1)), &mut seven)?;
                        assert_eq!(seven, number[..7]);
                        scope.wait(sent)?.outcome.map(drop)
                    })?;
                    endpoint.port::<1>().send(peer, mail(1), b"letter")?;
                    let mut six = [0; 6];
                    endpoint.port::<1>().recv(Mailbox(U64::new(1)), &mut six)?;
                    assert_eq!(&six, b"letter");
                    endpoint.port::<2>().recv(Mailbox(U64::new(1)), &mut into)?;
                    assert_eq!(into, long);
                    assert_eq!(endpoint.port::<2>().wait(ticket)?.outcome, Ok(3000));
                }
                assert_eq!(endpoint.port::<1>().rejected(), 0);
                Ok(())
            })
        })
        .collect();
    for rank in ranks {
        rank.join().expect("no rank panics").expect("no rank fails");
    }
}
