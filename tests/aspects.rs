//! Every aspect in every combination: a smoke suite over datatypes x representation x transfer x buffering x matcher,
//! and over more ranks, threads and storage for the extremes. One composition's choice never shows in another's.

mod common;

use common::*;
use pombo_kernel::aspect::{
    Basic, Buffered, Buffering, Canonical, Contiguous, Counting, Eager, Full, Heterogeneous,
    Homogeneous, NoDatatypes, Opposite, Rendezvous, Static, Transfer, Unbuffered,
};
use pombo_kernel::matching::Linear;
use pombo_kernel::memory::Items;
use pombo_kernel::{
    Communicator, Compose, Config, Error, Lent, Loan, Memory, Mode, Node, Operate, Repeated,
    Segmented, Segments, Size, Source, Ticket, Typed, Values, ValuesMut,
};
use pombo_netdrivers::{Growing, Loopback, loopback};
use zerocopy::little_endian::{U32, U64};

type Small = Size<64, 8, 64, 4>;

/// Two communicators of maybe different compositions, in one thread.
struct Pair<M: Memory, N: Memory, A: Config, B: Config> {
    zero: Communicator<Tagged, Loopback, M, A>,
    one: Communicator<Tagged, Loopback, N, B>,
}

impl<M: Memory, N: Memory, A: Config, B: Config> Pair<M, N, A, B> {
    fn new() -> Self {
        let limits = loopback::Limits {
            frame: 128,
            frames_in_flight: 3,
        };
        let mut channels = Loopback::world_with(2, limits).into_iter();
        let mut next = || channels.next().expect("a world of two");
        let (zero, one) = (next(), next());
        let fits = "the sizes fit two nodes";
        Pair {
            zero: Communicator::new(zero).expect(fits),
            one: Communicator::new(one).expect(fits),
        }
    }

    fn turn(&mut self) {
        self.zero.check_messages().expect("loopback does not break");
        self.one.check_messages().expect("loopback does not break");
    }

    /// Lets both make progress until both operations are over: the receive's loan, and what each outcome was.
    fn finish(&mut self, sent: Ticket, received: Ticket) -> (Loan<N>, Result<usize, Error>) {
        let mut turns = 0..10_000;
        let completed = loop {
            self.turn();
            if let Some(completed) = self.one.claim(received).expect("it is known") {
                break completed;
            }
            turns.next().expect("the message arrives");
        };
        let completed_send = loop {
            self.turn();
            if let Some(completed) = self.zero.claim(sent).expect("it is known") {
                break completed;
            }
            turns.next().expect("the send ends");
        };
        assert_eq!(completed_send.outcome.is_ok(), completed.outcome.is_ok());
        (completed.loan, completed.outcome)
    }
}

/// Bytes travel in any composition.
fn bytes<C: Config>() {
    let rendezvous = <C::Transfer as Transfer>::RENDEZVOUS;
    let lengths: &[usize] = if rendezvous {
        &[0, 1, 17, 64, 65, 1000]
    } else {
        &[0, 1, 17, 64]
    };
    for (round, &len) in lengths.iter().enumerate() {
        for late in [false, true] {
            let (message, mut room) = (payload(round, len), vec![0; len]);
            let mut pair = Pair::<Lent<'_>, Lent<'_>, C, C>::new();
            let pattern = wanted(Some(0), Some(1));
            let sent = pair
                .zero
                .send(Node(1), tagged(1), &message)
                .expect("there is room");
            if late {
                pair.turn();
            }
            let received = pair.one.receive(pattern, &mut room).expect("there is room");
            let (loan, outcome) = pair.finish(sent, received);
            assert_eq!(outcome, Ok(len));
            let Loan::Received(room) = loan else {
                panic!("a receive")
            };
            assert_eq!(room, message);
        }
    }
    let mut pair = Pair::<Lent<'_>, Lent<'_>, C, C>::new();
    let synchronous = pair
        .zero
        .send_as(Mode::Synchronous, Node(1), tagged(1), b"x");
    match synchronous {
        Ok(_) => assert!(rendezvous),
        Err(refused) => {
            assert_eq!(refused.error, Error::NotComposed("rendezvous"));
            assert!(!rendezvous);
        }
    }
}

