//! One peer's device in a simulated network.

use super::world::{World, lock};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_transport::ContiguousFrame;
use std::sync::{Arc, Mutex, MutexGuard};

/// One peer of a [`Sim`](super::Sim). Dropping it stops the peer. Every call of a stopped peer fails with
/// [`CRASHED`](pombo_netdrivers::fault::CRASHED).
pub struct SimNetwork {
    me: Peer,
    world: Arc<Mutex<World>>,
    /// The frame being assembled; a field so that its memory is reused.
    frame: Vec<u8>,
}

/// Largest number of frames that one poll reports.
const BATCH: usize = 32;

impl SimNetwork {
    pub(super) fn new(me: Peer, world: Arc<Mutex<World>>) -> Self {
        SimNetwork {
            me,
            world,
            frame: Vec::new(),
        }
    }
}

/// Assembles the parts of a frame if the peer may send.
fn assemble<'w>(
    world: &'w Mutex<World>,
    me: Peer,
    frame: &mut Vec<u8>,
    parts: &[Part<'_>],
) -> Result<MutexGuard<'w, World>, ChannelError> {
    let mut world = lock(world);
    world.check(me)?;
    let limit = world.limits.mtu;
    if Part::total(parts) > limit {
        return Err(ChannelError::TooLong { limit });
    }
    world.wake(me);
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

    pombo_kernel::network_defaults! { is_checked, set_corked, wait_sources }

    fn me(&self) -> Peer {
        self.me
    }

    fn peers(&self) -> usize {
        lock(&self.world).peers()
    }

    fn mtu(&self) -> usize {
        lock(&self.world).limits.mtu
    }

    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let mut world = assemble(&self.world, self.me, &mut self.frame, parts)?;
        world.transmit(self.me, to, &self.frame)
    }

    fn poll(&mut self, mut f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        let mut any = false;
        for _ in 0..BATCH {
            let mut world = lock(&self.world);
            world.check(self.me)?;
            let Some((from, frame)) = world.take(self.me) else {
                break;
            };
            world.wake(self.me);
            drop(world);
            any = true;
            f(ContiguousFrame::new(from, &frame));
        }
        Ok(any)
    }

    fn wait(&mut self, _idle: u32, until: u64) -> Result<(), ChannelError> {
        let mut world = lock(&self.world);
        world.check(self.me)?;
        world.wait(self.me, until);
        Ok(())
    }

    fn now(&self) -> u64 {
        lock(&self.world).now
    }
}

/// Broadcasts on every link of the peer at once, as through a switch. If one link has no room, none takes the frame.
impl Broadcast for SimNetwork {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let mut world = assemble(&self.world, self.me, &mut self.frame, parts)?;
        world.broadcast(self.me, &self.frame)
    }
}

impl Drop for SimNetwork {
    fn drop(&mut self) {
        lock(&self.world).stop(self.me);
    }
}
