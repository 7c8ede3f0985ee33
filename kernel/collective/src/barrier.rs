//! Barriers: no rank leaves before every rank has entered.

use super::step::{AWAIT_ALL, receive, send};
use super::{Piece, Step};
use crate::topology::{Circle, Topology, Tree};

/// Gathers nothing at rank 0 along the line, then broadcasts nothing along the tree.
pub fn barrier<T: Topology>(topology: T, rank: usize) -> impl Iterator<Item = Step> + Clone {
    let come = (rank == 0).then(|| topology.line(0));
    let come = come.into_iter().flatten();
    let report = (rank != 0).then(|| send(0, Piece::NOTHING));
    come.map(|other| receive(other, Piece::NOTHING))
        .chain(report)
        .chain([AWAIT_ALL])
        .chain(release(topology.tree(rank, 0)))
}

/// Reduces nothing up the tree, then broadcasts nothing down the tree.
pub fn barrier_tree<T: Tree>(tree: T) -> impl Iterator<Item = Step> + Clone {
    let come = tree.children().rev();
    let report = tree.parent().map(|parent| send(parent, Piece::NOTHING));
    come.map(|child| receive(child, Piece::NOTHING))
        .chain([AWAIT_ALL])
        .chain(report)
        .chain(release(tree))
}

fn release<T: Tree>(tree: T) -> impl Iterator<Item = Step> + Clone {
    let wait = tree
        .parent()
        .map(|parent| [receive(parent, Piece::NOTHING), AWAIT_ALL]);
    let let_go = tree.children();
    wait.into_iter()
        .flatten()
        .chain(let_go.map(|child| send(child, Piece::NOTHING)))
}

/// Disseminates: in every round a rank has heard, directly or not, of twice as many ranks, so the number of rounds is
/// the logarithm of the number of ranks.
pub fn barrier_dissemination<T: Topology>(circle: Circle<T>) -> impl Iterator<Item = Step> + Clone {
    circle.leaps().flat_map(|(_, to, from)| {
        [
            receive(from, Piece::NOTHING),
            send(to, Piece::NOTHING),
            AWAIT_ALL,
        ]
    })
}
