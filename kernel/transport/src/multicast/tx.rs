//! How frames of a group leave. `multicast` only.

use super::frame::{ALL, FrameHeader};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U16;

/// To one peer.
pub(super) fn transmit<N: Network>(
    network: &mut N,
    to: Peer,
    mut head: FrameHeader,
    [first, second]: [Part<'_>; 2],
) -> Result<(), ChannelError> {
    finish(network, to, &mut head, &[first, second]);
    network.transmit(to, &[Part::Bytes(head.as_bytes()), first, second])
}

/// To all.
pub(super) fn broadcast<N: Broadcast>(
    network: &mut N,
    mut head: FrameHeader,
    [first, second]: [Part<'_>; 2],
) -> Result<(), ChannelError> {
    finish(network, ALL, &mut head, &[first, second]);
    network.broadcast(&[Part::Bytes(head.as_bytes()), first, second])
}

/// Nothing.
pub(super) const NOTHING: Part<'static> = Part::Bytes(&[]);

fn finish<N: Network>(network: &N, to: Peer, head: &mut FrameHeader, parts: &[Part<'_>]) {
    // Bounded by the MTU, which is less than 2^16.
    head.len = U16::new(Part::total(parts) as u16);
    if !network.is_checked() {
        head.set_checksum((network.me(), to), parts);
    }
}
