//! Barrier, broadcast, and the calls that move blocks: what each checks, which memory it uses, which schedule runs.

use super::boards::Way;
use super::buffers::distinct;
use super::call::{Call, by_messages, prepare, prepare_rooted};
use super::flat_moves::{
    allgather_at_once, allgather_by_messages, broadcast_at_once, broadcast_by_messages, collect,
    own,
};
use super::layout::Layout;
use super::levels;
use super::prepared::Ready;
use super::schedule::Stand;
use super::scratch::Scratch;
use super::sides::{Side, Sides};
use super::{Algorithm, Buffer, Buffers, Collective, Operation};
use crate::constants::Comm;
use crate::error::Error;
use core::ffi::c_int;
use pombo_collective as schedules;
use pombo_kernel::Source;
use pombo_netdrivers::shm::collective::ROUNDS_AHEAD;

/// This rank's own block lies at two places.
fn apart(input: &Layout, output: &Layout, rank: usize) -> Result<(), Error> {
    let block = schedules::Buffer::Input.block(rank);
    distinct(&input.region(block), &output.region(block))
}

/// `MPI_Barrier`.
pub fn barrier(comm: Comm) -> impl Collective {
    let at_once = |call: &mut Call<'_>| {
        let area = match call.way(Operation::Barrier, 0)? {
            Way::Boards(area) => area,
            Way::Hosts => return levels::barrier(call),
            Way::Messages => return Ok(false),
        };
        let Stand { rank, ranks, .. } = call.stand;
        let sides = Sides::plain(Operation::Barrier, 0, Side::nothing(), Side::nothing());
        call.run_over(area, &mut schedules::barrier_boards(rank, ranks), &sides)
    };
    prepare(Operation::Barrier, comm, at_once, |call| {
        let (stand, algorithm) = (call.stand, call.pick(Operation::Barrier, 0)?);
        let steps = stand.barrier(algorithm);
        Ok(Ready::plain(steps, Layout::nothing(), Layout::nothing()))
    })
}

/// `MPI_Bcast`.
///
/// # Safety
/// The buffer holds, or has room for, what it says, until the operation is over.
pub unsafe fn broadcast(buffer: Buffer, root: c_int, comm: Comm) -> impl Collective {
    let at_once = move |call: &mut Call<'_>| {
        let bytes = || buffer.region(1).map(|region| Source::len(&region));
        match call.goes_by_hosts(Operation::Bcast, bytes)? {
            true => levels::broadcast(call, buffer),
            false => broadcast_at_once(call, buffer),
        }
    };
    prepare_rooted(Operation::Bcast, comm, root, at_once, move |call| {
        broadcast_by_messages(call, buffer)
    })
}

/// `MPI_Gather`.
///
/// # Safety
/// The send buffer, and at the root the receive buffer, hold what they say, until the operation is over.
pub unsafe fn gather(send: Buffer, receive: Buffer, root: c_int, comm: Comm) -> impl Collective {
    by_messages(Operation::Gather, comm, root, move |call| {
        let stand = call.stand;
        let output = match stand.is_root() {
            true => receive.blocks(stand.ranks)?,
            false => Layout::nothing(),
        };
        let input = own(send, &output, stand.is_root(), stand.rank)?;
        let algorithm = call.pick(Operation::Gather, input.bytes())?;
        let mut ready = Ready::plain(stand.gather(algorithm), input, output);
        if algorithm == Algorithm::Binomial && !stand.is_root() {
            let (scratch, work) = call.pool().blocks(&ready.memory.input, stand.ranks)?;
            ready.memory.work = work;
            ready.scratch[0] = scratch;
        }
        Ok(ready)
    })
}

/// `MPI_Gatherv`.
///
/// # Safety
/// As for [`gather`]; the arrays have a number for every rank.
pub unsafe fn gatherv(send: Buffer, receive: Buffers, root: c_int, comm: Comm) -> impl Collective {
    by_messages(Operation::Gather, comm, root, move |call| {
        let stand = call.stand;
        let output = match stand.is_root() {
            // SAFETY: the caller's promise.
            true => unsafe { receive.blocks(stand.ranks)? },
            false => Layout::nothing(),
        };
        let input = own(send, &output, stand.is_root(), stand.rank)?;
        Ok(Ready::plain(stand.gather(Algorithm::Linear), input, output))
    })
}

/// `MPI_Scatter`.
///
/// # Safety
/// The receive buffer, and at the root the send buffer, hold what they say, until the operation is over.
pub unsafe fn scatter(send: Buffer, receive: Buffer, root: c_int, comm: Comm) -> impl Collective {
    by_messages(Operation::Scatter, comm, root, move |call| {
        let stand = call.stand;
        let input = match stand.is_root() {
            true => send.blocks(stand.ranks)?,
            false => Layout::nothing(),
        };
        let output = own(receive, &input, stand.is_root(), stand.rank)?;
        let algorithm = call.pick(Operation::Scatter, output.bytes())?;
        let mut ready = Ready::plain(stand.scatter(algorithm), input, output);
        if algorithm == Algorithm::Binomial && !stand.is_root() {
            let (scratch, work) = call.pool().blocks(&ready.memory.output, stand.ranks)?;
            ready.memory.work = work;
            ready.scratch[0] = scratch;
        }
        Ok(ready)
    })
}

