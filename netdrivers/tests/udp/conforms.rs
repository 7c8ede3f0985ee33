//! A reliable channel over it passes the suite of every driver, on a good and on a bad network.

use pombo_kernel::channel::reliable::{Arrived, Reliable, Window};
use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event, Sent};
use pombo_kernel::network::Network;
use pombo_kernel::{Node, Part};
use pombo_netdrivers::Growing;
use pombo_netdrivers::conformance::{Worlds, threads};
use pombo_netdrivers::fault::{Faults, FaultyNetwork, Rate};
use pombo_netdrivers::udp::{Lossy, Udp};
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

/// A rank with a launcher: it goes when its frames have arrived, and the others are told.
pub(crate) struct Launched<N: Network> {
    pub(crate) channel: Reliable<N, Window<8, 16, 1500>, Growing>,
    job: Arc<Job>,
    told: usize,
}

pub(crate) struct Job {
    addresses: Vec<SocketAddr>,
    gone: Mutex<Vec<Node>>,
}

impl<N: Network> Channel for Launched<N> {
    type Arrival<'a> = Arrived<'a, N::Frame<'a>>;

    fn node(&self) -> Node {
        self.channel.node()
    }

    fn nodes(&self) -> usize {
        self.channel.nodes()
    }

    fn limit(&self, to: Node) -> usize {
        self.channel.limit(to)
    }

    fn try_send(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        self.channel.try_send(to, cookie, parts)
    }

    fn poll(&mut self, f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        let gone = self.job.gone.lock().expect("nobody panics with it");
        gone[self.told..]
            .iter()
            .for_each(|node| self.channel.declare_lost(*node));
        self.told = gone.len();
        drop(gone);
        self.channel.poll(f)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        self.channel.wait(idle)
    }

    fn now(&self) -> u64 {
        self.channel.now()
    }
}

impl<N: Network> Drop for Launched<N> {
    fn drop(&mut self) {
        let mut idle = 0;
        while !std::thread::panicking() && !self.channel.is_settled() {
            match self.poll(|_| ()) {
                Ok(true) => idle = 0,
                _ => self.wait(idle).expect("it is up"),
            }
            idle += 1;
        }
        if let Ok(mut gone) = self.job.gone.lock() {
            gone.push(self.channel.node());
        }
        // Whoever sleeps hears nothing of the list: a stranger's frame wakes it.
        let stranger = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for address in &self.job.addresses {
            let _ = stranger.send_to(b"wake up", address);
        }
    }
}

pub(crate) fn run<N: Network + Send>(nodes: u16, over: fn(Udp) -> N, body: fn(Launched<N>)) {
    let (bounds, addresses) = crate::bound(nodes);
    let job = Arc::new(Job {
        addresses,
        gone: Mutex::default(),
    });
    let ranks = (0..).map(Node).zip(bounds).map(|(node, bound)| {
        let udp = bound.join(node, job.addresses.clone()).expect("the table");
        Launched {
            channel: Reliable::new(over(udp), 0x5eed).expect("places for eight"),
            job: job.clone(),
            told: 0,
        }
    });
    threads(ranks.collect(), body);
}

macro_rules! conforms {
    ($name:ident, $network:ty, $over:expr) => {
        mod $name {
            use super::*;

            struct World;

            impl Worlds for World {
                type Channel = Launched<$network>;

                fn run(_test: &str, nodes: u16, body: fn(Launched<$network>)) {
                    run(nodes, $over, body);
                }
            }

            pombo_netdrivers::conformance!(World);
        }
    };
}

conforms!(calm, Udp, |udp| udp);
conforms!(lossy, Lossy<Udp>, |udp| Lossy::new(udp, 20_000, 11));
conforms!(rough, FaultyNetwork<Udp>, |udp| {
    let faults = Faults::NONE
        .lose(Rate::percent(5))
        .duplicate(Rate::percent(3))
        .reorder(Rate::percent(3), 100_000)
        .truncate(Rate::percent(1))
        .corrupt(Rate::percent(1));
    FaultyNetwork::new(udp, faults, 7)
});
