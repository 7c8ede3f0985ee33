//! Where ranks share memory each publishes for all others at once, on a board of its own, and nobody hands anything on.
//!
//! The steps are those of messages; functions over boards give them this meaning. Ranks go through rounds. `Send` puts a
//! piece on the rank's own board, for the next round for which it has published nothing; the steps name the rank
//! itself. Of a piece of several blocks every rank takes the one of its own number. `Receive` waits for what a rank has
//! published for the present round: into `Incoming` it is only looked at where it lies, into the output it is copied.
//! `Await(0)` ends the round, as does the end of the operation: nothing received in it is used any more. `Work` is the
//! room for the rank's own next text: to receive it from oneself waits for room, and to send it publishes what was
//! built there. So a result that others want is made where they read it.
//!
//! A board keeps what was published for a number of rounds, and has room again when all have ended the oldest of them.
//! Who publishes ahead must say how far, and not further than there is room, else all wait for each other.

use super::step::{AWAIT_ALL, combine, copy, receive, send};
use super::{Buffer, Piece, Step};

/// Everybody publishes nothing, and looks at everybody.
pub fn barrier_shm(rank: usize, ranks: usize) -> impl Iterator<Item = Step> + Clone {
    let look = |from| receive(from, Piece::NOTHING);
    let others = others(rank, ranks).map(look);
    [send(rank, Piece::NOTHING)].into_iter().chain(others)
}

/// The root publishes segment by segment.
pub fn broadcast_shm(
    rank: usize,
    root: usize,
    segments: usize,
) -> impl Iterator<Item = Step> + Clone {
    rounds(segments, move |segment| {
        let piece = Buffer::Output.block(segment);
        [match rank == root {
            true => send(rank, piece),
            false => receive(root, piece),
        }]
    })
}

/// Everybody publishes its data, in segments; the root combines them in the order of the ranks. It does so in `place`:
/// the output, or the work buffer if the output is its input.
pub fn reduce_shm(
    rank: usize,
    ranks: usize,
    root: usize,
    segments: usize,
    place: Buffer,
) -> impl Iterator<Item = Step> + Clone {
    let give = move |segment| [send(rank, Buffer::Input.block(segment))];
    let take = move |segment| {
        let own = Buffer::Input.block(segment);
        let (sum, result) = (place.block(segment), Buffer::Output.block(segment));
        let elsewhere = place != Buffer::Output;
        let room = elsewhere.then(|| receive(rank, sum));
        let last = elsewhere.then(|| copy(sum, result));
        let sums = chain(rank, ranks, own, sum);
        room.into_iter().chain(sums).chain(last)
    };
    let (gives, takes) = match rank == root {
        true => (0, segments),
        false => (segments, 0),
    };
    rounds(gives, give).chain(rounds(takes, take))
}

/// Everybody publishes its data and combines those of all, in the order of the ranks, in the output, which may be the
/// input.
pub fn allreduce_shm(rank: usize, ranks: usize) -> impl Iterator<Item = Step> + Clone {
    let (input, incoming, output) = (
        Buffer::Input.block(0),
        Buffer::Incoming.block(0),
        Buffer::Output.block(0),
    );
    let last = ranks.saturating_sub(1);
    let more = (0..last).rev();
    let more = more.flat_map(move |from| [receive(from, incoming), combine(incoming, output)]);
    [send(rank, input), receive(last, output)]
        .into_iter()
        .chain(more)
}

