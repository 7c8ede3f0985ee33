//! A network of many peers with a clock of its own. Protocols over networks are tested on it.

mod limits;
mod network;
mod world;

pub use limits::{DeviceLimits, LinkParameters};
pub use network::SimNetwork;

use pombo_kernel::header::Peer;
use pombo_netdrivers::fault::{FaultCounts, Faults};
use std::sync::{Arc, Mutex};
use world::{World, lock};

/// The world behind its [`SimNetwork`]s, and its clock.
///
/// Time stands still unless someone moves it: [`Sim::advance`], [`Sim::step`], or the peers themselves. When every
/// peer that is up waits, the clock jumps to the next arrival or the first timer, whichever comes first. So ranks that
/// take turns at polling, and wait when they find nothing, run through hours of it in no time.
/// They may be threads as well; what happens then depends on how these take turns.
pub struct Sim {
    world: Arc<Mutex<World>>,
}

impl Sim {
    /// A world of `peers` peers with default limits and wires: the network at index i is peer i.
    pub fn new(peers: u16, faults: Faults, seed: u64) -> (Sim, Vec<SimNetwork>) {
        Self::with(
            peers,
            DeviceLimits::default(),
            LinkParameters::default(),
            faults,
            seed,
        )
    }

    /// A world with other limits and wires.
    pub fn with(
        peers: u16,
        limits: DeviceLimits,
        parameters: LinkParameters,
        faults: Faults,
        seed: u64,
    ) -> (Sim, Vec<SimNetwork>) {
        let world = World::new(peers, limits, parameters, faults, seed);
        let world = Arc::new(Mutex::new(world));
        let network = |peer| SimNetwork::new(Peer(peer), world.clone());
        let networks = (0..peers).map(network).collect();
        (Sim { world }, networks)
    }

    /// Another wire between two peers, in one direction, for frames that set out from now on. Peers that are not
    /// there have none.
    pub fn set_link(&self, from: Peer, to: Peer, parameters: LinkParameters) {
        lock(&self.world).set_link(from, to, parameters);
    }

    /// Another plan from now on. Its times still count from the beginning of the world.
    pub fn set_faults(&self, faults: Faults) {
        lock(&self.world).faults = faults;
    }

    /// Nanoseconds since the world began.
    pub fn now(&self) -> u64 {
        lock(&self.world).now
    }

    /// Lets that many nanoseconds pass.
    pub fn advance(&self, nanoseconds: u64) {
        let mut world = lock(&self.world);
        let then = world.now.saturating_add(nanoseconds);
        world.run_to(then);
    }

    /// Lets time pass until the next frame arrives. False if none is under way.
    pub fn step(&self) -> bool {
        let mut world = lock(&self.world);
        let next = world.in_flight.next();
        if let Some(then) = next {
            world.run_to(then);
        }
        next.is_some()
    }

    /// Stops a peer now, as a crash in the plan does.
    pub fn crash(&self, peer: Peer) {
        lock(&self.world).stop(peer);
    }

    /// Has the peer neither crashed nor been dropped? Peers themselves cannot see this.
    pub fn is_up(&self, peer: Peer) -> bool {
        lock(&self.world).is_up(peer)
    }

    /// No frame is on a wire or waits to be polled by a peer that is up.
    pub fn is_quiet(&self) -> bool {
        lock(&self.world).is_quiet()
    }

    /// What has happened to frames so far.
    pub fn counts(&self) -> FaultCounts {
        lock(&self.world).counts
    }
}
