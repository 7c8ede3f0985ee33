//! Into how many pieces algorithms cut their data.

use super::algorithm::Algorithm;
use pombo_collective::Segments;
use pombo_netdrivers::tuning::{CHAIN_SEGMENT, PAIR_SEGMENT};

/// Returns the number of segments of at most so many bytes, for that many items of `size` bytes.
pub(super) fn segments(items: usize, size: usize, bytes: usize) -> usize {
    let most = (bytes / size.max(1)).max(1);
    Segments::at_most(items, most).blocks().max(1)
}

/// Returns the number of blocks of an algorithm for so many items of `size` bytes.
pub(super) fn blocks(items: usize, size: usize, algorithm: Algorithm, ranks: usize) -> usize {
    match algorithm {
        Algorithm::Chain => segments(items, size, CHAIN_SEGMENT),
        Algorithm::ScatterAllgather | Algorithm::Ring => ranks,
        Algorithm::Rabenseifner => 1 << ranks.ilog2(),
        _ => 1,
    }
}

/// Returns the segment of a reduction between two ranks, in bytes.
pub(super) const fn pair_segment(several_hosts: bool) -> usize {
    match several_hosts {
        true => CHAIN_SEGMENT,
        false => PAIR_SEGMENT,
    }
}
