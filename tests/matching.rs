//! Matching against the rules of MPI, written down as simply as they can be: no message and no receive may both
//! have reason to complain.
//!
//! Random sends, receives, cancels, probes and polls on up to four ranks, through channels and pools of the
//! smallest sizes. In the end every matching message and receive must have found each other, in an order that the
//! standard allows (MPI 5.0, section 3.5): a message goes to the first receive that matches, a receive takes the
//! first message of a source that matches. A probe has named the message that a receive would have taken. What is
//! left is found by probing and received, and then nothing at all is left.

mod common;
#[path = "matching/liveness.rs"]
mod liveness;
#[path = "common/numbered.rs"]
mod numbered;

use common::{Bytes, Hosted, Owned, Plain, Tiny, cases, payload, settle_moody};
use numbered::{Numbered, Select, select};
use pombo_kernel::aspect::{Eager, Rendezvous, Static};
use pombo_kernel::matching::{Adaptive, Binned, Linear};
use pombo_kernel::{
    Channel, Communicator, Completed, Compose, Config, Envelope, Error, Limits, Loan, Mode, Node,
    Operate, Pattern, Size, Ticket,
};
use pombo_netdrivers::fault::{Moods, Moody, Rate};
use pombo_netdrivers::{Growing, Loopback, loopback};
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
    CancelSend {
        which: usize,
    },
    CancelReceive {
        which: usize,
    },
    Probe {
        at: u16,
        source: Option<u16>,
        tag: Option<i32>,
    },
    Poll {
        at: u16,
    },
    /// Takes back all that is over, so that operations take the places of others.
    Claim,
}

fn act(ranks: u16) -> impl Strategy<Value = Act> {
    let rank = 0..ranks;
    let source = prop_oneof![1 => Just(None), 2 => rank.clone().prop_map(Some)];
    let tag = prop_oneof![1 => Just(None), 3 => (0..3i32).prop_map(Some)];
    let len = prop_oneof![1 => Just(0usize), 4 => 1..17usize, 2 => 17..65usize, 1 => 65..2000usize];
    let room = prop_oneof![8 => Just(2000usize), 1 => 0..40usize];
    prop_oneof![
        6 => (rank.clone(), rank.clone(), 0..3i32, len, any::<u8>()).prop_map(
            |(from, to, tag, len, coin)| Act::Send { from, to, tag, len, synchronous: coin < 32 }
        ),
        5 => (rank.clone(), source.clone(), tag.clone(), room)
            .prop_map(|(at, source, tag, room)| Act::Receive { at, source, tag, room }),
        1 => (0..64usize).prop_map(|which| Act::CancelSend { which }),
        1 => (0..64usize).prop_map(|which| Act::CancelReceive { which }),
        1 => (rank.clone(), source, tag).prop_map(|(at, source, tag)| Act::Probe { at, source, tag }),
        6 => rank.prop_map(|at| Act::Poll { at }),
        2 => Just(Act::Claim),
    ]
}

struct Message {
    from: u16,
    to: u16,
    tag: i32,
    len: usize,
    ticket: Ticket,
    cancelled: bool,
}

struct Receive {
    at: u16,
    pattern: Select,
    room: usize,
    ticket: Ticket,
    /// The message that it got, by number.
    got: Option<usize>,
    cancelled: bool,
}

/// A probe that found something.
struct Found {
    at: u16,
    pattern: Select,
    id: usize,
    /// Receives posted before it, over all ranks.
    receives: usize,
}

struct World<L: Channel, C: Config> {
    ranks: Vec<Communicator<Numbered, L, Owned, C>>,
    settle: fn(&mut [Communicator<Numbered, L, Owned, C>]),
    messages: Vec<Message>,
    receives: Vec<Receive>,
    found: Vec<Found>,
}

