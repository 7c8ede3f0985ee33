//! Reductions to a root: by a tree, or along the line.

use super::step::{AWAIT_ALL, combine, copy, receive, send};
use super::{Buffer, Distributor, Piece, Step, broadcast, scatter};
use crate::topology::{Topology, Tree};

/// Reduces by the tree, reverse: every rank combines its own data with that of its children, in segments, and sends the
/// result to its parent. The root's work buffer is the result. Operands always meet in the same order, so every run has
/// the same result.
///
/// Operands keep the order of the ranks if the tree is one of [`Ranges`](crate::topology::Ranges) and its root is rank
/// 0; in other trees the operation must commute.
pub fn reduce<T: Tree>(tree: T, segments: usize) -> impl Iterator<Item = Step> + Clone {
    (0..segments).flat_map(move |segment| reduce_segment(tree.clone(), segment))
}

/// Reduces one segment. The sum alternates between two buffers, so that it is the left operand without being moved.
fn reduce_segment<T: Tree>(tree: T, segment: usize) -> impl Iterator<Item = Step> + Clone {
    let place = move |turn: usize| {
        let buffer = match turn {
            0 => Buffer::Input,
            odd if odd % 2 == 1 => Buffer::Incoming,
            _ => Buffer::Work,
        };
        buffer.block(segment)
    };
    let take = move |(turn, child)| {
        let (sum, next) = (place(turn), place(turn + 1));
        [receive(child, next), AWAIT_ALL, combine(sum, next)]
    };
    let degree = tree.children().count();
    let sum = place(degree);
    let last = match tree.parent() {
        Some(parent) => send(parent, sum),
        None => copy(sum, Buffer::Work.block(segment)),
    };
    let children = tree.children().rev();
    children.enumerate().flat_map(take).chain([last])
}

/// Reduces from `other` to the root, in segments: one arrives while the one before is combined. Both ranks call it, and
/// `is_root` tells which one they are. The result goes to the root's work buffer, which may be its incoming buffer unless
/// it is its input. The root's data is the left operand.
pub fn reduce_pair(
    other: usize,
    is_root: bool,
    segments: usize,
) -> impl Iterator<Item = Step> + Clone {
    let (gives, takes) = if is_root {
        (0, segments)
    } else {
        (segments, 0)
    };
    let give = move |segment| send(other, Buffer::Input.block(segment));
    let next = move |segment| {
        let piece = Buffer::Incoming.block(segment);
        (segment < takes).then(|| receive(other, piece))
    };
    let take = move |segment| {
        let (input, incoming) = (
            Buffer::Input.block(segment),
            Buffer::Incoming.block(segment),
        );
        let next = next(segment + 1);
        let here = Step::Await(usize::from(next.is_some()));
        let result = copy(incoming, incoming.of(Buffer::Work));
        let sum = [here, combine(input, incoming), result];
        next.into_iter().chain(sum)
    };
    let takes = next(0).into_iter().chain((0..takes).flat_map(take));
    (0..gives).map(give).chain(takes)
}

/// Reduces along the line, reverse: the root receives the data of every rank and combines it in the order of the ranks,
/// or of their slices. This is correct for every operation and every root, but only the root computes. The root's work
/// buffer is the result, and must not be its input.
pub fn reduce_line(
    rank: usize,
    ranks: usize,
    root: usize,
    slices: Distributor<'_>,
) -> impl Iterator<Item = Step> + Clone {
    let (input, incoming, work) = (
        Buffer::Input.block(0),
        Buffer::Incoming.block(0),
        Buffer::Work.block(0),
    );
    // Slices are combined from the last to the first, each as the left operand.
    let member = move |slice| (0..ranks).find(|&member| slices.slice(member, ranks) == slice);
    let take = move |slice| {
        let from = member(slice)?;
        Some(match (from == root, slice + 1 == ranks) {
            (true, true) => [copy(input, work), AWAIT_ALL, AWAIT_ALL],
            (true, false) => [combine(input, work), AWAIT_ALL, AWAIT_ALL],
            (false, true) => [receive(from, work), AWAIT_ALL, AWAIT_ALL],
            (false, false) => [receive(from, incoming), AWAIT_ALL, combine(incoming, work)],
        })
    };
    let collect = (0..if rank == root { ranks } else { 0 }).rev();
    let give = (rank != root).then(|| send(root, input));
    collect.filter_map(take).flatten().chain(give)
}

/// Reduces by a tree below rank 0, then broadcasts the work buffer by the same tree. [`reduce`] states the order of
/// operands.
pub fn allreduce<T: Tree>(tree: T, segments: usize) -> impl Iterator<Item = Step> + Clone {
    let in_work = |piece: Piece| piece.of(Buffer::Work);
    let spread = broadcast(tree.clone(), segments);
    reduce(tree, segments)
        .chain([AWAIT_ALL])
        .chain(spread.map(move |step| step.on(in_work)))
}

/// Reduces by a tree below rank 0, then scatters: block i of all inputs combined becomes rank i's output. [`reduce`]
/// states the order of operands.
pub fn reduce_scatter<R: Tree, T: Topology>(
    tree: R,
    topology: T,
    rank: usize,
) -> impl Iterator<Item = Step> + Clone {
    let ranks = topology.ranks();
    let whole = move |piece: Piece| piece.buffer.all(ranks);
    let from_work = |piece: Piece| match piece.buffer {
        Buffer::Input => piece.of(Buffer::Work),
        _ => piece,
    };
    let spread = scatter(topology, rank, 0, Distributor::Ascending);
    reduce(tree, 1)
        .map(move |step| step.on(whole))
        .chain([AWAIT_ALL])
        .chain(spread.map(move |step| step.on(from_work)))
}
