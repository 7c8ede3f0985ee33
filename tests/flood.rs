//! Sends a million small messages to a rank that does not receive: memory stays below its limit, the rank's other
//! traffic continues, and when the rank receives at last no message is missing.
//!
//! The limits: static storage takes no heap in any case; a growing sender takes [`EACH`] bytes for a send under way;
//! the channel takes [`ON_THE_WAY`] bytes for its frames.

mod common;
#[path = "flood/heap.rs"]
mod heap;
#[allow(dead_code, reason = "this test uses a part of it")]
#[path = "flow/help.rs"]
mod help;
#[path = "common/numbered.rs"]
mod numbered;

use heap::Measure;
use help::{ranks, watched};
use numbered::{Numbered, select};
use pombo_kernel::aspect::{Eager, Rendezvous, Static};
use pombo_kernel::matching::Linear;
use pombo_kernel::{
    Capacities, Communicator, Composition, Config, Endpoint, Error, Loan, Memory, Peer, Port,
    Refused, Sink, Source, Ticket,
};
use pombo_netdrivers::{HeapStorage, Loopback, loopback};
use static_assertions::const_assert;
use std::sync::atomic::{AtomicU64, Ordering};
use zerocopy::little_endian::{I32, U32};

const MILLION: u64 = 1_000_000;

/// Cells in the pool for each of two peers.
const CREDIT: usize = 4;
/// Number of operations of a static rank at a time.
const OPERATIONS: usize = 64;

/// A composition that stores everything in place.
type Held = Composition<U32, Rendezvous<64>, Linear, Static, Capacities<OPERATIONS, 8, 64, 2>>;
/// The same composition without rendezvous: a send without credit is refused.
type Refusing = Composition<U32, Eager, Linear, Static, Capacities<OPERATIONS, 8, 64, 2>>;
/// A composition with a million operations on the heap and the same frames.
type Patient =
    Composition<U32, Rendezvous<64>, Linear, HeapStorage, Capacities<{ 1 << 20 }, 8, 64, 2>>;

/// Memory of messages that need no bytes elsewhere, because they are numbers.
struct Numbers;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Number([u8; 8]);

impl Memory for Numbers {
    type Out = Number;
    type In = Number;
}

impl Source for Number {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.0[offset..offset + into.len()]);
    }
}

impl Sink for Number {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        self.0[offset..offset + from.len()].copy_from_slice(from);
    }
}

type Rank<C> = Communicator<Numbered, Loopback, Numbers, C>;

const_assert!(size_of::<Rank<Held>>() < 12 << 10);
const_assert!(size_of::<Rank<Refusing>>() < 12 << 10);

/// Bytes on the heap for a send under way: its operation and its loan, in tables that grow by doubling and exist twice
/// while they do.
const EACH: usize = 192;
/// Bytes on the heap for frames in flight, the loopback's own tables, and the threads of the tests. One byte for each
/// of a million messages would far exceed it.
const ON_THE_WAY: usize = 64 << 10;

fn world() -> Vec<Loopback> {
    let limits = loopback::Limits {
        frame: 128,
        frames_in_flight: 8,
    };
    Loopback::world_with(2, limits)
}

fn rank<C: Config>(channel: Loopback) -> Rank<C> {
    Rank::new(channel).expect("it fits")
}

fn pair<A: Config, B: Config>() -> (Rank<A>, Rank<B>) {
    let mut world = world().into_iter();
    let mut next = || world.next().expect("a world of two");
    (rank(next()), rank(next()))
}

fn header(number: u64) -> Numbered {
    Numbered {
        tag: I32::new(7),
        number: U32::new(number as u32),
    }
}

fn message(number: u64) -> Number {
    Number(number.to_le_bytes())
}

/// Returns memory for a message, with another number in it.
fn room() -> Number {
    message(u64::MAX)
}

/// Returns the number that has arrived.
fn number(loan: Loan<Numbers>) -> u64 {
    match loan {
        Loan::Received(Number(bytes)) => u64::from_le_bytes(bytes),
        Loan::Sent(_) => panic!("a receive"),
    }
}

fn send<C: Config>(rank: &mut Rank<C>, number: u64) -> Result<Ticket, Refused<Number>> {
    rank.isend(Peer(1), header(number), message(number))
}

fn poll<C: Config>(rank: &mut Rank<C>) -> bool {
    rank.check_messages().expect("loopback does not break")
}

