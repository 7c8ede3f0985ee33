//! The calls that combine: what each checks, which memory it uses, which schedule runs.

use super::boards::Way;
use super::buffers::{distinct, items};
use super::call::{Call, Ready, Stop, by_messages, cut, prepare, prepare_rooted};
use super::exchange::Buffers as Memory;
use super::layout::{Cut, Layout};
use super::levels;
use super::schedule::Stand;
use super::scratch::Scratch;
use super::sides::{Side, Sides};
use super::{Buffer, Collective, Numbers, Operation};
use crate::constants::{Comm, Datatype, Op};
use crate::error::Error;
use crate::memory::Region;
use crate::op::{self, Reduction};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use pombo_kernel::Source;
use pombo_kernel::collective as kernel;
use pombo_netdrivers::shm::collective::ROUNDS_AHEAD;

/// The buffers of a reduction: as many items in each.
#[derive(Clone, Copy, Debug)]
pub struct Reduced {
    /// What this rank contributes; may be `MPI_IN_PLACE` where the standard allows it.
    pub input: *const c_void,
    /// The result.
    pub output: *mut c_void,
    /// Items.
    pub count: i64,
    /// Of what.
    pub datatype: Datatype,
    /// The operation.
    pub op: Op,
}

impl Reduced {
    /// What combines. A rank that gets a result has other memory for it than for what it contributes.
    fn reduction(&self, result: bool) -> Result<Reduction, Error> {
        let reduction = op::reduction(self.op, self.datatype)?;
        if result && self.input == self.output.cast_const() && self.count > 0 {
            let input = self.at(self.output).region(1)?;
            distinct(&input, &input)?;
        }
        Ok(reduction)
    }

    pub(super) fn at(&self, address: *mut c_void) -> Buffer {
        Buffer {
            address,
            count: self.count,
            datatype: self.datatype,
        }
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.at(self.input.cast_mut()).is_in_place()
    }

    /// What this rank contributes; `MPI_IN_PLACE` has a meaning for some ranks only.
    fn buffer(&self, in_place: bool) -> Buffer {
        match in_place && self.is_in_place() {
            true => self.at(self.output),
            false => self.at(self.input.cast_mut()),
        }
    }

    /// What this rank contributes, where that may be the result's own memory.
    pub(super) fn input(&self) -> Result<Layout, Error> {
        self.buffer(true).whole()
    }

    fn output(&self) -> Result<Layout, Error> {
        self.at(self.output).whole()
    }
}

/// `MPI_Reduce`.
///
/// # Safety
/// The input, and at the root the output, hold `count` items, until the operation is over.
pub unsafe fn reduce(reduced: Reduced, root: c_int, comm: Comm) -> impl Collective {
    let at_once = move |call: &mut Call<'_>| reduce_at_once(call, reduced);
    prepare_rooted(Operation::Reduce, comm, root, at_once, move |call| {
        reduce_by_messages(call, reduced)
    })
}

pub(super) fn reduce_by_messages(call: &mut Call<'_>, reduced: Reduced) -> Result<Ready, Error> {
    let stand = call.stand;
    let reduction = reduced.reduction(stand.is_root())?;
    let input = reduced.buffer(stand.is_root()).whole()?;
    let algorithm = call.pick(Operation::Reduce, input.bytes())?;
    let (input, blocks) = cut(input, algorithm, stand.ranks);
    let is_leaf = stand.is_leaf(algorithm);
    // A leaf sends its input and needs nothing else.
    let nothing = || (Scratch::default(), Layout::nothing());
    let (own, incoming) = match is_leaf {
        true => nothing(),
        false => call.pool().like(&input)?,
    };
    let (temporary, work) = match (stand.is_root(), is_leaf) {
        (true, _) => (Scratch::default(), reduced.output()?.evenly(blocks)),
        (false, true) => nothing(),
        (false, false) => call.pool().like(&input)?,
    };
    Ok(Ready {
        steps: stand.reduce(algorithm, blocks),
        then: None,
        memory: Memory {
            input,
            work,
            incoming,
            reduction: Some(reduction),
            ..Memory::nothing()
        },
        scratch: [own, temporary],
    })
}

/// Among the ranks of this host, to the end.
pub(super) fn reduce_here(call: &mut Call<'_>, reduced: Reduced) -> Result<(), Stop> {
    if !reduce_at_once(call, reduced)? {
        let ready = reduce_by_messages(call, reduced)?;
        call.carry_out(ready)?;
    }
    Ok(())
}

