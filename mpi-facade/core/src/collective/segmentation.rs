//! Into how many pieces algorithms cut their data.

use super::algorithm::Algorithm;
use crate::message_header::EAGER;
use pombo_collective::Segments;
use pombo_netdrivers::tuning::CHAIN_SEGMENT;

/// Returns the number of segments of at most so many bytes, for that many items of `size` bytes.
pub(super) fn segments(items: usize, size: usize, bytes: usize) -> usize {
    let most = (bytes / size.max(1)).max(1);
    Segments::at_most(items, most).blocks().max(1)
}

/// Returns the number of blocks of an algorithm for so many items of `size` bytes.
pub(super) fn blocks(
    items: usize,
    size: usize,
    algorithm: Algorithm,
    (ranks, several_hosts): (usize, bool),
) -> usize {
    match algorithm {
        Algorithm::Chain => segments(items, size, chain_segment(several_hosts)),
        Algorithm::ScatterAllgather | Algorithm::Ring => ranks,
        Algorithm::Rabenseifner => 1 << ranks.ilog2(),
        _ => 1,
    }
}

/// Returns the segment of a chain, in bytes. Between hosts it is sent without asking: a rank's request for the next one
/// would wait on its line behind the segment that it forwards, so each segment would take twice its time.
const fn chain_segment(several_hosts: bool) -> usize {
    match several_hosts {
        true => EAGER,
        false => CHAIN_SEGMENT,
    }
}
