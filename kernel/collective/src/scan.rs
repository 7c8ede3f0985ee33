//! Prefix sums: rank i gets the data of ranks 0 to i combined, in order.

use super::step::{AWAIT_ALL, combine, copy, receive, send};
use super::{Buffer, Piece, Step};
use core::iter::successors;

const INPUT: Piece = Buffer::Input.block(0);
const OUTPUT: Piece = Buffer::Output.block(0);
const WORK: Piece = Buffer::Work.block(0);
const INCOMING: Piece = Buffer::Incoming.block(0);

/// Computes prefix sums from rank to rank along the chain. The work buffer is the result.
pub fn scan(rank: usize, ranks: usize) -> impl Iterator<Item = Step> + Clone {
    chain(rank, ranks, None)
}

/// Computes prefix sums along the chain without the rank's own data: rank 0 gets nothing.
pub fn exscan(rank: usize, ranks: usize) -> impl Iterator<Item = Step> + Clone {
    chain(rank, ranks, Some(copy(INCOMING, OUTPUT)))
}

/// Computes prefix sums in a logarithmic number of rounds: in every round each rank's sum covers twice as many ranks.
/// The work buffer is the result.
pub fn scan_recursive_doubling(rank: usize, ranks: usize) -> impl Iterator<Item = Step> + Clone {
    doubling(rank, ranks, |_| None)
}

/// Computes prefix sums as [`scan_recursive_doubling`] does, without the rank's own data: rank 0 gets nothing.
pub fn exscan_recursive_doubling(rank: usize, ranks: usize) -> impl Iterator<Item = Step> + Clone {
    // The first operand comes from the rank directly before; the others come from ranks farther back.
    doubling(rank, ranks, |leap| {
        Some(match leap {
            1 => copy(INCOMING, OUTPUT),
            _ => combine(INCOMING, OUTPUT),
        })
    })
}

fn chain(rank: usize, ranks: usize, keep: Option<Step>) -> impl Iterator<Item = Step> + Clone {
    let before = rank.checked_sub(1);
    let behind = (rank + 1 < ranks).then_some(rank + 1);
    let steps = [
        Some(copy(INPUT, WORK)),
        before.map(|before| receive(before, INCOMING)),
        Some(AWAIT_ALL),
        before.map(|_| combine(INCOMING, WORK)),
        behind.map(|behind| send(behind, WORK)),
        before.and(keep),
    ];
    steps.into_iter().flatten()
}

fn doubling(
    rank: usize,
    ranks: usize,
    keep: impl Fn(usize) -> Option<Step> + Clone,
) -> impl Iterator<Item = Step> + Clone {
    let leaps = successors(Some(1), |leap| Some(leap * 2)).take_while(move |&leap| leap < ranks);
    let rounds = leaps.flat_map(move |leap| {
        let before = rank.checked_sub(leap);
        let behind = (rank + leap < ranks).then_some(rank + leap);
        [
            before.map(|before| receive(before, INCOMING)),
            behind.map(|behind| send(behind, WORK)),
            Some(AWAIT_ALL),
            before.map(|_| combine(INCOMING, WORK)),
            before.and_then(|_| keep(leap)),
        ]
    });
    [copy(INPUT, WORK)].into_iter().chain(rounds.flatten())
}
