//! Sends more messages than any pool has room for, and receives them in an unfavourable order.

use crate::common::*;
use crate::help::*;
use crate::stream::*;
use pombo_kernel::aspect::{Rendezvous, Static};
use pombo_kernel::matching::Linear;
use pombo_kernel::{Capacities, Communicator, Composition, Config, Limits, Peer};
use pombo_netdrivers::{HeapStorage, Loopback};
use static_assertions::const_assert;
use std::thread;
use std::time::Duration;
use zerocopy::little_endian::U32;

const MANY: u64 = 10_000;
const CREDIT_ONE: Limits = Limits {
    credit: Some(1),
    eager: None,
    copies: None,
};

/// A sender with many sends under way; the pool has one cell for each of two peers.
type Sender = Composition<U32, Rendezvous<64>, Linear, HeapStorage, Capacities<16384, 2, 64, 2>>;
/// The same frames, but four operations at a time and no heap: the size of the type is all the memory it takes.
type Receiver = Composition<U32, Rendezvous<64>, Linear, Static, Capacities<4, 2, 64, 2>>;

type Rank<C> = Communicator<Tagged, Loopback, Stream, C>;

const_assert!(size_of::<Rank<Receiver>>() < 2048);

/// Sends ten thousand messages of tag 1, then one of tag 2, without waiting in between.
fn send_many<C: Config>(rank: &mut Rank<C>, to: u16, len: usize) -> Vec<pombo_kernel::Ticket> {
    let tags = (0..MANY).map(|number| (number, 1)).chain([(MANY, 2)]);
    tags.map(|(number, tag)| {
        let sent = rank.isend(Peer(to), tagged(tag), Item { number, len });
        sent.map_err(|refused| refused.error)
            .expect("there is room")
    })
    .collect()
}

/// Receives tag 2 first, then all messages of tag 1 in their order.
fn receive_many<C: Config>(rank: &mut Rank<C>, source: Option<u16>, tag: Option<i32>, len: usize) {
    for (index, number) in [MANY].into_iter().chain(0..MANY).enumerate() {
        let tag = if index == 0 { Some(2) } else { tag };
        let posted = rank.irecv(wanted(source, tag), Check::new(len));
        let ticket = posted.map_err(|refused| refused.error).expect("posted");
        let completed = rank.wait(ticket).expect("known");
        assert_eq!(completed.outcome, Ok(len));
        assert_eq!(Check::of(completed.loan).number(len), Some(number));
        assert!(rank.lengths().unexpected <= 1, "one place is its bound");
    }
}

fn flood_a_neighbour(name: &str, len: usize, source: Option<u16>, tag: Option<i32>) {
    ranks(name, Loopback::world(2), |channel| {
        if channel_is(&channel, 0) {
            let mut rank = Rank::<Sender>::with_limits(channel, CREDIT_ONE).expect("it fits");
            for ticket in send_many(&mut rank, 1, len) {
                assert_eq!(rank.wait(ticket).expect("known").outcome, Ok(len));
            }
            assert_eq!(rank.lengths().operations, 0);
        } else {
            let mut rank = Rank::<Receiver>::with_limits(channel, CREDIT_ONE).expect("it fits");
            receive_many(&mut rank, source, tag, len);
            assert_eq!(rank.rejected(), 0);
        }
    });
}

#[test]
fn short_messages_to_exact_receives() {
    flood_a_neighbour("short_messages_to_exact_receives", 8, Some(0), Some(1));
}

#[test]
fn short_messages_to_wildcards() {
    flood_a_neighbour("short_messages_to_wildcards", 8, None, None);
}

#[test]
fn long_messages_to_exact_receives() {
    let name = "long_messages_to_exact_receives";
    flood_a_neighbour(name, 64 << 10, Some(0), Some(1));
}

#[test]
fn long_messages_to_wildcards() {
    flood_a_neighbour("long_messages_to_wildcards", 64 << 10, None, None);
}

