//! A network that is believed, so that tests can write frames by hand.

use pombo_kernel::channel::ChannelError;
use pombo_kernel::network::{Broadcast, Network};
use pombo_kernel::{Arrival, Part};
use pombo_testing::{Sim, SimNetwork};
use pombo_transport::ContiguousFrame;

/// Says that it checks frames: they carry no sums.
pub(crate) struct Trusted(pub(crate) SimNetwork);

impl Network for Trusted {
    type Frame<'a> = ContiguousFrame<'a>;

    pombo_kernel::forward_network! { 0: me, peers, mtu, transmit, set_corked, poll, wait, wait_sources, now }

    fn is_checked(&self) -> bool {
        true
    }
}

impl Broadcast for Trusted {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.0.broadcast(parts)
    }
}

/// The frames that have come to that peer, as bytes.
pub(crate) fn frames<N: Network>(sim: &Sim, network: &mut N) -> Vec<Vec<u8>> {
    sim.advance(1_000_000);
    let mut frames = Vec::new();
    while network
        .poll(|frame| {
            let mut bytes = Vec::new();
            frame.for_each_chunk(0, frame.len(), |piece| bytes.extend_from_slice(piece));
            frames.push(bytes);
        })
        .expect("it is up")
    {}
    frames
}
