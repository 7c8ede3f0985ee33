//! The predicted time of an operation by an algorithm, from the times of messages. `selection` compares them.

use super::algorithm::{Algorithm, Operation};
use super::message_times::MessageTimes;
use super::segmentation::{blocks, segments};
use super::tree_form::{Form, best_block, table};
use pombo_collective::model::{Network, OptimalTree, Prediction};
use pombo_collective::topology::Binomial as Contiguous;
use pombo_netdrivers::tuning::CHAIN_SEGMENT;

/// Most ranks whose operations are predicted: a prediction takes up to the square of them in steps.
const RANKS: usize = 256;
/// Most bytes of an operation that is predicted, so that sums of times stay numbers.
const BYTES: usize = 1 << 32;

/// Returns the time of an operation in nanoseconds; `None` for `two_level` and algorithms that do not go by messages, and for more ranks
/// or bytes than are predicted. `bytes` counts as in [`super::Rule`].
pub(super) fn predict(
    times: &MessageTimes,
    operation: Operation,
    algorithm: Algorithm,
    (ranks, bytes, several_hosts): (usize, usize, bool),
) -> Option<u64> {
    use Algorithm::*;
    // The sites of `two_level` are not known here.
    let is_known = algorithm.is_by_messages() && algorithm != TwoLevel;
    if !is_known || ranks > RANKS || bytes > BYTES {
        return None;
    }
    if ranks < 2 {
        return Some(0);
    }
    let prediction = Prediction::new(times, ranks);
    let parts = blocks(bytes, 1, algorithm, (ranks, several_hosts));
    let form = Form::of(algorithm, || best_block(times.message(bytes), ranks));
    // Of all-gather and reduce-scatter, where `bytes` are those of all blocks.
    let block = bytes / ranks;
    Some(match (operation, algorithm) {
        (Operation::Barrier, RecursiveDoubling) => prediction.barrier_dissemination(),
        (Operation::Barrier, _) => prediction.barrier_tree(form),
        (Operation::Bcast, ScatterAllgather) => {
            prediction.broadcast_scatter_allgather(Contiguous, bytes)
        }
        (Operation::Bcast, Optimal) => {
            OptimalTree::new(times.message(bytes), &mut table(ranks)).latency(ranks)
        }
        (Operation::Bcast, _) => prediction.broadcast(form, bytes, parts),
        (Operation::Gather, Binomial) => prediction.gather_tree(Contiguous, bytes),
        (Operation::Gather, _) => prediction.gather(bytes),
        (Operation::Scatter, Binomial) => prediction.scatter_tree(Contiguous, bytes),
        (Operation::Scatter, _) => prediction.scatter(bytes),
        (Operation::Allgather, Linear) => prediction.allgather_linear(form, block),
        (Operation::Allgather, SpreadOut) => prediction.allgather_spread_out(block, ranks),
        (Operation::Allgather, RecursiveDoubling) => prediction.allgather_recursive_doubling(block),
        (Operation::Allgather, _) => prediction.allgather(block),
        (Operation::Alltoall, Bruck) => prediction.alltoall_bruck(bytes),
        (Operation::Alltoall, Pairwise) => prediction.alltoall(bytes, 1),
        (Operation::Alltoall, _) => prediction.alltoall(bytes, ranks),
        (Operation::Reduce, Chain) if ranks == 2 => {
            prediction.reduce_pair(bytes, segments(bytes, 1, CHAIN_SEGMENT))
        }
        (Operation::Reduce, _) => prediction.reduce(form, bytes, parts),
        (Operation::Allreduce, RecursiveDoubling) => prediction.allreduce_recursive_doubling(bytes),
        (Operation::Allreduce, Rabenseifner) => prediction.allreduce_rabenseifner(bytes),
        (Operation::Allreduce, Ring) => prediction.allreduce_ring(bytes),
        (Operation::Allreduce, _) => prediction.allreduce(form, bytes, parts),
        (Operation::ReduceScatter, Ring) => prediction.reduce_scatter_ring(block),
        (Operation::ReduceScatter, _) => prediction.reduce_scatter(form, block),
        (Operation::Scan, Chain) => prediction.scan(bytes),
        (Operation::Scan, _) => prediction.scan_recursive_doubling(bytes),
        (Operation::Exscan, Chain) => prediction.exscan(bytes),
        (Operation::Exscan, _) => prediction.exscan_recursive_doubling(bytes),
    })
}
