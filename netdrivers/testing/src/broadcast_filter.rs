//! A network that carries frames for one, and those for all not or not any more, as where somebody filters multicast.

use pombo_kernel::channel::{ChannelError, Wake};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};

/// A network that carries so many frames for all, and then none; those for one it carries.
pub struct BroadcastFilter<N> {
    inner: N,
    broadcasts_left: u32,
}

impl<N> BroadcastFilter<N> {
    /// Over a network, with that many frames for all.
    pub fn new(inner: N, broadcasts_left: u32) -> Self {
        BroadcastFilter { inner, broadcasts_left }
    }
}

impl<N: Network> Network for BroadcastFilter<N> {
    type Frame<'a> = N::Frame<'a>;

    fn is_checked(&self) -> bool {
        self.inner.is_checked()
    }

    fn node(&self) -> Node {
        self.inner.node()
    }

    fn nodes(&self) -> usize {
        self.inner.nodes()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.inner.transmit(to, parts)
    }

    fn gather(&mut self, on: bool) {
        self.inner.gather(on);
    }

    fn poll(&mut self, f: impl FnMut(Self::Frame<'_>)) -> Result<bool, ChannelError> {
        self.inner.poll(f)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        self.inner.wait(idle, until)
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        self.inner.wakes_by()
    }

    fn now(&self) -> u64 {
        self.inner.now()
    }
}

impl<N: Broadcast> Broadcast for BroadcastFilter<N> {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        if self.broadcasts_left == 0 {
            return Ok(());
        }
        self.broadcasts_left -= 1;
        self.inner.broadcast(parts)
    }
}
