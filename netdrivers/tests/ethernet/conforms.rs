//! A reliable channel over it passes the suite of every driver, on a good and on a bad network.

use crate::segment::{opened_by, segment};
use crate::stranger::{Forged, Stranger};
use pombo_kernel::Peer;
use pombo_kernel::network::Network;
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::ethernet::{
    Address, BoundEthernet, EthernetError, FrameAddress, FrameIo, Traffic,
};
use pombo_netdrivers::fault::{Faults, FaultyNetwork, Rate};
use pombo_testing::conformance::{Harness, SupervisedChannel, Supervisor, threads};
use pombo_transport::reliable::Window;
use std::sync::{Arc, Mutex};

/// A rank of a job.
type Rank<N> = SupervisedChannel<N, Window<8, 16, 1500>, Job>;

/// All ranks are threads of this process.
struct Job {
    addresses: Vec<Address>,
    gone: Mutex<Vec<Peer>>,
}

impl Supervisor for Job {
    fn departed(&self) -> &Mutex<Vec<Peer>> {
        &self.gone
    }

    fn on_departure(&self) {
        let stranger = Stranger::at("stranger");
        for peer in 0..self.addresses.len() as u16 {
            let forged = Forged::as_peer(peer, peer, &self.addresses, 7);
            let from = [2, 0, 0, 0, 0, 99];
            stranger.send(&Forged { from, ..forged }.with(b"wake up"));
        }
    }
}

fn run<L: FrameIo, N: Network + Send>(
    peers: u16,
    per_host: u16,
    open: impl Fn(&str, FrameAddress) -> Result<BoundEthernet<L>, Box<EthernetError>>,
    over: fn(Ethernet<L>) -> N,
    body: fn(Rank<N>),
) {
    segment(peers.div_ceil(per_host), 1500);
    let (opened, addresses) = opened_by(peers, per_host, Traffic::Unicast, open);
    let gone = Mutex::default();
    let job = Arc::new(Job { addresses, gone });
    let ranks = opened.into_iter().map(|one| {
        let ethernet = one.join(&job.addresses).expect("the table");
        Rank::new(over(ethernet), job.clone())
    });
    threads(ranks.collect(), body);
}

macro_rules! conforms {
    ($name:ident, $network:ty, $per_host:expr, $over:expr) => {
        conforms!($name, $network, $per_host, Ethernet::open, $over);
    };
    ($name:ident, $network:ty, $per_host:expr, $open:expr, $over:expr) => {
        mod $name {
            use super::*;

            struct World;

            impl Harness for World {
                type Channel = Rank<$network>;

                fn run(test: &str, peers: u16, body: fn(Rank<$network>)) {
                    crate::inside::in_namespace(test, || run(peers, $per_host, $open, $over, body));
                }
            }

            pombo_testing::conformance!(World);
        }
    };
}

conforms!(calm, Ethernet, 1, |ethernet| ethernet);
conforms!(crowded, Ethernet, 2, |ethernet| ethernet);
conforms!(rough, FaultyNetwork<Ethernet>, 1, |ethernet| {
    FaultyNetwork::new(ethernet, Faults::rough(), 7)
});

conforms!(
    authenticated,
    pombo_transport::Authenticated<FaultyNetwork<Ethernet>>,
    2,
    |ethernet| {
        let faults = Faults::NONE
            .loss(Rate::percent(1))
            .duplicate(Rate::percent(3))
            .reorder(Rate::percent(1), 100_000);
        let faulty = FaultyNetwork::new(ethernet, faults, 9);
        let cover = pombo_transport::authenticated::Coverage::Whole;
        let under = Some((crate::authenticated::KEY, cover));
        pombo_transport::Authenticated::new(faulty, under).expect("room")
    }
);

#[cfg(feature = "pnet")]
conforms!(portable, Ethernet, 2, Ethernet::open_pnet, |ethernet| {
    ethernet
});
