//! A reliable channel over it passes the suite of every driver, on a good and on a bad network.

use pombo_kernel::Peer;
use pombo_kernel::network::Network;
use pombo_netdrivers::fault::{Faults, FaultyNetwork, Rate};
use pombo_netdrivers::udp::Udp;
use pombo_testing::conformance::{Harness, SupervisedChannel, Supervisor, threads};
use pombo_transport::reliable::Window;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

/// A rank of a job.
pub(crate) type Rank<N> = SupervisedChannel<N, Window<8, 16, 1500>, Job>;

/// All ranks are threads of this process.
pub(crate) struct Job {
    addresses: Vec<SocketAddr>,
    gone: Mutex<Vec<Peer>>,
}

impl Supervisor for Job {
    fn departed(&self) -> &Mutex<Vec<Peer>> {
        &self.gone
    }

    fn on_departure(&self) {
        let stranger = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for address in &self.addresses {
            let _ = stranger.send_to(b"wake up", address);
        }
    }
}

pub(crate) fn run<N: Network + Send>(peers: u16, over: fn(Udp) -> N, body: fn(Rank<N>)) {
    let (bounds, addresses) = crate::bound(peers);
    let job = Arc::new(Job {
        addresses,
        gone: Mutex::default(),
    });
    let ranks = (0..).map(Peer).zip(bounds).map(|(peer, bound)| {
        let udp = bound.join(peer, job.addresses.clone()).expect("the table");
        Rank::new(over(udp), job.clone())
    });
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

conforms!(calm, Udp, |udp| udp);
conforms!(lossy, FaultyNetwork<Udp>, |udp| {
    FaultyNetwork::with_loss(udp, Rate::percent(2), 11)
});
conforms!(rough, FaultyNetwork<Udp>, |udp| {
    FaultyNetwork::new(udp, Faults::rough(), 7)
});