/// `MPI_Scatterv`.
///
/// # Safety
/// As for [`scatter`]; the arrays have a number for every rank.
pub unsafe fn scatterv(send: Buffers, receive: Buffer, root: c_int, comm: Comm) -> impl Collective {
    by_messages(Operation::Scatter, comm, root, move |call| {
        let stand = call.stand;
        let input = match stand.is_root() {
            // SAFETY: the caller's promise.
            true => unsafe { send.blocks(stand.ranks)? },
            false => Layout::nothing(),
        };
        let output = own(receive, &input, stand.is_root(), stand.rank)?;
        Ok(Ready::plain(
            stand.scatter(Algorithm::Linear),
            input,
            output,
        ))
    })
}

/// `MPI_Allgather`.
///
/// # Safety
/// Both buffers hold what they say, until the operation is over.
pub unsafe fn allgather(send: Buffer, receive: Buffer, comm: Comm) -> impl Collective {
    let at_once = move |call: &mut Call<'_>| {
        let ranks = call.stand.ranks;
        let bytes = || receive.region(ranks).map(|region| Source::len(&region));
        match call.goes_by_hosts(Operation::Allgather, bytes)? {
            true => levels::allgather(call, send, receive),
            false => allgather_at_once(call, send, receive),
        }
    };
    prepare(Operation::Allgather, comm, at_once, move |call| {
        allgather_by_messages(call, send, receive)
    })
}

/// `MPI_Allgatherv`.
///
/// # Safety
/// As for [`allgather`]; the arrays have a number for every rank.
pub unsafe fn allgatherv(send: Buffer, receive: Buffers, comm: Comm) -> impl Collective {
    by_messages(Operation::Allgather, comm, 0, move |call| {
        // SAFETY: the caller's promise.
        let output = unsafe { receive.blocks(call.stand.ranks)? };
        collect(call, send, output)
    })
}

/// `MPI_Alltoall`.
///
/// # Safety
/// Both buffers hold what they say, until the operation is over.
pub unsafe fn alltoall(send: Buffer, receive: Buffer, comm: Comm) -> impl Collective {
    let boards = move |call: &mut Call<'_>| {
        let Stand { rank, ranks, .. } = call.stand;
        let output = receive.region(ranks)?;
        let each = Source::len(&output) / ranks;
        let input = match send.is_in_place() {
            true => output,
            false => send.region(ranks)?,
        };
        if !send.is_in_place() {
            distinct(&input, &output)?;
        }
        let given = Source::len(&input) / ranks;
        let Way::Boards(area) = call.way(Operation::Alltoall, each)? else {
            return call.disagrees(Operation::Alltoall, (given, each));
        };
        let (grain, segments) = call.segments(each, ranks, 1);
        let side = |region| Side::matrix(region, ranks, grain);
        let sides = Sides {
            scattered: Some(schedules::Buffer::Output),
            ..Sides::plain(Operation::Alltoall, each, side(input), side(output))
        };
        let sides = sides.giving(Operation::Alltoall, given);
        let mut steps = schedules::alltoall_boards(rank, ranks, segments, ROUNDS_AHEAD);
        call.run_over(area, &mut steps, &sides)
    };
    prepare(Operation::Alltoall, comm, boards, move |call| {
        let ranks = call.stand.ranks;
        let output = receive.blocks(ranks)?;
        let (own, input) = match send.is_in_place() {
            // SAFETY: the caller's buffer.
            true => unsafe { call.pool().copy(&output, ranks)? },
            false => (Scratch::default(), send.blocks(ranks)?),
        };
        apart(&input, &output, call.stand.rank)?;
        let mut algorithm = call.pick(Operation::Alltoall, output.bytes() / ranks)?;
        // A copy lies in pieces, and needs the room of one of Bruck's buffers.
        if send.is_in_place() && algorithm == Algorithm::Bruck {
            algorithm = Algorithm::Turns;
        }
        let mut ready = Ready::plain(call.stand.alltoall(algorithm), input, output);
        ready.scratch[0] = own;
        if algorithm == Algorithm::Bruck {
            let memory = &mut ready.memory;
            (ready.scratch[0], memory.work) = call.pool().like(&memory.input)?;
            (ready.scratch[1], memory.incoming) = call.pool().like(&memory.input)?;
        }
        Ok(ready)
    })
}

/// `MPI_Alltoallv` and `MPI_Alltoallw`.
///
/// # Safety
/// As for [`alltoall`]; the arrays have a place for every rank.
pub unsafe fn alltoallv(send: Buffers, receive: Buffers, comm: Comm) -> impl Collective {
    by_messages(Operation::Alltoall, comm, 0, move |call| {
        let ranks = call.stand.ranks;
        // SAFETY: the caller's promise.
        let output = unsafe { receive.blocks(ranks)? };
        let (own, input) = match send.is_in_place() {
            // SAFETY: the caller's buffer.
            true => unsafe { call.pool().copy(&output, ranks)? },
            // SAFETY: the caller's promise.
            false => (Scratch::default(), unsafe { send.blocks(ranks)? }),
        };
        apart(&input, &output, call.stand.rank)?;
        // Sizes differ from rank to rank, so they cannot decide.
        let algorithm = match call.pick(Operation::Alltoall, usize::MAX)? {
            Algorithm::Pairs => Algorithm::Pairs,
            _ => Algorithm::Turns,
        };
        let mut ready = Ready::plain(call.stand.alltoall(algorithm), input, output);
        ready.scratch[0] = own;
        Ok(ready)
    })
}
