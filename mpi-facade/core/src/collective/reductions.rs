//! The reducing calls: the checks, the memory and the schedule of each.

use super::buffers::items;
use super::flat_reductions::{
    Reduced, allreduce_by_messages, allreduce_shm, reduce_by_messages, reduce_shm,
};
use super::hierarchical;
use super::layout::{Cut, Layout};
use super::operation::PreparedOperation;
use super::p2p_executor::OperationBuffers as Memory;
use super::prepare::{Call, by_messages, prepare, prepare_rooted};
use super::scratch::Scratch;
use super::{Collective, Numbers, Operation};
use crate::constants::Comm;
use crate::error::Error;
use alloc::vec::Vec;
use core::ffi::c_int;

/// Prepares `MPI_Reduce`.
pub fn reduce(reduced: Reduced<'_>, root: c_int, comm: Comm) -> impl Collective {
    let fast_path = move |call: &mut Call<'_>| {
        let is_root = call.position.is_root();
        match call.is_hierarchical(Operation::Reduce, || reduced.bytes(is_root))? {
            true => hierarchical::reduce(call, reduced),
            false => reduce_shm(call, reduced),
        }
    };
    prepare_rooted(Operation::Reduce, comm, root, fast_path, move |call| {
        reduce_by_messages(call, reduced)
    })
}

/// Prepares `MPI_Allreduce`.
pub fn allreduce(reduced: Reduced<'_>, comm: Comm) -> impl Collective {
    let fast_path = move |call: &mut Call<'_>| match call
        .is_hierarchical(Operation::Allreduce, || reduced.bytes(true))?
    {
        true => hierarchical::allreduce(call, reduced),
        false => allreduce_shm(call, reduced),
    };
    prepare(Operation::Allreduce, comm, fast_path, move |call| {
        allreduce_by_messages(call, reduced)
    })
}

/// Prepares `MPI_Scan`.
pub fn scan(reduced: Reduced<'_>, comm: Comm) -> impl Collective {
    by_messages(Operation::Scan, comm, 0, move |call| {
        let (reduction, input) = (reduced.reduction(true)?, reduced.input()?);
        let algorithm = call.select(Operation::Scan, input.bytes())?;
        let (own, incoming) = call.pool().like(&input)?;
        Ok(PreparedOperation {
            steps: call.position.scan(algorithm),
            then: None,
            memory: Memory {
                input,
                work: reduced.output()?,
                incoming,
                reduction: Some(reduction),
                ..Memory::nothing()
            },
            scratch: [own, Scratch::default()],
        })
    })
}

/// Prepares `MPI_Exscan`. Rank 0 gets no result.
pub fn exscan(reduced: Reduced<'_>, comm: Comm) -> impl Collective {
    by_messages(Operation::Exscan, comm, 0, move |call| {
        let reduction = reduced.reduction(call.position.rank > 0)?;
        let input = reduced.input()?;
        let output = match call.position.rank {
            0 => Layout::nothing(),
            _ => reduced.output()?,
        };
        let algorithm = call.select(Operation::Exscan, input.bytes())?;
        let (own, incoming) = call.pool().like(&input)?;
        let (temporary, work) = call.pool().like(&input)?;
        Ok(PreparedOperation {
            steps: call.position.exscan(algorithm),
            then: None,
            memory: Memory {
                input,
                output,
                work,
                incoming,
                reduction: Some(reduction),
            },
            scratch: [own, temporary],
        })
    })
}

/// Prepares `MPI_Reduce_scatter_block`: `count` is that of one block.
pub fn reduce_scatter_block(reduced: Reduced<'_>, comm: Comm) -> impl Collective {
    by_messages(Operation::ReduceScatter, comm, 0, move |call| {
        let count = items(reduced.count)?;
        let ends = (1..=call.position.ranks).map(|block| block.saturating_mul(count));
        spread(call, reduced, ends.collect())
    })
}

/// Prepares `MPI_Reduce_scatter`: `counts` has the items of every block; the buffers' own count is ignored.
pub fn reduce_scatter(reduced: Reduced<'_>, counts: Numbers, comm: Comm) -> impl Collective {
    by_messages(Operation::ReduceScatter, comm, 0, move |call| {
        counts.present()?;
        let mut ends = Vec::with_capacity(call.position.ranks);
        let mut end = 0_usize;
        for block in 0..call.position.ranks {
            end = items(end as i64 + items(counts.get(block))? as i64)?;
            ends.push(end);
        }
        spread(call, reduced, ends)
    })
}

fn spread(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
    ends: Vec<usize>,
) -> Result<PreparedOperation, Error> {
    let position = call.position;
    let reduction = reduced.reduction(true)?;
    let all = ends.last().copied().unwrap_or(0);
    let before = position
        .rank
        .checked_sub(1)
        .map_or(0, |before| ends[before]);
    let with = |count| Reduced {
        count: i64::try_from(count).unwrap_or(i64::MAX),
        ..reduced
    };
    // With `MPI_IN_PLACE` the receive buffer holds the data of all blocks, and the result of one block goes to its
    // start.
    let input = with(all).input()?.cut(Cut::At(ends.as_slice().into()));
    let output = with(ends[position.rank] - before).output()?;
    let algorithm = call.select(Operation::ReduceScatter, input.bytes())?;
    let (own, incoming) = call.pool().like(&input)?;
    let (temporary, work) = call.pool().like(&input)?;
    Ok(PreparedOperation {
        steps: position.reduce_scatter(algorithm),
        then: None,
        memory: Memory {
            input,
            output,
            work,
            incoming,
            reduction: Some(reduction),
        },
        scratch: [own, temporary],
    })
}
