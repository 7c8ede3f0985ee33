//! A stencil on a ring of cells: each rank has a part of them, and exchanges the outer ones with its neighbours.

use super::kind::{HALO, SUM};
use super::message;
use crate::composition::Comm;
use crate::report::{Failure, Report};
use pombo_collective::topology::{Complete, Topology};
use pombo_collective::{Blocks, Combining, CommCall, OperationBuffers, SharedBytes, allreduce};
use pombo_kernel::Channel;
use pombo_kernel::prelude::*;

const STEPS: u32 = 200;
/// Cells of a rank, without those of its neighbours.
const CELLS: usize = 32;

/// The sum is made in `memory`, which has at least 12 bytes.
pub(super) fn run<'buf, L: Channel>(
    comm: &mut Comm<'buf, L>,
    memory: SharedBytes<'buf>,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let (me, ranks) = (comm.me().index(), comm.peers());
    let mut cells = [0; CELLS + 2];
    for (cell, inner) in cells.iter_mut().skip(1).take(CELLS).enumerate() {
        *inner = initial(me * CELLS + cell);
    }
    for step in 0..STEPS {
        exchange(comm, step, &mut cells)?;
        advance(&mut cells);
    }
    let own = weighted(cells.iter().skip(1).take(CELLS), me * CELLS);
    let total = sum(comm, memory, own)?;
    if total != alone(ranks) {
        return Err(Failure::Wrong(
            "stencil: the sum is not that of one rank alone",
        ));
    }
    report
        .text("stencil: ")
        .number(STEPS.into())
        .text(" steps of ")
        .number((ranks * CELLS) as u64);
    report.text(" cells, sum ").number(total.into()).text("\n");
    Ok(())
}

/// Sends the outer cells to both neighbours, and receives theirs.
fn exchange<L: Channel>(
    comm: &mut Comm<'_, L>,
    step: u32,
    cells: &mut [u32; CELLS + 2],
) -> Result<(), Failure> {
    let (me, ranks) = (comm.me().0, comm.peers() as u16);
    let (left, right) = (Peer((me + ranks - 1) % ranks), Peer((me + 1) % ranks));
    // Which way the cell travels makes two messages of one pair differ.
    let (leftward, rightward) = (2 * step, 2 * step + 1);
    let (mut from_left, mut from_right) = ([0; 4], [0; 4]);
    comm.scope(|scope| {
        let of = |number, from| Select::from(Exact(message(HALO, number))).from_peer(from);
        let first = scope.irecv(of(rightward, left), &mut from_left)?;
        let second = scope.irecv(of(leftward, right), &mut from_right)?;
        scope.send(left, message(HALO, leftward), &cells[1].to_le_bytes())?;
        scope.send(right, message(HALO, rightward), &cells[CELLS].to_le_bytes())?;
        scope.wait(first)?.outcome?;
        scope.wait(second)?.outcome.map(|_| ())
    })?;
    cells[0] = u32::from_le_bytes(from_left);
    cells[CELLS + 1] = u32::from_le_bytes(from_right);
    Ok(())
}

/// The sum of all ranks' values, at every rank.
fn sum<'buf, L: Channel>(
    comm: &mut Comm<'buf, L>,
    memory: SharedBytes<'buf>,
    own: u32,
) -> Result<u32, Failure> {
    let [input, work, incoming] = [0, 4, 8].map(|at| memory.part(at, at + 4));
    input.write(&own.to_ne_bytes());
    let parts = OperationBuffers {
        input: Blocks::one(input),
        work: Blocks::one(work),
        incoming: Blocks::one(incoming),
        ..OperationBuffers::NONE
    };
    let steps = allreduce(Complete::new(comm.peers()).tree(comm.me().index(), 0), 1);
    let add = Combining::by(u32::wrapping_add);
    CommCall::new(steps, message(SUM, 0), parts, add).wait(comm)?;
    let mut total = [0; 4];
    work.read(&mut total);
    Ok(u32::from_ne_bytes(total))
}

/// The same, on one rank that has all cells.
fn alone(ranks: usize) -> u32 {
    const MOST: usize = crate::PEERS * CELLS;
    let len = (ranks * CELLS).min(MOST);
    let mut cells = [0; MOST + 2];
    for (cell, inner) in cells.iter_mut().skip(1).take(len).enumerate() {
        *inner = initial(cell);
    }
    for _ in 0..STEPS {
        cells[0] = cells[len];
        cells[len + 1] = cells[1];
        advance(&mut cells[..len + 2]);
    }
    weighted(cells.iter().skip(1).take(len), 0)
}

fn initial(cell: usize) -> u32 {
    (cell as u32).wrapping_mul(0x9e37_79b9)
}

/// One step of all cells but the outer two, which belong to the neighbours.
fn advance(cells: &mut [u32]) {
    let [left, rest @ ..] = cells else { return };
    let mut left = *left;
    for pair in 1..=rest.len().saturating_sub(1) {
        let [cell, right] = [rest[pair - 1], rest[pair]];
        rest[pair - 1] = left.rotate_left(5) ^ cell.wrapping_mul(3).wrapping_add(right);
        left = cell;
    }
}

fn weighted<'a>(cells: impl Iterator<Item = &'a u32>, first: usize) -> u32 {
    let weigh = |sum: u32, (at, cell): (usize, &u32)| {
        sum.wrapping_add(cell.wrapping_mul((first + at) as u32 + 1))
    };
    cells.enumerate().fold(0, weigh)
}
