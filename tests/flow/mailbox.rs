//! Tests a protocol unlike MPI's: letters with a priority to named boxes. A receive matches a prefix of a box's name
//! and a least priority, never a rank.

use crate::common::{Bytes, Hosted, Owned, Plain, Tiny, payload};
use crate::help::{ranks, settle_any};
use pombo_kernel::{
    Communicator, Completed, Config, Error, Header, Limits, Loan, Mode, Pattern, Peer,
};
use pombo_netdrivers::Loopback;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
struct Address {
    name: [u8; 16],
    priority: u8,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Front {
    name: [u8; 16],
    len: u8,
    least: u8,
}

impl Header for Address {
    const NAME: &str = "Address";
    type Pattern = Front;
}

impl Pattern<Address> for Front {
    fn matches(&self, _from: Peer, letter: &Address) -> bool {
        let len = usize::from(self.len).min(16);
        letter.name[..len] == self.name[..len] && letter.priority >= self.least
    }

    fn source(&self) -> Option<Peer> {
        None
    }
}

fn padded(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}

fn to(name: &str, priority: u8) -> Address {
    Address {
        name: padded(name),
        priority,
    }
}

fn front(name: &str, least: u8) -> Front {
    Front {
        name: padded(name),
        len: name.len() as u8,
        least,
    }
}

type Rank<C> = Communicator<Address, Loopback, Owned, C>;

fn world<C: Config>(peers: u16, credit: u32) -> Vec<Rank<C>> {
    let limits = Limits {
        credit: Some(credit),
        eager: None,
        copies: None,
    };
    let over = |channel| Communicator::with_limits(channel, limits).expect("it fits");
    Loopback::world(peers).into_iter().map(over).collect()
}

/// Receives one letter and returns its sender, address and bytes.
fn read<C: Config>(ranks: &mut [Rank<C>], at: usize, pattern: Front) -> (Peer, Address, Vec<u8>) {
    let posted = ranks[at].irecv(pattern, Bytes(vec![0; 2000]));
    let posted = posted.map_err(Error::from).expect("posted");
    settle_any(ranks);
    let Completed {
        loan,
        envelope,
        outcome,
    } = ranks[at].claim(posted).expect("known").expect("it matches");
    let Loan::Received(Bytes(mut bytes)) = loan else {
        panic!("a receive")
    };
    bytes.truncate(outcome.expect("received"));
    let envelope = envelope.expect("a letter came");
    (envelope.peer(), envelope.header(), bytes)
}

fn put<C: Config>(rank: &mut Rank<C>, peer: u16, address: Address, bytes: Vec<u8>) {
    let sent = rank.isend(Peer(peer), address, Bytes(bytes));
    sent.map_err(Error::from).expect("sent");
}

/// Checks that letters arrive by prefix and least priority, in order, from any sender.
fn letters_find_their_boxes<C: Config>(credit: u32) {
    let mut ranks = world::<C>(3, credit);
    put(&mut ranks[1], 0, to("news/sport", 1), payload(1, 5));
    put(&mut ranks[1], 0, to("news/world", 9), payload(2, 50));
    put(&mut ranks[1], 0, to("orders", 5), payload(3, 16));
    put(&mut ranks[1], 0, to("news/world", 3), payload(4, 60));
    settle_any(&mut ranks);
    let (from, address, bytes) = read(&mut ranks, 0, front("orders", 0));
    assert_eq!(
        (from, address, bytes),
        (Peer(1), to("orders", 5), payload(3, 16))
    );
    let (_, address, bytes) = read(&mut ranks, 0, front("news", 2));
    assert_eq!((address, bytes), (to("news/world", 9), payload(2, 50)));
    let (_, address, bytes) = read(&mut ranks, 0, front("", 0));
    assert_eq!((address, bytes), (to("news/sport", 1), payload(1, 5)));
    put(&mut ranks[2], 0, to("news/late", 1), payload(5, 1));
    let (from, address, _) = read(&mut ranks, 0, front("news/l", 0));
    assert_eq!((from, address), (Peer(2), to("news/late", 1)));
    let (from, address, bytes) = read(&mut ranks, 0, front("news/", 0));
    assert_eq!(
        (from, address, bytes),
        (Peer(1), to("news/world", 3), payload(4, 60))
    );
    for rank in &ranks {
        let lengths = rank.lengths();
        assert_eq!((lengths.expected, lengths.unexpected), (0, 0));
        assert_eq!(rank.rejected(), 0);
    }
}

#[test]
fn letters_find_their_boxes_with_and_without_rendezvous() {
    letters_find_their_boxes::<Tiny>(1);
    letters_find_their_boxes::<Hosted>(1);
    letters_find_their_boxes::<Hosted>(64);
    letters_find_their_boxes::<Plain>(8);
}

/// A probe finds letters that any sender holds.
#[test]
fn a_probe_looks_into_the_post_bag() {
    let mut ranks = world::<Tiny>(3, 1);
    for from in [1, 2] {
        put(&mut ranks[from], 0, to("dull", 0), vec![0]);
        for number in 0..20 {
            put(&mut ranks[from], 0, to("dull", number), vec![0]);
        }
    }
    put(&mut ranks[2], 0, to("urgent", 200), payload(7, 1000));
    settle_any(&mut ranks);
    let mut probe = |pattern| {
        (0..5).find_map(|_| {
            let found = ranks[0].probe(pattern).expect("nobody is lost");
            settle_any(&mut ranks);
            found
        })
    };
    assert!(probe(front("urgent", 201)).is_none());
    let found = probe(front("", 100)).expect("it is held");
    assert_eq!(
        (found.peer(), found.header(), found.len()),
        (Peer(2), to("urgent", 200), 1000)
    );
    let (_, _, bytes) = read(&mut ranks, 0, front("urg", 200));
    assert_eq!(bytes, payload(7, 1000));
    for _ in 0..42 {
        let (_, address, _) = read(&mut ranks, 0, front("", 0));
        assert_eq!(address.name, padded("dull"));
    }
}

/// Cancels, synchronous letters and blocking calls work without ranks or tags too.
#[test]
fn registered_letters() {
    let mut ranks = world::<Tiny>(2, 1);
    let sent = [1, 2].map(|priority| {
        let letter = Bytes(payload(priority.into(), 100));
        let sent = ranks[1].isend_as(Mode::Synchronous, Peer(0), to("box", priority), letter);
        sent.map_err(Error::from).expect("sent")
    });
    settle_any(&mut ranks);
    assert!(ranks[1].claim(sent[0]).expect("known").is_none());
    ranks[1].cancel(sent[0]).expect("known");
    settle_any(&mut ranks);
    let (_, address, _) = read(&mut ranks, 0, front("box", 0));
    assert_eq!(address.priority, 2);
    let outcome = sent.map(|ticket| {
        let over = ranks[1].claim(ticket).expect("known").expect("over");
        over.outcome
    });
    assert_eq!(outcome, [Err(Error::Cancelled), Ok(100)]);
}

/// The urgent letter is received before a flood of others, with one cell in the pool.
#[test]
fn an_urgent_letter_passes_a_flood() {
    const MANY: usize = 5000;
    ranks(
        "an_urgent_letter_passes_a_flood",
        Loopback::world(2),
        |channel| {
            let limits = Limits {
                credit: Some(1),
                eager: None,
                copies: None,
            };
            let mut rank: Rank<Hosted> =
                Communicator::with_limits(channel, limits).expect("it fits");
            if rank.me() == Peer(0) {
                let sent: Vec<_> = (0..=MANY)
                    .map(|id| {
                        let letter = Bytes(payload(id, 20));
                        let sent = rank.isend(Peer(1), to("box", u8::from(id == MANY)), letter);
                        sent.map_err(Error::from).expect("sent")
                    })
                    .collect();
                for ticket in sent {
                    assert_eq!(rank.wait(ticket).expect("known").outcome, Ok(20));
                }
            } else {
                for id in [MANY].into_iter().chain(0..MANY) {
                    let mut bytes = [0; 20];
                    let least = u8::from(id == MANY);
                    let got = rank.recv(front("b", least), &mut bytes);
                    assert_eq!(got.expect("received").header().priority, least);
                    assert_eq!(bytes[..], payload(id, 20));
                }
            }
        },
    );
}
