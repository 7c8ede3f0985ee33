//! Collective calls on intercommunicators, by messages: what one group contributes arrives in the other. Source: MPI
//! 5.0, section 6.2.3.
//!
//! Blocks go directly from every contributor to every receiver. Reductions go to the first rank of the group that
//! contributes, and from there to the root or to the first rank of the other group, which passes the result on.

use super::buffers::Blocks;
use super::flat_movement::{allgather_by_messages, broadcast_by_messages};
use super::flat_reductions::{Reduced, allreduce_by_messages};
use super::layout::{Cut, Layout};
use super::operation::PreparedOperation;
use super::prepare::{Call, SubGroup, by_messages};
use super::schedule::{Position, Steps};
use super::{Algorithm, Buffer, Collective, Operation};
use crate::constants::{Comm, MPI_PROC_NULL, MPI_ROOT};
use crate::error::Error;
use crate::op::Reduction;
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::c_int;
use pombo_collective::Buffer::{Incoming, Input, Output, Work};
use pombo_collective::{Piece, Step};
use pombo_kernel::Peer;

/// Prepares an all-reduce over both groups, which the standard does not have: by it they agree on what concerns both.
pub(crate) fn allreduce_both(reduced: Reduced<'_>, comm: Comm) -> impl Collective {
    by_messages(Operation::Allreduce, comm, 0, move |call| {
        enter_both(call)?;
        allreduce_by_messages(call, reduced)
    })
}

/// Prepares an all-gather over both groups, in the order of [`everybody`](crate::comm::CommRecord::everybody).
pub(crate) fn allgather_both(send: Buffer<'_>, receive: Buffer<'_>, comm: Comm) -> impl Collective {
    by_messages(Operation::Allgather, comm, 0, move |call| {
        enter_both(call)?;
        allgather_by_messages(call, send, receive)
    })
}

/// Makes the members of both groups the ranks of the call.
#[cold]
pub(super) fn enter_both(call: &mut Call<'_>) -> Result<(), Error> {
    let record = call.record()?;
    let rank = record.starts().0 + record.rank;
    let everybody = record.everybody();
    let ranks = everybody.len();
    enter(
        call,
        everybody,
        Position {
            rank,
            ranks,
            root: 0,
        },
    );
    Ok(())
}

fn enter(call: &mut Call<'_>, peers: Vec<Peer>, position: Position) {
    call.position = position;
    call.subgroup = Some(SubGroup {
        peers: peers.into(),
        same_host: false,
    });
}

/// Makes the local group the ranks of the call, with its first rank as the root. A process of the remote group has the
/// number behind theirs: it exchanges messages with the root.
fn enter_local(call: &mut Call<'_>, remote: usize) -> Result<(), Error> {
    let record = call.record()?;
    let mut peers = record.group().to_vec();
    let position = Position {
        rank: record.rank,
        ranks: peers.len(),
        root: 0,
    };
    peers.push(record.peer(remote as c_int)?);
    enter(call, peers, position);
    Ok(())
}

/// What a process does in a call with a root.
enum Role {
    /// It is the root.
    Root,
    /// It is in the root's group, and does nothing.
    Bystander,
    /// It is in the other group; the root has this rank in the remote one.
    Member(usize),
}

impl Role {
    fn of(call: &Call<'_>) -> Role {
        // A position has the argument's bits.
        match call.position.root as c_int {
            MPI_ROOT => Role::Root,
            MPI_PROC_NULL => Role::Bystander,
            root => Role::Member(root as usize),
        }
    }
}

/// Makes a schedule of a list of steps, of which one type is compiled.
fn list(steps: Vec<Step>) -> Steps {
    Steps::of(steps.into_iter())
}

fn plain(steps: Vec<Step>, input: Layout, output: Layout) -> PreparedOperation {
    PreparedOperation::plain(list(steps), input, output)
}

fn nothing() -> PreparedOperation {
    plain(Vec::new(), Layout::nothing(), Layout::nothing())
}

/// Receives a block from each rank of the remote group, in their order.
fn take_each(ranks: usize) -> Vec<Step> {
    (0..ranks)
        .map(|from| take(from, Output.block(from)))
        .collect()
}

