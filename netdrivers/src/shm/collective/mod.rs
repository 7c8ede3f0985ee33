//! Boards on which the ranks of a group publish payloads: collective operations on one machine use them in place of
//! messages. They are for owners of an [`Shm`].
//!
//! The segment has [`REGIONS`] regions, and in each a board for every rank. A group takes a region that is free for all
//! its members, so groups without common members may share one. The members must agree on the region, and on the number
//! of its first operation there: the largest that [`Shm::free_regions`] returns at any of them.
//!
//! All members number their operations alike, and run the same rounds in each: in a round a rank publishes a payload of
//! up to [`MAX_PAYLOAD`] bytes or none, reads those of others, and releases the round. The payload of a round stays
//! until all have released the round; a rank can be [`ROUNDS_AHEAD`] rounds ahead of the slowest with long payloads.
//! Members that disagree on the rounds of an operation, or that leave it early, are in step again in the next one.

mod board;
mod mapped_boards;
mod member;
mod passed_blocks;
mod payload_writer;
mod spin_credit;

use alloc::boxed::Box;
use pombo_kernel::header::Peer;

use super::futex::Futex;
use super::long_frames::FreeCells;
use super::segment::{RankState, Segment};
#[cfg(target_arch = "x86_64")]
use super::streaming_copy;
use super::sync::Ordering;
use super::{Shm, layout, segment, store_choice, sync};
use crate::tuning::{BOARD_SPINS, FAST_PATHS};
use board::Board;
use mapped_boards::MappedBoards;
pub(super) use member::Groups;
use member::{Awaited, Member, Waiting};
use payload_writer::PayloadWriter;
pub use payload_writer::Room;
use spin_credit::SpinCredits;

/// Number of groups that a rank can be in at a time.
pub const REGIONS: usize = layout::REGIONS;
/// Exclusive bound of the marks by which readers recognise the operation of a payload.
pub const MARK_LIMIT: u64 = board::MARK_LIMIT;
/// The longest payload in bytes.
pub const MAX_PAYLOAD: usize = layout::MAX_PAYLOAD;
/// Number of rounds for which a rank can have published long payloads that not all have read, at least.
pub const ROUNDS_AHEAD: usize = layout::LONGEST_AHEAD;

/// The reason why an awaited payload or room will not come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unavailable {
    /// That peer is lost, and the group needs it.
    PeerLost(Peer),
    /// The member has passed this round, or has left the operation, without publishing for it.
    Skipped,
}

/// A group that this rank is in, borrowed for operations.
pub struct BoardGroup<'a> {
    segment: &'a Segment,
    park: &'a Futex,
    member: &'a mut Member,
    waiting: &'a mut Option<Waiting>,
    region: u8,
    spins: Spins,
}

/// How long this rank polls a board before it does something else.
#[derive(Clone, Copy)]
enum Spins {
    /// The rank looks once, as its caller wants to do something else.
    None,
    /// The rank polls as long as that pays: others wait for the same processor, or a quota is less than their processors.
    WhilePaying,
    /// The rank polls long, as it has a processor of its own.
    Long,
}

impl Shm {
    /// Returns for each region the first operation that a new group may begin with; `None` if this rank is in a group
    /// there, or if others are still in the one that it has left.
    pub fn free_regions(&self) -> [Option<u64>; REGIONS] {
        core::array::from_fn(|region| self.first_free(region))
    }

    fn first_free(&self, region: usize) -> Option<u64> {
        match self.groups.regions.get(region)? {
            None => Some(0),
            Some(member) => {
                let is_gone = |(rank, peer): (usize, &Peer)| {
                    let state = self.members.segment.state_of(peer.index());
                    member.board.has_left_group(rank)
                        || matches!(state, RankState::Finished | RankState::Dead)
                };
                let is_free = member.left && member.peers.iter().enumerate().all(is_gone);
                is_free.then(|| member.board.next_operation())
            }
        }
    }

    /// Enters a group of these peers, which include this one, that begins with that operation. Returns false if the
    /// region is not free here, if a peer is not in this segment, or if the operation may have been used here.
    pub fn enter_group(
        &mut self,
        region: usize,
        peers: impl Iterator<Item = Peer>,
        first: u64,
    ) -> bool {
        let peers: Box<[Peer]> = peers.collect();
        let is_free = self
            .first_free(region)
            .is_some_and(|next_operation| first >= next_operation);
        let known = peers
            .iter()
            .all(|peer| peer.index() < self.connections.len());
        let me = peers.iter().position(|peer| *peer == self.members.me);
        let Some(me) = me.filter(|_| is_free && known) else {
            return false;
        };
        let ranks = peers.iter().map(|peer| peer.index());
        // SAFETY: the groups are dropped before the segment.
        let memory = unsafe { MappedBoards::new(&self.members.segment, region, ranks) };
        let in_cells = self.free_cells.as_ref().is_some_and(FreeCells::gives);
        self.groups.regions[region] = Some(Box::new(Member {
            board: Board::new(memory, me, first, in_cells),
            writer: PayloadWriter::new(),
            reading: None,
            credits: SpinCredits::new(peers.len()),
            me: self.members.me.index(),
            peers,
            awaited: Awaited::Room(0),
            epoch: None,
            left: false,
        }));
        true
    }

