//! A network that carries frames for one, and those for all not or not any more, as where somebody filters multicast.

use pombo_kernel::channel::ChannelError;
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
