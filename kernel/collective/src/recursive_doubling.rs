//! Recursive doubling: the number of rounds is the logarithm of the number of ranks.

use super::gather_scatter::runs;
use super::step::{AWAIT_ALL, combine, copy, receive, send};
use super::{Buffer, Step};
use crate::topology::{Circle, Complete, FoldedRanks, FoldedRole, RankRange};

/// Reduces for all ranks on a hypercube: in every round partners exchange what they have and combine it. Operands keep
/// the order of the ranks, and all ranks get the same bits.
pub fn allreduce_recursive_doubling(
    rank: usize,
    ranks: usize,
) -> impl Iterator<Item = Step> + Clone {
    let (work, incoming) = (Buffer::Work.block(0), Buffer::Incoming.block(0));
    let folded = FoldedRanks::new(rank, ranks);
    let (proxy, number, folded_rank) = roles(folded);
    let exchange = move |(number, partner): (usize, usize)| {
        let other = folded.rank_of(partner);
        let meet = [receive(other, incoming), send(other, work), AWAIT_ALL];
        let (add, keep) = if partner < number {
            (combine(incoming, work), None)
        } else {
            (combine(work, incoming), Some(copy(incoming, work)))
        };
        meet.into_iter().chain([add]).chain(keep)
    };
    let partners = number
        .into_iter()
        .flat_map(move |number| folded.cube().partners(number).map(move |p| (number, p)));
    fold_in(proxy, folded_rank, 1)
        .chain(partners.flat_map(exchange))
        .chain(fold_out(proxy, folded_rank, 1))
}

/// Returns the proxy of a folded rank; the number in the cube of a proxy or member; the folded rank of a proxy.
pub(super) fn roles(folded: FoldedRanks) -> (Option<usize>, Option<usize>, Option<usize>) {
    match folded.role() {
        FoldedRole::Folded(proxy) => (Some(proxy), None, None),
        FoldedRole::Proxy(number, folded_rank) => (None, Some(number), Some(folded_rank)),
        FoldedRole::Member(number) => (None, Some(number), None),
    }
}

/// Sends the input of each folded rank to its proxy, which combines it with its own; the other ranks copy their own.
pub(super) fn fold_in(
    proxy: Option<usize>,
    folded_rank: Option<usize>,
    blocks: usize,
) -> impl Iterator<Item = Step> + Clone {
    let (input, work) = (Buffer::Input.all(blocks), Buffer::Work.all(blocks));
    let incoming = work.of(Buffer::Incoming);
    let own = proxy.is_none().then(|| copy(input, work));
    let take = folded_rank.map(|folded_rank| {
        [
            receive(folded_rank, incoming),
            AWAIT_ALL,
            combine(incoming, work),
        ]
    });
    let give = proxy.map(|proxy| [send(proxy, input), AWAIT_ALL]);
    own.into_iter()
        .chain(take.into_iter().flatten())
        .chain(give.into_iter().flatten())
}

/// Sends the result from each proxy to its folded rank.
pub(super) fn fold_out(
    proxy: Option<usize>,
    folded_rank: Option<usize>,
    blocks: usize,
) -> impl Iterator<Item = Step> + Clone {
    let work = Buffer::Work.all(blocks);
    let give = folded_rank.map(|folded_rank| send(folded_rank, work));
    give.into_iter()
        .chain(proxy.map(|proxy| receive(proxy, work)))
}

/// Gathers at all ranks: each rank has a range of blocks that begins with its own, and doubles it in every round. A
/// range that wraps travels as two messages, so no block is moved afterwards.
pub fn allgather_recursive_doubling(
    rank: usize,
    ranks: usize,
) -> impl Iterator<Item = Step> + Clone {
    let own = copy(Buffer::Input.block(0), Buffer::Output.block(rank));
    let double = move |(have, from, to): (usize, usize, usize)| {
        let more = have.min(ranks - have);
        let span = |first| runs(RankRange::new(first, more, ranks), Buffer::Output);
        let take = span(from).map(move |piece| receive(from, piece));
        let give = span(rank).map(move |piece| send(to, piece));
        take.chain(give).chain([AWAIT_ALL])
    };
    let circle = Circle::new(Complete::new(ranks), rank);
    [own].into_iter().chain(circle.leaps().flat_map(double))
}

/// Exchanges blocks between all ranks: every block travels by hops of one, two, four and so on ranks, together with all
/// blocks of the same hop, which makes few long messages instead of many short ones. Blocks must be of equal size.
/// Source: Bruck and others, 1997.
pub fn alltoall_bruck(rank: usize, ranks: usize) -> impl Iterator<Item = Step> + Clone {
    // Block i of the work buffer is i ranks away from its destination.
    let turn_in = move |i| {
        let to = (rank + i) % ranks;
        copy(Buffer::Input.block(to), Buffer::Work.block(i))
    };
    let turn_out = move |i| {
        let from = (rank + ranks - i) % ranks;
        copy(Buffer::Work.block(i), Buffer::Output.block(from))
    };
    let circle = Circle::new(Complete::new(ranks), rank);
    (0..ranks)
        .map(turn_in)
        .chain(circle.leaps().flat_map(move |leap| bruck(leap, ranks)))
        .chain((0..ranks).map(turn_out))
}

/// Performs one round: packs the blocks that take part, exchanges them, unpacks. Less than half of the blocks take
/// part, so both sides of the exchange fit into the buffer.
fn bruck(
    (leap, to, from): (usize, usize, usize),
    ranks: usize,
) -> impl Iterator<Item = Step> + Clone {
    let travellers = (0..ranks).filter(move |block| block & leap != 0);
    let packed = travellers.clone().count();
    let outside = Buffer::Incoming.blocks(0, packed);
    let inside = Buffer::Incoming.blocks(packed, packed);
    let pack = travellers.clone().enumerate();
    let unpack = travellers.enumerate();
    pack.map(|(i, block)| copy(Buffer::Work.block(block), Buffer::Incoming.block(i)))
        .chain([receive(from, inside), send(to, outside), AWAIT_ALL])
        .chain(unpack.map(move |(i, block)| {
            copy(
                Buffer::Incoming.block(packed + i),
                Buffer::Work.block(block),
            )
        }))
}
