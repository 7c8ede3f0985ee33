//! A network that loses frames on purpose: real devices do not on demand.

use pombo_kernel::channel::ChannelError;
use pombo_kernel::{Arrival, Network};

/// Loses some of the frames that arrive at the network below.
pub struct Lossy<N> {
    network: N,
    percent: u8,
    state: u32,
    lost: u32,
}

impl<N: Network> Lossy<N> {
    /// Wraps a network that shall lose so many of 100 frames.
    pub fn new(network: N, percent: u8) -> Self {
        let state = 0x9e37_79b9 ^ u32::from(network.me().0);
        Lossy {
            network,
            percent,
            state,
            lost: 0,
        }
    }

    /// Returns how many frames were lost on purpose.
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// Returns the network below.
    pub fn network(&self) -> &N {
        &self.network
    }
}

impl<N: Network> Network for Lossy<N> {
    type Frame<'a> = N::Frame<'a>;

    pombo_kernel::forward_network! {
        network: me, peers, is_checked, mtu, transmit, set_corked, wait, wait_sources, now
    }

    fn poll(&mut self, mut f: impl FnMut(N::Frame<'_>)) -> Result<bool, ChannelError> {
        let Lossy {
            network,
            percent,
            state,
            lost,
        } = self;
        network.poll(|frame| {
            // Xorshift: the upper bits are random enough for this.
            *state ^= *state << 13;
            *state ^= *state >> 17;
            *state ^= *state << 5;
            if (*state >> 16) % 100 < u32::from(*percent) && !frame.is_empty() {
                *lost += 1;
            } else {
                f(frame);
            }
        })
    }
}
