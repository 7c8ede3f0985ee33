//! The circle, in both directions at once: every rank sends and receives in every step.

use super::step::{AWAIT_ALL, combine, copy, receive, send};
use super::{Buffer, Step};
use crate::topology::{Circle, Topology};

/// In every step each rank passes on the block that it got last. Rank i's block 0 becomes everybody's block i.
pub fn allgather<T: Topology>(circle: Circle<T>) -> impl Iterator<Item = Step> + Clone {
    let own = Buffer::Output.block(circle.rank());
    [copy(Buffer::Input.block(0), own)]
        .into_iter()
        .chain(circulate(circle, Buffer::Output))
}

/// Every rank's own block goes round.
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

/// Every rank sends its own block to every other itself, in turns, with at most `ahead` turns begun before the first is
/// over: 1 or more. One wait instead of many where ranks wait for cores rather than for messages.
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

/// Every rank to every rank, in turns, so that none is everybody's target: rank i's input block j becomes rank j's
/// output block i. At most `ahead` turns, 1 or more, are begun before the first is over.
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

/// Every block goes once round the circle and takes every rank's part with it; the last one keeps it. For operations
/// that commute.
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

/// On the circle: block i of all inputs combined becomes rank i's output. For operations that commute.
pub fn reduce_scatter_ring<T: Topology>(circle: Circle<T>) -> impl Iterator<Item = Step> + Clone {
    let own = Buffer::Work.block(circle.rank());
    collect(circle).chain([copy(own, Buffer::Output.block(0))])
}

/// On the circle, twice round: every block is combined on its way round, then goes round once more. The data is cut
/// into as many blocks as ranks. For operations that commute.
pub fn allreduce_ring<T: Topology>(circle: Circle<T>) -> impl Iterator<Item = Step> + Clone {
    collect(circle).chain(circulate(circle, Buffer::Work))
}
