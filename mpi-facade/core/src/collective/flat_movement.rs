//! Broadcast and all-gather among the ranks of one host, or of all hosts without hierarchy: over shared memory and by
//! messages. `data_movement` and `hierarchical` call it.

use super::buffers::distinct;
use super::host_roles::HostRoles;
use super::layout::Layout;
use super::listed_tree::ListedTree;
use super::operation::PreparedOperation;
use super::prepare::{Call, CallError};
use super::schedule::{Position, Steps};
use super::shared_memory::{Method, segments, shares};
use super::shm_buffers::{BlockedBuffer, ShmBuffers};
use super::{Algorithm, Buffer, Operation};
use crate::error::Error;
use crate::message_header::EAGER;
use crate::user_buffer::Region;
use pombo_collective as schedules;
use pombo_kernel::Source;
use pombo_netdrivers::shm::collective::ROUNDS_AHEAD;

/// Broadcasts over shared memory, where that is selected. Returns whether the call is over.
pub(super) fn broadcast_shm(call: &mut Call<'_>, buffer: Buffer<'_>) -> Result<bool, CallError> {
    let vector = buffer.region(call.datatypes(), 1)?;
    let bytes = Source::len(&vector);
    let area = match call.method(Operation::Bcast, bytes)? {
        Method::SharedMemory(area) => area,
        Method::Direct(area) => {
            match call.position.is_root() {
                true => call.send_directly(area, vector)?,
                false => _ = call.receive_directly(area, vector)?,
            }
            return Ok(true);
        }
        Method::Hierarchical | Method::Messages => {
            return call.disagrees(Operation::Bcast, (bytes, bytes));
        }
    };
    let (grain, segments) = segments(bytes, 1);
    let output = BlockedBuffer::vector(vector, grain);
    let buffers = ShmBuffers::plain(Operation::Bcast, bytes, BlockedBuffer::nothing(), output);
    let Position { rank, root, .. } = call.position;
    let mut steps = schedules::broadcast_shm(rank, root, segments);
    call.run_shm(area, &mut steps, &buffers)
}

pub(super) fn broadcast_by_messages(
    call: &mut Call<'_>,
    buffer: Buffer<'_>,
) -> Result<PreparedOperation, Error> {
    let region = buffer.region(call.datatypes(), 1)?;
    let bytes = Source::len(&region);
    if call.subgroup.is_none() && call.uses_multicast(bytes)? {
        return broadcast_by_multicast(call, buffer);
    }
    let (position, algorithm) = (call.position, call.select(Operation::Bcast, bytes)?);
    if algorithm == Algorithm::TwoLevel && call.subgroup.is_none() {
        let tree = call.two_level()?;
        return broadcast_along(call, region, tree);
    }
    // Ranks may describe the same data by different datatypes, so all cut it by bytes.
    let blocks = call.blocks(bytes, 1, algorithm)?;
    if !region.is_dense() && blocks > 1 {
        return broadcast_packed(
            call,
            region,
            algorithm,
            position.broadcast(algorithm, blocks),
        );
    }
    let vector = Layout::vector(region);
    let conditions = call.conditions(Operation::Bcast)?;
    // Within a host the receivers copy, at the same time; between hosts they share the sender's line. A child that is late
    // for a long message then delays the next one.
    let in_turn = conditions.several_hosts && bytes > EAGER;
    let has_form = matches!(algorithm, Algorithm::Linear | Algorithm::Binomial);
    let has_times = matches!(algorithm, Algorithm::Optimal | Algorithm::BlockedBinomial);
    let steps = match has_times || (has_form && in_turn) {
        true => {
            let times = call.selector().message(bytes, conditions);
            let tree = call.tree(algorithm, times)?;
            match in_turn {
                true => Steps::of(schedules::broadcast_in_turn(tree)),
                false => Steps::of(schedules::broadcast(tree, 1)),
            }
        }
        false => position.broadcast(algorithm, blocks),
    };
    let output = vector.evenly(blocks);
    Ok(PreparedOperation::plain(steps, Layout::nothing(), output))
}

/// Broadcasts along a tree, long messages in segments.
pub(super) fn broadcast_along(
    call: &mut Call<'_>,
    region: Region,
    tree: ListedTree,
) -> Result<PreparedOperation, Error> {
    let blocks = call.blocks(Source::len(&region), 1, Algorithm::Chain)?;
    let steps = Steps::of(schedules::broadcast(tree, blocks));
    if !region.is_dense() && blocks > 1 {
        return broadcast_packed(call, region, Algorithm::Chain, steps);
    }
    let output = Layout::vector(region).evenly(blocks);
    Ok(PreparedOperation::plain(steps, Layout::nothing(), output))
}

/// Broadcasts data with gaps in blocks: they are blocks of packed bytes.
fn broadcast_packed(
    call: &mut Call<'_>,
    region: Region,
    algorithm: Algorithm,
    steps: Steps,
) -> Result<PreparedOperation, Error> {
    let position = call.position;
    let (scratch, packed) = call.pool().packed(&region)?;
    region.copy_to(&packed);
    let (output, blocks) = call.cut(Layout::vector(packed), algorithm)?;
    let steps = position.and_copy(steps, blocks);
    let mut ready = PreparedOperation::plain(steps, Layout::nothing(), output);
    ready.memory.work = Layout::vector(region);
    ready.scratch[0] = scratch;
    Ok(ready)
}

