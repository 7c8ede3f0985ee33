//! Tests every aspect in every combination: a smoke suite over datatypes x representation x transfer x buffering x
//! matcher, and over more ranks, threads and storage for the extremes. The choice of one composition never affects
//! another.

mod common;

use common::*;
use pombo_kernel::aspect::{
    Basic, Buffered, Buffering, Canonical, Cap, Contiguous, Counting, Datatypes, Eager, EarlyData,
    Element, Full, Heterogeneous, Homogeneous, Narrow, NoDatatypes, Opposite, ReceiverInitiated,
    Rendezvous, Static, Storage, Transfer, Unbuffered,
};
use pombo_kernel::layout::{Entry, Layout, Part};
use pombo_kernel::matching::{Adaptive, Binned, Linear, Matcher, NoQueues};
use pombo_kernel::memory::Items;
use pombo_kernel::{
    Capacities, Communicator, Composition, Config, Error, LayoutSink, LayoutSource, Lent, Loan,
    Memory, Mode, Peer, Repeated, Sink, Source, Ticket, Typed, Values, ValuesMut, WithLayout,
};
use pombo_netdrivers::{HeapStorage, Loopback, loopback};
use pombo_testing::{AdversarialChannel, Profile};
use zerocopy::little_endian::{U32, U64};

type Small = Capacities<64, 8, 64, 4>;

/// Two communicators of possibly different compositions, in one thread.
struct Pair<M: Memory, N: Memory, A: Config, B: Config> {
    zero: Communicator<Tagged, AdversarialChannel<Loopback>, M, A>,
    one: Communicator<Tagged, AdversarialChannel<Loopback>, N, B>,
}

impl<M: Memory, N: Memory, A: Config, B: Config> Pair<M, N, A, B> {
    fn new() -> Self {
        let limits = loopback::Limits {
            frame: 128,
            frames_in_flight: 3,
        };
        let channels = Loopback::world_with(2, limits);
        // It favours early data, and makes no trouble.
        let mut channels = AdversarialChannel::world(channels, Profile::BENIGN, 1).into_iter();
        let mut next = || channels.next().expect("a world of two");
        let (zero, one) = (next(), next());
        let fits = "the sizes fit two peers";
        Pair {
            zero: Communicator::new(zero).expect(fits),
            one: Communicator::new(one).expect(fits),
        }
    }

    fn turn(&mut self) {
        self.zero.check_messages().expect("loopback does not break");
        self.one.check_messages().expect("loopback does not break");
    }

    /// Polls both until both operations are complete. Returns the receive's loan and the outcome of each operation.
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

/// Returns memory that lives as long as the test runs.
fn room(len: usize) -> &'static mut [u8] {
    vec![0; len].leak()
}

/// The memory of a level, which includes the levels below: plain bytes, and the values of that level.
trait Kind: Memory {
    fn out(bytes: &'static [u8]) -> Self::Out;
    fn into(bytes: &'static mut [u8]) -> Self::In;
    /// Returns the bytes of a receive.
    fn bytes(got: &Self::In) -> Vec<u8>;
    /// Returns a message of [`INTS`] and [`REALS`], as far as the level supports them.
    fn values() -> Self::Out;
    /// Returns memory for that message, divided differently where the level has pieces.
    fn values_room() -> Self::In;
}

const INTS: [i32; 6] = [1, -2, 0x0102_0304, i32::MIN, 0, 77];
const REALS: [f64; 2] = [-2.5e300, f64::MIN_POSITIVE];

impl Kind for Lent<'static> {
    fn out(bytes: &'static [u8]) -> &'static [u8] {
        bytes
    }

    fn into(bytes: &'static mut [u8]) -> &'static mut [u8] {
        bytes
    }

    fn bytes(got: &&'static mut [u8]) -> Vec<u8> {
        got.to_vec()
    }

    fn values() -> &'static [u8] {
        b"bytes"
    }

    fn values_room() -> &'static mut [u8] {
        room(5)
    }
}

impl Kind for Typed<'static> {
    fn out(bytes: &'static [u8]) -> Values<'static> {
        Values::of(bytes)
    }

    fn into(bytes: &'static mut [u8]) -> ValuesMut<'static> {
        ValuesMut::of(bytes)
    }

    fn bytes(got: &ValuesMut<'static>) -> Vec<u8> {
        got.bytes().to_vec()
    }

    fn values() -> Values<'static> {
        Values::of(&INTS)
    }

    fn values_room() -> ValuesMut<'static> {
        ValuesMut::of(vec![0i32; 6].leak())
    }
}

