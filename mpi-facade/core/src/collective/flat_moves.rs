//! Broadcast and all-gather among ranks of one host, or of all hosts alike: over boards, and by messages. `moves` and
//! `levels` call it.

use super::boards::Way;
use super::buffers::distinct;
use super::call::{Call, Stop, cut};
use super::layout::Layout;
use super::parts::Parts;
use super::prepared::Ready;
use super::schedule::{Stand, Steps};
use super::sides::{Side, Sides};
use super::{Algorithm, Buffer, Operation};
use crate::error::Error;
use pombo_collective as schedules;
use pombo_kernel::Source;
use pombo_netdrivers::shm::collective::ROUNDS_AHEAD;

pub(super) fn broadcast_at_once(call: &mut Call<'_>, buffer: Buffer) -> Result<bool, Stop> {
    let vector = buffer.region(1)?;
    let bytes = Source::len(&vector);
    let Way::Boards(area) = call.way(Operation::Bcast, bytes)? else {
        return Ok(false);
    };
    let (grain, segments) = call.segments(bytes, 1, 1);
    let output = Side::vector(vector, grain);
    let sides = Sides::plain(Operation::Bcast, bytes, Side::nothing(), output);
    let Stand { rank, root, .. } = call.stand;
    let mut steps = schedules::broadcast_boards(rank, root, segments);
    call.run_over(area, &mut steps, &sides)
}

pub(super) fn broadcast_by_messages(call: &mut Call<'_>, buffer: Buffer) -> Result<Ready, Error> {
    let (region, vector) = (buffer.region(1)?, buffer.whole()?);
    if call.part.is_none() && call.casts(Source::len(&region))? {
        return broadcast_by_cast(call, buffer);
    }
    let (stand, algorithm) = (call.stand, call.pick(Operation::Bcast, vector.bytes())?);
    let (output, blocks) = cut(vector, algorithm, stand.ranks);
    let steps = stand.broadcast(algorithm, blocks);
    Ok(Ready::plain(steps, Layout::nothing(), output))
}

/// One frame for all hosts; on every host a rank hands on.
fn broadcast_by_cast(call: &mut Call<'_>, buffer: Buffer) -> Result<Ready, Error> {
    let parts = Parts::of(call)?;
    let (speaker, before) = parts.casters();
    let cast = match parts.place() == speaker {
        true => Some(Steps::Cast(call.cast(parts.host(), buffer.region(1)?)?)),
        false => None,
    };
    parts.near(call, before.unwrap_or(speaker));
    let near = call.stand.broadcast(Algorithm::Linear, 1);
    let (steps, then) = match (cast, before) {
        (Some(cast), None) => (cast, Some(near)),
        (cast, _) => (near, cast),
    };
    let ready = Ready::plain(steps, Layout::nothing(), buffer.whole()?);
    Ok(Ready { then, ..ready })
}

/// Among the ranks of this host, to the end.
pub(super) fn broadcast_here(call: &mut Call<'_>, buffer: Buffer) -> Result<(), Stop> {
    if call.stand.ranks > 1 && !broadcast_at_once(call, buffer)? {
        let ready = broadcast_by_messages(call, buffer)?;
        call.carry_out(ready)?;
    }
    Ok(())
}

pub(super) fn allgather_at_once(
    call: &mut Call<'_>,
    send: Buffer,
    receive: Buffer,
) -> Result<bool, Stop> {
    let Stand { rank, ranks, .. } = call.stand;
    let output = receive.region(ranks)?;
    let Way::Boards(area) = call.way(Operation::Allgather, Source::len(&output))? else {
        return Ok(false);
    };
    let place = receive.one(rank)?;
    let input = match send.is_in_place() {
        true => place,
        false => send.region(1)?,
    };
    if !send.is_in_place() {
        distinct(&input, &place)?;
    }
    let (given, each) = (Source::len(&input), Source::len(&output) / ranks);
    let (grain, segments) = call.segments(given, 1, 1);
    let (input, output) = (
        Side::vector(input, grain),
        Side::matrix(output, ranks, grain),
    );
    let sides = Sides::plain(Operation::Allgather, each, input, output);
    let sides = sides.giving(Operation::Allgather, given);
    let mut steps = schedules::allgather_boards(rank, ranks, segments, ROUNDS_AHEAD);
    call.run_over(area, &mut steps, &sides)
}

pub(super) fn allgather_by_messages(
    call: &mut Call<'_>,
    send: Buffer,
    receive: Buffer,
) -> Result<Ready, Error> {
    let output = receive.blocks(call.stand.ranks)?;
    collect(call, send, output)
}

/// Among the ranks of this host, to the end.
pub(super) fn allgather_here(
    call: &mut Call<'_>,
    send: Buffer,
    receive: Buffer,
) -> Result<(), Stop> {
    if !allgather_at_once(call, send, receive)? {
        let ready = allgather_by_messages(call, send, receive)?;
        call.carry_out(ready)?;
    }
    Ok(())
}

pub(super) fn collect(call: &mut Call<'_>, send: Buffer, output: Layout) -> Result<Ready, Error> {
    let input = own(send, &output, true, call.stand.rank)?;
    let algorithm = match call.pick(Operation::Allgather, output.bytes())? {
        // What lies anywhere cannot be broadcast as one message.
        Algorithm::Linear if output.is_apart() => Algorithm::Turns,
        algorithm => algorithm,
    };
    Ok(Ready::plain(call.stand.allgather(algorithm), input, output))
}

/// What a rank gives, or gets, beside the blocks of all: in place that is its own block, where that has a meaning. Else
/// it lies elsewhere, if this rank has the blocks.
pub(super) fn own(
    buffer: Buffer,
    all: &Layout,
    has_all: bool,
    rank: usize,
) -> Result<Layout, Error> {
    if buffer.is_in_place() && has_all {
        return Ok(all.block(rank));
    }
    let own = buffer.whole()?;
    if has_all {
        let block = |block| schedules::Buffer::Input.block(block);
        distinct(&own.region(block(0)), &all.region(block(rank)))?;
    }
    Ok(own)
}
