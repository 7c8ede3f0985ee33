//! One node's device in a simulated network.

use super::world::{World, lock};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_transport::ContiguousFrame;
use std::sync::{Arc, Mutex, MutexGuard};

/// One node of a [`Sim`](super::Sim). Dropping it stops the node. At a node that has stopped every call fails with
/// [`CRASHED`](pombo_netdrivers::fault::CRASHED).
pub struct SimNetwork {
    node: Node,
    world: Arc<Mutex<World>>,
    /// The frame that is put together; kept for its memory.
    frame: Vec<u8>,
}

/// Frames handed out by one poll.
const BATCH: usize = 32;

impl SimNetwork {
    pub(super) fn new(node: Node, world: Arc<Mutex<World>>) -> Self {
        SimNetwork {
            node,
            world,
            frame: Vec::new(),
        }
    }
}

/// Puts the parts together, at a node that may send.
fn assemble<'w>(
    world: &'w Mutex<World>,
    node: Node,
    frame: &mut Vec<u8>,
    parts: &[Part<'_>],
) -> Result<MutexGuard<'w, World>, ChannelError> {
    let mut world = lock(world);
    world.check(node)?;
    let limit = world.limits.mtu;
    if Part::total(parts) > limit {
        return Err(ChannelError::TooLong { limit });
    }
    world.wake(node);
    frame.clear();
    for part in parts {
        let at = frame.len();
        frame.resize(at + part.len(), 0);
        part.copy_to(0, &mut frame[at..]);
    }
    Ok(world)
}

impl Network for SimNetwork {
    type Frame<'a> = ContiguousFrame<'a>;

    fn node(&self) -> Node {
        self.node
    }

    fn nodes(&self) -> usize {
        lock(&self.world).nodes()
    }

    fn mtu(&self) -> usize {
        lock(&self.world).limits.mtu
    }

    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let mut world = assemble(&self.world, self.node, &mut self.frame, parts)?;
        world.transmit(self.node, to, &self.frame)
    }

    fn poll(&mut self, mut f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        let mut any = false;
        for _ in 0..BATCH {
            let mut world = lock(&self.world);
            world.check(self.node)?;
            let Some((from, frame)) = world.take(self.node) else {
                break;
            };
            world.wake(self.node);
            drop(world);
            any = true;
            f(ContiguousFrame::new(from, &frame));
        }
        Ok(any)
    }

    fn wait(&mut self, _idle: u32, until: u64) -> Result<(), ChannelError> {
        let mut world = lock(&self.world);
        world.check(self.node)?;
        world.wait(self.node, until);
        Ok(())
    }

    fn now(&self) -> u64 {
        lock(&self.world).now
    }
}

/// On every wire of the node at once, as through a switch. If one has no room none takes it.
impl Broadcast for SimNetwork {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let mut world = assemble(&self.world, self.node, &mut self.frame, parts)?;
        world.broadcast(self.node, &self.frame)
    }
}

impl Drop for SimNetwork {
    fn drop(&mut self) {
        lock(&self.world).stop(self.node);
    }
}
