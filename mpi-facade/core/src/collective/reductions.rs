//! The reducing calls: the checks, the memory and the schedule of each.

use super::adaptive;
use super::buffers::items;
use super::flat_reductions::{
    Reduced, allreduce_by_messages, allreduce_shm, reduce_by_messages, reduce_shm,
};
use super::hierarchical;
use super::intercommunicator;
use super::layout::{Cut, Layout};
use super::operation::PreparedOperation;
use super::p2p_executor::OperationBuffers as Memory;
use super::prepare::{Call, by_messages, prepare, prepare_rooted};
use super::scratch::Scratch;
use super::{Collective, Numbers, Operation};
use crate::constants::Comm;
use crate::datatype::Datatypes;
use crate::error::Error;
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::ffi::c_int;

/// Prepares `MPI_Reduce`.
pub fn reduce(reduced: Reduced<'_>, root: c_int, comm: Comm) -> impl Collective {
    let fast_path = move |call: &mut Call<'_>| {
        let is_root = call.position.is_root();
        if !reduced.commutes(call.objects()) {
            return Ok(false);
        }
        let bytes = |datatypes: &Datatypes| reduced.bytes(datatypes, is_root);
        let mut run = || match call.is_hierarchical(Operation::Reduce, bytes)? {
            true => hierarchical::reduce(call, reduced),
            false if reduce_shm(call, reduced)? => Ok(true),
            false if call.is_adaptive(Operation::Reduce)? => adaptive::reduce(call, reduced),
            false => Ok(false),
        };
        let done = run();
        if done.is_err() {
            adaptive::join_refused(call, Operation::Reduce);
        }
        done
    };
    prepare_rooted(
        Operation::Reduce,
        comm,
        root,
        fast_path,
        move |call| match call.is_inter {
            false => reduce_by_messages(call, reduced),
            true => intercommunicator::reduce(call, reduced),
        },
    )
}

/// Prepares `MPI_Allreduce`.
pub fn allreduce(reduced: Reduced<'_>, comm: Comm) -> impl Collective {
    let fast_path = move |call: &mut Call<'_>| {
        if !reduced.commutes(call.objects()) {
            return Ok(false);
        }
        let bytes = |datatypes: &Datatypes| reduced.bytes(datatypes, true);
        match call.is_hierarchical(Operation::Allreduce, bytes)? {
            true => hierarchical::allreduce(call, reduced),
            false => allreduce_shm(call, reduced),
        }
    };
    prepare(
        Operation::Allreduce,
        comm,
        fast_path,
        move |call| match call.is_inter {
            false => allreduce_by_messages(call, reduced),
            true => intercommunicator::allreduce(call, reduced),
        },
    )
}

/// Prepares `MPI_Scan`.
pub fn scan(reduced: Reduced<'_>, comm: Comm) -> impl Collective {
    by_messages(Operation::Scan, comm, 0, move |call| {
        call.record()?.check_intra()?;
        let (reduction, input) = (
            reduced.reduction(call.objects(), true)?,
            reduced.input(call.datatypes())?,
        );
        let algorithm = call.select(Operation::Scan, input.bytes())?;
        let (own, incoming) = call.pool().like(&input)?;
        Ok(PreparedOperation {
            steps: call.position.scan(algorithm),
            then: None,
            memory: Memory {
                input,
                work: reduced.output(call.datatypes())?,
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
        call.record()?.check_intra()?;
        let reduction = reduced.reduction(call.objects(), call.position.rank > 0)?;
        let input = reduced.input(call.datatypes())?;
        let output = match call.position.rank {
            0 => Layout::nothing(),
            _ => reduced.output(call.datatypes())?,
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
        let ranks = call.record()?.group().len();
        let ends = (1..=ranks).map(|block| block.saturating_mul(count));
        spread(call, reduced, &ends.collect::<Vec<_>>())
    })
}

/// Prepares `MPI_Reduce_scatter`: `counts` has the items of every block; the buffers' own count is ignored.
pub fn reduce_scatter(reduced: Reduced<'_>, counts: Numbers, comm: Comm) -> impl Collective {
    // The array is read once, for all starts of a persistent request.
    let known = OnceCell::new();
    by_messages(Operation::ReduceScatter, comm, 0, move |call| {
        let ranks = call.record()?.group().len();
        let ends = match known.get() {
            Some(ends) => ends,
            None => {
                let ends = ends_of(counts, ranks)?;
                known.get_or_init(|| ends)
            }
        };
        spread(call, reduced, ends)
    })
}

/// Returns the item at which each block ends.
fn ends_of(counts: Numbers, ranks: usize) -> Result<Vec<usize>, Error> {
    counts.present()?;
    let mut ends = Vec::with_capacity(ranks);
    let mut end = 0_usize;
    for block in 0..ranks {
        end = items(end as i64 + items(counts.get(block))? as i64)?;
        ends.push(end);
    }
    Ok(ends)
}

fn spread(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
    ends: &[usize],
) -> Result<PreparedOperation, Error> {
    if call.is_inter {
        return intercommunicator::reduce_scatter(call, reduced, ends);
    }
    let position = call.position;
    let reduction = reduced.reduction(call.objects(), true)?;
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
    let input = with(all).input(call.datatypes())?.cut(Cut::At(ends.into()));
    let output = with(ends[position.rank] - before).output(call.datatypes())?;
    let algorithm = call.select_for(&reduction, Operation::ReduceScatter, input.bytes())?;
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
