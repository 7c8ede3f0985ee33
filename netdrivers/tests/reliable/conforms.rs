//! It is a channel: the suite of every driver, with ranks as threads over the simulated network.

use pombo_kernel::Peer;
use pombo_netdrivers::fault::Faults;
use pombo_testing::conformance::{Harness, SupervisedChannel, Supervisor, threads};
use pombo_testing::{Sim, SimNetwork};
use pombo_transport::reliable::Window;
use std::sync::{Arc, Mutex};

/// A rank of a job.
pub(crate) type Rank = SupervisedChannel<SimNetwork, Window<8, 16, 600>, Job>;

/// All ranks are threads of this process.
pub(crate) struct Job {
    sim: Sim,
    gone: Mutex<Vec<Peer>>,
}

impl Supervisor for Job {
    fn departed(&self) -> &Mutex<Vec<Peer>> {
        &self.gone
    }

    /// A rank that is awake takes time.
    fn before_poll(&self) {
        self.sim.advance(2_000);
    }

    /// Time passes when all ranks wait, so all must get there.
    fn before_wait(&self) {
        std::thread::yield_now();
    }
}

pub(crate) fn run(peers: u16, faults: Faults, body: fn(Rank)) {
    let (sim, networks) = Sim::new(peers, faults, 7);
    let gone = Mutex::default();
    let job = Arc::new(Job { sim, gone });
    let launch = |network| Rank::new(network, job.clone());
    threads(networks.into_iter().map(launch).collect(), body);
}

macro_rules! conforms {
    ($name:ident, $faults:expr) => {
        mod $name {
            use super::*;

            struct World;

            impl Harness for World {
                type Channel = Rank;

                fn run(_test: &str, peers: u16, body: fn(Rank)) {
                    run(peers, $faults, body);
                }
            }

            pombo_testing::conformance!(World);
        }
    };
}

conforms!(calm, Faults::NONE);
conforms!(rough, Faults::rough());
