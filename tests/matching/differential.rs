//! A direct receive equals a posted one: two worlds perform the same acts, and one of them receives directly.
//!
//! After each receive both worlds come to rest; they must then agree in what a program can see: which receive got which
//! message, the bytes, how each operation ended, what is left in the queues. Sends do not bring the worlds to rest, so
//! frames are in the channel when a receive looks, and with little credit more messages wait at their senders, which
//! hold them until they are pulled. The counters agree as well, unless a look found a message that did not match: then
//! the receive was posted later, and free slots return to their sender as credit in other portions. A send that is
//! refused for want of credit may then be refused in one world only, which ends the comparison.

use crate::common::{Bytes, Owned, cases, payload};
use crate::numbered::{Numbered, Select, select};
use pombo_kernel::aspect::{Counting, Eager, Rendezvous, Static};
use pombo_kernel::facade::PointToPointExt;
use pombo_kernel::matching::{Binned, Linear};
use pombo_kernel::{
    Capacities, Communicator, Composition, Config, Error, Limits, Loan, Mode, Peer, Ticket,
};
use pombo_netdrivers::{HeapStorage, Loopback, loopback};
use proptest::prelude::*;
use zerocopy::little_endian::{I32, U32};

#[derive(Clone, Debug)]
enum Act {
    Send {
        from: u16,
        to: u16,
        tag: i32,
        len: usize,
        synchronous: bool,
    },
    Receive {
        at: u16,
        source: Option<u16>,
        tag: Option<i32>,
        room: usize,
    },
    Probe {
        at: u16,
        tag: Option<i32>,
    },
    Poll {
        at: u16,
    },
    /// The rank ends, if there are more than two.
    End {
        rank: u16,
    },
}

/// Draws acts of two ranks, which may receive from any source, or of three, which name it: the order of sources is the
/// channel's choice.
fn act(ranks: u16) -> impl Strategy<Value = Act> {
    let rank = 0..ranks;
    let source = match ranks {
        2 => prop_oneof![Just(None), rank.clone().prop_map(Some)].boxed(),
        _ => rank.clone().prop_map(Some).boxed(),
    };
    let tag = prop_oneof![1 => Just(None), 3 => (0..2i32).prop_map(Some)];
    let len = prop_oneof![Just(0usize), 1..17usize, 17..65usize, 65..2000usize];
    let room = prop_oneof![4 => Just(2000usize), 1 => 0..40usize];
    prop_oneof![
        8 => (rank.clone(), 1..ranks, 0..2i32, len, any::<u8>()).prop_map(
            move |(from, on, tag, len, coin)| Act::Send {
                from,
                to: (from + on) % ranks,
                tag,
                len,
                synchronous: coin < 32,
            }
        ),
        8 => (rank.clone(), source, tag.clone(), room)
            .prop_map(|(at, source, tag, room)| Act::Receive { at, source, tag, room }),
        1 => (rank.clone(), tag).prop_map(|(at, tag)| Act::Probe { at, tag }),
        1 => rank.clone().prop_map(|at| Act::Poll { at }),
        1 => rank.prop_map(|rank| Act::End { rank }),
    ]
}

/// What a program sees of an operation: what it is, its message, its outcome, its bytes.
type Seen = (String, Option<u32>, Result<usize, Error>, Vec<u8>);

struct World<C: Config> {
    /// `None` for a rank that has ended.
    ranks: Vec<Option<Communicator<Numbered, Loopback, Owned, C>>>,
    is_direct: bool,
    sent: usize,
    under_way: Vec<(u16, String, Ticket)>,
    seen: Vec<Seen>,
    /// A direct receive has looked and found something else.
    has_missed: bool,
    /// Number of messages that came without a ticket.
    direct: usize,
}