impl Kind for Repeated<'static> {
    fn out(bytes: &'static [u8]) -> Items<Values<'static>> {
        Items::new(Values::of(bytes), 3)
    }

    fn into(bytes: &'static mut [u8]) -> Items<ValuesMut<'static>> {
        Items::new(ValuesMut::of(bytes), 3)
    }

    fn bytes(got: &Items<ValuesMut<'static>>) -> Vec<u8> {
        got.values().bytes().to_vec()
    }

    fn values() -> Items<Values<'static>> {
        let items = Items::new(Values::of(&INTS), 3);
        assert_eq!((items.extent(), items.len()), (12, 24));
        items
    }

    fn values_room() -> Items<ValuesMut<'static>> {
        Items::new(ValuesMut::of(vec![0i32; 6].leak()), 2)
    }
}

type Table = <Static as Storage>::Slice<Entry<Element>, Cap<8>>;

/// Returns the layout of those values at those places.
fn layout<const N: usize>(places: [(i64, usize, i64, Element); N]) -> &'static Layout<Table> {
    let values = places.map(|(_, _, _, element)| Layout::of(element).expect("a value"));
    let parts = places.iter().zip(&values);
    let layout = Layout::of_parts(parts.map(|(&(offset, count, stride, _), layout)| Part {
        offset,
        count: count as u64,
        stride,
        layout,
    }));
    Box::leak(Box::new(layout.expect("there is room for eight entries")))
}

/// Returns the layout of every other byte.
fn every_other(len: usize) -> &'static Layout<Table> {
    layout([(0, len, 2, Element::Byte)])
}

impl Kind for WithLayout<'static, Table> {
    fn out(bytes: &'static [u8]) -> LayoutSource<'static, Table> {
        let memory: Vec<u8> = bytes.iter().flat_map(|byte| [*byte, 0xEE]).collect();
        LayoutSource::new(memory.leak(), 0, 1, every_other(bytes.len())).expect("it fits")
    }

    fn into(bytes: &'static mut [u8]) -> LayoutSink<'static, Table> {
        let len = bytes.len();
        LayoutSink::new(room(2 * len), 0, 1, every_other(len)).expect("it fits")
    }

    fn bytes(got: &LayoutSink<'static, Table>) -> Vec<u8> {
        let mut bytes = vec![0; got.len()];
        got.as_source().copy_out(0, &mut bytes);
        bytes
    }

    fn values() -> LayoutSource<'static, Table> {
        let backwards = layout([
            (50, 3, 1, Element::Byte),
            (40, 6, -8, Element::I32),
            (64, 2, 8, Element::F64),
        ]);
        let ints = INTS.iter().flat_map(|value| value.to_ne_bytes());
        let reals = REALS.iter().flat_map(|value| value.to_ne_bytes());
        let message: Vec<u8> = b"abc".iter().copied().chain(ints).chain(reals).collect();
        let memory = room(80);
        let mut sink = LayoutSink::new(memory, 0, 1, backwards).expect("it fits");
        sink.copy_in(0, &message);
        let memory = sink.memory().to_vec().leak();
        LayoutSource::new(memory, 0, 1, backwards).expect("it fits")
    }

    fn values_room() -> LayoutSink<'static, Table> {
        let dense = layout([
            (-24, 3, 1, Element::Byte),
            (0, 6, 4, Element::I32),
            (100, 2, -16, Element::F64),
        ]);
        LayoutSink::new(room(140), 24, 1, dense).expect("it fits")
    }
}

