//! Operations on the circle, in both directions at once: every rank sends and receives in every step.

use super::step::{AWAIT_ALL, combine, copy, receive, send};
use super::{Buffer, Step};
use crate::topology::{Circle, Topology};

/// Gathers at all ranks on the circle: in every step each rank forwards the block that it got last. Rank i's input
/// block 0 becomes output block i of every rank.
pub fn allgather<T: Topology>(circle: Circle<T>) -> impl Iterator<Item = Step> + Clone {
    let own = Buffer::Output.block(circle.rank());
    [copy(Buffer::Input.block(0), own)]
        .into_iter()
        .chain(circulate(circle, Buffer::Output))
}

/// Forwards every rank's own block once round the circle.
pub(super) fn circulate<T: Topology>(
    circle: Circle<T>,
    buffer: Buffer,
) -> impl Iterator<Item = Step> + Clone {
    (1..circle.ranks()).flat_map(move |steps| {
        [
            receive(circle.before(1), buffer.block(circle.before(steps))),
            send(circle.behind(1), buffer.block(circle.before(steps - 1))),
            AWAIT_ALL,
        ]
    })
}

/// Gathers at all ranks: every rank sends its own block to every other rank directly, one partner per step. At most
/// `ahead` steps, 1 or more, begin before the first is complete. Many steps at once need few waits, which pays where
/// ranks wait for cores rather than for messages.
pub fn allgather_spread_out<T: Topology>(
    circle: Circle<T>,
    ahead: usize,
) -> impl Iterator<Item = Step> + Clone {
    let input = Buffer::Input.block(0);
    let own = copy(input, Buffer::Output.block(circle.rank()));
    let turn = move |(to, from)| {
        [
            receive(from, Buffer::Output.block(from)),
            send(to, input),
            Step::Await(2 * ahead.saturating_sub(1)),
        ]
    };
    [own].into_iter().chain(circle.turns().flat_map(turn))
}

/// Exchanges blocks between all ranks, one partner per step, so that no rank receives from two at once: rank i's input
/// block j becomes rank j's output block i. At most `ahead` steps, 1 or more, begin before the first is complete.
pub fn alltoall<T: Topology>(
    circle: Circle<T>,
    ahead: usize,
) -> impl Iterator<Item = Step> + Clone {
    let rank = circle.rank();
    let own = copy(Buffer::Input.block(rank), Buffer::Output.block(rank));
    let turn = move |(to, from)| {
        [
            receive(from, Buffer::Output.block(from)),
            send(to, Buffer::Input.block(to)),
            Step::Await(2 * ahead.saturating_sub(1)),
        ]
    };
    [own].into_iter().chain(circle.turns().flat_map(turn))
}

/// Sends every block once round the circle; each rank combines it with its own part, and the last one keeps it. The
/// operation must commute.
fn collect<T: Topology>(circle: Circle<T>) -> impl Iterator<Item = Step> + Clone {
    let all = Buffer::Input.all(circle.ranks());
    let pass = move |steps| {
        let block = circle.before(steps + 1);
        [
            receive(circle.before(1), Buffer::Incoming.block(block)),
            send(circle.behind(1), Buffer::Work.block(circle.before(steps))),
            AWAIT_ALL,
            combine(Buffer::Incoming.block(block), Buffer::Work.block(block)),
        ]
    };
    [copy(all, all.of(Buffer::Work))]
        .into_iter()
        .chain((1..circle.ranks()).flat_map(pass))
}

/// Reduces and scatters on the circle: block i of all inputs combined becomes rank i's output. The operation must
/// commute.
pub fn reduce_scatter_ring<T: Topology>(circle: Circle<T>) -> impl Iterator<Item = Step> + Clone {
    let own = Buffer::Work.block(circle.rank());
    collect(circle).chain([copy(own, Buffer::Output.block(0))])
}

/// Reduces on the circle for all ranks, in two rounds: every block is combined in the first and distributed in the
/// second. The data is divided into as many blocks as there are ranks. The operation must commute.
pub fn allreduce_ring<T: Topology>(circle: Circle<T>) -> impl Iterator<Item = Step> + Clone {
    collect(circle).chain(circulate(circle, Buffer::Work))
}
