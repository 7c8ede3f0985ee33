//! Ranks as threads that share hosts in turn: peer `n` is on host `n` modulo the number of hosts.

use pombo_kernel::Peer;
use pombo_netdrivers::Loopback;
use pombo_netdrivers::fault::Faults;
use pombo_testing::conformance::{SupervisedChannel, Supervisor, threads};
use pombo_testing::{Sim, SimNetwork};
use pombo_transport::Composite;
use pombo_transport::reliable::Window;
use std::sync::{Arc, Mutex};

/// A rank's channel.
pub(crate) type Rank = Composite<Loopback, Hosts>;

/// The network between hosts.
pub(crate) type Hosts = SupervisedChannel<SimNetwork, Window<8, 16, 600>, Job>;

/// All ranks are threads of this process.
pub(crate) struct Job {
    sim: Sim,
    gone: Mutex<Vec<Peer>>,
}

impl Supervisor for Job {
    fn departed(&self) -> &Mutex<Vec<Peer>> {
        &self.gone
    }

    /// Ranks that wait for their host do not wait here, so time does not pass by itself.
    fn before_poll(&self) {
        self.sim.advance(2_000);
    }

    fn before_wait(&self) {
        std::thread::yield_now();
    }
}

/// Runs `body` as every rank.
pub(crate) fn run(peers: u16, hosts: u16, faults: Faults, body: fn(Rank)) {
    let (sim, networks) = Sim::new(peers, faults, 7);
    let gone = Mutex::default();
    let job = Arc::new(Job { sim, gone });
    let far = |network| Some(Hosts::new(network, job.clone()));
    let mut far: Vec<Option<Hosts>> = networks.into_iter().map(far).collect();
    let mut ranks = Vec::new();
    for host in 0..hosts.min(peers) {
        let members: Vec<Peer> = (host..peers).step_by(hosts.into()).map(Peer).collect();
        let near = Loopback::world(members.len() as u16);
        for (near, peer) in near.into_iter().zip(&members) {
            let far = far[peer.index()].take().expect("one host each");
            ranks.push(Rank::new(near, far, &members).expect("they fit"));
        }
    }
    threads(ranks, body);
}
