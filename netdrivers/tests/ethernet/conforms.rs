//! A reliable channel over it passes the suite of every driver, on a good and on a bad network.

use crate::segment::{opened_by, segment};
use crate::stranger::{Forged, Stranger};
use pombo_kernel::channel::reliable::{Arrived, Reliable, Window};
use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event, Sent};
use pombo_kernel::network::Network;
use pombo_kernel::{Node, Part};
use pombo_netdrivers::conformance::{Worlds, threads};
use pombo_netdrivers::ethernet::{Address, EthernetError, Line, Opened, Seat, Traffic};
use pombo_netdrivers::fault::{Faults, FaultyNetwork, Rate};
use pombo_netdrivers::{Ethernet, Growing};
use std::sync::{Arc, Mutex};

/// A rank with a launcher: it goes when its frames have arrived, and the others are told.
struct Launched<N: Network> {
    channel: Reliable<N, Window<8, 16, 1500>, Growing>,
    job: Arc<Job>,
    told: usize,
}

struct Job {
    addresses: Vec<Address>,
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
        let news = gone[self.told..].iter();
        news.for_each(|node| self.channel.declare_lost(*node));
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
        let stranger = Stranger::at("stranger");
        for node in 0..self.job.addresses.len() as u16 {
            let forged = Forged::as_node(node, node, &self.job.addresses, 7);
            let from = [2, 0, 0, 0, 0, 99];
            stranger.send(&Forged { from, ..forged }.with(b"wake up"));
        }
    }
}

fn run<L: Line, N: Network + Send>(
    nodes: u16,
    per_host: u16,
    open: impl Fn(&str, Seat) -> Result<Opened<L>, EthernetError>,
    over: fn(Ethernet<L>) -> N,
    body: fn(Launched<N>),
) {
    segment(nodes.div_ceil(per_host), 1500);
    let (opened, addresses) = opened_by(nodes, per_host, Traffic::Single, open);
    let gone = Mutex::default();
    let job = Arc::new(Job { addresses, gone });
    let ranks = opened.into_iter().map(|one| {
        let ethernet = one.join(&job.addresses).expect("the table");
        Launched {
            channel: Reliable::new(over(ethernet), 0x5eed).expect("places for eight"),
            job: job.clone(),
            told: 0,
        }
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

            impl Worlds for World {
                type Channel = Launched<$network>;

                fn run(test: &str, nodes: u16, body: fn(Launched<$network>)) {
                    crate::inside::in_namespace(test, || run(nodes, $per_host, $open, $over, body));
                }
            }

            pombo_netdrivers::conformance!(World);
        }
    };
}

conforms!(calm, Ethernet, 1, |ethernet| ethernet);
conforms!(crowded, Ethernet, 2, |ethernet| ethernet);
conforms!(rough, FaultyNetwork<Ethernet>, 1, |ethernet| {
    let faults = Faults::NONE
        .lose(Rate::percent(5))
        .duplicate(Rate::percent(3))
        .reorder(Rate::percent(3), 100_000)
        .truncate(Rate::percent(1))
        .corrupt(Rate::percent(1));
    FaultyNetwork::new(ethernet, faults, 7)
});

#[cfg(feature = "sealed")]
conforms!(
    sealed,
    pombo_netdrivers::Sealed<FaultyNetwork<Ethernet>>,
    2,
    |ethernet| {
        let faults = Faults::NONE
            .lose(Rate::percent(1))
            .duplicate(Rate::percent(3))
            .reorder(Rate::percent(1), 100_000);
        let faulty = FaultyNetwork::new(ethernet, faults, 9);
        pombo_netdrivers::Sealed::new(faulty, crate::sealed::KEY).expect("room")
    }
);

#[cfg(feature = "pnet")]
conforms!(
    portable,
    Ethernet<pombo_netdrivers::ethernet::Portable>,
    2,
    Ethernet::open_portable,
    |ethernet| ethernet
);
