//! Barrier, broadcast, and the calls that move blocks: the checks, the memory and the schedule of each.

use super::adaptive;
use super::buffers::{Blocks, LastingBuffers, distinct};
use super::flat_movement::{
    allgather_by_messages, allgather_shm, broadcast_by_messages, broadcast_shm, collect, own,
};
use super::hierarchical;
use super::intercommunicator;
use super::layout::Layout;
use super::operation::PreparedOperation;
use super::prepare::{Call, by_messages, prepare, prepare_rooted};
use super::schedule::Position;
use super::scratch::Scratch;
use super::shared_memory::{Method, shares};
use super::shm_buffers::{BlockedBuffer, ShmBuffers};
use super::{Algorithm, Buffer, Buffers, Collective, Operation};
use crate::constants::Comm;
use crate::datatype::{Datatypes, Shape};
use crate::error::Error;
use crate::user_buffer::UserAddress;
use core::ffi::c_int;
use pombo_collective as schedules;
use pombo_kernel::Source;
use pombo_netdrivers::shm::collective::ROUNDS_AHEAD;
use pombo_netdrivers::tuning::{EXCHANGED_AHEAD, PAIR_EXCHANGED};

/// Checks that this rank's own send and receive blocks do not begin at the same address.
fn apart(input: &Layout, output: &Layout, rank: usize) -> Result<(), Error> {
    let block = schedules::Buffer::Input.block(rank);
    distinct(&input.region(block), &output.region(block))
}

/// Prepares `MPI_Barrier`.
pub fn barrier(comm: Comm) -> impl Collective {
    let fast_path = |call: &mut Call<'_>| {
        let area = match call.method(Operation::Barrier, 0)? {
            Method::SharedMemory(area) => area,
            Method::Hierarchical => return hierarchical::barrier(call),
            Method::Direct(_) | Method::Messages => return Ok(false),
        };
        let Position { rank, ranks, .. } = call.position;
        let buffers = ShmBuffers::plain(
            Operation::Barrier,
            0,
            BlockedBuffer::nothing(),
            BlockedBuffer::nothing(),
        );
        call.run_shm(area, &mut schedules::barrier_shm(rank, ranks), &buffers)
    };
    prepare(Operation::Barrier, comm, fast_path, |call| {
        if call.is_inter {
            intercommunicator::enter_both(call)?;
        }
        let (position, algorithm) = (call.position, call.select(Operation::Barrier, 0)?);
        let steps = position.barrier(algorithm);
        Ok(PreparedOperation::plain(
            steps,
            Layout::nothing(),
            Layout::nothing(),
        ))
    })
}

/// Prepares `MPI_Bcast`.
pub fn broadcast(buffer: Buffer<'_>, root: c_int, comm: Comm) -> impl Collective {
    let fast_path = move |call: &mut Call<'_>| {
        let bytes = |datatypes: &Datatypes| Ok(Source::len(&buffer.region(datatypes, 1)?));
        let mut run = || match call.is_hierarchical(Operation::Bcast, bytes)? {
            true => hierarchical::broadcast(call, buffer),
            false if broadcast_shm(call, buffer)? => Ok(true),
            false if call.is_adaptive(Operation::Bcast)? => adaptive::broadcast(call, buffer),
            false => Ok(false),
        };
        let done = run();
        if done.is_err() {
            adaptive::join_refused(call, Operation::Bcast);
        }
        done
    };
    prepare_rooted(
        Operation::Bcast,
        comm,
        root,
        fast_path,
        move |call| match call.is_inter {
            false => broadcast_by_messages(call, buffer),
            true => intercommunicator::broadcast(call, buffer),
        },
    )
}

/// Prepares `MPI_Gather`.
pub fn gather(send: Buffer<'_>, receive: Buffer<'_>, root: c_int, comm: Comm) -> impl Collective {
    by_messages(Operation::Gather, comm, root, move |call| {
        if call.is_inter {
            return intercommunicator::gather(call, send, &receive);
        }
        let position = call.position;
        let output = match position.is_root() {
            true => receive.blocks(call.datatypes(), position.ranks)?,
            false => Layout::nothing(),
        };
        let input = own(call, send, &output, position.is_root(), position.rank)?;
        let algorithm = call.select(Operation::Gather, input.bytes())?;
        let mut ready = PreparedOperation::plain(position.gather(algorithm), input, output);
        if algorithm == Algorithm::Binomial && !position.is_root() {
            let (scratch, work) = call.pool().blocks(&ready.memory.input, position.ranks)?;
            ready.memory.work = work;
            ready.scratch[0] = scratch;
        }
        Ok(ready)
    })
}