/// Broadcasts by one multicast frame for all hosts; on every host one rank forwards the data.
fn broadcast_by_multicast(
    call: &mut Call<'_>,
    buffer: Buffer<'_>,
) -> Result<PreparedOperation, Error> {
    let roles = HostRoles::of(call)?;
    let (leader, before) = roles.multicast_leader();
    let region = buffer.region(call.datatypes(), 1)?;
    let cast = match roles.local_rank() == leader {
        true => Some(Steps::Multicast(call.multicast(roles.root_host(), region)?)),
        false => None,
    };
    roles.enter_host(call, before.unwrap_or(leader));
    let near = call.position.broadcast(Algorithm::Linear, 1);
    let (steps, then) = match (cast, before) {
        (Some(cast), None) => (cast, Some(near)),
        (cast, _) => (near, cast),
    };
    let output = buffer.whole(call.datatypes())?;
    let ready = PreparedOperation::plain(steps, Layout::nothing(), output);
    Ok(PreparedOperation { then, ..ready })
}

/// Broadcasts among the ranks of this host, and returns when it is complete.
pub(super) fn broadcast_on_host(call: &mut Call<'_>, buffer: Buffer<'_>) -> Result<(), CallError> {
    if call.position.ranks > 1 && !broadcast_shm(call, buffer)? {
        let ready = broadcast_by_messages(call, buffer)?;
        call.run_part(ready)?;
    }
    Ok(())
}

/// Gathers at all ranks over shared memory, where that is selected. Returns whether the call is over.
pub(super) fn allgather_shm(
    call: &mut Call<'_>,
    send: Buffer<'_>,
    receive: Buffer<'_>,
) -> Result<bool, CallError> {
    let Position { rank, ranks, .. } = call.position;
    let output = receive.region(call.datatypes(), ranks)?;
    let place = receive.one(call.datatypes(), rank)?;
    let input = match send.is_in_place() {
        true => place.clone(),
        false => send.region(call.datatypes(), 1)?,
    };
    if !send.is_in_place() {
        distinct(&input, &place)?;
    }
    let (given, each) = (Source::len(&input), Source::len(&output) / ranks);
    let area = match call.method(Operation::Allgather, Source::len(&output))? {
        Method::SharedMemory(area) => area,
        Method::Direct(area) if given == each => {
            let other = receive.one(call.datatypes(), 1 - rank)?;
            let copied = (!send.is_in_place()).then(|| input.clone());
            call.exchange_directly(area, input, other, || {
                if let Some(own) = copied {
                    own.copy_to(&place);
                }
            })?;
            return Ok(true);
        }
        _ => return call.disagrees(Operation::Allgather, (given, each)),
    };
    // Of more ranks each waits for several, which write one after the other where they share processors.
    let (grain, segments) = match ranks {
        2 => shares(given, 1, 1),
        _ => segments(given, 1),
    };
    let (input, output) = (
        BlockedBuffer::vector(input, grain),
        BlockedBuffer::matrix(output, ranks, grain),
    );
    let buffers = ShmBuffers {
        exchanged: (ranks == 2).then_some(1),
        ..ShmBuffers::plain(Operation::Allgather, each, input, output)
    };
    let buffers = buffers.giving(Operation::Allgather, given);
    let mut steps = schedules::allgather_shm(rank, ranks, segments, ROUNDS_AHEAD);
    call.run_shm(area, &mut steps, &buffers)
}

pub(super) fn allgather_by_messages(
    call: &mut Call<'_>,
    send: Buffer<'_>,
    receive: Buffer<'_>,
) -> Result<PreparedOperation, Error> {
    let output = receive.blocks(call.datatypes(), call.position.ranks)?;
    collect(call, send, output)
}

/// Gathers to all ranks of this host, and returns when it is complete.
pub(super) fn allgather_on_host(
    call: &mut Call<'_>,
    send: Buffer<'_>,
    receive: Buffer<'_>,
) -> Result<(), CallError> {
    if !allgather_shm(call, send, receive)? {
        let ready = allgather_by_messages(call, send, receive)?;
        call.run_part(ready)?;
    }
    Ok(())
}

pub(super) fn collect(
    call: &mut Call<'_>,
    send: Buffer<'_>,
    output: Layout,
) -> Result<PreparedOperation, Error> {
    let input = own(call, send, &output, true, call.position.rank)?;
    let algorithm = match call.select(Operation::Allgather, output.bytes())? {
        // Blocks that are not contiguous cannot be broadcast as one message.
        Algorithm::Linear if output.is_apart() => Algorithm::SpreadOut,
        algorithm => algorithm,
    };
    Ok(PreparedOperation::plain(
        call.position.allgather(algorithm),
        input,
        output,
    ))
}

/// Returns the buffer of this rank's own contribution or result: its block among `blocks` for `MPI_IN_PLACE`, where the
/// standard allows it; else its own buffer, which must not begin where the block does.
pub(super) fn own(
    call: &Call<'_>,
    buffer: Buffer<'_>,
    all: &Layout,
    has_all: bool,
    rank: usize,
) -> Result<Layout, Error> {
    if buffer.is_in_place() && has_all {
        return Ok(all.block(rank));
    }
    let own = buffer.whole(call.datatypes())?;
    if has_all {
        let block = |block| schedules::Buffer::Input.block(block);
        distinct(&own.region(block(0)), &all.region(block(rank)))?;
    }
    Ok(own)
}
