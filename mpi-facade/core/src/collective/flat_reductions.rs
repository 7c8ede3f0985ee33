//! Reduce and all-reduce among ranks of one host, or of all hosts alike: over boards, and by messages. `reductions` and
//! `levels` call it.

use super::boards::Way;
use super::buffers::distinct;
use super::call::{Call, Stop, cut};
use super::exchange::Buffers as Memory;
use super::layout::Layout;
use super::prepared::Ready;
use super::schedule::Stand;
use super::scratch::Scratch;
use super::sides::{Side, Sides};
use super::{Buffer, Operation};
use crate::constants::{Datatype, Op};
use crate::error::Error;
use crate::memory::Region;
use crate::op::{self, Reduction};
use core::ffi::c_void;
use pombo_collective as schedules;
use pombo_kernel::Source;
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
    pub(super) fn reduction(&self, result: bool) -> Result<Reduction, Error> {
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

    /// What this rank contributes, in bytes.
    pub(super) fn bytes(&self, in_place: bool) -> Result<usize, Error> {
        let region = self.buffer(in_place).region(1)?;
        Ok(Source::len(&region))
    }

    /// What this rank contributes, where that may be the result's own memory.
    pub(super) fn input(&self) -> Result<Layout, Error> {
        self.buffer(true).whole()
    }

    pub(super) fn output(&self) -> Result<Layout, Error> {
        self.at(self.output).whole()
    }
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

pub(super) fn reduce_at_once(call: &mut Call<'_>, reduced: Reduced) -> Result<bool, Stop> {
    let Stand { rank, ranks, root } = call.stand;
    let is_root = rank == root;
    let reduction = reduced.reduction(is_root)?;
    let input = reduced.buffer(is_root).region(1)?;
    let bytes = Source::len(&input);
    let Way::Boards(area) = call.way(Operation::Reduce, bytes)? else {
        return Ok(false);
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
        true => schedules::Buffer::Work,
        false => schedules::Buffer::Output,
    };
    let mut steps = schedules::reduce_boards(rank, ranks, root, segments, place);
    call.run_over(area, &mut steps, &sides)
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
        scattered: Some(schedules::Buffer::Incoming),
        reduction: Some(reduction),
        ..Sides::plain(operation, bytes, input, output)
    };
    // A result for every text takes room too.
    let mut steps = schedules::reduce_shares(rank, ranks, root, segments, ROUNDS_AHEAD / 2);
    call.run_over(area, &mut steps, &sides)
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

pub(super) fn allreduce_at_once(call: &mut Call<'_>, reduced: Reduced) -> Result<bool, Stop> {
    let Stand { rank, ranks, .. } = call.stand;
    let (reduction, input) = (reduced.reduction(true)?, reduced.buffer(true).region(1)?);
    let bytes = Source::len(&input);
    let Way::Boards(area) = call.way(Operation::Allreduce, bytes)? else {
        return Ok(false);
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
    call.run_steps(area, schedules::allreduce_boards(rank, ranks), &sides)
}
