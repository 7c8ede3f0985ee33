//! A network that carries unicast frames but no broadcasts, or no longer, as where a switch filters multicast.

use pombo_kernel::channel::ChannelError;
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

    pombo_kernel::forward_network! {
        inner: is_checked, me, peers, mtu, transmit, set_corked, poll, wait, wait_sources, now
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
