//! A network that is believed, so that tests can write frames by hand.

use pombo_kernel::channel::ChannelError;
use pombo_kernel::network::{Broadcast, Network};
use pombo_kernel::{Arrival, Part, Peer};
use pombo_testing::{Sim, SimNetwork};
use pombo_transport::ContiguousFrame;

/// Says that it checks frames: they carry no sums.
pub(crate) struct Trusted(pub(crate) SimNetwork);

impl Network for Trusted {
    type Frame<'a> = ContiguousFrame<'a>;

    fn is_checked(&self) -> bool {
        true
    }

    fn me(&self) -> Peer {
        self.0.me()
    }

    fn peers(&self) -> usize {
        self.0.peers()
    }

    fn mtu(&self) -> usize {
        self.0.mtu()
    }

    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.0.transmit(to, parts)
    }

    fn poll(&mut self, f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        self.0.poll(f)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        self.0.wait(idle, until)
    }

    fn now(&self) -> u64 {
        self.0.now()
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
