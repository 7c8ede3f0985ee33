//! It is a channel: the suite of every driver, with ranks as threads over the simulated network.

use pombo_kernel::channel::reliable::{Arrived, Reliable, Window};
use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event, Sent};
use pombo_kernel::{Node, Part};
use pombo_netdrivers::conformance::{Worlds, threads};
use pombo_netdrivers::fault::{Faults, Rate, Sim, SimNetwork};
use pombo_netdrivers::{Growing, InPlace};
use std::sync::{Arc, Mutex};

type Over = Reliable<SimNetwork, Window<8, 16, 600>, Growing>;

/// A rank with a launcher: it goes when its frames have arrived, and the others are told.
pub(crate) struct Launched {
    channel: Over,
    sim: Arc<Sim>,
    gone: Arc<Mutex<Vec<Node>>>,
    told: usize,
}

impl Channel for Launched {
    type Arrival<'a> = Arrived<'a, InPlace<'a>>;

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
        let gone = self.gone.lock().expect("nobody panics with it");
        gone[self.told..]
            .iter()
            .for_each(|node| self.channel.declare_lost(*node));
        self.told = gone.len();
        drop(gone);
        // A rank that is awake takes time.
        self.sim.advance(2_000);
        self.channel.poll(f)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        // Time passes when all ranks wait, so all must get there.
        std::thread::yield_now();
        self.channel.wait(idle)
    }

    fn now(&self) -> u64 {
        self.channel.now()
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        while !std::thread::panicking() && !self.channel.is_settled() {
            if self.poll(|_| ()) != Ok(true) {
                self.wait(0).expect("it is up");
            }
        }
        let node = self.node();
        if let Ok(mut gone) = self.gone.lock() {
            gone.push(node);
        }
    }
}

pub(crate) fn run(nodes: u16, faults: Faults, body: fn(Launched)) {
    let (sim, networks) = Sim::new(nodes, faults, 7);
    let sim = Arc::new(sim);
    let gone = Arc::new(Mutex::new(Vec::new()));
    let launch = |network| Launched {
        channel: Reliable::new(network, 0x5eed).expect("places for eight"),
        sim: sim.clone(),
        gone: gone.clone(),
        told: 0,
    };
    threads(networks.into_iter().map(launch).collect(), body);
}

macro_rules! conforms {
    ($name:ident, $faults:expr) => {
        mod $name {
            use super::*;

            struct World;

            impl Worlds for World {
                type Channel = Launched;

                fn run(_test: &str, nodes: u16, body: fn(Launched)) {
                    run(nodes, $faults, body);
                }
            }

            pombo_netdrivers::conformance!(World);
        }
    };
}

conforms!(calm, Faults::NONE);
conforms!(
    rough,
    Faults::NONE
        .lose(Rate::percent(5))
        .duplicate(Rate::percent(3))
        .reorder(Rate::percent(3), 100_000)
        .truncate(Rate::percent(1))
        .corrupt(Rate::percent(1))
);
