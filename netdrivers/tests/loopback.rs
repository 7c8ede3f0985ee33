//! The conformance suite over ranks as threads, with the usual limits and with the smallest.
#![cfg(all(feature = "shm", target_os = "linux"))]

use pombo_netdrivers::loopback::{Limits, Loopback};
use pombo_testing::conformance::{Harness, threads};

mod usual {
    use super::*;

    struct Usual;

    impl Harness for Usual {
        type Channel = Loopback;

        fn run(_test: &str, peers: u16, body: fn(Loopback)) {
            threads(Loopback::world(peers), body);
        }
    }

    pombo_testing::conformance!(Usual);
}

mod smallest {
    use super::*;

    struct Smallest;

    impl Harness for Smallest {
        type Channel = Loopback;

        fn run(_test: &str, peers: u16, body: fn(Loopback)) {
            let limits = Limits {
                frame: 0,
                frames_in_flight: 0,
            };
            threads(Loopback::world_with(peers, limits), body);
        }
    }

    pombo_testing::conformance!(Smallest);
}
