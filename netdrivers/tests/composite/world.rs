//! Ranks as threads that share hosts in turn: node `n` is on host `n` modulo the number of hosts.

use pombo_kernel::Node;
use pombo_kernel::channel::reliable::{Arrived, Reliable, Window};
use pombo_kernel::channel::{Channel, ChannelError, Composite, Cookie, Event, Sent};
use pombo_kernel::memory::Part;
use pombo_netdrivers::conformance::threads;
use pombo_netdrivers::fault::{Faults, Sim, SimNetwork};
use pombo_netdrivers::{Growing, InPlace, Loopback};
use std::sync::{Arc, Mutex};

/// A rank's channel.
pub(crate) type Rank = Composite<Loopback, Hosts>;

/// The network between hosts, with somebody who tells who has gone, as processes do when they end.
pub(crate) struct Hosts {
    channel: Reliable<SimNetwork, Window<8, 16, 600>, Growing>,
    sim: Arc<Sim>,
    gone: Arc<Mutex<Vec<Node>>>,
    told: usize,
}

impl Channel for Hosts {
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
        for node in &gone[self.told..] {
            self.channel.declare_lost(*node);
        }
        self.told = gone.len();
        drop(gone);
        // Ranks that wait for their host do not wait here, so time does not pass by itself.
        self.sim.advance(2_000);
        self.channel.poll(f)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        std::thread::yield_now();
        self.channel.wait(idle)
    }

    fn now(&self) -> u64 {
        self.channel.now()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        while !std::thread::panicking() && !self.channel.is_settled() {
            if self.poll(|_| ()) != Ok(true) {
                std::thread::yield_now();
            }
        }
        if let Ok(mut gone) = self.gone.lock() {
            gone.push(self.channel.node());
        }
    }
}

/// Runs `body` as every rank.
pub(crate) fn run(nodes: u16, hosts: u16, faults: Faults, body: fn(Rank)) {
    let (sim, networks) = Sim::new(nodes, faults, 7);
    let (sim, gone) = (Arc::new(sim), Arc::new(Mutex::new(Vec::new())));
    let mut far: Vec<Option<Hosts>> = networks
        .into_iter()
        .map(|network| {
            Some(Hosts {
                channel: Reliable::new(network, 0x5eed).expect("places for eight"),
                sim: sim.clone(),
                gone: gone.clone(),
                told: 0,
            })
        })
        .collect();
    let mut ranks = Vec::new();
    for host in 0..hosts.min(nodes) {
        let members: Vec<Node> = (host..nodes).step_by(hosts.into()).map(Node).collect();
        let near = Loopback::world(members.len() as u16);
        for (near, node) in near.into_iter().zip(&members) {
            let far = far[node.index()].take().expect("one host each");
            ranks.push(Rank::new(near, far, &members).expect("they fit"));
        }
    }
    threads(ranks, body);
}