/// Sends each rank of the remote group a piece.
fn give_each(ranks: usize, piece: fn(usize) -> Piece) -> impl Iterator<Item = Step> {
    (0..ranks).map(move |to| give(to, piece(to)))
}

fn take(from: usize, piece: Piece) -> Step {
    Step::Receive { from, piece }
}

fn give(to: usize, piece: Piece) -> Step {
    Step::Send { to, piece }
}

#[cold]
pub(super) fn broadcast(
    call: &mut Call<'_>,
    buffer: Buffer<'_>,
) -> Result<PreparedOperation, Error> {
    let role = Role::of(call);
    let record = call.record()?;
    // The root is the last rank, behind the group that receives.
    let (mut peers, rank, root) = match role {
        Role::Bystander => return Ok(nothing()),
        Role::Root => (
            record.peers.to_vec(),
            record.size(),
            record.group()[record.rank],
        ),
        Role::Member(root) => (
            record.group().to_vec(),
            record.rank,
            record.peer(root as c_int)?,
        ),
    };
    peers.push(root);
    let ranks = peers.len();
    enter(
        call,
        peers,
        Position {
            rank,
            ranks,
            root: ranks - 1,
        },
    );
    broadcast_by_messages(call, buffer)
}

#[cold]
pub(super) fn gather(
    call: &mut Call<'_>,
    send: Buffer<'_>,
    receive: &dyn Blocks,
) -> Result<PreparedOperation, Error> {
    let ranks = call.position.ranks;
    Ok(match Role::of(call) {
        Role::Bystander => nothing(),
        Role::Root => {
            let output = receive.layout(call.datatypes(), ranks)?;
            plain(take_each(ranks), Layout::nothing(), output)
        }
        Role::Member(root) => {
            let input = send.whole(call.datatypes())?;
            plain(vec![give(root, Input.block(0))], input, Layout::nothing())
        }
    })
}

#[cold]
pub(super) fn scatter(
    call: &mut Call<'_>,
    send: &dyn Blocks,
    receive: Buffer<'_>,
) -> Result<PreparedOperation, Error> {
    let ranks = call.position.ranks;
    Ok(match Role::of(call) {
        Role::Bystander => nothing(),
        Role::Root => {
            let input = send.layout(call.datatypes(), ranks)?;
            let steps = give_each(ranks, |to| Input.block(to)).collect();
            plain(steps, input, Layout::nothing())
        }
        Role::Member(root) => {
            let output = receive.whole(call.datatypes())?;
            plain(vec![take(root, Output.block(0))], Layout::nothing(), output)
        }
    })
}

#[cold]
pub(super) fn allgather(
    call: &mut Call<'_>,
    send: Buffer<'_>,
    receive: &dyn Blocks,
) -> Result<PreparedOperation, Error> {
    let ranks = call.position.ranks;
    let output = receive.layout(call.datatypes(), ranks)?;
    let input = send.whole(call.datatypes())?;
    let mut steps = take_each(ranks);
    steps.extend(give_each(ranks, |_| Input.block(0)));
    Ok(plain(steps, input, output))
}

#[cold]
pub(super) fn alltoall(
    call: &mut Call<'_>,
    send: &dyn Blocks,
    receive: &dyn Blocks,
) -> Result<PreparedOperation, Error> {
    let ranks = call.position.ranks;
    let output = receive.layout(call.datatypes(), ranks)?;
    let input = send.layout(call.datatypes(), ranks)?;
    let mut steps = take_each(ranks);
    steps.extend(give_each(ranks, |to| Input.block(to)));
    Ok(plain(steps, input, output))
}

#[cold]
pub(super) fn reduce(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
) -> Result<PreparedOperation, Error> {
    let reduction = match Role::of(call) {
        Role::Bystander => return Ok(nothing()),
        _ => reduced.reduction(call.objects(), false)?,
    };
    let Role::Member(root) = Role::of(call) else {
        let output = reduced.output(call.datatypes())?;
        return Ok(plain(
            vec![take(0, Output.block(0))],
            Layout::nothing(),
            output,
        ));
    };
    enter_local(call, root)?;
    let (algorithm, input, blocks) = contribution(call, reduced, &reduction)?;
    let steps = call.position.reduce(algorithm, blocks);
    let mut ready = combining(call, steps, input, reduction)?;
    let position = call.position;
    ready.then = position
        .is_root()
        .then(|| list(vec![give(position.ranks, Work.all(blocks))]));
    Ok(ready)
}

