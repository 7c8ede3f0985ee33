//! Measures finding a receive for a message, and a message for a receive, while others wait. All data stays in one
//! core's caches, so the figures show the instructions. `pombo bench` measures between processes.

#[path = "../common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Duration;

use common::{Tagged, Wanted, tagged, wanted};
use criterion::{Criterion, criterion_group, criterion_main};
use pombo_kernel::aspect::Eager;
use pombo_kernel::matching::{
    Adaptive, Arrived, Binned, Expected, Linear, Matcher, Posted, Sequence, Unexpected,
};
use pombo_kernel::{Capacities, Composition, Peer};
use pombo_netdrivers::HeapStorage;
use zerocopy::little_endian::U32;

/// The composition of a hosted program; a message carries 8 bytes.
type Hosted<M> = Composition<U32, Eager, M, HeapStorage, Capacities<4096, 4096, 64, 4>>;

/// Number of waiting entries.
const WAITING: [u16; 4] = [1, 16, 256, 4096];
const SENDER: Peer = Peer(3);

/// The n-th receive and its message. A matched entry is appended again: either all entries are matched in order, or
/// always the last one.
struct Case {
    name: &'static str,
    receive: fn(u16) -> Wanted,
    message: fn(u16) -> Tagged,
    is_last: bool,
}

const CASES: [Case; 4] = [
    Case {
        name: "equal tags",
        receive: |_| wanted(Some(SENDER.0), Some(7)),
        message: |_| tagged(7),
        is_last: false,
    },
    Case {
        name: "distinct tags, first",
        receive: |n| wanted(Some(SENDER.0), Some(n.into())),
        message: |n| tagged(n.into()),
        is_last: false,
    },
    Case {
        name: "distinct tags, last",
        receive: |n| wanted(Some(SENDER.0), Some(n.into())),
        message: |n| tagged(n.into()),
        is_last: true,
    },
    Case {
        name: "any source, last",
        receive: |n| wanted(None, Some(n.into())),
        message: |n| tagged(n.into()),
        is_last: true,
    },
];

impl Case {
    /// Returns the number of the entry to match after `n`, with `waiting` entries.
    fn after(&self, n: u16, waiting: u16) -> u16 {
        match self.is_last {
            true => waiting - 1,
            false => (n + 1) % waiting,
        }
    }
}

/// Matches messages with posted receives, each of which is posted again.
fn receives<M: Matcher>(c: &mut Criterion, matcher: &str) {
    for case in &CASES {
        let mut group = c.benchmark_group(format!("{matcher}, receives wait, {}", case.name));
        for waiting in WAITING {
            let mut queue = <M::Expected<Tagged, Hosted<M>>>::new();
            let posted = |n: u16, sequence: u64| Posted {
                pattern: (case.receive)(n),
                slot: n.into(),
                sequence: Sequence::new(sequence),
            };
            let mut sequence = 0;
            for n in 0..waiting {
                sequence += 1;
                assert!(queue.post(posted(n, sequence)));
            }
            let mut n = case.after(waiting - 1, waiting);
            group.bench_function(format!("{waiting} wait"), |b| {
                b.iter(|| {
                    let header = black_box((case.message)(n));
                    let found = queue.find(SENDER, &header).expect("a receive");
                    queue.remove(found.slot);
                    sequence += 1;
                    assert!(queue.post(posted(n, sequence)));
                    n = case.after(n, waiting);
                    found.slot
                });
            });
        }
        group.finish();
    }
}

/// Matches receives with unexpected messages, each of which arrives again.
fn messages<M: Matcher>(c: &mut Criterion, matcher: &str) {
    for case in &CASES {
        let mut group = c.benchmark_group(format!("{matcher}, messages wait, {}", case.name));
        for waiting in WAITING {
            let mut queue = <M::Unexpected<Tagged, Hosted<M>>>::new();
            let arrived =
                |n: u16| Arrived::whole(SENDER, (case.message)(n), &[1; 8]).expect("it fits");
            for n in 0..waiting {
                queue.push(arrived(n)).expect("room");
            }
            let mut n = case.after(waiting - 1, waiting);
            group.bench_function(format!("{waiting} wait"), |b| {
                b.iter(|| {
                    let pattern = black_box((case.receive)(n));
                    let place = queue.find(&pattern).expect("a message");
                    queue.remove(place);
                    queue.push(arrived(n)).expect("room");
                    n = case.after(n, waiting);
                    place
                });
            });
        }
        group.finish();
    }
}

fn every_matcher(c: &mut Criterion) {
    receives::<Linear>(c, "linear");
    receives::<Binned>(c, "binned");
    receives::<Adaptive>(c, "adaptive");
    messages::<Linear>(c, "linear");
    messages::<Binned>(c, "binned");
    messages::<Adaptive>(c, "adaptive");
}

/// Returns short measuring times, because there are many measurements.
fn brief() -> Criterion {
    let warm_up = Duration::from_millis(100);
    let measurement = Duration::from_millis(400);
    Criterion::default()
        .warm_up_time(warm_up)
        .measurement_time(measurement)
}

criterion_group! {
    name = benches;
    config = brief();
    targets = every_matcher
}
criterion_main!(benches);
