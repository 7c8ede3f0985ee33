//! Twice as much in every round: the logarithm of the number of ranks is the number of rounds.

use super::fan::runs;
use super::step::{SETTLED, combine, copy, receive, send};
use super::{Buffer, Step};
use crate::topology::{Circle, Complete, Folded, Part, Span};

/// Recursive doubling on a hypercube: in every round partners exchange what they have and combine it. In the order of
/// the ranks, and all ranks get the same bits.
pub fn allreduce_doubling(rank: usize, ranks: usize) -> impl Iterator<Item = Step> + Clone {
    let (work, incoming) = (Buffer::Work.block(0), Buffer::Incoming.block(0));
    let folded = Folded::new(rank, ranks);
    let (host, number, guest) = roles(folded);
    let exchange = move |(number, partner): (usize, usize)| {
        let other = folded.rank_of(partner);
        let meet = [receive(other, incoming), send(other, work), SETTLED];
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
    visit(host, guest, 1)
        .chain(partners.flat_map(exchange))
        .chain(leave(host, guest, 1))
}

/// Host of a guest; number of a host or member; guest of a host.
pub(super) fn roles(folded: Folded) -> (Option<usize>, Option<usize>, Option<usize>) {
    match folded.part() {
        Part::Guest(host) => (Some(host), None, None),
        Part::Host(number, guest) => (None, Some(number), Some(guest)),
        Part::Member(number) => (None, Some(number), None),
    }
}

/// Guests give their input to their hosts, which combine it with their own; everybody else takes its own.
pub(super) fn visit(
    host: Option<usize>,
    guest: Option<usize>,
    blocks: usize,
) -> impl Iterator<Item = Step> + Clone {
    let (input, work) = (Buffer::Input.all(blocks), Buffer::Work.all(blocks));
    let incoming = work.of(Buffer::Incoming);
    let own = host.is_none().then(|| copy(input, work));
    let take = guest.map(|guest| [receive(guest, incoming), SETTLED, combine(incoming, work)]);
    let give = host.map(|host| [send(host, input), SETTLED]);
    own.into_iter()
        .chain(take.into_iter().flatten())
        .chain(give.into_iter().flatten())
}

/// Hosts give their guests the result.
pub(super) fn leave(
    host: Option<usize>,
    guest: Option<usize>,
    blocks: usize,
) -> impl Iterator<Item = Step> + Clone {
    let work = Buffer::Work.all(blocks);
    let give = guest.map(|guest| send(guest, work));
    give.into_iter().chain(host.map(|host| receive(host, work)))
}

/// Each rank has a span of blocks that begins with its own, and doubles it in every round. Spans that wrap travel as
/// two messages, so nothing is moved afterwards.
pub fn allgather_doubling(rank: usize, ranks: usize) -> impl Iterator<Item = Step> + Clone {
    let own = copy(Buffer::Input.block(0), Buffer::Output.block(rank));
    let double = move |(have, from, to): (usize, usize, usize)| {
        let more = have.min(ranks - have);
        let span = |first| runs(Span::new(first, more, ranks), Buffer::Output);
        let take = span(from).map(move |piece| receive(from, piece));
        let give = span(rank).map(move |piece| send(to, piece));
        take.chain(give).chain([SETTLED])
    };
    let circle = Circle::new(Complete::new(ranks), rank);
    [own].into_iter().chain(circle.leaps().flat_map(double))
}

/// Every block travels by leaps of one, two, four and so on ranks, together with all that take the same leap: few long
/// messages instead of many short ones. Blocks must be of equal size. Source: Bruck and others, 1997.
pub fn alltoall_bruck(rank: usize, ranks: usize) -> impl Iterator<Item = Step> + Clone {
    // Block i of the work buffer has i ranks to go.
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

/// One leap: pack what takes it, exchange, unpack. Less than half of the blocks take part, so both sides of the
/// exchange fit.
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
        .chain([receive(from, inside), send(to, outside), SETTLED])
        .chain(unpack.map(move |(i, block)| {
            copy(
                Buffer::Incoming.block(packed + i),
                Buffer::Work.block(block),
            )
        }))
}
