//! Operations of ranks that share memory: each publishes for all others at once, on a board of its own, and no rank
//! forwards data.
//!
//! The steps are those of messages; executors over boards give them this meaning. Ranks go through rounds. `Send` puts
//! a piece on the rank's own board, for the next round for which the rank has published nothing; the step names the
//! rank itself. Of a piece of several blocks every rank reads the block of its own number. `Receive` waits for what a
//! rank has published for the present round: a receive into `Incoming` reads the board in place, a receive into the
//! output copies. `Await(0)` ends the round, as does the end of the operation: after it the executor uses nothing that
//! was received in the round. `Work` is the space on the rank's own board for its next publication: `Receive` from the
//! rank itself waits for that space, and `Send` publishes what was built there. A result for other ranks is thus
//! computed where they read it.
//!
//! A `Copy` of an operand of a reduction to where the sum will be, which a `Combine` into that place follows, only names the
//! operand: the place keeps what it has until then. So two operands are combined in one pass, and the other one may be there.
//!
//! A board keeps publications for a number of rounds, and has space again when all ranks have ended the oldest round. A
//! rank that publishes ahead must state how many rounds ahead, at most as many as there is space for; otherwise all
//! ranks wait for each other.

use super::step::{AWAIT_ALL, combine, copy, receive, send};
use super::{Buffer, Piece, Step};

/// Publishes nothing on every rank, then waits for the publications of all ranks.
pub fn barrier_shm(rank: usize, ranks: usize) -> impl Iterator<Item = Step> + Clone {
    let look = |from| receive(from, Piece::NOTHING);
    let others = others(rank, ranks).map(look);
    [send(rank, Piece::NOTHING)].into_iter().chain(others)
}

/// Broadcasts: the root publishes segment by segment.
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

/// Reduces: every rank publishes its data, in segments; the root combines them in the order of the ranks. The root does
/// so in `place`: the output, or the work buffer if the output is its input.
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

/// Reduces for all ranks: every rank publishes its data and combines the data of all, in the order of the ranks, in the
/// output, which may be the input.
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

/// Where a rank combines its blocks in [`reduce_scatter_gather_shm`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SumPlace {
    /// Where it publishes them. The output may be the input.
    Board,
    /// In the output, which is not the input, of a rank that receives the result. It publishes them from there.
    Output,
    /// In the work buffer, which it then copies to the output, to publish them from there. The output may be the input.
    Work,
}

/// Reduces for all ranks or for `root`: every segment is divided into as many blocks as there are ranks, and every rank
/// combines its own block of all ranks in `place` and publishes the result. Every rank publishes the data of `ahead` segments
/// before it combines the first, which needs space for twice as many rounds. Ranks may differ in `place`.
pub fn reduce_scatter_gather_shm(
    rank: usize,
    ranks: usize,
    root: Option<usize>,
    segments: usize,
    ahead: usize,
    place: SumPlace,
) -> impl Iterator<Item = Step> + Clone {
    let ahead = ahead.clamp(1, segments.max(1));
    let (sum_in, result_in) = match place {
        SumPlace::Board => (Buffer::Work, Buffer::Work),
        SumPlace::Output => (Buffer::Output, Buffer::Output),
        SumPlace::Work => (Buffer::Work, Buffer::Output),
    };
    let give = move |segment| {
        let all = Buffer::Input.blocks(segment * ranks, ranks);
        (segment < segments).then(|| send(rank, all))
    };
    let add = move |segment| {
        let own = Buffer::Input.block(segment * ranks + rank);
        let (sum, result) = (own.of(sum_in), own.of(result_in));
        let room = (sum_in == Buffer::Work).then(|| receive(rank, sum));
        let sums = chain(rank, ranks, own, sum);
        let last = (sum != result).then(|| copy(sum, result));
        let publish = [AWAIT_ALL, send(rank, result)];
        let next = give(segment + ahead);
        let steps = room.into_iter().chain(sums).chain(last);
        steps.chain(publish).chain(next)
    };
    let takes = root.is_none_or(|root| root == rank);
    let take = move |segment: usize| {
        let result = move |from| receive(from, Buffer::Output.block(segment * ranks + from));
        let from = if takes { 0..ranks } else { 0..0 };
        // Its own one may be there.
        let from = from.filter(move |from| *from != rank || result_in == Buffer::Work);
        from.map(result).chain([AWAIT_ALL])
    };
    // The first results follow the data that is published ahead; each later result follows the data of one more
    // segment.
    let turns = (0..segments + ahead - 1).flat_map(move |turn| {
        let sum = (turn < segments).then(|| add(turn));
        let result = (turn + 1).checked_sub(ahead).map(take);
        let result = result.into_iter().flatten();
        sum.into_iter().flatten().chain(result)
    });
    (0..ahead).filter_map(give).chain(turns)
}