/// Receives the next message, which must be `number`; `turn` lets the other ranks make progress.
fn take<C: Config>(rank: &mut Rank<C>, number: u64, mut turn: impl FnMut() -> bool) {
    let posted = rank.irecv(select(Some(0), Some(7)), room());
    let ticket = posted.map_err(Error::from).expect("there is room");
    let mut turns = 0;
    let completed = loop {
        if let Some(completed) = rank.claim(ticket).expect("known") {
            break completed;
        }
        poll(rank);
        turn();
        turns += 1;
        assert!(turns < 10_000, "message {number} never arrives");
    };
    assert_eq!(completed.outcome, Ok(8));
    let envelope = completed.envelope.expect("a message came");
    assert_eq!(u64::from(envelope.header().number.get()), number);
    assert_eq!(self::number(completed.loan), number);
}

/// Checks the bounds of a rank that does not receive.
fn assert_bounded<C: Config>(rank: &Rank<C>) {
    let lengths = rank.lengths();
    assert!(lengths.unexpected <= CREDIT, "{lengths:?}");
    assert_eq!((lengths.operations, lengths.expected), (0, 0));
    assert_eq!(rank.rejected(), 0);
}

/// Posts a million sends. `bound` of them are accepted, the others come back with `refusal`; then all messages go
/// through, a million in all.
fn posts<C: Config>(measure: &Measure, bound: usize, refusal: Error) {
    let (mut from, mut to) = pair::<C, C>();
    let mut under_way = std::collections::VecDeque::with_capacity(OPERATIONS);
    let mut next = 0;
    for turn in 0..MILLION {
        match send(&mut from, next) {
            Ok(ticket) => {
                under_way.push_back(ticket);
                next += 1;
            }
            Err(Refused { loan, error }) => {
                assert_eq!((error, loan), (refusal, message(next)));
            }
        }
        if turn % 16 == 0 {
            poll(&mut to);
            poll(&mut from);
            assert_bounded(&to);
        }
    }
    assert_eq!(next as usize, bound);
    assert_eq!(to.lengths().unexpected, CREDIT);
    for number in 0..MILLION {
        take(&mut to, number, || poll(&mut from));
        poll(&mut from);
        while let Some(&ticket) = under_way.front()
            && let Some(over) = from.claim(ticket).expect("known")
        {
            assert_eq!(over.outcome, Ok(8));
            assert!(matches!(over.loan, Loan::Sent(_)));
            under_way.pop_front();
        }
        while next < MILLION
            && let Ok(ticket) = send(&mut from, next)
        {
            under_way.push_back(ticket);
            next += 1;
        }
        poll(&mut to);
        assert_bounded(&to);
    }
    while poll(&mut from) | poll(&mut to) {}
    for ticket in under_way {
        assert_eq!(from.wait(ticket).expect("known").outcome, Ok(8));
    }
    assert_eq!(from.lengths().operations, 0);
    assert!(measure.peak() < ON_THE_WAY, "{} bytes", measure.peak());
}

#[test]
fn a_full_table_refuses_posts() {
    let measure = Measure::begin();
    watched("a_full_table_refuses_posts", || {
        posts::<Held>(&measure, OPERATIONS, Error::Full);
    });
}

#[test]
fn without_rendezvous_credit_refuses_posts() {
    let measure = Measure::begin();
    watched("without_rendezvous_credit_refuses_posts", || {
        // Claimed sends make room in the table, so credit alone is the bound.
        posts::<Refusing>(&measure, CREDIT, Error::NoCredit(Peer(1)));
    });
}

/// A million sends are accepted and held, and all the memory for them is the sender's.
#[test]
fn a_growing_sender_keeps_a_million() {
    let measure = Measure::begin();
    watched("a_growing_sender_keeps_a_million", || {
        let (mut from, mut to) = pair::<Patient, Held>();
        let mut tickets = Vec::with_capacity(MILLION as usize);
        for number in 0..MILLION {
            let sent = send(&mut from, number).map_err(Error::from);
            tickets.push(sent.expect("there is room for a million"));
            if number % 16 == 0 {
                poll(&mut to);
                poll(&mut from);
                assert_bounded(&to);
            }
        }
        assert_eq!(from.lengths().operations as u64, MILLION);
        let peak = measure.peak();
        println!("a send under way: {} bytes", peak / MILLION as usize);
        assert!(
            peak < MILLION as usize * EACH + ON_THE_WAY,
            "{peak} bytes at the sender"
        );
        for number in 0..MILLION {
            take(&mut to, number, || poll(&mut from));
            assert_bounded(&to);
        }
        // Their delivery took no further memory.
        assert_eq!(measure.peak(), peak);
        for ticket in tickets {
            let over = from.claim(ticket).expect("known").expect("it was received");
            assert_eq!(over.outcome, Ok(8));
        }
        assert_eq!(from.lengths().operations, 0);
    });
}

