//! The calls of the standard: what each checks, which memory it uses, which schedule runs.

use super::buffers::items;
use super::exchange::Buffers as Memory;
use super::layout::{Cut, Layout};
use super::schedule::{Stand, Steps};
use super::scratch::{Pool, Scratch};
use super::{Algorithm, Buffer, Buffers, Numbers, Operation, Prepared};
use crate::constants::*;
use crate::error::Error;
use crate::op::{self, Reduction};
use crate::world::{self, Fault, World};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use pombo_kernel::collective::Segments;

/// Long messages go through chains in segments of so many bytes.
const SEGMENT: usize = 32 << 10;

/// A call while it is being prepared.
struct Call<'w> {
    world: &'w mut World,
    stand: Stand,
}

/// Prepares a call without a root.
fn prepare(
    comm: Comm,
    call: impl FnOnce(&mut Call<'_>) -> Result<Ready, Error>,
) -> Result<Prepared, Fault> {
    prepare_rooted(comm, 0, call)
}

/// Prepares a call with a root.
fn prepare_rooted(
    comm: Comm,
    root: c_int,
    call: impl FnOnce(&mut Call<'_>) -> Result<Ready, Error>,
) -> Result<Prepared, Fault> {
    world::with(|world| {
        let group = world.comms.get(comm)?;
        let root = group.root(root).map_err(Fault::on(comm))?;
        let stand = Stand {
            rank: group.rank,
            ranks: group.size(),
            root,
        };
        let mut place = Call { world, stand };
        let ready = call(&mut place).map_err(Fault::on(comm))?;
        Prepared::new(world, comm, ready.steps, ready.memory, ready.scratch)
    })
}

/// Everything that an operation needs.
struct Ready {
    steps: Steps,
    memory: Memory,
    scratch: [Scratch; 2],
}

impl Ready {
    /// Without temporary memory.
    fn plain(steps: Steps, input: Layout, output: Layout) -> Ready {
        let memory = Memory {
            input,
            output,
            ..Memory::nothing()
        };
        Ready {
            steps,
            memory,
            scratch: Default::default(),
        }
    }
}

impl Call<'_> {
    fn pick(&self, operation: Operation, bytes: usize) -> Algorithm {
        let choices = &self.world.collectives.choices;
        choices.pick(operation, self.stand.ranks, bytes)
    }

    fn pool(&mut self) -> &mut Pool {
        &mut self.world.collectives.pool
    }
}

/// A vector cut as an algorithm wants it, and into how many blocks.
fn cut(vector: Layout, algorithm: Algorithm, ranks: usize) -> (Layout, usize) {
    let blocks = match algorithm {
        Algorithm::Chain => {
            let most = SEGMENT / vector.shape().size().max(1);
            Segments::at_most(vector.items(), most).blocks().max(1)
        }
        Algorithm::Scattered | Algorithm::Ring => ranks,
        Algorithm::Halving => 1 << ranks.ilog2(),
        _ => 1,
    };
    (vector.evenly(blocks), blocks)
}

/// `MPI_Barrier`.
pub fn barrier(comm: Comm) -> Result<Prepared, Fault> {
    prepare(comm, |call| {
        let steps = call.stand.barrier(call.pick(Operation::Barrier, 0));
        Ok(Ready::plain(steps, Layout::nothing(), Layout::nothing()))
    })
}

/// `MPI_Bcast`.
///
/// # Safety
/// The buffer holds, or has room for, what it says, until the operation is over.
pub unsafe fn broadcast(buffer: Buffer, root: c_int, comm: Comm) -> Result<Prepared, Fault> {
    prepare_rooted(comm, root, |call| {
        let vector = buffer.whole()?;
        let algorithm = call.pick(Operation::Bcast, vector.bytes());
        let (output, blocks) = cut(vector, algorithm, call.stand.ranks);
        let steps = call.stand.broadcast(algorithm, blocks);
        Ok(Ready::plain(steps, Layout::nothing(), output))
    })
}

/// `MPI_Gather`.
///
/// # Safety
/// The send buffer, and at the root the receive buffer, hold what they say, until the operation is over.
pub unsafe fn gather(
    send: Buffer,
    receive: Buffer,
    root: c_int,
    comm: Comm,
) -> Result<Prepared, Fault> {
    prepare_rooted(comm, root, |call| {
        let stand = call.stand;
        let output = match stand.is_root() {
            true => receive.blocks(stand.ranks)?,
            false => Layout::nothing(),
        };
        let input = match send.is_in_place() && stand.is_root() {
            true => output.block(stand.rank),
            false => send.whole()?,
        };
        let algorithm = call.pick(Operation::Gather, input.bytes());
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
pub unsafe fn gatherv(
    send: Buffer,
    receive: Buffers,
    root: c_int,
    comm: Comm,
) -> Result<Prepared, Fault> {
    prepare_rooted(comm, root, |call| {
        let stand = call.stand;
        let output = match stand.is_root() {
            // SAFETY: the caller's promise.
            true => unsafe { receive.blocks(stand.ranks)? },
            false => Layout::nothing(),
        };
        let input = match send.is_in_place() && stand.is_root() {
            true => output.block(stand.rank),
            false => send.whole()?,
        };
        Ok(Ready::plain(stand.gather(Algorithm::Linear), input, output))
    })
}

/// `MPI_Scatter`.
///
/// # Safety
/// The receive buffer, and at the root the send buffer, hold what they say, until the operation is over.
pub unsafe fn scatter(
    send: Buffer,
    receive: Buffer,
    root: c_int,
    comm: Comm,
) -> Result<Prepared, Fault> {
    prepare_rooted(comm, root, |call| {
        let stand = call.stand;
        let input = match stand.is_root() {
            true => send.blocks(stand.ranks)?,
            false => Layout::nothing(),
        };
        let output = match receive.is_in_place() && stand.is_root() {
            true => input.block(stand.rank),
            false => receive.whole()?,
        };
        let algorithm = call.pick(Operation::Scatter, output.bytes());
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
pub unsafe fn scatterv(
    send: Buffers,
    receive: Buffer,
    root: c_int,
    comm: Comm,
) -> Result<Prepared, Fault> {
    prepare_rooted(comm, root, |call| {
        let stand = call.stand;
        let input = match stand.is_root() {
            // SAFETY: the caller's promise.
            true => unsafe { send.blocks(stand.ranks)? },
            false => Layout::nothing(),
        };
        let output = match receive.is_in_place() && stand.is_root() {
            true => input.block(stand.rank),
            false => receive.whole()?,
        };
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
pub unsafe fn allgather(send: Buffer, receive: Buffer, comm: Comm) -> Result<Prepared, Fault> {
    prepare(comm, |call| {
        let output = receive.blocks(call.stand.ranks)?;
        collect(call, send, output)
    })
}

/// `MPI_Allgatherv`.
///
/// # Safety
/// As for [`allgather`]; the arrays have a number for every rank.
pub unsafe fn allgatherv(send: Buffer, receive: Buffers, comm: Comm) -> Result<Prepared, Fault> {
    prepare(comm, |call| {
        // SAFETY: the caller's promise.
        let output = unsafe { receive.blocks(call.stand.ranks)? };
        collect(call, send, output)
    })
}

fn collect(call: &mut Call<'_>, send: Buffer, output: Layout) -> Result<Ready, Error> {
    let input = match send.is_in_place() {
        true => output.block(call.stand.rank),
        false => send.whole()?,
    };
    let algorithm = match call.pick(Operation::Allgather, output.bytes()) {
        // What lies anywhere cannot be broadcast as one message.
        Algorithm::Linear if output.is_apart() => Algorithm::Turns,
        algorithm => algorithm,
    };
    Ok(Ready::plain(call.stand.allgather(algorithm), input, output))
}

/// `MPI_Alltoall`.
///
/// # Safety
/// Both buffers hold what they say, until the operation is over.
pub unsafe fn alltoall(send: Buffer, receive: Buffer, comm: Comm) -> Result<Prepared, Fault> {
    prepare(comm, |call| {
        let ranks = call.stand.ranks;
        let output = receive.blocks(ranks)?;
        let (own, input) = match send.is_in_place() {
            // SAFETY: the caller's buffer.
            true => unsafe { call.pool().copy(&output, ranks)? },
            false => (Scratch::default(), send.blocks(ranks)?),
        };
        let mut algorithm = call.pick(Operation::Alltoall, output.bytes() / ranks);
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
pub unsafe fn alltoallv(send: Buffers, receive: Buffers, comm: Comm) -> Result<Prepared, Fault> {
    prepare(comm, |call| {
        let ranks = call.stand.ranks;
        // SAFETY: the caller's promise.
        let output = unsafe { receive.blocks(ranks)? };
        let (own, input) = match send.is_in_place() {
            // SAFETY: the caller's buffer.
            true => unsafe { call.pool().copy(&output, ranks)? },
            // SAFETY: the caller's promise.
            false => (Scratch::default(), unsafe { send.blocks(ranks)? }),
        };
        // Sizes differ from rank to rank, so they cannot decide.
        let algorithm = match call.pick(Operation::Alltoall, usize::MAX) {
            Algorithm::Pairs => Algorithm::Pairs,
            _ => Algorithm::Turns,
        };
        let mut ready = Ready::plain(call.stand.alltoall(algorithm), input, output);
        ready.scratch[0] = own;
        Ok(ready)
    })
}

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
    fn reduction(&self) -> Result<Reduction, Error> {
        op::check(self.op, self.datatype)
    }

    fn at(&self, address: *mut c_void) -> Buffer {
        Buffer {
            address,
            count: self.count,
            datatype: self.datatype,
        }
    }

    fn is_in_place(&self) -> bool {
        self.at(self.input.cast_mut()).is_in_place()
    }

    /// What this rank contributes, where that may be the result's own memory.
    fn input(&self) -> Result<Layout, Error> {
        match self.is_in_place() {
            true => self.output(),
            false => self.at(self.input.cast_mut()).whole(),
        }
    }

    fn output(&self) -> Result<Layout, Error> {
        self.at(self.output).whole()
    }
}

/// `MPI_Reduce`.
///
/// # Safety
/// The input, and at the root the output, hold `count` items, until the operation is over.
pub unsafe fn reduce(reduced: Reduced, root: c_int, comm: Comm) -> Result<Prepared, Fault> {
    prepare_rooted(comm, root, |call| {
        let stand = call.stand;
        let reduction = reduced.reduction()?;
        let input = match stand.is_root() {
            true => reduced.input()?,
            false => reduced.at(reduced.input.cast_mut()).whole()?,
        };
        let algorithm = call.pick(Operation::Reduce, input.bytes());
        let (input, blocks) = cut(input, algorithm, stand.ranks);
        // A leaf sends its input and needs nothing else.
        let nothing = || (Scratch::default(), Layout::nothing());
        let (own, incoming) = match stand.is_leaf(algorithm) {
            true => nothing(),
            false => call.pool().like(&input)?,
        };
        let (temporary, work) = match (stand.is_root(), stand.is_leaf(algorithm)) {
            (true, _) => (Scratch::default(), reduced.output()?.evenly(blocks)),
            (false, true) => nothing(),
            (false, false) => call.pool().like(&input)?,
        };
        Ok(Ready {
            steps: stand.reduce(algorithm, blocks),
            memory: Memory {
                input,
                work,
                incoming,
                reduction: Some(reduction),
                ..Memory::nothing()
            },
            scratch: [own, temporary],
        })
    })
}

/// `MPI_Allreduce`.
///
/// # Safety
/// Both buffers hold `count` items, until the operation is over.
pub unsafe fn allreduce(reduced: Reduced, comm: Comm) -> Result<Prepared, Fault> {
    prepare(comm, |call| {
        let (reduction, input) = (reduced.reduction()?, reduced.input()?);
        let algorithm = call.pick(Operation::Allreduce, input.bytes());
        let (input, blocks) = cut(input, algorithm, call.stand.ranks);
        let (own, incoming) = call.pool().like(&input)?;
        Ok(Ready {
            steps: call.stand.allreduce(algorithm, blocks),
            memory: Memory {
                input,
                work: reduced.output()?.evenly(blocks),
                incoming,
                reduction: Some(reduction),
                ..Memory::nothing()
            },
            scratch: [own, Scratch::default()],
        })
    })
}

/// `MPI_Scan`.
///
/// # Safety
/// Both buffers hold `count` items, until the operation is over.
pub unsafe fn scan(reduced: Reduced, comm: Comm) -> Result<Prepared, Fault> {
    prepare(comm, |call| {
        let (reduction, input) = (reduced.reduction()?, reduced.input()?);
        let algorithm = call.pick(Operation::Scan, input.bytes());
        let (own, incoming) = call.pool().like(&input)?;
        Ok(Ready {
            steps: call.stand.scan(algorithm),
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
pub unsafe fn exscan(reduced: Reduced, comm: Comm) -> Result<Prepared, Fault> {
    prepare(comm, |call| {
        let (reduction, input) = (reduced.reduction()?, reduced.input()?);
        let output = match call.stand.rank {
            0 => Layout::nothing(),
            _ => reduced.output()?,
        };
        let algorithm = call.pick(Operation::Exscan, input.bytes());
        let (own, incoming) = call.pool().like(&input)?;
        let (temporary, work) = call.pool().like(&input)?;
        Ok(Ready {
            steps: call.stand.exscan(algorithm),
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
pub unsafe fn reduce_scatter_block(reduced: Reduced, comm: Comm) -> Result<Prepared, Fault> {
    prepare(comm, |call| {
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
pub unsafe fn reduce_scatter(
    reduced: Reduced,
    counts: Numbers,
    comm: Comm,
) -> Result<Prepared, Fault> {
    prepare(comm, |call| {
        let mut ends = Vec::with_capacity(call.stand.ranks);
        let mut end = 0_usize;
        for block in 0..call.stand.ranks {
            // SAFETY: the caller's promise.
            end = end.saturating_add(items(unsafe { counts.get(block) })?);
            ends.push(end);
        }
        spread(call, reduced, ends)
    })
}

fn spread(call: &mut Call<'_>, reduced: Reduced, ends: Vec<usize>) -> Result<Ready, Error> {
    let stand = call.stand;
    let reduction = reduced.reduction()?;
    let all = ends.last().copied().unwrap_or(0);
    let before = stand.rank.checked_sub(1).map_or(0, |before| ends[before]);
    let with = |count| Reduced {
        count: i64::try_from(count).unwrap_or(i64::MAX),
        ..reduced
    };
    // In place the data of all blocks lies where the result of one belongs.
    let input = with(all).input()?.cut(Cut::At(ends.clone()));
    let output = with(ends[stand.rank] - before).output()?;
    let algorithm = call.pick(Operation::ReduceScatter, input.bytes());
    let (own, incoming) = call.pool().like(&input)?;
    let (temporary, work) = call.pool().like(&input)?;
    Ok(Ready {
        steps: stand.reduce_scatter(algorithm),
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