/// Sends a message from one to the other and returns what arrived.
fn across<M: Kind, A: Config, B: Config>(
    out: M::Out,
    into: M::In,
    late: bool,
) -> (M::In, Result<usize, Error>) {
    let mut pair = Pair::<M, M, A, B>::new();
    let sent = pair
        .zero
        .isend(Peer(1), tagged(1), out)
        .map_err(Error::from);
    let sent = sent.expect("there is room");
    if late {
        pair.turn();
    }
    let received = pair
        .one
        .irecv(wanted(Some(0), Some(1)), into)
        .map_err(Error::from);
    let (loan, outcome) = pair.finish(sent, received.expect("there is room"));
    let Loan::Received(got) = loan else {
        panic!("a receive gives its own loan back")
    };
    (got, outcome)
}

/// Returns whether the receive is posted late, for both orders; without queues a receive cannot wait.
fn orders<C: Config>() -> impl Iterator<Item = bool> {
    let queues = <C::Matcher as Matcher>::QUEUES;
    [false, true]
        .into_iter()
        .filter(move |late| queues || *late)
}

/// Checks that bytes travel in any composition.
fn bytes<M: Kind, C: Config>() {
    let rendezvous = <C::Transfer as Transfer>::RENDEZVOUS;
    let longest = if rendezvous { 1000 } else { 64 };
    for len in [0, 1, 17, 64, 65, 1000] {
        for late in orders::<C>() {
            if len > longest {
                continue;
            }
            let message = payload(len, len).leak();
            let (got, outcome) = across::<M, C, C>(M::out(message), M::into(room(len)), late);
            assert_eq!(outcome, Ok(len));
            assert_eq!(M::bytes(&got), message);
        }
    }
    let mut pair = Pair::<M, M, C, C>::new();
    let synchronous = pair
        .zero
        .isend_as(Mode::Synchronous, Peer(1), tagged(1), M::out(b"x"));
    let refused = synchronous.err().map(|refused| refused.error);
    assert_eq!(
        refused,
        (!rendezvous).then_some(Error::FeatureDisabled("rendezvous"))
    );
}

/// Checks that a copied message no longer needs its sender's memory.
fn buffered<M: Kind, C: Config>() {
    let mut pair = Pair::<M, M, C, C>::new();
    let mut message = payload(3, 60);
    let taken = pair
        .zero
        .send_buffered(Peer(1), tagged(1), &message.as_slice());
    message.fill(0);
    if !<C::Buffering as Buffering>::ON {
        assert_eq!(taken, Err(Error::FeatureDisabled("buffering")));
        return;
    }
    assert_eq!(taken, Ok(()));
    let long = pair
        .zero
        .send_buffered(Peer(1), tagged(1), &[0; 65].as_slice());
    assert_eq!(long, Err(Error::TooLong { limit: 64 }));
    // Without rendezvous a message beyond the credit is refused; with rendezvous it is held.
    let mut taken = 1;
    while taken < 10 {
        let next = [taken as u8; 9];
        if pair
            .zero
            .send_buffered(Peer(1), tagged(taken), &next.as_slice())
            .is_err()
        {
            break;
        }
        taken += 1;
    }
    assert!(taken >= 4, "the pool has four places for each rank");
    for id in 0..taken {
        let expected = if id == 0 {
            payload(3, 60)
        } else {
            vec![id as u8; 9]
        };
        let mut turns = 0..1000;
        let mut into = M::into(room(expected.len()));
        let ticket = loop {
            match pair.one.irecv(wanted(None, None), into) {
                Ok(ticket) => break ticket,
                // Without queues the message has to arrive before the receive.
                Err(refused) => into = refused.loan,
            }
            pair.turn();
            turns.next().expect("every message arrives");
        };
        let completed = loop {
            pair.turn();
            if let Some(completed) = pair.one.claim(ticket).expect("it is known") {
                break completed;
            }
            turns.next().expect("every message arrives");
        };
        let Loan::Received(got) = completed.loan else {
            panic!("a receive gives its own loan back")
        };
        assert_eq!(M::bytes(&got), expected);
    }
    pair.turn();
    assert_eq!(pair.zero.lengths().operations, 0, "copies free themselves");
}

