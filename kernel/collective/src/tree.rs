//! Broadcast by trees: the same data for every rank.

use super::gather_scatter::runs;
use super::ring_algorithms::circulate;
use super::step::{AWAIT_ALL, receive, send};
use super::{Buffer, Step};
use crate::topology::{Circle, Ranges, Topology, Tree};

/// Broadcasts by the tree, straight: every rank forwards what its parent sent. With several segments a rank receives
/// one segment while it forwards the one before, so a message is pipelined through a deep tree.
pub fn broadcast<T: Tree>(tree: T, segments: usize) -> impl Iterator<Item = Step> + Clone {
    let parent = tree.parent();
    let degree = if segments > 1 {
        tree.children().count()
    } else {
        0
    };
    let take = move |segment| {
        let piece = Buffer::Output.block(segment);
        let step = parent.map(|parent| receive(parent, piece));
        step.filter(|_| segment < segments)
    };
    let flow = move |segment| {
        let children = tree.children();
        let next = take(segment + 1);
        // Younger than the segment to be forwarded are the sends of the one before and the receive of the next one.
        let behind = usize::from(next.is_some()) + if segment > 0 { degree } else { 0 };
        let hand_on = children.map(move |child| send(child, Buffer::Output.block(segment)));
        next.into_iter().chain([Step::Await(behind)]).chain(hand_on)
    };
    take(0).into_iter().chain((0..segments).flat_map(flow))
}

/// Broadcasts by the tree as [`broadcast`] in one segment, but a rank sends to one child after the other, as by blocking
/// sends. Where children share the sender's line, the first one then has the message before the last one, and forwards
/// it meanwhile: only so the times of [`Hold`](crate::model::Hold) hold for long messages.
pub fn broadcast_in_turn<T: Tree>(tree: T) -> impl Iterator<Item = Step> + Clone {
    let piece = Buffer::Output.block(0);
    let take = tree.parent().map(|parent| receive(parent, piece));
    let children = tree.children();
    let hand_on = children.flat_map(move |child| [send(child, piece), AWAIT_ALL]);
    take.into_iter().chain([AWAIT_ALL]).chain(hand_on)
}

/// Broadcasts by a scatter along the tree and an all-gather on the circle: every rank sends and receives the message
/// twice, whatever the number of ranks. The output is divided into as many blocks as there are ranks.
pub fn broadcast_scatter_allgather<R: Ranges, T: Topology>(
    tree: R,
    circle: Circle<T>,
) -> impl Iterator<Item = Step> + Clone {
    let own = tree.rank_range(circle.rank());
    let take = tree
        .parent()
        .into_iter()
        .flat_map(move |parent| runs(own, Buffer::Output).map(move |piece| receive(parent, piece)));
    let below = tree.children();
    let hand_on = below.flat_map(move |child| {
        runs(tree.rank_range(child), Buffer::Output).map(move |piece| send(child, piece))
    });
    take.chain([AWAIT_ALL])
        .chain(hand_on)
        .chain([AWAIT_ALL])
        .chain(circulate(circle, Buffer::Output))
}