/// A copied message needs nothing of its sender's memory.
fn buffered<C: Config>() {
    let mut pair = Pair::<Lent<'_>, Lent<'_>, C, C>::new();
    let mut message = payload(3, 60);
    let taken = pair
        .zero
        .send_buffered(Node(1), tagged(1), &message.as_slice());
    message.fill(0);
    if !<C::Buffering as Buffering>::ON {
        assert_eq!(taken, Err(Error::NotComposed("buffering")));
        return;
    }
    assert_eq!(taken, Ok(()));
    let long = [0; 65];
    let refused = pair
        .zero
        .send_buffered(Node(1), tagged(1), &long.as_slice());
    assert_eq!(refused, Err(Error::TooLong { limit: 64 }));
    // As many as the credit allows go out; without rendezvous the next one is refused, otherwise it is kept.
    let mut taken = 1;
    while taken < 10
        && pair
            .zero
            .send_buffered(Node(1), tagged(taken), &[taken as u8; 9].as_slice())
            .is_ok()
    {
        taken += 1;
    }
    assert!(taken >= 4, "the pool has four places for each rank");
    for id in 0..taken {
        let mut room = [0; 60];
        let expected = if id == 0 {
            payload(3, 60)
        } else {
            vec![id as u8; 9]
        };
        let len = pair.one.scope(|scope| {
            let ticket = scope
                .receive(wanted(None, None), &mut room)
                .expect("there is room");
            for _ in 0..1000 {
                scope.check_messages().expect("loopback does not break");
                pair.zero.check_messages().expect("loopback does not break");
                if let Some(completed) = scope.claim(ticket).expect("it is known") {
                    return completed.outcome.expect("it arrives");
                }
            }
            panic!("message {id} never arrives");
        });
        assert_eq!(room[..len], expected);
    }
    pair.turn();
    assert_eq!(pair.zero.lengths().operations, 0, "copies free themselves");
}

const INTS: [i32; 6] = [1, -2, 0x0102_0304, i32::MIN, 0, 77];
const REALS: [f64; 5] = [1.0, -2.5e300, 0.0, f64::MIN_POSITIVE, 1e-9];

/// Values of one type.
fn typed<A: Config, B: Config>(foreign: bool) {
    let mut room = [0i32; 6];
    let mut pair = Pair::<Typed<'_>, Typed<'_>, A, B>::new();
    let sent = pair
        .zero
        .send(Node(1), tagged(1), Values::of(&INTS))
        .expect("there is room");
    let received = pair
        .one
        .receive(wanted(None, None), ValuesMut::of(&mut room))
        .expect("there is room");
    assert_eq!(pair.finish(sent, received).1, Ok(24));
    drop(pair);
    assert_eq!(room, foreign_ints(foreign));
}

/// Items of several values.
fn repeated<A: Config, B: Config>(foreign: bool) {
    let mut room = [0i32; 6];
    let mut pair = Pair::<Repeated<'_>, Repeated<'_>, A, B>::new();
    let items = Items::new(Values::of(&INTS), 3);
    assert_eq!((items.extent(), items.len()), (12, 24));
    let sent = pair
        .zero
        .send(Node(1), tagged(1), items)
        .expect("there is room");
    pair.turn();
    let items = Items::new(ValuesMut::of(&mut room), 2);
    let received = pair
        .one
        .receive(wanted(None, None), items)
        .expect("there is room");
    assert_eq!(pair.finish(sent, received).1, Ok(24));
    drop(pair);
    assert_eq!(room, foreign_ints(foreign));
}

/// Segments of several types.
fn segmented<A: Config, B: Config>(foreign: bool) {
    let (mut room, mut reals) = ([0i32; 6], [0f64; 5]);
    // Ints and reals in pieces here, in other pieces there; bytes in front and between.
    let mut out = Segments::<_, 4>::new();
    for piece in [
        Values::of(&b"abc"[..]),
        Values::of(&INTS[..2]),
        Values::of(&INTS[2..]),
        Values::of(&REALS),
    ] {
        out.push(piece).expect("four pieces");
    }
    assert!(out.push(Values::of(&INTS)).is_err());
    let mut letters = [0u8; 3];
    {
        let (head, tail) = room.split_at_mut(5);
        let (first, last) = reals.split_at_mut(1);
        let mut into = Segments::<_, 5>::new();
        for piece in [
            ValuesMut::of(&mut letters),
            ValuesMut::of(head),
            ValuesMut::of(tail),
            ValuesMut::of(first),
            ValuesMut::of(last),
        ] {
            into.push(piece).expect("five pieces");
        }
        let mut pair = Pair::<Segmented<'_, 4>, Segmented<'_, 5>, A, B>::new();
        let refused = pair.zero.send(Node(1), tagged(1), out);
        let eager_only = !<A::Transfer as Transfer>::RENDEZVOUS;
        match refused {
            Err(refused) => {
                assert!(eager_only);
                assert_eq!(refused.error, Error::TooLong { limit: 64 });
                return;
            }
            Ok(sent) => {
                assert!(!eager_only);
                let received = pair
                    .one
                    .receive(wanted(None, None), into)
                    .expect("there is room");
                assert_eq!(pair.finish(sent, received).1, Ok(3 + 24 + 40));
            }
        }
    }
    assert_eq!(&letters, b"abc");
    assert_eq!(room, foreign_ints(foreign));
    let swapped = |real: f64| {
        if foreign {
            f64::from_bits(real.to_bits().swap_bytes())
        } else {
            real
        }
    };
    assert_eq!(
        reals.map(f64::to_bits),
        REALS.map(|real| swapped(real).to_bits())
    );
}