#[cold]
pub(super) fn allreduce(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
) -> Result<PreparedOperation, Error> {
    let reduction = reduced.reduction(call.objects(), true)?;
    enter_local(call, 0)?;
    let (algorithm, input, blocks) = contribution(call, reduced, &reduction)?;
    let output = reduced.output(call.datatypes())?.evenly(blocks);
    let steps = call.position.reduce(algorithm, blocks);
    let mut ready = combining(call, steps, input, reduction)?;
    ready.memory.output = output;
    let swap = swap(call.position, Work.all(blocks), Output.all(blocks));
    let spread = call.position.broadcast(algorithm, blocks);
    ready.then = Some(Steps::of(swap.into_iter().chain(spread)));
    Ok(ready)
}

/// Prepares `MPI_Reduce_scatter`: `ends` are those of the local group's blocks.
#[cold]
pub(super) fn reduce_scatter(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
    ends: &[usize],
) -> Result<PreparedOperation, Error> {
    let reduction = reduced.reduction(call.objects(), true)?;
    enter_local(call, 0)?;
    let Position { rank, ranks, .. } = call.position;
    let before = rank.checked_sub(1).map_or(0, |before| ends[before]);
    let with = |count| Reduced {
        count: i64::try_from(count).unwrap_or(i64::MAX),
        ..reduced
    };
    let output = with(ends[rank] - before).output(call.datatypes())?;
    let (algorithm, input, _) = contribution(call, with(ends[ranks - 1]), &reduction)?;
    let input = input.cut(Cut::At(ends.into()));
    // The reduction takes all blocks at once.
    let whole = move |step: Step| step.on(|piece| piece.buffer.all(ranks));
    let steps = call.position.reduce(algorithm, 1).map(whole).collect();
    let mut ready = combining(call, list(steps), input, reduction)?;
    ready.memory.output = output;
    let mut last = swap(call.position, Work.all(ranks), Incoming.all(ranks));
    let received = |piece: Piece| match piece.buffer {
        Input => piece.of(Incoming),
        _ => piece,
    };
    let spread = call.position.scatter(Algorithm::Linear);
    last.extend(spread.map(|step| step.on(received)));
    ready.then = Some(list(last));
    Ok(ready)
}

/// Returns the algorithm of a reduction in this group, and this rank's contribution in that many blocks.
fn contribution(
    call: &mut Call<'_>,
    reduced: Reduced<'_>,
    reduction: &Reduction,
) -> Result<(Algorithm, Layout, usize), Error> {
    let input = reduced.at(reduced.input).whole(call.datatypes())?;
    let algorithm = call.select_for(reduction, Operation::Reduce, input.bytes())?;
    let (input, blocks) = call.cut(input, algorithm)?;
    Ok((algorithm, input, blocks))
}

/// Prepares a reduction whose result stays in the work buffer of the root.
fn combining(
    call: &mut Call<'_>,
    steps: Steps,
    input: Layout,
    reduction: Reduction,
) -> Result<PreparedOperation, Error> {
    let (own, incoming) = call.pool().like(&input)?;
    let (temporary, work) = call.pool().like(&input)?;
    let mut ready = PreparedOperation::plain(steps, input, Layout::nothing());
    (ready.memory.incoming, ready.memory.work) = (incoming, work);
    ready.memory.reduction = Some(reduction);
    ready.scratch = [own, temporary];
    Ok(ready)
}

/// Exchanges the results of both groups between their roots.
fn swap(position: Position, own: Piece, other: Piece) -> Vec<Step> {
    let remote = position.ranks;
    match position.is_root() {
        true => vec![give(remote, own), take(remote, other), Step::Await(0)],
        false => Vec::new(),
    }
}