/// Checks that blocking sends stop at the bound until the receiver receives.
fn blocks<C: Config>(name: &str) {
    let measure = Measure::begin();
    let sent = AtomicU64::new(0);
    ranks(name, world(), |channel| {
        let mut rank = rank::<C>(channel);
        if rank.me() == Peer(0) {
            for number in 0..MILLION {
                let bytes = number.to_le_bytes();
                rank.send(Peer(1), header(number), &bytes).expect("sent");
                sent.store(number + 1, Ordering::Relaxed);
            }
            return;
        }
        let here = || sent.load(Ordering::Relaxed) as usize;
        while here() < CREDIT || rank.lengths().unexpected < CREDIT {
            poll(&mut rank);
            std::thread::yield_now();
        }
        for _ in 0..1000 {
            poll(&mut rank);
            assert_bounded(&rank);
            assert_eq!(here(), CREDIT);
        }
        for number in 0..MILLION {
            let mut bytes = [0; 8];
            let envelope = rank.recv(select(None, None), &mut bytes);
            let envelope = envelope.expect("received");
            assert_eq!(u64::from(envelope.header().number.get()), number);
            assert_eq!(u64::from_le_bytes(bytes), number);
            assert_bounded(&rank);
        }
    });
    assert!(measure.peak() < ON_THE_WAY, "{} bytes", measure.peak());
}

#[test]
fn blocking_sends_stop_at_the_bound() {
    blocks::<Held>("blocking_sends_stop_at_the_bound");
}

#[test]
fn blocking_sends_wait_for_credit() {
    blocks::<Refusing>("blocking_sends_wait_for_credit");
}

/// Sends a million messages to a port without receives, and one message after another to the port beside it.
fn floods_one_port<C: Config>(measure: &Measure) {
    type Two<C> = Endpoint<
        Loopback,
        (
            Port<Numbered, Numbers, C>,
            Port<Numbered, Numbers, Refusing>,
        ),
    >;
    const LETTERS: u64 = 10_000;
    let mut world = world().into_iter();
    let mut next = || Two::<C>::two(world.next().expect("a world of two")).expect("it fits");
    let (mut from, mut to) = (next(), next());
    for letter in 0..LETTERS {
        for number in 0..MILLION / LETTERS {
            let flood = letter * (MILLION / LETTERS) + number;
            // At the bound the message comes back, without any other effect.
            let _ = from
                .port::<0>()
                .isend(Peer(1), header(flood), message(flood));
        }
        let sent = from
            .port::<1>()
            .isend(Peer(1), header(letter), message(letter));
        let sent = sent.map_err(Error::from).expect("this port has credit");
        let posted = to.port::<1>().irecv(select(Some(0), Some(7)), room());
        let posted = posted.map_err(Error::from).expect("there is room");
        let mut turns = 0;
        let completed = loop {
            from.port::<0>()
                .check_messages()
                .expect("it does not break");
            if let Some(completed) = to.port::<1>().claim(posted).expect("known") {
                break completed;
            }
            to.port::<1>().check_messages().expect("it does not break");
            turns += 1;
            assert!(turns < 1000, "letter {letter} never arrives");
        };
        assert_eq!(number(completed.loan), letter);
        let sent = from.port::<1>().wait(sent).expect("known");
        assert_eq!(sent.outcome, Ok(8));
        assert_eq!(to.port::<0>().lengths().unexpected, CREDIT);
    }
    for flood in 0..CREDIT as u64 {
        let mut port = to.port::<0>();
        let posted = port.irecv(select(Some(0), None), room());
        let posted = posted.map_err(Error::from).expect("there is room");
        let completed = port.claim(posted).expect("known").expect("it is here");
        assert_eq!(number(completed.loan), flood);
    }
    assert!(measure.peak() < ON_THE_WAY, "{} bytes", measure.peak());
}

#[test]
fn a_flood_on_one_port_stops_no_other() {
    for floods in [floods_one_port::<Held>, floods_one_port::<Refusing>] {
        let measure = Measure::begin();
        watched("a_flood_on_one_port_stops_no_other", || floods(&measure));
    }
}