/// Values arrive as values, also from a machine of the other byte order: `B` is how the receiver is composed. Memory
/// above a composition's level does not compile, so each level has its own suite.
trait Suite {
    fn values<A: Config, B: Config>(foreign: bool);
}

impl Suite for NoDatatypes {
    fn values<A: Config, B: Config>(_: bool) {}
}

impl Suite for Basic {
    fn values<A: Config, B: Config>(foreign: bool) {
        typed::<A, B>(foreign);
    }
}

impl Suite for Contiguous {
    fn values<A: Config, B: Config>(foreign: bool) {
        typed::<A, B>(foreign);
        repeated::<A, B>(foreign);
    }
}

impl Suite for Full {
    fn values<A: Config, B: Config>(foreign: bool) {
        typed::<A, B>(foreign);
        repeated::<A, B>(foreign);
        segmented::<A, B>(foreign);
    }
}

/// What a machine of the other order has in memory for these values.
fn foreign_ints(foreign: bool) -> [i32; 6] {
    INTS.map(|int| if foreign { int.swap_bytes() } else { int })
}

type Made<T, M, D, R, B, S = Static> =
    Compose<U32, T, M, S, Small, pombo_kernel::aspect::Unobserved, D, R, B>;

/// One test for every transfer and matcher, over all of the rest.
macro_rules! combinations {
    ($($name:ident: $transfer:ty, $matcher:ty;)*) => {$(
        #[test]
        fn $name() {
            combinations!(@datatypes $transfer, $matcher, NoDatatypes);
            combinations!(@datatypes $transfer, $matcher, Basic);
            combinations!(@datatypes $transfer, $matcher, Contiguous);
            combinations!(@datatypes $transfer, $matcher, Full);
        }
    )*};
    (@datatypes $transfer:ty, $matcher:ty, $datatypes:ty) => {
        combinations!(@representation $transfer, $matcher, $datatypes, Unbuffered);
        combinations!(@representation $transfer, $matcher, $datatypes, Buffered);
    };
    (@representation $transfer:ty, $matcher:ty, $datatypes:ty, $buffering:ty) => {
        combinations!(@all $datatypes, Made<$transfer, $matcher, $datatypes, Homogeneous, $buffering>);
        combinations!(@all $datatypes, Made<$transfer, $matcher, $datatypes, Heterogeneous, $buffering>);
        combinations!(@all $datatypes, Made<$transfer, $matcher, $datatypes, Canonical, $buffering>);
        // A machine of the other order on one side: its memory holds the same values the other way round.
        <$datatypes as Suite>::values::<
            Made<$transfer, $matcher, $datatypes, Heterogeneous, $buffering>,
            Made<$transfer, $matcher, $datatypes, Heterogeneous<Opposite>, $buffering>,
        >(true);
        <$datatypes as Suite>::values::<
            Made<$transfer, $matcher, $datatypes, Canonical, $buffering>,
            Made<$transfer, $matcher, $datatypes, Canonical<Opposite>, $buffering>,
        >(true);
    };
    (@all $datatypes:ty, $made:ty) => {
        bytes::<$made>();
        buffered::<$made>();
        <$datatypes as Suite>::values::<$made, $made>(false);
    };
}

combinations! {
    eager_linear: Eager, Linear;
    rendezvous_linear: Rendezvous<16>, Linear;
}

/// What is off takes no bytes.
#[test]
fn nothing_costs_nothing() {
    type Off = Made<Eager, Linear, NoDatatypes, Homogeneous, Unbuffered>;
    type Typed = Made<Eager, Linear, Full, Heterogeneous, Unbuffered>;
    type Comm<C> = Communicator<Tagged, Loopback, Lent<'static>, C>;
    assert_eq!(size_of::<pombo_kernel::Envelope<Tagged, Off>>(), 6 + 4 + 2);
    assert_eq!(size_of::<Comm<Off>>(), size_of::<Comm<Typed>>());
    assert!(
        size_of::<Comm<Off>>()
            < size_of::<Comm<Made<Rendezvous, Linear, NoDatatypes, Homogeneous, Unbuffered>>>()
    );
    assert!(
        size_of::<Comm<Off>>()
            < size_of::<Comm<Made<Eager, Linear, NoDatatypes, Homogeneous, Buffered>>>()
    );
}