/// Gathers at all ranks: every rank publishes its data in segments, `ahead` segments before it reads the first, which
/// needs space for as many rounds. Block s x ranks + r of the output is segment s of rank r.
pub fn allgather_shm(
    rank: usize,
    ranks: usize,
    segments: usize,
    ahead: usize,
) -> impl Iterator<Item = Step> + Clone {
    let piece = |segment| Buffer::Input.block(segment);
    exchange(rank, ranks, segments, ahead, piece, piece)
}

/// Returns how many blocks of a segment a rank publishes in [`alltoall_shm`]: those of all, or of two ranks the other one's.
pub const fn alltoall_parts(ranks: usize) -> usize {
    if ranks == 2 { 1 } else { ranks }
}

/// Exchanges blocks between all ranks: every rank publishes its data for all in segments, `ahead` segments before it
/// reads the first, which needs space for as many rounds. Block s x ranks + r is segment s of the data to rank r
/// (input) or from rank r (output). The output may be the input. It publishes [`alltoall_parts`] blocks of each segment.
pub fn alltoall_shm(
    rank: usize,
    ranks: usize,
    segments: usize,
    ahead: usize,
) -> impl Iterator<Item = Step> + Clone {
    let parts = alltoall_parts(ranks);
    let first = if parts < ranks { 1 - rank } else { 0 };
    let piece = move |segment| Buffer::Input.blocks(segment * ranks + first, parts);
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
    let turn = move |segment: usize| {
        let place = move |from| Buffer::Output.block(segment * ranks + from);
        let keep = copy(own(segment), place(rank));
        let take = others(rank, ranks).map(move |from| receive(from, place(from)));
        [keep].into_iter().chain(take)
    };
    publish_ahead(rank, segments, ahead, piece, turn)
}

/// Reduces for both of two ranks: each publishes its data in segments, `ahead` segments before it reads the first, which
/// needs space for as many rounds, and combines all segments in the order of the ranks, in the output, which may be the
/// input.
pub fn allreduce_pair_shm(
    rank: usize,
    segments: usize,
    ahead: usize,
) -> impl Iterator<Item = Step> + Clone {
    let piece = |segment| Buffer::Input.block(segment);
    let turn = move |segment| {
        let own = piece(segment);
        chain(rank, 2, own, own.of(Buffer::Output))
    };
    publish_ahead(rank, segments, ahead, piece, turn)
}

/// Returns the steps of one round for each segment, where the rank publishes the pieces `ahead` segments before it takes
/// the first turn.
fn publish_ahead<I: IntoIterator<Item = Step>>(
    rank: usize,
    segments: usize,
    ahead: usize,
    piece: impl Fn(usize) -> Piece + Copy,
    turn: impl Fn(usize) -> I + Clone,
) -> impl Iterator<Item = Step> + Clone
where
    I::IntoIter: Clone,
{
    let ahead = ahead.max(1);
    let give = move |segment| (segment < segments).then(|| send(rank, piece(segment)));
    let round = move |segment: usize| {
        // The board has space for one more segment when the round before is complete.
        let next = (segment + ahead).checked_sub(1).filter(|_| segment > 0);
        let next = next.and_then(give);
        next.into_iter().chain(turn(segment))
    };
    (0..ahead).map_while(give).chain(rounds(segments, round))
}

/// Returns the steps of `rounds` rounds, with an [`AWAIT_ALL`] between them.
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

/// Combines in the order of the ranks: the sum grows from the last rank's data to the first's.
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

/// Returns all ranks but this one, from the next one on.
fn others(rank: usize, ranks: usize) -> impl Iterator<Item = usize> + Clone {
    (rank + 1..ranks).chain(0..rank)
}