#[test]
fn floods_of_oneself() {
    for len in [8, 64 << 10] {
        for (source, tag) in [(Some(0), Some(1)), (None, None)] {
            ranks("floods_of_oneself", Loopback::world(1), |channel| {
                let mut rank = Rank::<Sender>::with_limits(channel, CREDIT_ONE).expect("it fits");
                let sent = send_many(&mut rank, 0, len);
                receive_many(&mut rank, source, tag, len);
                for ticket in sent {
                    assert_eq!(rank.wait(ticket).expect("known").outcome, Ok(len));
                }
                assert_eq!(rank.lengths().operations, 0);
            });
        }
    }
}

/// All receives are posted first, tag 2 in front, and matched from both sides' queues.
#[test]
fn receives_posted_in_bulk() {
    const SOME: u64 = 2000;
    for len in [8, 1000] {
        ranks("receives_posted_in_bulk", Loopback::world(2), |channel| {
            let sends = channel_is(&channel, 0);
            let mut rank = Rank::<Sender>::with_limits(channel, CREDIT_ONE).expect("it fits");
            let tickets: Vec<_> = if sends {
                let tags = (0..SOME).map(|number| (number, 1)).chain([(SOME, 2)]);
                tags.map(|(number, tag)| {
                    let sent = rank.isend(Peer(1), tagged(tag), Item { number, len });
                    sent.map_err(|refused| refused.error).expect("sent")
                })
                .collect()
            } else {
                let tags = [2].into_iter().chain((0..SOME).map(|_| 1));
                tags.map(|tag| {
                    let posted = rank.irecv(wanted(None, Some(tag)), Check::new(len));
                    posted.map_err(|refused| refused.error).expect("posted")
                })
                .collect()
            };
            for (ticket, number) in tickets.into_iter().zip([SOME].into_iter().chain(0..SOME)) {
                let completed = rank.wait(ticket).expect("known");
                assert_eq!(completed.outcome, Ok(len));
                if !sends {
                    assert_eq!(Check::of(completed.loan).number(len), Some(number));
                }
            }
        });
    }
}

/// A rank makes no progress for a while; three others send thousands of messages meanwhile, and wait for each or for
/// all at the end.
#[test]
fn a_sleeper_loses_nothing() {
    const EACH: u64 = 3000;
    type Four<const POOL: usize> =
        Composition<U32, Rendezvous<64>, Linear, HeapStorage, Capacities<16384, POOL, 64, 4>>;
    fn run<const POOL: usize>() {
        ranks("a_sleeper_loses_nothing", Loopback::world(4), |channel| {
            let mut rank = Rank::<Four<POOL>>::new(channel).expect("it fits");
            let me = rank.me().0;
            let len = |from: u16, number: u64| match (u64::from(from) + number) % 3 {
                0 => 8,
                1 => 64,
                _ => 5000,
            };
            if me == 0 {
                thread::sleep(Duration::from_millis(100));
                let mut next = [0; 4];
                for _ in 0..3 * EACH {
                    let posted = rank.irecv(wanted(None, None), Check::new(5000));
                    let ticket = posted.map_err(|refused| refused.error).expect("posted");
                    let completed = rank.wait(ticket).expect("known");
                    let from = completed.envelope.expect("a message came").peer();
                    let number = next[from.index()];
                    assert_eq!(completed.outcome, Ok(len(from.0, number)));
                    let check = Check::of(completed.loan);
                    assert_eq!(check.number(len(from.0, number)), Some(number));
                    next[from.index()] += 1;
                    assert!(rank.lengths().unexpected <= POOL);
                }
                assert_eq!(next, [0, EACH, EACH, EACH]);
            } else {
                let mut sent = Vec::new();
                for number in 0..EACH {
                    let item = Item {
                        number,
                        len: len(me, number),
                    };
                    let ticket = rank.isend(Peer(0), tagged(1), item);
                    sent.push(ticket.map_err(|refused| refused.error).expect("sent"));
                    if me == 1 {
                        // This rank waits for each send.
                        let ticket = sent.pop().expect("one");
                        assert_eq!(rank.wait(ticket).expect("known").outcome, Ok(item.len));
                    }
                }
                for ticket in sent {
                    assert!(rank.wait(ticket).expect("known").outcome.is_ok());
                }
            }
        });
    }
    run::<4>();
    run::<400>();
}