/// Prepares `MPI_Gatherv`.
pub fn gatherv(send: Buffer<'_>, receive: Buffers<'_>, root: c_int, comm: Comm) -> impl Collective {
    let receive = LastingBuffers::from(receive);
    by_messages(Operation::Gather, comm, root, move |call| {
        if call.is_inter {
            return intercommunicator::gather(call, send, &receive);
        }
        let position = call.position;
        let output = match position.is_root() {
            true => receive.layout(call.datatypes(), position.ranks)?,
            false => Layout::nothing(),
        };
        let input = own(call, send, &output, position.is_root(), position.rank)?;
        Ok(PreparedOperation::plain(
            position.gather(Algorithm::Linear),
            input,
            output,
        ))
    })
}

/// Prepares `MPI_Scatter`.
pub fn scatter(send: Buffer<'_>, receive: Buffer<'_>, root: c_int, comm: Comm) -> impl Collective {
    by_messages(Operation::Scatter, comm, root, move |call| {
        if call.is_inter {
            return intercommunicator::scatter(call, &send, receive);
        }
        let position = call.position;
        let input = match position.is_root() {
            true => send.blocks(call.datatypes(), position.ranks)?,
            false => Layout::nothing(),
        };
        let output = own(call, receive, &input, position.is_root(), position.rank)?;
        let algorithm = call.select(Operation::Scatter, output.bytes())?;
        let mut ready = PreparedOperation::plain(position.scatter(algorithm), input, output);
        if algorithm == Algorithm::Binomial && !position.is_root() {
            let (scratch, work) = call.pool().blocks(&ready.memory.output, position.ranks)?;
            ready.memory.work = work;
            ready.scratch[0] = scratch;
        }
        Ok(ready)
    })
}

/// Prepares `MPI_Scatterv`.
pub fn scatterv(
    send: Buffers<'_>,
    receive: Buffer<'_>,
    root: c_int,
    comm: Comm,
) -> impl Collective {
    let send = LastingBuffers::from(send);
    by_messages(Operation::Scatter, comm, root, move |call| {
        if call.is_inter {
            return intercommunicator::scatter(call, &send, receive);
        }
        let position = call.position;
        let input = match position.is_root() {
            true => send.layout(call.datatypes(), position.ranks)?,
            false => Layout::nothing(),
        };
        let output = own(call, receive, &input, position.is_root(), position.rank)?;
        Ok(PreparedOperation::plain(
            position.scatter(Algorithm::Linear),
            input,
            output,
        ))
    })
}

/// Prepares `MPI_Allgather`.
pub fn allgather(send: Buffer<'_>, receive: Buffer<'_>, comm: Comm) -> impl Collective {
    let fast_path = move |call: &mut Call<'_>| {
        let ranks = call.position.ranks;
        let bytes = |datatypes: &Datatypes| Ok(Source::len(&receive.region(datatypes, ranks)?));
        match call.is_hierarchical(Operation::Allgather, bytes)? {
            true => hierarchical::allgather(call, send, receive),
            false => allgather_shm(call, send, receive),
        }
    };
    prepare(
        Operation::Allgather,
        comm,
        fast_path,
        move |call| match call.is_inter {
            false => allgather_by_messages(call, send, receive),
            true => intercommunicator::allgather(call, send, &receive),
        },
    )
}

/// Prepares `MPI_Allgatherv`.
pub fn allgatherv(send: Buffer<'_>, receive: Buffers<'_>, comm: Comm) -> impl Collective {
    let receive = LastingBuffers::from(receive);
    by_messages(Operation::Allgather, comm, 0, move |call| {
        if call.is_inter {
            return intercommunicator::allgather(call, send, &receive);
        }
        let output = receive.layout(call.datatypes(), call.position.ranks)?;
        collect(call, send, output)
    })
}

