//! Gather and scatter: one root and different data for or from every rank, along the line or by a tree.

use super::step::{AWAIT_ALL, copy, receive, send};
use super::{Buffer, Distributor, Piece, Step, broadcast};
use crate::topology::{Ranges, RankRange, Topology, Tree};

/// Gathers along the line, reverse: block 0 of every rank's input becomes its slice of the root's output.
pub fn gather<T: Topology>(
    topology: T,
    rank: usize,
    root: usize,
    slices: Distributor<'_>,
) -> impl Iterator<Item = Step> + Clone {
    let (input, ranks) = (Buffer::Input.block(0), topology.ranks());
    let slice = move |member| Buffer::Output.block(slices.slice(member, ranks));
    let own = (rank == root).then(|| copy(input, slice(rank)));
    let line = (rank == root).then(|| topology.line(root));
    let collect = line.into_iter().flatten();
    let give = (rank != root).then(|| send(root, input));
    own.into_iter()
        .chain(collect.map(move |other| receive(other, slice(other))))
        .chain(give)
}

/// Scatters along the line, straight: every rank's slice of the root's input becomes block 0 of its output.
pub fn scatter<T: Topology>(
    topology: T,
    rank: usize,
    root: usize,
    slices: Distributor<'_>,
) -> impl Iterator<Item = Step> + Clone {
    let (output, ranks) = (Buffer::Output.block(0), topology.ranks());
    let slice = move |member| Buffer::Input.block(slices.slice(member, ranks));
    let own = (rank == root).then(|| copy(slice(rank), output));
    let line = (rank == root).then(|| topology.line(root));
    let hand_out = line.into_iter().flatten();
    let take = (rank != root).then(|| receive(root, output));
    hand_out
        .map(move |other| send(other, slice(other)))
        .chain(own)
        .chain(take)
}

/// Gathers to rank 0 along the line, then broadcasts the whole output by a tree below rank 0: each rank waits twice.
/// Block i of the output is rank i's.
pub fn allgather_linear<R: Tree, T: Topology>(
    tree: R,
    topology: T,
    rank: usize,
) -> impl Iterator<Item = Step> + Clone {
    let all = Buffer::Output.all(topology.ranks());
    let whole = move |piece: Piece| match piece.buffer {
        Buffer::Output => all,
        _ => piece,
    };
    gather(topology, rank, 0, Distributor::Ascending)
        .chain([AWAIT_ALL])
        .chain(broadcast(tree, 1).map(move |step| step.on(whole)))
}

/// Gathers by the tree, reverse: every rank forwards the blocks of its whole subtree. Block i of the root's output is
/// rank i's.
pub fn gather_tree<T: Ranges>(tree: T, rank: usize) -> impl Iterator<Item = Step> + Clone {
    let input = Buffer::Input.block(0);
    let span = tree.rank_range(rank);
    // The root collects in its output; a leaf has nothing to collect.
    let at = match tree.parent() {
        None => Some(Buffer::Output),
        Some(_) => (span.len() > 1).then_some(Buffer::Work),
    };
    let own = at.map(|buffer| copy(input, buffer.block(rank)));
    let buffer = at.unwrap_or(Buffer::Input);
    let (parent, below) = (tree.parent(), tree.children().rev());
    let collect = below.flat_map(move |child| {
        runs(tree.rank_range(child), buffer).map(move |piece| receive(child, piece))
    });
    let give = parent.into_iter().flat_map(move |parent| {
        let span = if at.is_none() {
            RankRange::new(0, 1, 1)
        } else {
            span
        };
        runs(span, buffer).map(move |piece| send(parent, piece))
    });
    own.into_iter()
        .chain(collect)
        .chain([AWAIT_ALL])
        .chain(give)
}

/// Scatters by the tree, straight: every rank forwards to its children the blocks of their subtrees. Block i of the
/// root's input is rank i's.
pub fn scatter_tree<T: Ranges>(tree: T, rank: usize) -> impl Iterator<Item = Step> + Clone {
    let output = Buffer::Output.block(0);
    let span = tree.rank_range(rank);
    let leaf = tree.parent().is_some() && span.len() == 1;
    let from = if tree.parent().is_none() {
        Buffer::Input
    } else {
        Buffer::Work
    };
    let take = tree.parent().into_iter().flat_map(move |parent| {
        let (span, buffer) = if leaf {
            (RankRange::new(0, 1, 1), Buffer::Output)
        } else {
            (span, from)
        };
        runs(span, buffer).map(move |piece| receive(parent, piece))
    });
    let below = tree.children();
    let hand_on = below.flat_map(move |child| {
        runs(tree.rank_range(child), from).map(move |piece| send(child, piece))
    });
    let own = (!leaf).then(|| copy(from.block(rank), output));
    take.chain([AWAIT_ALL]).chain(hand_on).chain(own)
}

/// Returns the blocks of a range of ranks, as at most two pieces of consecutive blocks.
pub(super) fn runs(span: RankRange, buffer: Buffer) -> impl Iterator<Item = Piece> + Clone {
    span.runs()
        .map(move |(first, blocks)| buffer.blocks(first, blocks))
}