    /// Leaves the group in that region. The others may still read what this rank has published there, so the region is free
    /// when all have left.
    pub fn leave_group(&mut self, region: usize) {
        if let Some(Some(member)) = self.groups.regions.get_mut(region) {
            member.left = true;
            member.board.leave();
        }
    }

    /// Returns the group in that region, if this rank is in one.
    #[inline]
    pub fn group(&mut self, region: usize) -> Option<BoardGroup<'_>> {
        let member = self.groups.regions.get_mut(region)?.as_deref_mut();
        Some(BoardGroup {
            segment: &self.members.segment,
            park: &self.park,
            member: member.filter(|member| !member.left)?,
            waiting: &mut self.groups.waiting,
            region: region as u8,
            spins: match self.wait_policy.spins() {
                true => Spins::Long,
                false => Spins::WhilePaying,
            },
        })
    }
}

impl BoardGroup<'_> {
    /// Disables spinning: each wait polls once, so that the caller can do something else.
    #[inline]
    #[must_use]
    pub fn without_spinning(self) -> Self {
        let spins = Spins::None;
        BoardGroup { spins, ..self }
    }

    /// Returns whether that operation is within the range of numbers.
    #[inline]
    pub fn has_number_for(&self, operation: u64) -> bool {
        self.member.board.has_number_for(operation)
    }

    /// Begins an operation, with a larger number than all before it. Readers of this rank's payloads get the mark,
    /// which must be below [`MARK_LIMIT`].
    #[inline]
    pub fn begin(&mut self, operation: u64, mark: u64) {
        self.member.board.begin(operation, mark);
    }

    /// Ends the operation, for whatever reason: this rank no longer reads its payloads.
    #[inline]
    pub fn end(&mut self) {
        self.member.end_reading();
        self.member.credits.settle(true);
        self.member.board.end();
        *self.waiting = None;
        self.notify();
    }

    /// Skips all operations up to that one that this rank has not ended: nobody waits for it there.
    #[inline]
    pub fn skip(&mut self, operation: u64) {
        self.member.end_reading();
        self.member.board.skip(operation);
        *self.waiting = None;
        self.notify();
    }

    /// Returns whether that member has ended or skipped that operation; if not, a sleep ends when it has, until
    /// [`BoardGroup::end_wait`].
    pub fn has_left(&mut self, rank: usize, operation: u64) -> bool {
        self.member.awaited = Awaited::Leave(rank, operation);
        *self.waiting = Some(Waiting::of(self.region));
        self.member.is_there(self.member.awaited)
    }

    /// Ends the wait of this rank for a payload, room or a member, which ends no sleep from now on.
    pub fn end_wait(&mut self) {
        *self.waiting = None;
    }

    /// Passes the room for this rank's next payload of `len` bytes to `f`: bytes written there before it is published
    /// stay. Returns `None` if there is no room, and from then on a sleep ends when there is.
    ///
    /// # Errors
    /// [`Unavailable::PeerLost`]: there will be no room.
    #[inline]
    pub fn fill<R>(
        &mut self,
        len: usize,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<Option<R>, Unavailable> {
        let filled = self.member.board.fill(len, f);
        if filled.is_none() {
            self.start_wait(Awaited::Room(len))?;
        }
        Ok(filled)
    }

    /// Does what [`BoardGroup::fill`] does for a long payload, which is written part by part. Returns whether there was
    /// room.
    ///
    /// # Errors
    /// As [`BoardGroup::fill`].
    pub fn write(
        &mut self,
        len: usize,
        f: impl FnOnce(&mut Room<'_>),
    ) -> Result<bool, Unavailable> {
        let Member { board, writer, .. } = &mut *self.member;
        let written = writer.write(board, len, f);
        if !written {
            self.start_wait(Awaited::Room(len))?;
        }
        Ok(written)
    }

    /// Publishes the written payload of `len` bytes. Returns false if there was no room.
    #[inline]
    pub fn publish(&mut self, len: usize) -> bool {
        let published = self.member.board.publish(len);
        self.notify();
        published
    }

    /// Returns whether there is a cell for this rank's next block for each other one, of up to `len` bytes. It is for rounds
    /// in which each rank publishes a block for every other one and reads those of all: a cell goes to whoever has read it.
    #[inline]
    pub fn has_cells(&self, len: usize) -> bool {
        FAST_PATHS && self.member.board.has_cells(len)
    }

    /// Publishes a block of `len` bytes for each other rank, which `f` writes; there must be cells. Returns whether there was
    /// room.
    ///
    /// # Errors
    /// As [`BoardGroup::fill`].
    pub fn publish_blocks(
        &mut self,
        len: usize,
        f: impl FnMut(usize, &mut [u8]),
    ) -> Result<bool, Unavailable> {
        let published = self.member.board.publish_blocks(len, f);
        match published {
            true => self.notify(),
            false => self.start_wait(Awaited::Room(0))?,
        }
        Ok(published)
    }

    /// Passes what the member has published for this round, and the mark of its operation, to `f`: the payload from byte `at`
    /// on, or its block for this rank. Returns `None` if there is none yet, and from then on a sleep ends when there is.
    ///
    /// # Errors
    /// [`Unavailable`]: the payload will not come.
    #[inline]
    pub fn read<R>(
        &mut self,
        rank: usize,
        at: usize,
        f: impl FnOnce(&[u8], u64) -> R,
    ) -> Result<Option<R>, Unavailable> {
        self.member.end_reading();
        match self.spin_for(rank) {
            true => self.member.begin_reading(rank),
            false => self.start_wait(Awaited::Payload(rank))?,
        }
        Ok(self.member.board.read(rank, at, f))
    }

    /// Releases the round: this rank no longer reads its payloads.
    #[inline]
    pub fn release(&mut self) {
        self.member.end_reading();
        self.member.board.release();
        *self.waiting = None;
        self.notify();
    }

    /// Polls for the payload, for a while.
    #[inline]
    fn spin_for(&mut self, rank: usize) -> bool {
        let Member { board, credits, .. } = &mut *self.member;
        board.has(rank)
            || match self.spins {
                Spins::None => false,
                // After a yield, spins in the same round do not pay.
                Spins::WhilePaying if self.waiting.is_some() => false,
                Spins::WhilePaying => credits.spin(rank, || board.has(rank)),
                Spins::Long => (0..BOARD_SPINS).any(|_| {
                    core::hint::spin_loop();
                    board.has(rank)
                }),
            }
    }

    /// Wakes the members that sleep until this rank's board changes.
    #[inline]
    fn notify(&self) {
        for peer in &self.member.peers {
            let event_count = &self.segment.control(peer.index()).event_count.0;
            event_count.notify_of_board(self.member.me, self.park);
        }
    }

    /// Makes a sleep of this rank end when the awaited payload or room is there.
    #[cold]
    fn start_wait(&mut self, awaited: Awaited) -> Result<(), Unavailable> {
        if let Awaited::Payload(rank) = awaited
            && self.member.board.has_skipped(rank)
        {
            return Err(Unavailable::Skipped);
        }
        self.member.credits.settle(false);
        self.member.awaited = awaited;
        *self.waiting = Some(Waiting::of(self.region));
        let epoch = self.segment.header().epoch.0.load(Ordering::Acquire);
        if self.member.epoch == Some(epoch) {
            return Ok(());
        }
        let lost = self.lost(awaited);
        // A payload that the member published before its end counts.
        if let Some(lost) = lost.filter(|_| !self.member.is_there(awaited)) {
            *self.waiting = None;
            return Err(Unavailable::PeerLost(lost));
        }
        let peers = self.member.peers.iter();
        let all_work = peers
            .clone()
            .all(|peer| self.state(*peer) == RankState::Attached);
        self.member.epoch = all_work.then_some(epoch);
        Ok(())
    }

    /// Returns a member whose loss blocks the group: one that died, or the awaited one, if it has finished in good
    /// order.
    fn lost(&self, awaited: Awaited) -> Option<Peer> {
        let peers = &self.member.peers;
        let dead = peers
            .iter()
            .find(|peer| self.state(**peer) == RankState::Dead);
        let from = match awaited {
            Awaited::Payload(from) => peers.get(from),
            Awaited::Room(_) | Awaited::Leave(..) => None,
        };
        let finished = || from.filter(|peer| self.state(**peer) == RankState::Finished);
        dead.or_else(finished).copied()
    }

    fn state(&self, peer: Peer) -> RankState {
        self.segment.state_of(peer.index())
    }
}
