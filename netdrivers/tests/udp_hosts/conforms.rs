//! The suite of every driver, between hosts, without loss and with two per cent.

use crate::crew::{Rank, run};
use pombo_testing::conformance::Harness;

macro_rules! conforms {
    ($name:ident, $ppm:expr) => {
        mod $name {
            use super::*;

            struct World;

            impl Harness for World {
                type Channel = Rank;

                fn run(test: &str, peers: u16, body: fn(Rank)) {
                    run(test, peers, $ppm, body);
                }
            }

            pombo_testing::conformance!(World);
        }
    };
}

conforms!(calm, 0);
conforms!(lossy, 20_000);
