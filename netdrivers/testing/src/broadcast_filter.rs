//! A network that carries unicast frames but no broadcasts, or no longer, as where a switch filters multicast.

use pombo_kernel::channel::{ChannelError, WaitSet};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};

/// A network that carries a number of broadcasts and then none; it always carries unicast frames.
pub struct BroadcastFilter<N> {
    inner: N,
    broadcasts_left: u32,
}

impl<N> BroadcastFilter<N> {
    /// Wraps a network, with this number of broadcasts.
    pub fn new(inner: N, broadcasts_left: u32) -> Self {
        BroadcastFilter {
            inner,
            broadcasts_left,
        }
    }
}

impl<N: Network> Network for BroadcastFilter<N> {
    type Frame<'a> = N::Frame<'a>;

    fn is_checked(&self) -> bool {
        self.inner.is_checked()
    }

    fn me(&self) -> Peer {
        self.inner.me()
    }

    fn peers(&self) -> usize {
        self.inner.peers()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.inner.transmit(to, parts)
    }

    fn set_corked(&mut self, on: bool) {
        self.inner.set_corked(on);
    }

    fn poll(&mut self, f: impl FnMut(Self::Frame<'_>)) -> Result<bool, ChannelError> {
        self.inner.poll(f)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        self.inner.wait(idle, until)
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        self.inner.wait_sources()
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