/// Data of all ranks together up to which one rank combines all of it.
const WHOLE: usize = 32 << 10;

fn reduce_at_once(call: &mut Call<'_>, reduced: Reduced) -> Result<bool, Stop> {
    let Stand { rank, ranks, root } = call.stand;
    let is_root = rank == root;
    let reduction = reduced.reduction(is_root)?;
    let input = reduced.buffer(is_root).region(1)?;
    let bytes = Source::len(&input);
    let area = match call.way(Operation::Reduce, bytes)? {
        Way::Boards(area) => area,
        Way::Hosts => return levels::reduce(call, reduced),
        Way::Messages => return Ok(false),
    };
    let Some(item) = Side::item(&input) else {
        return Ok(false);
    };
    let output = match is_root {
        true => reduced.at(reduced.output).region(1)?,
        false => Region::nothing(),
    };
    // Two ranks get no more done together than one by itself.
    if ranks > 2 && bytes.saturating_mul(ranks) > WHOLE {
        return over_shares(call, area, reduction, (input, output), Some(root));
    }
    let (grain, segments) = call.segments(bytes, 1, item);
    let (input, output) = (Side::vector(input, grain), Side::vector(output, grain));
    let sides = Sides {
        reduction: Some(reduction),
        ..Sides::plain(Operation::Reduce, bytes, input, output)
    };
    let place = match reduced.is_in_place() {
        true => kernel::Buffer::Work,
        false => kernel::Buffer::Output,
    };
    let steps = kernel::reduce_boards(rank, ranks, root, segments, place);
    call.run_over(area, steps, &sides)
}

/// Every rank combines its share of every text.
fn over_shares(
    call: &mut Call<'_>,
    area: u8,
    reduction: Reduction,
    (input, output): (Region, Region),
    root: Option<usize>,
) -> Result<bool, Stop> {
    let Stand { rank, ranks, .. } = call.stand;
    let item = input.extent();
    let share = input.items().div_ceil(ranks) * item;
    let (grain, segments) = call.segments(share, ranks, item);
    let operation = match root {
        Some(_) => Operation::Reduce,
        None => Operation::Allreduce,
    };
    let bytes = Source::len(&input);
    let (input, output) = (Side::vector(input, grain), Side::vector(output, grain));
    let sides = Sides {
        scattered: Some(kernel::Buffer::Incoming),
        reduction: Some(reduction),
        ..Sides::plain(operation, bytes, input, output)
    };
    // A result for every text takes room too.
    let steps = kernel::reduce_shares(rank, ranks, root, segments, ROUNDS_AHEAD / 2);
    call.run_over(area, steps, &sides)
}

/// `MPI_Allreduce`.
///
/// # Safety
/// Both buffers hold `count` items, until the operation is over.
pub unsafe fn allreduce(reduced: Reduced, comm: Comm) -> impl Collective {
    let at_once = move |call: &mut Call<'_>| allreduce_at_once(call, reduced);
    prepare(Operation::Allreduce, comm, at_once, move |call| {
        allreduce_by_messages(call, reduced)
    })
}

pub(super) fn allreduce_by_messages(call: &mut Call<'_>, reduced: Reduced) -> Result<Ready, Error> {
    let (reduction, input) = (reduced.reduction(true)?, reduced.input()?);
    let (stand, algorithm) = (call.stand, call.pick(Operation::Allreduce, input.bytes())?);
    let (input, blocks) = cut(input, algorithm, stand.ranks);
    let (own, incoming) = call.pool().like(&input)?;
    Ok(Ready {
        steps: stand.allreduce(algorithm, blocks),
        then: None,
        memory: Memory {
            input,
            work: reduced.output()?.evenly(blocks),
            incoming,
            reduction: Some(reduction),
            ..Memory::nothing()
        },
        scratch: [own, Scratch::default()],
    })
}

