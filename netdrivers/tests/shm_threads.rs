//! The conformance suite over one segment with ranks as threads of this process.
#![cfg(all(feature = "shm", target_os = "linux"))]

use pombo_netdrivers::shm::{Segment, Shm};
use pombo_testing::conformance::{Harness, threads};

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