impl<L: Channel, C: Config> World<L, C> {
    fn new(
        channels: Vec<L>,
        limits: Limits,
        settle: fn(&mut [Communicator<Numbered, L, Owned, C>]),
    ) -> Self {
        let over = |channel| Communicator::with_limits(channel, limits).expect("it fits");
        World {
            ranks: channels.into_iter().map(over).collect(),
            settle,
            messages: Vec::new(),
            receives: Vec::new(),
            found: Vec::new(),
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
                let mode = if synchronous {
                    Mode::Synchronous
                } else {
                    Mode::Standard
                };
                self.send(mode, (from, to), tag, len);
            }
            Act::Receive {
                at,
                source,
                tag,
                room,
            } => self.receive(at, select(source, tag), room),
            Act::CancelSend { which } => {
                if let Some(message) = self.messages.get(which) {
                    let rank = &mut self.ranks[usize::from(message.from)];
                    check_cancel(rank.cancel(message.ticket));
                }
            }
            Act::CancelReceive { which } => {
                if let Some(receive) = self.receives.get(which) {
                    let rank = &mut self.ranks[usize::from(receive.at)];
                    check_cancel(rank.cancel(receive.ticket));
                }
            }
            Act::Probe { at, source, tag } => {
                self.probe(at, select(source, tag));
            }
            Act::Poll { at } => {
                let rank = &mut self.ranks[usize::from(at)];
                rank.check_messages().expect("the channel does not break");
            }
            Act::Claim => self.claim(),
        }
    }

    fn send(&mut self, mode: Mode, (from, to): (u16, u16), tag: i32, len: usize) {
        let id = self.messages.len();
        let header = Numbered {
            tag: I32::new(tag),
            number: U32::new(id as u32),
        };
        let rank = &mut self.ranks[usize::from(from)];
        match rank.send_as(mode, Node(to), header, Bytes(payload(id, len))) {
            Ok(ticket) => self.messages.push(Message {
                from,
                to,
                tag,
                len,
                ticket,
                cancelled: false,
            }),
            // Without rendezvous some messages cannot go: they come back and were never sent.
            Err(refused) => {
                assert_eq!(refused.loan.0, payload(id, len));
                let refusals = matches!(
                    refused.error,
                    Error::NoCredit(_) | Error::TooLong { .. } | Error::NotComposed(_)
                );
                assert!(refusals, "{}", refused.error);
            }
        }
    }

    fn receive(&mut self, at: u16, pattern: Select, room: usize) {
        let ticket = self.ranks[usize::from(at)]
            .receive(pattern, Bytes(vec![0; room]))
            .map_err(Error::from)
            .expect("the table is large enough");
        self.receives.push(Receive {
            at,
            pattern,
            room,
            ticket,
            got: None,
            cancelled: false,
        });
    }

    fn probe(&mut self, at: u16, pattern: Select) -> Option<usize> {
        let rank = &mut self.ranks[usize::from(at)];
        let envelope = rank.probe(pattern).expect("nobody is lost")?;
        let id = self.identify(at, &envelope);
        self.found.push(Found {
            at,
            pattern,
            id,
            receives: self.receives.len(),
        });
        Some(id)
    }

    /// The number of the message behind an envelope at its receiver.
    fn identify(&self, at: u16, envelope: &Envelope<Numbered, C>) -> usize {
        let header = envelope.header();
        let id = header.number.get() as usize;
        let message = &self.messages[id];
        assert_eq!(
            (message.from, message.to, message.tag, message.len),
            (envelope.node().0, at, header.tag.get(), envelope.len())
        );
        id
    }

    fn settle_and_claim(&mut self) {
        (self.settle)(&mut self.ranks);
        self.claim();
    }

    /// Claims all that is over, checks contents, and notes who got what.
    fn claim(&mut self) {
        for index in 0..self.receives.len() {
            let Receive {
                at, ticket, room, ..
            } = self.receives[index];
            let rank = &mut self.ranks[usize::from(at)];
            match rank.claim(ticket) {
                Ok(Some(completed)) => {
                    let got = self.check_received(at, room, completed);
                    self.receives[index].got = got;
                    self.receives[index].cancelled = got.is_none();
                }
                Ok(None) => {}
                Err(error) => assert_eq!(error, Error::UnknownTicket, "claimed earlier"),
            }
        }
        for message in &mut self.messages {
            let rank = &mut self.ranks[usize::from(message.from)];
            match rank.claim(message.ticket) {
                Ok(Some(completed)) => match completed.outcome {
                    Ok(n) => assert_eq!(n, message.len),
                    Err(error) => {
                        assert_eq!(error, Error::Cancelled);
                        message.cancelled = true;
                    }
                },
                Ok(None) => {}
                Err(error) => assert_eq!(error, Error::UnknownTicket, "claimed earlier"),
            }
        }
    }

    /// The number of the message that came, or `None` after a cancel.
    fn check_received(
        &self,
        at: u16,
        room: usize,
        completed: Completed<Numbered, Owned, C>,
    ) -> Option<usize> {
        if completed.outcome == Err(Error::Cancelled) {
            assert!(completed.envelope.is_none());
            return None;
        }
        let Loan::Received(Bytes(bytes)) = completed.loan else {
            panic!("a receive")
        };
        let id = self.identify(at, &completed.envelope.expect("a message came"));
        let sent = self.messages[id].len;
        let stored = sent.min(room);
        let outcome = if sent > room {
            Err(Error::Truncated { sent, room })
        } else {
            Ok(sent)
        };
        assert_eq!(completed.outcome, outcome);
        assert_eq!(bytes[..stored], payload(id, sent)[..stored]);
        assert!(bytes[stored..].iter().all(|byte| *byte == 0));
        Some(id)
    }

    /// Which receive took which message.
    fn takers(&self) -> Vec<Option<usize>> {
        let mut takers = vec![None; self.messages.len()];
        for (index, receive) in self.receives.iter().enumerate() {
            if let Some(id) = receive.got {
                assert!(
                    !self.messages[id].cancelled,
                    "message {id} was cancelled and received"
                );
                let twice = takers[id].replace(index);
                assert_eq!(twice, None, "message {id} was received twice");
            }
        }
        takers
    }

    fn could_take(&self, pattern: &Select, at: u16, id: usize) -> bool {
        let message = &self.messages[id];
        let header = Numbered {
            tag: I32::new(message.tag),
            number: U32::new(0),
        };
        !message.cancelled && at == message.to && pattern.matches(Node(message.from), &header)
    }

    /// No message and no receive that match each other may both have reason to complain.
    fn check_pairs(&self) {
        let takers = self.takers();
        for (id, message) in self.messages.iter().enumerate() {
            for (index, receive) in self.receives.iter().enumerate() {
                let may_meet =
                    !receive.cancelled && self.could_take(&receive.pattern, receive.at, id);
                if !may_meet || receive.got == Some(id) {
                    continue;
                }
                let message_content = takers[id].is_some_and(|earlier| earlier < index);
                let receive_content = receive
                    .got
                    .is_some_and(|other| self.messages[other].from != message.from || other < id);
                assert!(
                    message_content || receive_content,
                    "message {id} and receive {index} should have met: {:?} / {:?}",
                    takers[id],
                    receive.got
                );
            }
        }
        for rank in &self.ranks {
            assert_eq!(rank.rejected(), 0);
        }
    }

    /// A probe names the message that a receive posted in its place would have taken.
    fn check_probes(&self) {
        let takers = self.takers();
        let taken_before = |id: usize, index| takers[id].is_some_and(|taker| taker < index);
        for found in &self.found {
            let message = &self.messages[found.id];
            assert!(
                !taken_before(found.id, found.receives),
                "a probe found message {}, which an earlier receive took",
                found.id
            );
            for earlier in 0..found.id {
                let first = self.messages[earlier].from == message.from
                    && self.could_take(&found.pattern, found.at, earlier)
                    && !taken_before(earlier, found.receives);
                assert!(
                    !first,
                    "a probe found message {}, but {earlier} comes first",
                    found.id
                );
            }
        }
    }

    /// Probes for what is left and receives it. Then nothing is left.
    fn drain(&mut self) {
        for index in 0..self.receives.len() {
            let Receive { at, ticket, .. } = self.receives[index];
            // A receive that was claimed is not known any more.
            let _ = self.ranks[usize::from(at)].cancel(ticket);
        }
        self.settle_and_claim();
        for at in 0..self.ranks.len() as u16 {
            while let Some(id) = self.find_left(at) {
                let Message {
                    from,
                    tag,
                    len,
                    cancelled,
                    ..
                } = self.messages[id];
                assert!(
                    !cancelled,
                    "a probe found message {id}, which was cancelled"
                );
                self.receive(at, select(Some(from), Some(tag)), len);
                self.settle_and_claim();
                let got = self.receives.last().and_then(|receive| receive.got);
                assert_eq!(got, Some(id), "a probe has named this message");
            }
        }
        let takers = self.takers();
        for (id, message) in self.messages.iter().enumerate() {
            assert!(
                message.cancelled || takers[id].is_some(),
                "message {id} is lost"
            );
        }
        for rank in &self.ranks {
            let lengths = rank.lengths();
            assert_eq!(
                (lengths.operations, lengths.expected, lengths.unexpected),
                (0, 0, 0)
            );
        }
    }

    /// The first probe may have to ask the senders.
    fn find_left(&mut self, at: u16) -> Option<usize> {
        (0..2).find_map(|_| {
            let id = self.probe(at, select(None, None));
            (self.settle)(&mut self.ranks);
            id
        })
    }

    fn run(mut self, acts: &[Act]) {
        for act in acts {
            self.act(act);
        }
        self.settle_and_claim();
        self.check_pairs();
        self.check_probes();
        self.drain();
        self.check_pairs();
        self.check_probes();
    }
}