fn allreduce_at_once(call: &mut Call<'_>, reduced: Reduced) -> Result<bool, Stop> {
    let Stand { rank, ranks, .. } = call.stand;
    let (reduction, input) = (reduced.reduction(true)?, reduced.buffer(true).region(1)?);
    let bytes = Source::len(&input);
    let area = match call.way(Operation::Allreduce, bytes)? {
        Way::Boards(area) => area,
        Way::Hosts => return levels::allreduce(call, reduced),
        Way::Messages => return Ok(false),
    };
    if Side::item(&input).is_none() {
        return Ok(false);
    }
    let output = reduced.at(reduced.output).region(1)?;
    if bytes.saturating_mul(ranks) > WHOLE {
        return over_shares(call, area, reduction, (input, output), None);
    }
    let (input, output) = (Side::vector(input, bytes), Side::vector(output, bytes));
    let sides = Sides {
        reduction: Some(reduction),
        ..Sides::plain(Operation::Allreduce, bytes, input, output)
    };
    call.run_over(area, kernel::allreduce_boards(rank, ranks), &sides)
}

/// `MPI_Scan`.
///
/// # Safety
/// Both buffers hold `count` items, until the operation is over.
pub unsafe fn scan(reduced: Reduced, comm: Comm) -> impl Collective {
    by_messages(Operation::Scan, comm, 0, move |call| {
        let (reduction, input) = (reduced.reduction(true)?, reduced.input()?);
        let algorithm = call.pick(Operation::Scan, input.bytes())?;
        let (own, incoming) = call.pool().like(&input)?;
        Ok(Ready {
            steps: call.stand.scan(algorithm),
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

/// `MPI_Exscan`. Rank 0 gets nothing.
///
/// # Safety
/// Both buffers hold `count` items, until the operation is over.
pub unsafe fn exscan(reduced: Reduced, comm: Comm) -> impl Collective {
    by_messages(Operation::Exscan, comm, 0, move |call| {
        let reduction = reduced.reduction(call.stand.rank > 0)?;
        let input = reduced.input()?;
        let output = match call.stand.rank {
            0 => Layout::nothing(),
            _ => reduced.output()?,
        };
        let algorithm = call.pick(Operation::Exscan, input.bytes())?;
        let (own, incoming) = call.pool().like(&input)?;
        let (temporary, work) = call.pool().like(&input)?;
        Ok(Ready {
            steps: call.stand.exscan(algorithm),
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

/// `MPI_Reduce_scatter_block`: `count` is that of one block.
///
/// # Safety
/// The input holds `count` items for every rank, the output `count` items, until the operation is over.
pub unsafe fn reduce_scatter_block(reduced: Reduced, comm: Comm) -> impl Collective {
    by_messages(Operation::ReduceScatter, comm, 0, move |call| {
        let count = items(reduced.count)?;
        let ends = (1..=call.stand.ranks).map(|block| block.saturating_mul(count));
        spread(call, reduced, ends.collect())
    })
}

/// `MPI_Reduce_scatter`: `counts` has the items of every block; the buffers' own count is not looked at.
///
/// # Safety
/// The input holds all blocks, the output this rank's, until the operation is over; the array has a number for every
/// rank.
pub unsafe fn reduce_scatter(reduced: Reduced, counts: Numbers, comm: Comm) -> impl Collective {
    by_messages(Operation::ReduceScatter, comm, 0, move |call| {
        counts.present()?;
        let mut ends = Vec::with_capacity(call.stand.ranks);
        let mut end = 0_usize;
        for block in 0..call.stand.ranks {
            // SAFETY: the caller's promise.
            end = items(end as i64 + items(unsafe { counts.get(block) })? as i64)?;
            ends.push(end);
        }
        spread(call, reduced, ends)
    })
}

fn spread(call: &mut Call<'_>, reduced: Reduced, ends: Vec<usize>) -> Result<Ready, Error> {
    let stand = call.stand;
    let reduction = reduced.reduction(true)?;
    let all = ends.last().copied().unwrap_or(0);
    let before = stand.rank.checked_sub(1).map_or(0, |before| ends[before]);
    let with = |count| Reduced {
        count: i64::try_from(count).unwrap_or(i64::MAX),
        ..reduced
    };
    // In place the data of all blocks lies where the result of one belongs.
    let input = with(all).input()?.cut(Cut::At(ends.clone()));
    let output = with(ends[stand.rank] - before).output()?;
    let algorithm = call.pick(Operation::ReduceScatter, input.bytes())?;
    let (own, incoming) = call.pool().like(&input)?;
    let (temporary, work) = call.pool().like(&input)?;
    Ok(Ready {
        steps: stand.reduce_scatter(algorithm),
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