/// Every segment is cut into as many blocks as ranks, and every rank combines its own block of all and publishes the
/// result, for all or for the root only. Everybody publishes the data of so many segments ahead of those that are
/// combined, which takes room for twice as many rounds. The output may be the input.
pub fn reduce_scatter_gather_shm(
    rank: usize,
    ranks: usize,
    root: Option<usize>,
    segments: usize,
    ahead: usize,
) -> impl Iterator<Item = Step> + Clone {
    let ahead = ahead.clamp(1, segments.max(1));
    let give = move |segment| {
        let all = Buffer::Input.blocks(segment * ranks, ranks);
        (segment < segments).then(|| send(rank, all))
    };
    let add = move |segment| {
        let own = Buffer::Input.block(segment * ranks + rank);
        let sum = own.of(Buffer::Work);
        let sums = chain(rank, ranks, own, sum);
        let publish = [AWAIT_ALL, send(rank, sum)];
        let next = give(segment + ahead);
        let steps = [receive(rank, sum)].into_iter().chain(sums);
        steps.chain(publish).chain(next)
    };
    let takes = root.is_none_or(|root| root == rank);
    let take = move |segment: usize| {
        let result = move |from| receive(from, Buffer::Output.block(segment * ranks + from));
        let from = if takes { 0..ranks } else { 0..0 };
        from.map(result).chain([AWAIT_ALL])
    };
    // The first results follow the data that is published ahead, the others the data of one more segment each.
    let turns = (0..segments + ahead - 1).flat_map(move |turn| {
        let sum = (turn < segments).then(|| add(turn));
        let result = (turn + 1).checked_sub(ahead).map(take);
        let result = result.into_iter().flatten();
        sum.into_iter().flatten().chain(result)
    });
    (0..ahead).filter_map(give).chain(turns)
}

/// Everybody publishes its data, in segments, so many ahead of those that it reads, which takes room for as many rounds.
/// Block s x ranks + r of the output is segment s of rank r.
pub fn allgather_shm(
    rank: usize,
    ranks: usize,
    segments: usize,
    ahead: usize,
) -> impl Iterator<Item = Step> + Clone {
    let piece = |segment| Buffer::Input.block(segment);
    exchange(rank, ranks, segments, ahead, piece, piece)
}

/// Everybody publishes what it has for all, in segments, so many ahead of those that it reads, which takes room for as
/// many rounds. Block s x ranks + r is segment s of what goes to rank r, or comes from it. The output may be the input.
pub fn alltoall_shm(
    rank: usize,
    ranks: usize,
    segments: usize,
    ahead: usize,
) -> impl Iterator<Item = Step> + Clone {
    let piece = move |segment| Buffer::Input.blocks(segment * ranks, ranks);
    let own = move |segment| Buffer::Input.block(segment * ranks + rank);
    exchange(rank, ranks, segments, ahead, piece, own)
}

fn exchange(
    rank: usize,
    ranks: usize,
    segments: usize,
    ahead: usize,
    piece: impl Fn(usize) -> Piece + Copy,
    own: impl Fn(usize) -> Piece + Copy,
) -> impl Iterator<Item = Step> + Clone {
    let ahead = ahead.max(1);
    let give = move |segment| (segment < segments).then(|| send(rank, piece(segment)));
    let turn = move |segment: usize| {
        let place = move |from| Buffer::Output.block(segment * ranks + from);
        let keep = copy(own(segment), place(rank));
        let take = others(rank, ranks).map(move |from| receive(from, place(from)));
        // There is room for one more when the round before is over.
        let next = (segment + ahead).checked_sub(1).filter(|_| segment > 0);
        let next = next.and_then(give);
        next.into_iter().chain([keep]).chain(take)
    };
    (0..ahead).map_while(give).chain(rounds(segments, turn))
}

/// So many rounds.
fn rounds<I: IntoIterator<Item = Step>>(
    rounds: usize,
    round: impl Fn(usize) -> I + Clone,
) -> impl Iterator<Item = Step> + Clone
where
    I::IntoIter: Clone,
{
    (0..rounds).flat_map(move |number| {
        let before = (number > 0).then_some(AWAIT_ALL);
        before.into_iter().chain(round(number))
    })
}

/// Combines in the order of the ranks: the sum grows from the last one's data to the first one's.
fn chain(rank: usize, ranks: usize, own: Piece, sum: Piece) -> impl Iterator<Item = Step> + Clone {
    let incoming = sum.of(Buffer::Incoming);
    let add = move |from| match (from == rank, from + 1 == ranks) {
        (true, true) => [Some(copy(own, sum)), None],
        (true, false) => [Some(combine(own, sum)), None],
        (false, true) => [Some(receive(from, incoming)), Some(copy(incoming, sum))],
        (false, false) => [Some(receive(from, incoming)), Some(combine(incoming, sum))],
    };
    (0..ranks).rev().flat_map(add).flatten()
}

/// All but this rank, from the next one on.
fn others(rank: usize, ranks: usize) -> impl Iterator<Item = usize> + Clone {
    (rank + 1..ranks).chain(0..rank)
}