impl<C: Config> World<C> {
    fn new(ranks: u16, limits: Limits, is_direct: bool) -> Self {
        let channel = loopback::Limits {
            frame: 128,
            frames_in_flight: 4,
        };
        let over = |channel| Communicator::with_limits(channel, limits).expect("it fits");
        let channels = Loopback::world_with(ranks, channel);
        World {
            ranks: channels
                .into_iter()
                .map(|channel| Some(over(channel)))
                .collect(),
            is_direct,
            sent: 0,
            under_way: Vec::new(),
            seen: Vec::new(),
            has_missed: false,
            direct: 0,
        }
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Send {
                from,
                to,
                tag,
                len,
                synchronous,
            } => {
                let mode = match synchronous {
                    true => Mode::Synchronous,
                    false => Mode::Standard,
                };
                self.send(mode, (from, to), tag, len);
            }
            Act::Receive {
                at,
                source,
                tag,
                room,
            } => {
                self.receive(at, select(source, tag), room);
                self.settle();
                self.claim();
            }
            Act::Probe { at, tag } => {
                self.settle();
                if let Some(rank) = &mut self.ranks[usize::from(at)] {
                    let found = rank.probe(select(Some(u16::from(at == 0)), tag));
                    let number = found.map(|found| found.map(|it| it.header().number.get()));
                    let (number, outcome) = match number {
                        Ok(number) => (number, Ok(0)),
                        Err(error) => (None, Err(error)),
                    };
                    self.seen
                        .push(("probe".into(), number, outcome, Vec::new()));
                }
                self.settle();
            }
            Act::Poll { at } => {
                if let Some(rank) = &mut self.ranks[usize::from(at)] {
                    rank.check_messages().expect("the channel does not break");
                }
            }
            Act::End { rank } if self.ranks.len() > 2 && usize::from(rank) == 2 => {
                self.settle();
                self.claim();
                self.under_way.retain(|(at, ..)| *at != rank);
                self.ranks[usize::from(rank)] = None;
                self.settle();
                self.claim();
            }
            Act::End { .. } => {}
        }
    }

    fn send(&mut self, mode: Mode, (from, to): (u16, u16), tag: i32, len: usize) {
        let Some(rank) = &mut self.ranks[usize::from(from)] else {
            return;
        };
        let id = self.sent;
        self.sent += 1;
        let header = Numbered {
            tag: I32::new(tag),
            number: U32::new(id as u32),
        };
        let what = format!("send {id}");
        match rank.isend_as(mode, Peer(to), header, Bytes(payload(id, len))) {
            Ok(ticket) => self.under_way.push((from, what, ticket)),
            Err(refused) => self.seen.push((what, None, Err(refused.error), Vec::new())),
        }
    }

    fn receive(&mut self, at: u16, pattern: Select, room: usize) {
        let Some(rank) = &mut self.ranks[usize::from(at)] else {
            return;
        };
        let what = format!("receive at {at} after {} sends", self.sent);
        let mut into = Bytes(vec![0; room]);
        if self.is_direct {
            let lengths = rank.lengths();
            let mut received = None;
            let polled = rank.recv_direct(&pattern, &mut into, 1, &mut received);
            polled.expect("the channel does not break");
            if let Some(received) = received {
                let number = received.envelope.header().number.get();
                self.seen
                    .push((what, Some(number), received.outcome, into.0));
                self.direct += 1;
                return;
            }
            self.has_missed |= (lengths.expected, lengths.unexpected) == (0, 0);
        }
        match rank.irecv(pattern, into) {
            Ok(ticket) => self.under_way.push((at, what, ticket)),
            Err(refused) => self.seen.push((what, None, Err(refused.error), Vec::new())),
        }
        // The receiver polls first in both worlds, or credit would find different sends waiting for it.
        rank.check_messages().expect("the channel does not break");
    }

    /// Returns the number of sends that were refused for want of credit.
    fn refused(&self) -> usize {
        let refused = |seen: &&Seen| matches!(seen.2, Err(Error::NoCredit(_)));
        self.seen.iter().filter(refused).count()
    }

    fn settle(&mut self) {
        for _ in 0..100_000 {
            let mut moved = false;
            for rank in self.ranks.iter_mut().flatten() {
                moved |= rank.check_messages().expect("loopback does not break");
            }
            if !moved {
                return;
            }
        }
        panic!("the ranks never come to rest");
    }

    /// Claims what is complete, in the order of the calls.
    fn claim(&mut self) {
        let (ranks, seen) = (&mut self.ranks, &mut self.seen);
        self.under_way.retain(|(at, what, ticket)| {
            let Some(rank) = &mut ranks[usize::from(*at)] else {
                return false;
            };
            let Some(completed) = rank.claim(*ticket).expect("it is under way") else {
                return true;
            };
            let number = completed.envelope.map(|it| it.header().number.get());
            let bytes = match completed.loan {
                Loan::Received(Bytes(bytes)) => bytes,
                Loan::Sent(_) => Vec::new(),
            };
            seen.push((what.clone(), number, completed.outcome, bytes));
            false
        });
    }
}

