//! The conformance suite over one segment with ranks as threads of this process.
#![cfg(all(feature = "shm", target_os = "linux"))]

use pombo_kernel::channel::{Arrival, Channel, Cookie, Event, WaitSet};
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::shm::{Segment, Shm};
use pombo_testing::conformance::{Harness, threads};
use std::time::{Duration, Instant};

struct Threads;

impl Harness for Threads {
    type Channel = Shm;

    fn run(_test: &str, peers: u16, body: fn(Shm)) {
        let segment = Segment::create(peers.into(), 1).expect("a segment");
        let attach = |rank| {
            let segment = Segment::open(segment.fd()).expect("the same segment");
            Shm::attach(segment, rank, 1).expect("a free rank")
        };
        threads((0..peers.into()).map(attach).collect(), body);
    }
}

pombo_testing::conformance!(Threads);

/// The suite over rings alone.
mod rings {
    use super::*;
    use pombo_netdrivers::shm::Rings;

    struct Threads;

    impl Harness for Threads {
        type Channel = Rings;

        fn run(_test: &str, peers: u16, body: fn(Rings)) {
            let segment = Segment::create(peers.into(), 1).expect("a segment");
            let attach = |rank| {
                let segment = Segment::open(segment.fd()).expect("the same segment");
                Rings::attach(segment, rank, 1).expect("a free rank")
            };
            threads((0..peers.into()).map(attach).collect(), body);
        }
    }

    pombo_testing::conformance!(Threads);
}

/// A thread that has several ranks sleeps for all of them: whichever gets a frame answers it.
#[test]
fn one_thread_waits_for_several_ranks() {
    const ROUNDS: usize = 2000;
    let segment = Segment::create(4, 1).expect("a segment");
    let attach = |rank| {
        let segment = Segment::open(segment.fd()).expect("the same segment");
        Shm::attach(segment, rank, 1).expect("a free rank")
    };
    let mut asks = attach(0);
    let mut answers = [1, 2, 3].map(attach);
    let begin = Instant::now();
    let frame = |shm: &mut Shm, to: usize| {
        let sent = shm.try_send(Peer(to as u16), Cookie::COPY, &[Part::Bytes(b"frame")]);
        sent.expect("there is room");
    };
    let polled = |shm: &mut Shm| {
        let mut from = None;
        let polled = shm.poll(|event| match event {
            Event::Arrival(frame) => from = Some(frame.from()),
            other => panic!("{other:?}"),
        });
        polled.expect("a channel");
        from
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut answered = 0;
            while answered < ROUNDS {
                let before = answered;
                for shm in &mut answers {
                    if let Some(from) = polled(shm) {
                        frame(shm, from.index());
                        answered += 1;
                    }
                }
                if answered == before {
                    let mut all: Vec<&mut Shm> = answers.iter_mut().collect();
                    Shm::wait_for_any(&mut all, WaitSet::timeout(u64::MAX));
                }
            }
        });
        for round in 0..ROUNDS {
            let (to, mut idle) = (1 + round * 7 % 3, 0);
            frame(&mut asks, to);
            while polled(&mut asks) != Some(Peer(to as u16)) {
                // A sleep that nobody ends is over after a while.
                assert!(begin.elapsed() < Duration::from_secs(60), "it hangs");
                asks.wait(idle).expect("a channel");
                idle += 1;
            }
        }
    });
}
