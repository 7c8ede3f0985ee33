//! Tests the steps of a search while n receives are posted, or n messages wait, and their growth when n doubles.

use crate::common::{Tagged, Wanted, tagged, wanted};
use pombo_kernel::aspect::{Eager, Static, Storage};
use pombo_kernel::matching::{
    Adaptive, Arrived, Binned, Expected, Linear, Matcher, Posted, Sequence, Unexpected,
};
use pombo_kernel::{Capacities, Composition, Peer};
use pombo_netdrivers::HeapStorage;
use zerocopy::little_endian::U32;

/// Room for exactly 4096 entries.
type Hosted<M, S> = Composition<U32, Eager, M, S, Capacities<4096, 4096, 4, 4>>;

/// The n-th receive and its message.
struct Case {
    name: &'static str,
    receive: fn(u16) -> Wanted,
    message: fn(u16) -> (Peer, Tagged),
    /// Whether messages arrive, or receives are posted, in reverse order.
    reverse: bool,
}

const fn case(
    name: &'static str,
    receive: fn(u16) -> Wanted,
    message: fn(u16) -> (Peer, Tagged),
    reverse: bool,
) -> Case {
    Case {
        name,
        receive,
        message,
        reverse,
    }
}

const CASES: [Case; 8] = [
    case("equal tags", |_| exact(0, 7), |_| from(0, 7), false),
    case("distinct tags", |i| exact(0, i), |i| from(0, i), false),
    case(
        "distinct tags, reverse",
        |i| exact(0, i),
        |i| from(0, i),
        true,
    ),
    case(
        "distinct sources, reverse",
        |i| exact(i, 7),
        |i| from(i, 7),
        true,
    ),
    case(
        "any source, reverse",
        |i| wanted(None, Some(i.into())),
        |i| from(i % 5, i),
        true,
    ),
    case(
        "any tag, reverse",
        |i| wanted(Some(i), None),
        |i| from(i, i % 5),
        true,
    ),
    case(
        "all wildcards",
        |_| wanted(None, None),
        |i| from(i, i),
        false,
    ),
    case("mixed, reverse", mixed, |i| from(i, i), true),
];

fn exact(source: u16, tag: u16) -> Wanted {
    wanted(Some(source), Some(tag.into()))
}

fn from(source: u16, tag: u16) -> (Peer, Tagged) {
    (Peer(source), tagged(tag.into()))
}

/// Returns receives of every class but the one that takes everything.
fn mixed(i: u16) -> Wanted {
    match i % 3 {
        0 => exact(i, i),
        1 => wanted(None, Some(i.into())),
        _ => wanted(Some(i), None),
    }
}

/// Returns the steps per match with n posted receives; each one that is matched is posted again.
fn expected<M: Matcher, S: Storage>(case: &Case, n: u16) -> f64 {
    let mut queue = Box::new(<M::Expected<Tagged, Hosted<M, S>> as Expected<_, _>>::new());
    let post = |i: u16, sequence: u64| Posted {
        pattern: (case.receive)(i),
        slot: i.into(),
        sequence: Sequence::new(sequence),
    };
    for i in 0..n {
        assert!(queue.post(post(i, i.into())), "there is room");
    }
    let mut steps = 0;
    for round in 0..n {
        let i = if case.reverse { n - 1 - round } else { round };
        let (peer, header) = (case.message)(i);
        let search = queue.search(peer, &header);
        let posted = search.found.expect("it is posted");
        assert_eq!(posted.slot, u32::from(i), "{}", case.name);
        steps += search.steps;
        queue.remove(posted.slot);
        let again = post(i, u64::from(n) + u64::from(round));
        assert!(queue.post(again), "there is room");
    }
    steps as f64 / f64::from(n)
}

/// Returns the steps per match with n waiting messages; each one that is received arrives again.
fn unexpected<M: Matcher, S: Storage>(case: &Case, n: u16) -> f64 {
    let mut queue = Box::new(<M::Unexpected<Tagged, Hosted<M, S>> as Unexpected<_, _>>::new());
    let message = |i: u16| {
        let (peer, header) = (case.message)(i);
        Arrived::whole(peer, header, &[]).expect("it is short")
    };
    for i in 0..n {
        queue.push(message(i)).expect("there is room");
    }
    let mut steps = 0;
    for round in 0..n {
        let i = if case.reverse { n - 1 - round } else { round };
        let search = queue.search(&(case.receive)(i));
        let place = search.found.expect("it is here");
        steps += search.steps;
        queue.remove(place);
        queue.push(message(i)).expect("there is room");
    }
    steps as f64 / f64::from(n)
}

