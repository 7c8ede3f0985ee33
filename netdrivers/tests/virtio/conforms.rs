//! A reliable channel over it passes the suite of every driver, on a good and on a bad cable.

use crate::machine::{Net, networks};
use crate::wire::Fault;
use pombo_kernel::Peer;
use pombo_kernel::network::Network;
use pombo_netdrivers::fault::{Faults, FaultyNetwork};
use pombo_testing::conformance::{Harness, SupervisedChannel, Supervisor, threads};
use pombo_transport::reliable::Window;
use std::sync::{Arc, Mutex};

type Rank<N> = SupervisedChannel<N, Window<8, 16, 1500>, Job>;

/// All ranks are threads of this process.
#[derive(Default)]
struct Job {
    gone: Mutex<Vec<Peer>>,
}

impl Supervisor for Job {
    fn departed(&self) -> &Mutex<Vec<Peer>> {
        &self.gone
    }
}

fn run<N: Network + Send>(peers: u16, over: fn(Net) -> N, body: fn(Rank<N>)) {
    let job = Arc::new(Job::default());
    let ranks = networks(peers.into(), Fault::None).into_iter();
    let ranks = ranks.map(|net| Rank::new(over(net), job.clone()));
    threads(ranks.collect(), body);
}

macro_rules! conforms {
    ($name:ident, $network:ty, $over:expr) => {
        mod $name {
            use super::*;

            struct World;

            impl Harness for World {
                type Channel = Rank<$network>;

                fn run(_test: &str, peers: u16, body: fn(Rank<$network>)) {
                    run(peers, $over, body);
                }
            }

            pombo_testing::conformance!(World);
        }
    };
}

conforms!(calm, Net, |net| net);
conforms!(rough, FaultyNetwork<Net>, |net| {
    FaultyNetwork::new(net, Faults::rough(), 7)
});
