//! One node's device in a simulated network.

use super::world::World;
use crate::InPlace;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use std::cell::RefCell;
use std::rc::Rc;
use std::vec::Vec;

/// One node of a [`Sim`](super::Sim). Dropping it stops the node. At a node that has stopped every call fails with
/// [`CRASHED`](crate::fault::CRASHED).
pub struct SimNetwork {
    node: Node,
    world: Rc<RefCell<World>>,
    /// The frame that is put together; kept for its memory.
    frame: Vec<u8>,
}

/// Frames handed out by one poll.
const BATCH: usize = 32;

impl SimNetwork {
    pub(super) fn new(node: Node, world: Rc<RefCell<World>>) -> Self {
        SimNetwork {
            node,
            world,
            frame: Vec::new(),
        }
    }
}

impl Network for SimNetwork {
    type Frame<'a> = InPlace<'a>;

    fn node(&self) -> Node {
        self.node
    }

    fn nodes(&self) -> usize {
        self.world.borrow().nodes()
    }

    fn mtu(&self) -> usize {
        self.world.borrow().limits.mtu
    }

    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let mut world = self.world.borrow_mut();
        world.check(self.node)?;
        let limit = world.limits.mtu;
        if Part::total(parts) > limit {
            return Err(ChannelError::TooLong { limit });
        }
        world.wake(self.node);
        self.frame.clear();
        for part in parts {
            let at = self.frame.len();
            self.frame.resize(at + part.len(), 0);
            part.copy_to(0, &mut self.frame[at..]);
        }
        world.transmit(self.node, to, &self.frame)
    }

    fn poll(&mut self, mut f: impl FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        let mut any = false;
        for _ in 0..BATCH {
            let mut world = self.world.borrow_mut();
            world.check(self.node)?;
            let Some((from, frame)) = world.take(self.node) else {
                break;
            };
            world.wake(self.node);
            drop(world);
            any = true;
            f(InPlace::new(from, &frame));
        }
        Ok(any)
    }

    fn wait(&mut self, _idle: u32, until: u64) -> Result<(), ChannelError> {
        let mut world = self.world.borrow_mut();
        world.check(self.node)?;
        world.wait(self.node, until);
        Ok(())
    }

    fn now(&self) -> u64 {
        self.world.borrow().now
    }
}

impl Drop for SimNetwork {
    fn drop(&mut self) {
        self.world.borrow_mut().stop(self.node);
    }
}