/// Returns the steps until a message is known to match nothing, while n receives are posted.
fn unwanted<M: Matcher, S: Storage>(case: &Case, n: u16) -> f64 {
    let mut queue = Box::new(<M::Expected<Tagged, Hosted<M, S>> as Expected<_, _>>::new());
    for i in 0..n {
        let posted = Posted {
            pattern: (case.receive)(i),
            slot: i.into(),
            sequence: Sequence::new(i.into()),
        };
        assert!(queue.post(posted), "there is room");
    }
    let mut search = |i: u16| {
        let (peer, header) = from(n + i, n + i);
        let search = queue.search(peer, &header);
        assert!(search.found.is_none(), "{}", case.name);
        search.steps
    };
    // The first search may be the one after which an adaptive matcher has bins.
    search(0);
    (0..n).map(&mut search).sum::<usize>() as f64 / f64::from(n)
}

/// Returns the steps at 16, 32 and so on up to 4096.
fn series(steps: impl Fn(u16) -> f64) -> Vec<f64> {
    (4..=12).map(|power| steps(1 << power)).collect()
}

/// Returns the largest factor from one doubling to the next.
fn growth(series: &[f64]) -> f64 {
    let ratio = |pair: &[f64]| pair[1] / pair[0];
    series.windows(2).map(ratio).fold(0.0, f64::max)
}

/// Checks that no case grows by half or more in any doubling.
fn stays_flat<M: Matcher, S: Storage>() {
    for case in &CASES {
        let queues = [
            ("expected", series(|n| expected::<M, S>(case, n))),
            ("unexpected", series(|n| unexpected::<M, S>(case, n))),
        ];
        for (queue, series) in queues {
            println!("{queue}, {}: {series:.2?}", case.name);
            assert!(
                growth(&series) < 1.5,
                "{queue}, {}: {series:.2?}",
                case.name
            );
        }
    }
}

/// With bins, a message without a match costs a step or two for each class.
#[test]
fn the_unwanted_are_soon_known() {
    for case in CASES.iter().filter(|case| case.name != "all wildcards") {
        for n in [32, 128, 1024, 4096] {
            let (binned, adaptive) = (
                unwanted::<Binned, HeapStorage>(case, n),
                unwanted::<Adaptive, HeapStorage>(case, n),
            );
            println!("{}, {n}: {binned:.2} {adaptive:.2}", case.name);
            assert!(binned < 8.0 && adaptive < 8.0, "{}, {n}", case.name);
            assert_eq!(unwanted::<Linear, HeapStorage>(case, n), f64::from(n));
        }
    }
}

#[test]
fn binned_stays_flat() {
    stays_flat::<Binned, HeapStorage>();
    stays_flat::<Binned<1>, HeapStorage>();
}

#[test]
fn binned_stays_flat_in_place() {
    // Tables in place are too large for the default stack of a test.
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let thread = thread
        .spawn(stays_flat::<Binned, Static>)
        .expect("a thread");
    thread.join().expect("it stays flat");
}

#[test]
fn adaptive_stays_flat() {
    stays_flat::<Adaptive, HeapStorage>();
    stays_flat::<Adaptive<4, 8>, HeapStorage>();
}

/// Checks the measurement itself: it shows the growth of linear search.
#[test]
fn linear_does_not() {
    for case in CASES.iter().filter(|case| case.reverse) {
        assert!(growth(&series(|n| expected::<Linear, HeapStorage>(case, n))) > 1.5);
        assert!(growth(&series(|n| unexpected::<Linear, HeapStorage>(case, n))) > 1.5);
    }
}

/// Short searches leave an adaptive matcher linear, long ones do not, and an empty queue makes it linear again.
#[test]
fn adaptive_switches_by_depth_and_back() {
    let mut queue =
        <<Adaptive<4, 8> as Matcher>::Expected<Tagged, Hosted<Adaptive<4, 8>, HeapStorage>>>::new();
    let post = |sequence: u64| Posted {
        pattern: exact(0, sequence as u16),
        slot: sequence as u32,
        sequence,
    };
    for _ in 0..2 {
        assert!((0..100).all(|i| queue.post(post(i))), "there is room");
        let mut depth = |tag| queue.search(Peer(0), &tagged(tag)).steps;
        assert_eq!((depth(3), depth(3)), (4, 4), "linear");
        assert_eq!(depth(4), 5, "linear for the last time");
        assert!(depth(4) < 4 && depth(99) < 4, "binned");
        for slot in 0..100 {
            queue.remove(slot);
        }
    }
}
