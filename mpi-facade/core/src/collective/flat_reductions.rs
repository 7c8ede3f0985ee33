//! Reduce and all-reduce among the ranks of one host, or of all hosts without hierarchy: over shared memory and by
//! messages. `reductions` and `hierarchical` call it.

use super::buffers::distinct;
use super::layout::Layout;
use super::listed_tree::ListedTree;
use super::operation::PreparedOperation;
use super::p2p_executor::OperationBuffers as Memory;
use super::prepare::{Call, CallError};
use super::schedule::{Position, Steps};
use super::scratch::Scratch;
use super::segmentation::segments;
use super::shared_memory::{self, Method, shares};
use super::shm_buffers::{BlockedBuffer, ShmBuffers};
use super::{Algorithm, Buffer, Operation};
use crate::constants::{Datatype, Op};
use crate::datatype::{Datatypes, Shape};
use crate::error::Error;
use crate::objects::Objects;
use crate::op::{self, Reduction};
use crate::user_buffer::{Region, UserAddress};
use pombo_collective::{self as schedules, SumPlace};
use pombo_kernel::Source;
use pombo_netdrivers::shm::collective::ROUNDS_AHEAD;
use pombo_netdrivers::tuning::{CHAIN_SEGMENT, LONG_PAYLOAD, PAIR_DIRECT, WHOLE_REDUCTION};
use zerocopy::FromBytes;

/// The buffers of a reduction, all with the same number of items.
#[derive(Clone, Copy, Debug)]
pub struct Reduced<'m> {
    /// This rank's contribution; it may be `MPI_IN_PLACE` where the standard allows it.
    pub input: UserAddress<'m>,
    /// Where the result goes.
    pub output: UserAddress<'m>,
    /// Number of items.
    pub count: i64,
    /// The datatype of each item.
    pub datatype: Datatype,
    /// The reduction operation.
    pub op: Op,
}

impl<'m> Reduced<'m> {
    /// Describes a reduction in the library's own memory, in which the result overwrites this rank's contribution.
    pub(crate) fn in_place<T: FromBytes>(memory: &'m mut [T], datatype: Datatype, op: Op) -> Self {
        let Buffer { address, count, .. } = Buffer::of(memory, 1, datatype);
        Reduced {
            input: UserAddress::IN_PLACE,
            output: address,
            count,
            datatype,
            op,
        }
    }

    /// Returns the kernel's reduction. A rank that gets a result must pass other memory for it than for its
    /// contribution.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(super) fn reduction(&self, objects: &Objects, result: bool) -> Result<Reduction, Error> {
        let reduction = op::reduction(objects, self.op, self.datatype)?;
        if result && self.input == self.output && self.count > 0 {
            self.check_distinct(objects)?;
        }
        Ok(reduction)
    }

    #[cold]
    fn check_distinct(&self, objects: &Objects) -> Result<(), Error> {
        let input = self.at(self.output).region(&objects.datatypes, 1)?;
        distinct(&input, &input)
    }

    /// Returns whether the ranks' contributions may be combined in any order; errors come up later.
    pub(super) fn commutes(&self, objects: &Objects) -> bool {
        self.op.is_predefined() || objects.operations.commutes(self.op)
    }

    pub(super) fn at(&self, address: UserAddress<'m>) -> Buffer<'m> {
        Buffer {
            address,
            count: self.count,
            datatype: self.datatype,
        }
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.at(self.input).is_in_place()
    }

    /// Returns the buffer of this rank's contribution; `in_place` says whether `MPI_IN_PLACE` is allowed at this rank.
    fn buffer(&self, in_place: bool) -> Buffer<'m> {
        match in_place && self.is_in_place() {
            true => self.at(self.output),
            false => self.at(self.input),
        }
    }

    /// Returns the bytes of this rank's contribution.
    pub(super) fn bytes(&self, datatypes: &Datatypes, in_place: bool) -> Result<usize, Error> {
        let region = self.buffer(in_place).region(datatypes, 1)?;
        Ok(Source::len(&region))
    }

    /// Returns the layout of this rank's contribution, which may be the memory of the result.
    pub(super) fn input(&self, datatypes: &Datatypes) -> Result<Layout, Error> {
        self.buffer(true).whole(datatypes)
    }

    pub(super) fn output(&self, datatypes: &Datatypes) -> Result<Layout, Error> {
        self.at(self.output).whole(datatypes)
    }
}