/// Checks that values arrive as values. `B` is the composition of the receiver; a `foreign` one has the other byte
/// order, so the same values lie in its memory with their bytes reversed.
fn values<M: Kind, A: Config, B: Config>(foreign: bool) {
    if !<A::Transfer as Transfer>::RENDEZVOUS && M::values().len() > 64 {
        return;
    }
    for late in orders::<A>() {
        let (got, outcome) = across::<M, A, B>(M::values(), M::values_room(), late);
        let message = M::values();
        let mut expected = vec![0; message.len()];
        if foreign {
            message.copy_out_swapped(0, &mut expected);
        } else {
            message.copy_out(0, &mut expected);
        }
        assert_eq!(outcome, Ok(expected.len()));
        assert_eq!(M::bytes(&got), expected);
    }
}

type Made<T, M, D, R, B, S = Static> =
    Composition<U32, T, M, S, Small, pombo_kernel::aspect::Unobserved, D, R, B>;

/// Makes one test for every transfer and matcher, over all policies of the other families.
macro_rules! combinations {
    ($($name:ident: $transfer:ty, $matcher:ty;)*) => {$(
        #[test]
        fn $name() {
            combinations!(@buffering $transfer, $matcher, NoDatatypes, Lent<'static>);
            combinations!(@buffering $transfer, $matcher, Basic, Typed<'static>);
            combinations!(@buffering $transfer, $matcher, Contiguous, Repeated<'static>);
            combinations!(@buffering $transfer, $matcher, Full, WithLayout<'static, Table>);
        }
    )*};
    (@buffering $transfer:ty, $matcher:ty, $datatypes:ty, $memory:ty) => {
        combinations!(@representation $transfer, $matcher, $datatypes, $memory, Unbuffered);
        combinations!(@representation $transfer, $matcher, $datatypes, $memory, Buffered);
    };
    (@representation $transfer:ty, $matcher:ty, $datatypes:ty, $memory:ty, $buffering:ty) => {
        combinations!(@all $memory, Made<$transfer, $matcher, $datatypes, Homogeneous, $buffering>);
        combinations!(@all $memory, Made<$transfer, $matcher, $datatypes, Heterogeneous, $buffering>);
        combinations!(@all $memory, Made<$transfer, $matcher, $datatypes, Canonical, $buffering>);
    };
    (@all $memory:ty, $made:ty) => {
        bytes::<$memory, $made>();
        buffered::<$memory, $made>();
        values::<$memory, $made, $made>(false);
    };
}

combinations! {
    eager_linear: Eager, Linear;
    rendezvous_linear: Rendezvous<16>, Linear;
    eager_binned: Eager, Binned;
    rendezvous_binned: Rendezvous<16>, Binned;
    eager_adaptive: Eager, Adaptive;
    rendezvous_adaptive: Rendezvous<16>, Adaptive;
    eager_none: Eager, NoQueues;
    rendezvous_none: Rendezvous<16>, NoQueues;
    receiver_first_linear: ReceiverInitiated<16>, Linear;
    early_linear: EarlyData<16, 2>, Linear;
}

/// One side is a machine of the other byte order.
#[test]
fn values_cross_byte_orders() {
    fn both<M: Kind, D: Datatypes, T: Transfer>() {
        type Of<T, D, R> = Made<T, Linear, D, R, Unbuffered>;
        values::<M, Of<T, D, Heterogeneous>, Of<T, D, Heterogeneous<Opposite>>>(true);
        values::<M, Of<T, D, Heterogeneous<Opposite>>, Of<T, D, Heterogeneous>>(true);
        values::<M, Of<T, D, Canonical>, Of<T, D, Canonical<Opposite>>>(true);
        values::<M, Of<T, D, Canonical<Opposite>>, Of<T, D, Canonical<Opposite>>>(false);
    }
    both::<Typed<'static>, Basic, Rendezvous<16>>();
    both::<Typed<'static>, Basic, Eager>();
    both::<Repeated<'static>, Contiguous, Eager>();
    both::<WithLayout<'static, Table>, Full, Rendezvous<16>>();
    both::<Typed<'static>, Basic, EarlyData<16, 1>>();
    both::<WithLayout<'static, Table>, Full, EarlyData<16, 2>>();
}

/// One side has words of 32 bits, the other words of 64, in frames that are split at any byte.
#[test]
fn words_cross_word_sizes() {
    type Of<T, R> = Made<T, Linear, Basic, R, Unbuffered>;
    fn deliver<A: Config, B: Config>(out: Values<'static>, into: ValuesMut<'static>) -> Vec<u8> {
        let len = out.len();
        let (got, outcome) = across::<Typed<'static>, A, B>(out, into, false);
        assert_eq!(outcome, Ok(len));
        got.bytes().to_vec()
    }
    fn both<T: Transfer, const N: usize>() {
        let narrow: &[Narrow<i32>; N] = Box::leak(Box::new(std::array::from_fn(|i| {
            Narrow((i as i32 - 3).wrapping_mul(0x0707_0707))
        })));
        let wide = &*narrow.map(|Narrow(word)| i64::from(word)).to_vec().leak();
        let foreign = &*wide
            .iter()
            .map(|word| word.swap_bytes())
            .collect::<Vec<_>>()
            .leak();
        let wide_room = || ValuesMut::of(vec![0_i64; N].leak());
        let narrow_room = || ValuesMut::of(vec![Narrow(0_i32); N].leak());
        let bytes = zerocopy::IntoBytes::as_bytes;

        type Same<T> = Of<T, Homogeneous>;
        let got = deliver::<Same<T>, Same<T>>(Values::of(narrow), wide_room());
        assert_eq!(got, bytes(wide));
        let got = deliver::<Same<T>, Same<T>>(Values::of(wide), narrow_room());
        assert_eq!(got, zerocopy::IntoBytes::as_bytes(narrow));
        type Canon<T> = Of<T, Canonical>;
        let got = deliver::<Canon<T>, Canon<T>>(Values::of(narrow), wide_room());
        assert_eq!(got, bytes(wide));
        let got = deliver::<Canon<T>, Canon<T>>(Values::of(wide), narrow_room());
        assert_eq!(got, zerocopy::IntoBytes::as_bytes(narrow));
        type Here<T> = Of<T, Heterogeneous>;
        type There<T> = Of<T, Heterogeneous<Opposite>>;
        let got = deliver::<There<T>, Here<T>>(Values::of(foreign), narrow_room());
        assert_eq!(got, zerocopy::IntoBytes::as_bytes(narrow));
        let got = deliver::<Here<T>, There<T>>(Values::of(narrow), wide_room());
        assert_eq!(got, bytes(foreign));
    }
    both::<Eager, 8>();
    both::<Rendezvous<16>, 2>();
    both::<Rendezvous<16>, 99>();
    both::<EarlyData<16, 2>, 99>();

    let unsigned = [Narrow(u32::MAX), Narrow(1)];
    type Same = Of<Eager, Homogeneous>;
    let got = deliver::<Same, Same>(
        Values::of(unsigned.to_vec().leak()),
        ValuesMut::of(vec![0_u64; 2].leak()),
    );
    assert_eq!(
        got,
        zerocopy::IntoBytes::as_bytes(&[u64::from(u32::MAX), 1])
    );
}

/// Checks that an aspect that is off takes no bytes.
#[test]
fn nothing_costs_nothing() {
    type Off = Made<Eager, Linear, NoDatatypes, Homogeneous, Unbuffered>;
    type Values = Made<Eager, Linear, Full, Heterogeneous, Unbuffered>;
    type Comm<C> = Communicator<Tagged, Loopback, Lent<'static>, C>;
    assert_eq!(size_of::<pombo_kernel::Envelope<Tagged, Off>>(), 6 + 4 + 2);
    assert_eq!(size_of::<Comm<Off>>(), size_of::<Comm<Values>>());
    assert!(
        size_of::<Comm<Off>>()
            < size_of::<Comm<Made<Rendezvous, Linear, NoDatatypes, Homogeneous, Unbuffered>>>()
    );
    assert!(
        size_of::<Comm<Off>>()
            < size_of::<Comm<Made<Eager, Linear, NoDatatypes, Homogeneous, Buffered>>>()
    );
}

/// Checks that equal jobs give equal statistics, and that a communicator without an observer has none.
#[test]
fn statistics() {
    type Counted = Composition<U64, Rendezvous<16>, Linear, HeapStorage, Small, Counting>;
    let mut pair = Pair::<Lent<'_>, Lent<'_>, Counted, Counted>::new();
    let (short, long) = ([1; 10], [2; 100]);
    let (mut first, mut second) = ([0; 10], [0; 100]);
    let a = pair
        .zero
        .isend(Peer(1), tagged(1), &short)
        .expect("there is room");
    let b = pair
        .zero
        .isend(Peer(1), tagged(2), &long)
        .expect("there is room");
    pair.turn();
    let d = pair
        .one
        .irecv(wanted(None, Some(2)), &mut second)
        .expect("there is room");
    assert_eq!(pair.finish(b, d).1, Ok(100));
    let c = pair
        .one
        .irecv(wanted(None, Some(1)), &mut first)
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

/// Tests the operators of the paper.
#[test]
fn operators() -> Result<(), Error> {
    let (mut room, mut again) = ([0; 5], [0; 5]);
    let mut pair = Pair::<Lent<'_>, Lent<'_>, Tiny, Tiny>::new();
    let sent = (&mut pair.zero << (Peer(1), tagged(1), &b"hello"[..]))?;
    let received = (&mut pair.one >> (wanted(None, None), &mut room[..]))?;
    assert_eq!(pair.finish(sent, received).1, Ok(5));
    pair.zero.scope(|scope| {
        let received = (&mut *scope >> (wanted(None, None), &mut again[..]))?;
        let sent = (&mut *scope << (Peer(0), tagged(1), &b"again"[..]))?;
        scope.wait(sent)?.outcome?;
        scope.wait(received)?.outcome
    })?;
    drop(pair);
    assert_eq!((&room, &again), (b"hello", b"again"));
    Ok(())
}

/// Checks that a time-out ends a call and leaves no operation behind.
#[test]
fn time_outs() -> Result<(), Error> {
    const SOON: u64 = 2_000_000;
    let mut pair = Pair::<Lent<'_>, Lent<'_>, Tiny, Tiny>::new();
    let (any, mut room) = (wanted(None, None), [0; 100]);
    let nothing = pair.one.recv_timeout(any, &mut room, SOON);
    assert_eq!(nothing.map(|envelope| envelope.len()), Err(Error::TimedOut));
    assert!(pair.one.wait_probe_timeout(any, SOON)?.is_none());
    assert!(pair.one.wait_matched_probe_timeout(any, SOON)?.is_none());
    // There is no receive: the announcement is revoked, and the receiver never sees it.
    let long = [7; 100];
    let sent = pair.zero.send_timeout(Peer(1), tagged(1), &long, SOON);
    assert_eq!(sent, Err(Error::TimedOut));
    for _ in 0..10 {
        pair.turn();
    }
    assert!(pair.one.probe(any)?.is_none());
    assert_eq!(pair.zero.lengths(), pair.one.lengths());
    assert_eq!(pair.zero.lengths().operations, 0);
    // Within the limit a call behaves as without a limit.
    pair.zero
        .send_timeout(Peer(1), tagged(2), &[8; 5], u64::MAX)?;
    let envelope = pair.one.recv_timeout(any, &mut room, u64::MAX)?;
    assert_eq!(
        (envelope.header(), &room[..6]),
        (tagged(2), &[8, 8, 8, 8, 8, 0][..])
    );
    Ok(())
}