/// The same job counts the same, and a communicator without an observer has nothing to tell.
#[test]
fn statistics() {
    type Counted = Compose<U64, Rendezvous<16>, Linear, Growing, Small, Counting>;
    let mut pair = Pair::<Lent<'_>, Lent<'_>, Counted, Counted>::new();
    let (short, long) = ([1; 10], [2; 100]);
    let (mut first, mut second) = ([0; 10], [0; 100]);
    let a = pair
        .zero
        .send(Node(1), tagged(1), &short)
        .expect("there is room");
    let b = pair
        .zero
        .send(Node(1), tagged(2), &long)
        .expect("there is room");
    pair.turn();
    let d = pair
        .one
        .receive(wanted(None, Some(2)), &mut second)
        .expect("there is room");
    assert_eq!(pair.finish(b, d).1, Ok(100));
    let c = pair
        .one
        .receive(wanted(None, Some(1)), &mut first)
        .expect("there is room");
    assert_eq!(pair.finish(a, c).1, Ok(10));
    let (zero, one) = (pair.zero.statistics(), pair.one.statistics());
    let (zero, one) = (zero.expect("it counts"), one.expect("it counts"));
    assert_eq!(
        (zero.sent, zero.sent_bytes, zero.operations_high),
        (2, 110, 2)
    );
    assert_eq!((one.received, one.received_bytes), (2, 110));
    assert_eq!(
        (one.unexpected, one.unexpected_bytes, one.unexpected_high),
        (2, 10, 2)
    );
    assert_eq!((one.rejected, zero.rejected), (0, 0));
    assert!(one.searches >= 4);
    let silent = Pair::<Lent<'_>, Lent<'_>, Tiny, Tiny>::new();
    assert_eq!(silent.zero.statistics(), None);
}

/// The paper's operators.
#[test]
fn operators() -> Result<(), Error> {
    let (mut room, mut again) = ([0; 5], [0; 5]);
    let mut pair = Pair::<Lent<'_>, Lent<'_>, Tiny, Tiny>::new();
    let sent = (&mut pair.zero << (Node(1), tagged(1), &b"hello"[..]))?;
    let received = (&mut pair.one >> (wanted(None, None), &mut room[..]))?;
    assert_eq!(pair.finish(sent, received).1, Ok(5));
    pair.zero.scope(|scope| {
        let received = (&mut *scope >> (wanted(None, None), &mut again[..]))?;
        let sent = (&mut *scope << (Node(0), tagged(1), &b"again"[..]))?;
        scope.wait(sent)?.outcome?;
        scope.wait(received)?.outcome
    })?;
    drop(pair);
    assert_eq!((&room, &again), (b"hello", b"again"));
    Ok(())
}

/// Time-outs end a call and leave nothing behind.
#[test]
fn time_outs() -> Result<(), Error> {
    const SOON: u64 = 2_000_000;
    let mut pair = Pair::<Lent<'_>, Lent<'_>, Tiny, Tiny>::new();
    let (any, mut room) = (wanted(None, None), [0; 100]);
    let nothing = pair.one.receive_into_within(any, &mut room, SOON);
    assert_eq!(nothing.map(|envelope| envelope.len()), Err(Error::TimedOut));
    assert!(pair.one.wait_probe_within(any, SOON)?.is_none());
    // Nobody receives: the announce is taken back, and the receiver never sees it.
    let long = [7; 100];
    let sent = pair.zero.send_from_within(Node(1), tagged(1), &long, SOON);
    assert_eq!(sent, Err(Error::TimedOut));
    for _ in 0..10 {
        pair.turn();
    }
    assert!(pair.one.probe(any)?.is_none());
    assert_eq!(pair.zero.lengths(), pair.one.lengths());
    assert_eq!(pair.zero.lengths().operations, 0);
    // In time, all is as without a limit.
    pair.zero
        .send_from_within(Node(1), tagged(2), &[8; 5], u64::MAX)?;
    let envelope = pair.one.receive_into_within(any, &mut room, u64::MAX)?;
    assert_eq!(
        (envelope.header(), &room[..6]),
        (tagged(2), &[8, 8, 8, 8, 8, 0][..])
    );
    Ok(())
}
