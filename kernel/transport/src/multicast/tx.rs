//! Transmits the frames of a group. Only `multicast` uses it.

use super::frame::{ALL, FrameHeader};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U16;

/// Transmits a frame to one peer.
pub(super) fn transmit<N: Network>(
    network: &mut N,
    to: Peer,
    mut head: FrameHeader,
    [first, second]: [Part<'_>; 2],
) -> Result<(), ChannelError> {
    finish(network, to, &mut head, &[first, second]);
    network.transmit(to, &[Part::Bytes(head.as_bytes()), first, second])
}

/// Broadcasts a frame to all peers.
pub(super) fn broadcast<N: Broadcast>(
    network: &mut N,
    mut head: FrameHeader,
    [first, second]: [Part<'_>; 2],
) -> Result<(), ChannelError> {
    finish(network, ALL, &mut head, &[first, second]);
    network.broadcast(&[Part::Bytes(head.as_bytes()), first, second])
}

/// The empty payload.
pub(super) const NOTHING: Part<'static> = Part::Bytes(&[]);

fn finish<N: Network>(network: &N, to: Peer, head: &mut FrameHeader, parts: &[Part<'_>]) {
    // The length is bounded by the MTU, which is less than 2^16.
    head.len = U16::new(Part::total(parts) as u16);
    if !network.is_checked() {
        head.set_checksum((network.me(), to), parts);
    }
}