pub(super) fn reduce_by_messages(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
) -> Result<PreparedOperation, Error> {
    let position = call.position;
    let reduction = reduced.reduction(call.objects(), position.is_root())?;
    let input = reduced.buffer(position.is_root()).whole(call.datatypes())?;
    let algorithm = call.select_for(&reduction, Operation::Reduce, input.bytes())?;
    if !reduction.commutes() && position.root != 0 {
        return reduce_in_order(call, reduced, reduction, input);
    }
    if position.ranks == 2 && algorithm == Algorithm::Chain {
        return reduce_pair(call, reduced, reduction, input);
    }
    if algorithm == Algorithm::TwoLevel && call.subgroup.is_none() {
        let tree = call.two_level()?;
        return reduce_along(call, reduced, tree);
    }
    let (input, blocks) = call.cut(input, algorithm)?;
    let is_leaf = position.is_leaf(algorithm);
    let steps = position.reduce(algorithm, blocks);
    reduce_by(call, reduced, reduction, (input, blocks), is_leaf, steps)
}

/// Reduces along a tree, long vectors in segments, for an operation that commutes.
pub(super) fn reduce_along(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
    tree: ListedTree,
) -> Result<PreparedOperation, Error> {
    let position = call.position;
    let reduction = reduced.reduction(call.objects(), position.is_root())?;
    let input = reduced.buffer(position.is_root()).whole(call.datatypes())?;
    let (input, blocks) = call.cut(input, Algorithm::Chain)?;
    let is_leaf = tree.parent.is_some() && tree.children.is_empty();
    let steps = Steps::of(schedules::reduce(tree, blocks));
    reduce_by(call, reduced, reduction, (input, blocks), is_leaf, steps)
}

