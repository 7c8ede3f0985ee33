//! Boards on which the ranks of a group publish for each other: what collective operations on one machine need in
//! slot of messages. For whoever has an [`Shm`].
//!
//! The segment has [`REGIONS`] regions, and in each a board for every rank. A group takes an region that is free for all of
//! its members, so groups without common members may have the same one. The members must agree on the region, and on the
//! number of its first operation there: the largest that [`Shm::free_regions`] says to one of them.
//!
//! All members number their operations alike, and go through the same rounds in each: in a round a rank publishes a
//! payload of up to [`MAX_PAYLOAD`] bytes or none, reads what others have published, and releases the round. What a rank has published for
//! a round stays until all have released it; a rank can be [`ROUNDS_AHEAD`] rounds ahead of the slowest with long payloads.
//! Members that do not agree on the rounds of an operation, or that leave it early, are together again in the next one.

mod board;
mod mapped_boards;
mod member;

use alloc::boxed::Box;
use pombo_kernel::header::Peer;

use super::event_count::WaitFor;
use super::futex::Futex;
use super::segment::{RankState, Segment};
use super::sync::Ordering;
use super::{Shm, layout, segment, sync};
use crate::wait::constants::BOARD_SPINS;
use board::Board;
use mapped_boards::MappedBoards;
pub(super) use member::Groups;
use member::{Awaited, Member};

/// Groups that a rank can be in at a time.
pub const REGIONS: usize = layout::REGIONS;
/// What a rank says of its operation to those who read its payloads is below this.
pub const MARK_LIMIT: u64 = board::MARK_LIMIT;
/// The longest payload in bytes.
pub const MAX_PAYLOAD: usize = layout::CHUNK;
/// Rounds for which a rank can have published long payloads that not all have read.
pub const ROUNDS_AHEAD: usize = layout::CHUNKS;

/// Why what a rank waits for does not come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unavailable {
    /// That peer is gone, and the group needs it.
    PeerLost(Peer),
    /// The member is past this round, or has left the operation, and has published nothing for it.
    Skipped,
}

/// A group that this rank is in, while it does something there.
pub struct BoardGroup<'a> {
    segment: &'a Segment,
    park: &'a Futex,
    member: &'a mut Member,
    waiting: &'a mut Option<u8>,
    region: u8,
    spins: u32,
}

impl Shm {
    /// The regions that are free for this rank: for each, the first operation that a new group may begin with. None where
    /// it is in a group, or where others still read what it has published.
    pub fn free_regions(&self) -> [Option<u64>; REGIONS] {
        core::array::from_fn(|region| self.first_free(region))
    }

    fn first_free(&self, region: usize) -> Option<u64> {
        match self.groups.regions.get(region)? {
            None => Some(0),
            Some(member) if member.left && member.board.all_released() => {
                Some(member.board.next_operation())
            }
            Some(_) => None,
        }
    }

    /// Enters a group that consists of these peers, this one among them, and begins with that operation. False if the
    /// region is not free here, if a peer is not of this segment, or if the operation may have been used here.
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
        // SAFETY: the groups go before the segment.
        let memory = unsafe { MappedBoards::new(&self.members.segment, region, ranks) };
        self.groups.regions[region] = Some(Box::new(Member {
            board: Board::new(memory, me, first),
            peers,
            awaited: Awaited::Room(0),
            epoch: None,
            left: false,
        }));
        true
    }

    /// Leaves the group in that region. The others may still read what this rank has published there.
    pub fn leave_group(&mut self, region: usize) {
        if let Some(Some(member)) = self.groups.regions.get_mut(region) {
            member.left = true;
        }
    }

    /// The group in that region, if this rank is in one.
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
                true => BOARD_SPINS,
                false => 0,
            },
        })
    }
}