/// What was claimed is not known any more.
fn check_cancel(result: Result<(), Error>) {
    assert!(matches!(result, Ok(()) | Err(Error::UnknownTicket)));
}

/// Over threads' channels, polled in turn.
fn over_loopback<C: Config>(ranks: u16, acts: &[Act], frames_in_flight: usize, limits: Limits) {
    let channel = loopback::Limits {
        frame: 128,
        frames_in_flight,
    };
    let channels = Loopback::world_with(ranks, channel);
    World::<_, C>::new(channels, limits, settle_loopback).run(acts);
}

fn settle_loopback<C: Config>(ranks: &mut [Communicator<Numbered, Loopback, Owned, C>]) {
    for _ in 0..1_000_000 {
        let mut moved = false;
        for rank in ranks.iter_mut() {
            moved |= rank.check_messages().expect("loopback does not break");
        }
        if !moved {
            return;
        }
    }
    panic!("the ranks never come to rest");
}

/// Over a channel that is full, slow or late at random.
fn over_moods<C: Config>(ranks: u16, acts: &[Act], moods: Difficult, seed: u64, limits: Limits) {
    let (channel, moods) = moods;
    let channels = Moody::world(Loopback::world_with(ranks, channel), moods, seed);
    World::<_, C>::new(channels, limits, settle_moody).run(acts);
}

