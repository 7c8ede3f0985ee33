//! The operations. Each is one rank's part; `rank` is that rank.

use super::{Block, Step};
use crate::topology::{Ring, Tree};
use core::iter::once;

fn send(to: usize, block: Block) -> Step {
    Step::Send { to, block }
}

fn receive(from: usize, block: Block) -> Step {
    Step::Receive { from, block }
}

/// Tree, straight: every rank hands on what its parent gave. The data is output block 0 everywhere.
pub fn broadcast<T: Tree>(tree: T) -> impl Iterator<Item = Step> {
    straight(tree, Block::Output(0))
}

fn straight<T: Tree>(tree: T, block: Block) -> impl Iterator<Item = Step> {
    let from_parent = tree.parent().map(move |parent| receive(parent, block));
    let to_children = tree.children().map(move |child| send(child, block));
    from_parent
        .into_iter()
        .chain(once(Step::Fence))
        .chain(to_children)
        .chain(once(Step::Fence))
}

/// Tree, reverse: every rank combines what its children give with its own and hands the sum to its parent.
/// The root's partial is the result. Children come in the tree's order, so the result is the same on every run.
pub fn reduce<T: Tree>(tree: T) -> impl Iterator<Item = Step> {
    let combine = |child| {
        [
            receive(child, Block::Incoming),
            Step::Fence,
            Step::Combine {
                from: Block::Incoming,
                into: Block::Partial,
            },
        ]
    };
    once(Step::Copy {
        from: Block::Input(0),
        into: Block::Partial,
    })
    .chain(tree.children().flat_map(combine))
    .chain(tree.parent().map(|parent| send(parent, Block::Partial)))
    .chain(once(Step::Fence))
}

/// Gather and broadcast of nothing: nobody leaves before everybody came.
pub fn barrier<T: Tree>(tree: T) -> impl Iterator<Item = Step> {
    let come = tree.children().map(|child| receive(child, Block::Nothing));
    come.chain(once(Step::Fence))
        .chain(tree.parent().map(|parent| send(parent, Block::Nothing)))
        .chain(straight(tree, Block::Nothing))
}

/// Linear, reverse: rank i's input block 0 becomes the root's output block i.
pub fn gather<T: Tree>(rank: usize, line: T) -> impl Iterator<Item = Step> {
    let own = line.parent().is_none().then_some(Step::Copy {
        from: Block::Input(0),
        into: Block::Output(rank),
    });
    let collect = line
        .children()
        .map(|child| receive(child, Block::Output(child)));
    own.into_iter()
        .chain(collect)
        .chain(line.parent().map(|root| send(root, Block::Input(0))))
        .chain(once(Step::Fence))
}

/// Linear, straight: the root's input block i becomes rank i's output block 0.
pub fn scatter<T: Tree>(rank: usize, line: T) -> impl Iterator<Item = Step> {
    let own = line.parent().is_none().then_some(Step::Copy {
        from: Block::Input(rank),
        into: Block::Output(0),
    });
    let hand_out = line
        .children()
        .map(|child| send(child, Block::Input(child)));
    hand_out
        .chain(own)
        .chain(line.parent().map(|root| receive(root, Block::Output(0))))
        .chain(once(Step::Fence))
}

/// Ring, bidirectional: in every step each rank passes on the block that it got last. Rank i's input block 0 becomes
/// everybody's output block i.
pub fn allgather(rank: usize, ring: Ring) -> impl Iterator<Item = Step> {
    let pass = move |step| {
        [
            receive(ring.before(1), Block::Output(ring.before(step))),
            send(ring.behind(1), Block::Output(ring.before(step - 1))),
            Step::Fence,
        ]
    };
    once(Step::Copy {
        from: Block::Input(0),
        into: Block::Output(rank),
    })
    .chain((1..ring.ranks()).flat_map(pass))
}

/// Every rank to every rank, in shifted order so that no rank is everybody's target at once: rank i's input block j
/// becomes rank j's output block i.
pub fn alltoall(rank: usize, ring: Ring) -> impl Iterator<Item = Step> {
    let exchange = move |step| {
        let (from, to) = (ring.before(step), ring.behind(step));
        [
            receive(from, Block::Output(from)),
            send(to, Block::Input(to)),
            Step::Fence,
        ]
    };
    once(Step::Copy {
        from: Block::Input(rank),
        into: Block::Output(rank),
    })
    .chain((1..ring.ranks()).flat_map(exchange))
}
