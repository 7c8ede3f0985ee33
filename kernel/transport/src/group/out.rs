//! How frames of a group leave. `group` only.

use super::frame::{ALL, Head};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U16;

/// To one node.
pub(super) fn transmit<N: Network>(
    network: &mut N,
    to: Node,
    mut head: Head,
    [first, second]: [Part<'_>; 2],
) -> Result<(), ChannelError> {
    finish(network, to, &mut head, &[first, second]);
    network.transmit(to, &[Part::Bytes(head.as_bytes()), first, second])
}

/// To all.
pub(super) fn broadcast<N: Broadcast>(
    network: &mut N,
    mut head: Head,
    [first, second]: [Part<'_>; 2],
) -> Result<(), ChannelError> {
    finish(network, ALL, &mut head, &[first, second]);
    network.broadcast(&[Part::Bytes(head.as_bytes()), first, second])
}

/// Nothing.
pub(super) const NOTHING: Part<'static> = Part::Bytes(&[]);

fn finish<N: Network>(network: &N, to: Node, head: &mut Head, parts: &[Part<'_>]) {
    // Bounded by the MTU, which is less than 2^16.
    head.len = U16::new(Part::total(parts) as u16);
    if !network.is_checked() {
        head.seal((network.node(), to), parts);
    }
}