fn credit(places: u32) -> Limits {
    Limits {
        credit: Some(places),
        eager: None,
    }
}

/// The smallest pool and cells that a composition can have with four ranks.
type Smallest = Compose<U32, Rendezvous<1>, Linear, Static, Size<512, 4, 1, 4>>;
/// Everything short fits, several places for each.
type Roomy = Compose<U32, Rendezvous<64>, Linear, Growing, Size<4096, 64, 64, 4>>;
/// Found by bins, of which there are far too few, from the first entry on.
type Bins = Compose<U32, Rendezvous<16>, Binned<1>, Static, Size<512, 4, 64, 4>>;
/// Found by bins when it gets crowded, and by search when it is empty again.
type Adapting = Compose<U32, Rendezvous<64>, Adaptive<2, 2>, Growing, Size<4096, 64, 64, 4>>;
/// Without rendezvous, with few places.
type PlainFew = Compose<U32, Eager, Linear, Static, Size<512, 12, 64, 4>>;

type Difficult = (loopback::Limits, Moods);

fn moods() -> impl Strategy<Value = Difficult> {
    let limits =
        (128..300usize, 1..6usize).prop_map(|(frame, frames_in_flight)| loopback::Limits {
            frame,
            frames_in_flight,
        });
    let rate = |percent: core::ops::Range<u32>| percent.prop_map(Rate::percent);
    let moods = (
        rate(0..70),
        rate(0..90),
        rate(0..70),
        rate(0..70),
        rate(0..50),
        1..40usize,
    );
    let moods = moods.prop_map(|(full, later, slow, tardy, blind, crumb)| Moods {
        full,
        later,
        slow,
        tardy,
        blind,
        crumb,
        ..Moods::CALM
    });
    (limits, moods)
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn nobody_has_reason_to_complain(
        acts in prop::collection::vec(act(3), 1..150),
        in_flight in 1..6usize,
        places in 1..4u32,
    ) {
        over_loopback::<Tiny>(3, &acts, in_flight, credit(1));
        let limits = Limits { credit: Some(places), eager: Some(16) };
        over_loopback::<Hosted>(3, &acts, in_flight, limits);
    }

    #[test]
    fn nobody_has_reason_to_complain_without_rendezvous(
        acts in prop::collection::vec(act(3), 1..150),
        in_flight in 1..6usize,
        places in 1..6u32,
    ) {
        over_loopback::<Plain>(3, &acts, in_flight, credit(places));
        over_loopback::<PlainFew>(3, &acts, in_flight, credit(places));
    }

    #[test]
    fn a_moody_channel_changes_nothing(
        acts in prop::collection::vec(act(4), 1..200),
        moods in moods(),
        seed in any::<u64>(),
        places in 1..6u32,
    ) {
        over_moods::<Smallest>(4, &acts, moods, seed, credit(1));
        over_moods::<Bins>(4, &acts, moods, seed, credit(1));
        over_moods::<Adapting>(4, &acts, moods, seed, credit(places));
        over_moods::<Roomy>(4, &acts, moods, seed, credit(places));
        over_moods::<PlainFew>(4, &acts, moods, seed, credit(places));
    }

    /// Two ranks and one tag: long queues of messages that all look alike.
    #[test]
    fn crowds_keep_their_order(
        acts in prop::collection::vec(act(2), 100..400),
        moods in moods(),
        seed in any::<u64>(),
    ) {
        over_moods::<Smallest>(2, &acts, moods, seed, credit(1));
        over_moods::<Roomy>(2, &acts, moods, seed, credit(2));
        over_moods::<Bins>(2, &acts, moods, seed, credit(1));
        over_moods::<Adapting>(2, &acts, moods, seed, credit(20));
    }
}
