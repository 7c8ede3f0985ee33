//! A simulated network of many peers with a clock of its own, for tests of protocols over networks.

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
/// Time advances only by [`Sim::advance`], by [`Sim::step`], or by the peers: when every peer that is up waits, the
/// clock jumps to the next arrival or the first timer, whichever comes first. So ranks that poll by turns, and wait
/// when they find nothing, run through hours of simulated time at once. Peers may be threads as well; the result then
/// depends on their scheduling.
pub struct Sim {
    world: Arc<Mutex<World>>,
}

impl Sim {
    /// Creates a world of `peers` peers with default limits and links: the network at index i is peer i.
    pub fn new(peers: u16, faults: Faults, seed: u64) -> (Sim, Vec<SimNetwork>) {
        Self::with(
            peers,
            DeviceLimits::default(),
            LinkParameters::default(),
            faults,
            seed,
        )
    }

    /// Creates a world with other limits and links.
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

    /// Sets the link from one peer to another, for frames that are sent from now on. Peers that do not exist have none.
    pub fn set_link(&self, from: Peer, to: Peer, parameters: LinkParameters) {
        lock(&self.world).set_link(from, to, parameters);
    }

    /// Sets the faults from now on. Their times still count from the beginning of the world.
    pub fn set_faults(&self, faults: Faults) {
        lock(&self.world).faults = faults;
    }

    /// Returns the nanoseconds since the world began.
    pub fn now(&self) -> u64 {
        lock(&self.world).now
    }

    /// Advances the clock by this many nanoseconds.
    pub fn advance(&self, nanoseconds: u64) {
        let mut world = lock(&self.world);
        let then = world.now.saturating_add(nanoseconds);
        world.run_to(then);
    }

    /// Advances the clock to the next arrival of a frame. Returns false if none is under way.
    pub fn step(&self) -> bool {
        let mut world = lock(&self.world);
        let next = world.in_flight.next();
        if let Some(then) = next {
            world.run_to(then);
        }
        next.is_some()
    }

    /// Stops a peer now, as a crash in the plan of faults does.
    pub fn crash(&self, peer: Peer) {
        lock(&self.world).stop(peer);
    }

    /// Returns whether the peer has neither crashed nor been dropped. Peers themselves cannot see this.
    pub fn is_up(&self, peer: Peer) -> bool {
        lock(&self.world).is_up(peer)
    }

    /// Returns whether no frame is on a link or waits to be polled by a peer that is up.
    pub fn is_quiet(&self) -> bool {
        lock(&self.world).is_quiet()
    }

    /// Returns the counts of frames and faults so far.
    pub fn counts(&self) -> FaultCounts {
        lock(&self.world).counts
    }
}