/// Performs the acts in both worlds. Returns how many messages came directly.
fn compare<C: Config>(ranks: u16, acts: &[Act], limits: Limits) -> usize {
    let mut direct = World::<C>::new(ranks, limits, true);
    let mut posted = World::<C>::new(ranks, limits, false);
    for act in acts {
        direct.act(act);
        posted.act(act);
        if direct.has_missed && direct.refused() != posted.refused() {
            break;
        }
        if !matches!(act, Act::Send { .. } | Act::Poll { .. }) {
            let sorted = |seen: &[Seen]| {
                let mut seen = seen.to_vec();
                seen.sort_by(|one, other| one.0.cmp(&other.0));
                seen
            };
            assert_eq!(sorted(&direct.seen), sorted(&posted.seen), "after {act:?}");
            for (one, other) in direct.ranks.iter().zip(&posted.ranks) {
                let (Some(one), Some(other)) = (one, other) else {
                    assert_eq!(one.is_none(), other.is_none());
                    continue;
                };
                assert_eq!(one.lengths(), other.lengths(), "after {act:?}");
                assert_eq!(one.rejected(), 0);
                if !direct.has_missed {
                    assert_eq!(one.statistics(), other.statistics(), "after {act:?}");
                }
            }
        }
    }
    direct.direct
}

type Small = Capacities<512, 32, 64, 3>;
type Queued = Composition<U32, Rendezvous<16>, Linear, Static, Small, Counting>;
type Bins = Composition<U32, Rendezvous<64>, Binned<1>, HeapStorage, Small, Counting>;
type Refusing = Composition<U32, Eager, Linear, Static, Small, Counting>;

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn a_direct_receive_equals_a_posted_one(
        two in prop::collection::vec(act(2), 1..30),
        three in prop::collection::vec(act(3), 1..30),
        places in 1..4u32,
    ) {
        let limits = Limits { credit: Some(places), eager: None, copies: None };
        compare::<Queued>(2, &two, limits);
        compare::<Bins>(2, &two, limits);
        compare::<Refusing>(2, &two, limits);
        compare::<Queued>(3, &three, limits);
        compare::<Bins>(3, &three, limits);
        compare::<Refusing>(3, &three, limits);
    }
}

/// The drawn acts would prove nothing if no message came directly.
#[test]
fn messages_come_directly() {
    let send = |tag| Act::Send {
        from: 0,
        to: 1,
        tag,
        len: 40,
        synchronous: false,
    };
    let receive = |tag| Act::Receive {
        at: 1,
        source: None,
        tag,
        room: 2000,
    };
    let limits = Limits {
        credit: Some(1),
        eager: None,
        copies: None,
    };
    let acts = [send(0), receive(None), send(1), receive(Some(1))];
    assert_eq!(compare::<Bins>(2, &acts, limits), 2);
}