/// Prepares `MPI_Alltoall`.
pub fn alltoall(send: Buffer<'_>, receive: Buffer<'_>, comm: Comm) -> impl Collective {
    let boards = move |call: &mut Call<'_>| {
        let Position { rank, ranks, .. } = call.position;
        let output = receive.region(call.datatypes(), ranks)?;
        let each = Source::len(&output) / ranks;
        let input = match send.is_in_place() {
            true => output.clone(),
            false => send.region(call.datatypes(), ranks)?,
        };
        if !send.is_in_place() {
            distinct(&input, &output)?;
        }
        let given = Source::len(&input) / ranks;
        let area = match call.method(Operation::Alltoall, each)? {
            Method::SharedMemory(area) => area,
            Method::Direct(area) if given == each => {
                let into = receive.one(call.datatypes(), 1 - rank)?;
                if send.is_in_place() {
                    let mut memory = [0; PAIR_EXCHANGED];
                    let message = UserAddress::of(&mut memory).region(each, Shape::BYTE);
                    into.copy_to(&message);
                    call.exchange_directly(area, message, into, || {})?;
                    return Ok(true);
                }
                let own = send.one(call.datatypes(), rank)?;
                let place = receive.one(call.datatypes(), rank)?;
                let message = send.one(call.datatypes(), 1 - rank)?;
                call.exchange_directly(area, message, into, || own.copy_to(&place))?;
                return Ok(true);
            }
            _ => return call.disagrees(Operation::Alltoall, (given, each)),
        };
        let parts = schedules::alltoall_parts(ranks);
        let (grain, segments) = shares(each, parts, 1);
        let side = |region| BlockedBuffer::matrix(region, ranks, grain);
        let buffers = ShmBuffers {
            scattered: (parts > 1).then_some(schedules::Buffer::Output),
            exchanged: Some(1),
            ..ShmBuffers::plain(Operation::Alltoall, each, side(input), side(output))
        };
        let buffers = buffers.giving(Operation::Alltoall, given);
        let ahead = if ranks == 2 {
            ROUNDS_AHEAD
        } else {
            EXCHANGED_AHEAD
        };
        let mut steps = schedules::alltoall_shm(rank, ranks, segments, ahead);
        call.run_shm(area, &mut steps, &buffers)
    };
    prepare(Operation::Alltoall, comm, boards, move |call| {
        if call.is_inter {
            return intercommunicator::alltoall(call, &send, &receive);
        }
        let ranks = call.position.ranks;
        let output = receive.blocks(call.datatypes(), ranks)?;
        let (own, input) = match send.is_in_place() {
            true => call.pool().copy(&output, ranks)?,
            false => (Scratch::default(), send.blocks(call.datatypes(), ranks)?),
        };
        apart(&input, &output, call.position.rank)?;
        let mut algorithm = call.select(Operation::Alltoall, output.bytes() / ranks)?;
        // The copy of the input is not contiguous, and takes one of the two scratch buffers that Bruck's algorithm
        // needs.
        if send.is_in_place() && algorithm == Algorithm::Bruck {
            algorithm = Algorithm::SpreadOut;
        }
        let mut ready = PreparedOperation::plain(call.position.alltoall(algorithm), input, output);
        ready.scratch[0] = own;
        if algorithm == Algorithm::Bruck {
            let memory = &mut ready.memory;
            (ready.scratch[0], memory.work) = call.pool().packed_like(&memory.input)?;
            (ready.scratch[1], memory.incoming) = call.pool().packed_like(&memory.input)?;
        }
        Ok(ready)
    })
}

/// Prepares `MPI_Alltoallv` and `MPI_Alltoallw`.
pub fn alltoallv(send: Buffers<'_>, receive: Buffers<'_>, comm: Comm) -> impl Collective {
    let (send, receive) = (LastingBuffers::from(send), LastingBuffers::from(receive));
    by_messages(Operation::Alltoall, comm, 0, move |call| {
        if call.is_inter {
            return intercommunicator::alltoall(call, &send, &receive);
        }
        let ranks = call.position.ranks;
        let output = receive.layout(call.datatypes(), ranks)?;
        let (own, input) = match send.is_in_place() {
            true => call.pool().copy(&output, ranks)?,
            false => (Scratch::default(), send.layout(call.datatypes(), ranks)?),
        };
        apart(&input, &output, call.position.rank)?;
        // Sizes differ from rank to rank, so the choice must not depend on them.
        let algorithm = match call.select(Operation::Alltoall, usize::MAX)? {
            Algorithm::Pairwise => Algorithm::Pairwise,
            _ => Algorithm::SpreadOut,
        };
        let mut ready = PreparedOperation::plain(call.position.alltoall(algorithm), input, output);
        ready.scratch[0] = own;
        Ok(ready)
    })
}
