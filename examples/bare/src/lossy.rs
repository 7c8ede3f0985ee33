//! A network that loses frames on purpose: real devices do not on demand.

use crate::composition::Windows;
use crate::report::Report;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::{Arrival, Network};
use pombo_transport::Reliable;

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
}

/// A channel that tells what became of its frames.
pub trait Reported {
    /// Prints it.
    fn report(&self, report: &mut Report<'_>);
}

impl<N: Network> Reported for Reliable<Lossy<N>, Windows> {
    fn report(&self, report: &mut Report<'_>) {
        let counts = self.counts();
        report.text("frames: ").number(counts.sent).text(" sent, ");
        report
            .number(counts.resent)
            .text(" again, ")
            .number(counts.received)
            .text(" received, ");
        report
            .number(self.network().lost.into())
            .text(" lost on purpose\n");
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