impl BoardGroup<'_> {
    /// Looks once for what others publish, and then does something else.
    #[inline]
    #[must_use]
    pub fn without_spinning(self) -> Self {
        BoardGroup { spins: 0, ..self }
    }

    /// Is there a number for that operation?
    #[inline]
    pub fn has_number_for(&self, operation: u64) -> bool {
        self.member.board.has_number_for(operation)
    }

    /// Begins an operation, with a larger number than all before it. Who reads this rank's payloads gets the mark, which is
    /// below [`MARK_LIMIT`].
    #[inline]
    pub fn begin(&mut self, operation: u64, mark: u64) {
        self.member.board.begin(operation, mark);
    }

    /// Ends the operation, for whatever reason: what the others have published for it is no longer read here.
    #[inline]
    pub fn end(&mut self) {
        self.member.board.end();
        *self.waiting = None;
        self.notify();
    }

    /// Leaves out all operations up to that one, as far as this rank has not ended them: nobody waits for it there.
    pub fn skip(&mut self, operation: u64) {
        self.member.board.skip(operation);
        *self.waiting = None;
        self.notify();
    }

    /// Hands out the room for this rank's next payload, of so many bytes: what was written there before it is published
    /// stays. `None` if there is no room, which then is waited for.
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

    /// Publishes what was written, of so many bytes. False if there was no room.
    #[inline]
    pub fn publish(&mut self, len: usize) -> bool {
        let published = self.member.board.publish(len);
        self.notify();
        published
    }

    /// Hands out what that member has published for this round, and the mark of its operation. `None` if it has not yet;
    /// then it is waited for.
    ///
    /// # Errors
    /// [`Unavailable`]: it will not come.
    #[inline]
    pub fn read<R>(
        &mut self,
        rank: usize,
        f: impl FnOnce(&[u8], u64) -> R,
    ) -> Result<Option<R>, Unavailable> {
        if !self.spin_for(rank) {
            self.start_wait(Awaited::Payload(rank))?;
        }
        Ok(self.member.board.read(rank, f))
    }

    /// Releases the round: what the others have published for it is no longer read here.
    #[inline]
    pub fn release(&mut self) {
        self.member.board.release();
        *self.waiting = None;
        self.notify();
    }

    /// Looks until it is there, for a while.
    #[inline]
    fn spin_for(&self, rank: usize) -> bool {
        self.member.board.has(rank)
            || (0..self.spins).any(|_| {
                core::hint::spin_loop();
                self.member.board.has(rank)
            })
    }

    /// Wakes those members that sleep.
    #[inline]
    fn notify(&self) {
        for peer in &self.member.peers {
            let event_count = &self.segment.control(peer.index()).event_count.0;
            event_count.notify(WaitFor::Frame, self.park);
        }
    }

    /// From now on a sleep of this rank ends when that is there.
    #[cold]
    fn start_wait(&mut self, awaited: Awaited) -> Result<(), Unavailable> {
        if let Awaited::Payload(rank) = awaited
            && self.member.board.has_skipped(rank)
        {
            return Err(Unavailable::Skipped);
        }
        self.member.awaited = awaited;
        *self.waiting = Some(self.region);
        let epoch = self.segment.header().epoch.0.load(Ordering::Acquire);
        if self.member.epoch == Some(epoch) {
            return Ok(());
        }
        let lost = self.lost(awaited);
        // What it has published before its end counts.
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

    /// A member without which the group gets no further: one that died, or the one that is waited for, if it has
    /// finished in good order.
    fn lost(&self, awaited: Awaited) -> Option<Peer> {
        let peers = &self.member.peers;
        let dead = peers
            .iter()
            .find(|peer| self.state(**peer) == RankState::Dead);
        let from = match awaited {
            Awaited::Payload(from) => peers.get(from),
            Awaited::Room(_) => None,
        };
        let finished = || from.filter(|peer| self.state(**peer) == RankState::Finished);
        dead.or_else(finished).copied()
    }

    fn state(&self, peer: Peer) -> RankState {
        self.segment.state_of(peer.index())
    }
}
