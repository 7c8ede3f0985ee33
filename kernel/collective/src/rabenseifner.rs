//! Recursive halving, then recursive doubling. Source: Rabenseifner, 2004.

use super::recursive_doubling::{fold_in, fold_out, roles};
use super::step::{AWAIT_ALL, combine, receive, send};
use super::{Buffer, Step};
use crate::topology::{FoldedRanks, Topology};

/// Reduces for all ranks: partners in a hypercube exchange halves of what they have and combine them until each has one
/// share of the result; then they collect the shares in the opposite order. The operation must commute. The data is
/// divided into as many blocks as the largest power of two of ranks.
pub fn allreduce_rabenseifner(rank: usize, ranks: usize) -> impl Iterator<Item = Step> + Clone {
    let folded = FoldedRanks::new(rank, ranks);
    let blocks = folded.cube().ranks();
    let (proxy, number, folded_rank) = roles(folded);
    let partners = move |number| {
        let cube = folded.cube();
        cube.partners(number).map(move |partner| (number, partner))
    };
    let halve = move |(number, partner): (usize, usize)| {
        let other = folded.rank_of(partner);
        let (mine, theirs) = (share(number, partner), share(partner, number));
        let incoming = Buffer::Incoming.blocks(mine.0, mine.1);
        let work = incoming.of(Buffer::Work);
        [
            receive(other, incoming),
            send(other, Buffer::Work.blocks(theirs.0, theirs.1)),
            AWAIT_ALL,
            combine(incoming, work),
        ]
    };
    let collect = move |(number, partner): (usize, usize)| {
        let other = folded.rank_of(partner);
        let (mine, theirs) = (share(number, partner), share(partner, number));
        [
            receive(other, Buffer::Work.blocks(theirs.0, theirs.1)),
            send(other, Buffer::Work.blocks(mine.0, mine.1)),
            AWAIT_ALL,
        ]
    };
    let down = number
        .into_iter()
        .flat_map(move |number| partners(number).rev());
    let up = number.into_iter().flat_map(partners);
    fold_in(proxy, folded_rank, blocks)
        .chain(down.flat_map(halve))
        .chain(up.flat_map(collect))
        .chain(fold_out(proxy, folded_rank, blocks))
}

/// Returns the share of `number` in the exchange with `partner`, as first block and number of blocks: the blocks whose
/// numbers agree with `number` in the bit that differs and all above.
const fn share(number: usize, partner: usize) -> (usize, usize) {
    let blocks = number ^ partner;
    (number & !(blocks - 1), blocks)
}