/// Reduces by these steps.
fn reduce_by(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
    reduction: Reduction,
    (input, blocks): (Layout, usize),
    is_leaf: bool,
    steps: Steps,
) -> Result<PreparedOperation, Error> {
    let position = call.position;
    // A leaf of the tree sends its input and needs no other buffer.
    let nothing = || (Scratch::default(), Layout::nothing());
    let (own, incoming) = match is_leaf {
        true => nothing(),
        false => call.pool().like(&input)?,
    };
    let (temporary, work) = match (position.is_root(), is_leaf) {
        (true, _) => (
            Scratch::default(),
            reduced.output(call.datatypes())?.evenly(blocks),
        ),
        (false, true) => nothing(),
        (false, false) => call.pool().like(&input)?,
    };
    Ok(PreparedOperation {
        steps,
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

/// Reduces between two ranks, for an operation that commutes.
fn reduce_pair(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
    reduction: Reduction,
    input: Layout,
) -> Result<PreparedOperation, Error> {
    let blocks = segments(input.items(), input.shape().size(), CHAIN_SEGMENT);
    let input = input.evenly(blocks);
    let steps = call.position.reduce_pair(blocks);
    let mut ready = PreparedOperation::plain(steps, input, Layout::nothing());
    if call.position.is_root() {
        let work = reduced.output(call.datatypes())?.evenly(blocks);
        ready.memory.incoming = reduced.output(call.datatypes())?.evenly(blocks);
        if reduced.is_in_place() {
            (ready.scratch[0], ready.memory.incoming) = call.pool().like(&work)?;
        }
        ready.memory.work = work;
    }
    ready.memory.reduction = Some(reduction);
    Ok(ready)
}

/// Reduces to a root that is not rank 0, for an operation that does not commute.
fn reduce_in_order(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
    reduction: Reduction,
    input: Layout,
) -> Result<PreparedOperation, Error> {
    let steps = call.position.reduce_line();
    let mut ready = PreparedOperation::plain(steps, input, Layout::nothing());
    if call.position.is_root() {
        let work = reduced.output(call.datatypes())?;
        (ready.scratch[0], ready.memory.incoming) = call.pool().like(&work)?;
        if reduced.is_in_place() {
            let (own, copy) = call.pool().like(&work)?;
            let all = schedules::Buffer::Input.block(0);
            work.region(all).copy_to(&copy.region(all));
            (ready.scratch[1], ready.memory.input) = (own, copy);
        }
        ready.memory.work = work;
    }
    ready.memory.reduction = Some(reduction);
    Ok(ready)
}

/// Reduces among the ranks of this host, and returns when it is complete.
pub(super) fn reduce_on_host(call: &mut Call<'_>, reduced: Reduced<'_>) -> Result<(), CallError> {
    if !reduce_shm(call, reduced)? {
        let ready = reduce_by_messages(call, reduced)?;
        call.run_part(ready)?;
    }
    Ok(())
}

/// Reduces over shared memory, where that is selected. Returns whether the call is over.
pub(super) fn reduce_shm(call: &mut Call<'_>, reduced: Reduced<'_>) -> Result<bool, CallError> {
    let Position { rank, ranks, root } = call.position;
    let is_root = rank == root;
    let reduction = reduced.reduction(call.objects(), is_root)?;
    let input = reduced.buffer(is_root).vector(call.datatypes())?;
    let bytes = Source::len(&input);
    let Some(item) = reduction.item_on_boards(&input) else {
        return Ok(false);
    };
    let area = match call.method(Operation::Reduce, bytes)? {
        Method::SharedMemory(area) => area,
        Method::Direct(area) => return reduce_directly(call, area, reduced, &reduction, input),
        Method::Hierarchical | Method::Messages => {
            return call.disagrees(Operation::Reduce, (bytes, bytes));
        }
    };
    let output = match is_root {
        true => reduced.at(reduced.output).region(call.datatypes(), 1)?,
        false => Region::nothing(),
    };
    // With two ranks, sharing the work gains nothing.
    if ranks > 2 && bytes.saturating_mul(ranks) > WHOLE_REDUCTION {
        return over_shares(call, area, reduction, (input, output), item, Some(root));
    }
    let (grain, segments) = shared_memory::segments(bytes, item);
    let (input, output) = (
        BlockedBuffer::vector(input, grain),
        BlockedBuffer::vector(output, grain),
    );
    let buffers = ShmBuffers {
        reduction: Some(reduction),
        ..ShmBuffers::plain(Operation::Reduce, bytes, input, output)
    };
    let place = match reduced.is_in_place() {
        true => schedules::Buffer::Work,
        false => schedules::Buffer::Output,
    };
    let mut steps = schedules::reduce_shm(rank, ranks, root, segments, place);
    call.run_shm(area, &mut steps, &buffers)
}

/// Reduces by one message between two ranks, in the order of the ranks.
fn reduce_directly(
    call: &mut Call<'_>,
    area: u8,
    reduced: Reduced<'_>,
    reduction: &Reduction,
    input: Region,
) -> Result<bool, CallError> {
    if !call.position.is_root() {
        call.send_directly(area, input)?;
        return Ok(true);
    }
    combine_directly(call, reduced, reduction, input, |call, _, into| {
        call.receive_directly(area, into)
    })
}

/// Combines this rank's contribution with the other one's, which `receive` receives, in the order of the ranks. That is
/// passed this rank's contribution as well.
#[inline]
fn combine_directly(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
    reduction: &Reduction,
    input: Region,
    receive: impl Fn(&mut Call<'_>, Region, Region) -> Result<bool, CallError>,
) -> Result<bool, CallError> {
    let output = reduced.at(reduced.output).vector(call.datatypes())?;
    let is_first = call.position.rank == 0;
    if is_first && !reduced.is_in_place() {
        if receive(call, input.clone(), output.clone())? {
            reduction.apply_predefined(&input, &output, &output);
        }
        return Ok(true);
    }
    combine_apart(call, reduction, (input, output), receive)
}

/// Combines as [`combine_directly`] where the message cannot be received into the result. It stands apart, so that the
/// usual path needs no stack for one.
#[inline(never)]
fn combine_apart(
    call: &mut Call<'_>,
    reduction: &Reduction,
    (input, output): (Region, Region),
    receive: impl Fn(&mut Call<'_>, Region, Region) -> Result<bool, CallError>,
) -> Result<bool, CallError> {
    let mut memory = [core::mem::MaybeUninit::<u8>::uninit(); PAIR_DIRECT];
    let other = UserAddress::of(&mut memory).region(Source::len(&input), Shape::BYTE);
    if receive(call, input.clone(), other.clone())? {
        let (left, right) = match call.position.rank {
            0 => (&input, &other),
            _ => (&other, &input),
        };
        reduction.apply_predefined(left, right, &output);
    }
    Ok(true)
}

/// Reduces with the work shared: every rank combines its share of every payload.
fn over_shares(
    call: &mut Call<'_>,
    area: u8,
    reduction: Reduction,
    (input, output): (Region, Region),
    item: usize,
    root: Option<usize>,
) -> Result<bool, CallError> {
    let Position { rank, ranks, .. } = call.position;
    let share = (Source::len(&input) / item).div_ceil(ranks) * item;
    let (grain, segments) = shares(share, ranks, item);
    let operation = match root {
        Some(_) => Operation::Reduce,
        None => Operation::Allreduce,
    };
    let (bytes, is_in_place) = (Source::len(&input), input.begins_as(&output));
    let (input, output) = (
        BlockedBuffer::vector(input, grain),
        BlockedBuffer::vector(output, grain),
    );
    let buffers = ShmBuffers {
        scattered: Some(schedules::Buffer::Incoming),
        exchanged: Some(ranks),
        reduction: Some(reduction),
        ..ShmBuffers::plain(operation, bytes, input, output)
    };
    // This rank publishes its result as a block for each other rank, where there are cells.
    let group = call.world.shm().group(area.into());
    let in_cells = grain >= LONG_PAYLOAD && group.is_some_and(|it| it.has_cells(grain));
    let place = match (root, is_in_place) {
        (None, false) if in_cells => SumPlace::Output,
        (None, true) if in_cells => SumPlace::Work,
        _ => SumPlace::Board,
    };
    // The result of every payload takes a payload of its own.
    let mut steps =
        schedules::reduce_scatter_gather_shm(rank, ranks, root, segments, ROUNDS_AHEAD / 2, place);
    call.run_shm(area, &mut steps, &buffers)
}

pub(super) fn allreduce_by_messages(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
) -> Result<PreparedOperation, Error> {
    let (reduction, input) = (
        reduced.reduction(call.objects(), true)?,
        reduced.input(call.datatypes())?,
    );
    let (position, algorithm) = (
        call.position,
        call.select_for(&reduction, Operation::Allreduce, input.bytes())?,
    );
    let (input, blocks) = call.cut(input, algorithm)?;
    let (own, incoming) = call.pool().like(&input)?;
    Ok(PreparedOperation {
        steps: position.allreduce(algorithm, blocks),
        then: None,
        memory: Memory {
            input,
            work: reduced.output(call.datatypes())?.evenly(blocks),
            incoming,
            reduction: Some(reduction),
            ..Memory::nothing()
        },
        scratch: [own, Scratch::default()],
    })
}

/// Reduces for all ranks over shared memory, where that is selected. Returns whether the call is over.
pub(super) fn allreduce_shm(call: &mut Call<'_>, reduced: Reduced<'_>) -> Result<bool, CallError> {
    let Position { rank, ranks, .. } = call.position;
    let (reduction, input) = (
        reduced.reduction(call.objects(), true)?,
        reduced.buffer(true).vector(call.datatypes())?,
    );
    let bytes = Source::len(&input);
    let Some(item) = reduction.item_on_boards(&input) else {
        return Ok(false);
    };
    let area = match call.method(Operation::Allreduce, bytes)? {
        Method::SharedMemory(area) => area,
        Method::Direct(area) => {
            let exchange = |call: &mut Call<'_>, message, into| {
                call.exchange_directly(area, message, into, || {})
            };
            return combine_directly(call, reduced, &reduction, input, exchange);
        }
        Method::Hierarchical | Method::Messages => {
            return call.disagrees(Operation::Allreduce, (bytes, bytes));
        }
    };
    let output = reduced.at(reduced.output).region(call.datatypes(), 1)?;
    if ranks > 2 && bytes.saturating_mul(ranks) > WHOLE_REDUCTION {
        return over_shares(call, area, reduction, (input, output), item, None);
    }
    let (grain, segments) = match ranks {
        2 => shares(bytes, 1, item),
        _ => (bytes, 1),
    };
    let (input, output) = (
        BlockedBuffer::vector(input, grain),
        BlockedBuffer::vector(output, grain),
    );
    let buffers = ShmBuffers {
        exchanged: (ranks == 2).then_some(1),
        reduction: Some(reduction),
        ..ShmBuffers::plain(Operation::Allreduce, bytes, input, output)
    };
    if ranks == 2 {
        // With two ranks, sharing the work gains nothing.
        let mut steps = schedules::allreduce_pair_shm(rank, segments, ROUNDS_AHEAD);
        return call.run_shm(area, &mut steps, &buffers);
    }
    call.run_steps(area, schedules::allreduce_shm(rank, ranks), &buffers)
}
