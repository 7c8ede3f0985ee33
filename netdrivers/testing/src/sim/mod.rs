//! A network of many nodes with a clock of its own. Protocols over networks are tested on it.

mod limits;
mod network;
mod world;

pub use limits::{DeviceLimits, LinkParameters};
pub use network::SimNetwork;

use pombo_kernel::header::Node;
use pombo_netdrivers::fault::{FaultCounts, Faults};
use std::sync::{Arc, Mutex};
use world::{World, lock};

/// The world behind its [`SimNetwork`]s, and its clock.
///
/// Time stands still unless someone moves it: [`Sim::advance`], [`Sim::step`], or the nodes themselves. When every
/// node that is up waits, the clock jumps to the next arrival or the first timer, whichever comes first. So ranks that
/// take turns at polling, and wait when they find nothing, run through hours of it in no time.
/// They may be threads as well; what happens then depends on how these take turns.
pub struct Sim {
    world: Arc<Mutex<World>>,
}

impl Sim {
    /// A world of `nodes` nodes with default limits and wires: the network at index i is node i.
    pub fn new(nodes: u16, faults: Faults, seed: u64) -> (Sim, Vec<SimNetwork>) {
        Self::with(nodes, DeviceLimits::default(), LinkParameters::default(), faults, seed)
    }

    /// A world with other limits and wires.
    pub fn with(
        nodes: u16,
        limits: DeviceLimits,
        parameters: LinkParameters,
        faults: Faults,
        seed: u64,
    ) -> (Sim, Vec<SimNetwork>) {
        let world = World::new(nodes, limits, parameters, faults, seed);
        let world = Arc::new(Mutex::new(world));
        let network = |node| SimNetwork::new(Node(node), world.clone());
        let networks = (0..nodes).map(network).collect();
        (Sim { world }, networks)
    }

    /// Another wire between two nodes, in one direction, for frames that set out from now on. Nodes that are not
    /// there have none.
    pub fn set_link(&self, from: Node, to: Node, parameters: LinkParameters) {
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

    /// Stops a node now, as a crash in the plan does.
    pub fn crash(&self, node: Node) {
        lock(&self.world).stop(node);
    }

    /// Has the node neither crashed nor been dropped? Nodes themselves cannot see this.
    pub fn is_up(&self, node: Node) -> bool {
        lock(&self.world).is_up(node)
    }

    /// No frame is on a wire or waits to be polled by a node that is up.
    pub fn is_quiet(&self) -> bool {
        lock(&self.world).is_quiet()
    }

    /// What has happened to frames so far.
    pub fn counts(&self) -> FaultCounts {
        lock(&self.world).counts
    }
}
