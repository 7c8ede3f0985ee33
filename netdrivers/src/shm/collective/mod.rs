//! Boards on which the ranks of a group publish for each other: what collective operations on one machine need in
//! place of messages. For whoever has an [`Shm`].
//!
//! The segment has [`AREAS`] areas, and in each a board for every rank. A group takes an area that is free for all of
//! its members, so groups without common members may have the same one. The members must agree on the area, and on the
//! number of its first operation there: the largest that [`Shm::areas`] says to one of them.
//!
//! All members number their operations alike, and go through the same rounds in each: in a round a rank publishes a
//! text of up to [`TEXT`] bytes or none, reads what others have published, and passes on. What a rank has published for
//! a round stays until all have passed it; a rank can be [`ROUNDS_AHEAD`] rounds ahead of the slowest with long texts.
//! Members that do not agree on the rounds of an operation, or that leave it early, are together again in the next one.

mod board;
mod member;
mod memory;

use alloc::boxed::Box;
use pombo_kernel::header::Node;

use super::bell::Until;
use super::futex::Futex;
use super::patience::Step;
use super::segment::{RankState, Segment};
use super::sync::Ordering;
use super::{Shm, layout, segment, sync};
use board::Board;
pub(super) use member::Groups;
use member::{Awaited, Member};
use memory::Memory;

/// Groups that a rank can be in at a time.
pub const AREAS: usize = layout::AREAS;
/// What a rank says of its operation to those who read its texts is below this.
pub const MARKS: u64 = board::MARKS;
/// The longest text in bytes.
pub const TEXT: usize = layout::CHUNK;
/// Rounds for which a rank can have published long texts that not all have read.
pub const ROUNDS_AHEAD: usize = layout::CHUNKS;

/// Why what a rank waits for does not come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Missing {
    /// That node is gone, and the group needs it.
    Lost(Node),
    /// The member is past this round, or has left the operation, and has published nothing for it.
    Skipped,
}

/// A group that this rank is in, while it does something there.
pub struct Group<'a> {
    segment: &'a Segment,
    park: &'a Futex,
    member: &'a mut Member,
    waiting: &'a mut Option<u8>,
    area: u8,
    looks: u32,
}

/// Looks for what others publish before a rank that has a processor of its own does something else: about as long as
/// two transfers of a line from one processor to another.
const LOOKS: u32 = 200;

impl Shm {
    /// The areas that are free for this rank: for each, the first operation that a new group may begin with. None where
    /// it is in a group, or where others still read what it has published.
    pub fn areas(&self) -> [Option<u64>; AREAS] {
        core::array::from_fn(|area| self.first(area))
    }

    fn first(&self, area: usize) -> Option<u64> {
        match self.groups.areas.get(area)? {
            None => Some(0),
            Some(member) if member.left && member.board.is_over() => Some(member.board.unused()),
            Some(_) => None,
        }
    }

    /// Enters a group that consists of these nodes, this one among them, and begins with that operation. False if the
    /// area is not free here, if a node is not of this segment, or if the operation may have been used here.
    pub fn enter(&mut self, area: usize, nodes: impl Iterator<Item = Node>, first: u64) -> bool {
        let nodes: Box<[Node]> = nodes.collect();
        let is_free = self.first(area).is_some_and(|unused| first >= unused);
        let known = nodes.iter().all(|node| node.index() < self.peers.len());
        let me = nodes.iter().position(|node| *node == self.node);
        let Some(me) = me.filter(|_| is_free && known) else {
            return false;
        };
        let ranks = nodes.iter().map(|node| node.index());
        // SAFETY: the groups go before the segment.
        let memory = unsafe { Memory::new(&self.segment, area, ranks) };
        self.groups.areas[area] = Some(Box::new(Member {
            board: Board::new(memory, me, first),
            nodes,
            awaited: Awaited::Room(0),
            epoch: None,
            left: false,
        }));
        true
    }

    /// Leaves the group in that area. The others may still read what this rank has published there.
    pub fn leave_group(&mut self, area: usize) {
        if let Some(Some(member)) = self.groups.areas.get_mut(area) {
            member.left = true;
        }
    }

    /// The group in that area, if this rank is in one.
    #[inline]
    pub fn group(&mut self, area: usize) -> Option<Group<'_>> {
        let member = self.groups.areas.get_mut(area)?.as_deref_mut();
        Some(Group {
            segment: &self.segment,
            park: &self.park,
            member: member.filter(|member| !member.left)?,
            waiting: &mut self.groups.waiting,
            area: area as u8,
            looks: match self.patience.step(0) {
                Step::Look | Step::Spin => LOOKS,
                Step::Yield | Step::Nap | Step::Sleep => 0,
            },
        })
    }
}

impl Group<'_> {
    /// Looks once for what others publish, and then does something else.
    #[inline]
    #[must_use]
    pub fn yielding(self) -> Self {
        Group { looks: 0, ..self }
    }

    /// Is there a number for that operation?
    #[inline]
    pub fn takes(&self, operation: u64) -> bool {
        self.member.board.takes(operation)
    }

    /// Begins an operation, with a larger number than all before it. Who reads this rank's texts gets the mark, which is
    /// below [`MARKS`].
    #[inline]
    pub fn begin(&mut self, operation: u64, mark: u64) {
        self.member.board.begin(operation, mark);
    }

    /// Ends the operation, for whatever reason: what the others have published for it is no longer read here.
    #[inline]
    pub fn end(&mut self) {
        self.member.board.end();
        *self.waiting = None;
        self.ring();
    }

    /// Leaves out all operations up to that one, as far as this rank has not ended them: nobody waits for it there.
    pub fn skip(&mut self, operation: u64) {
        self.member.board.skip(operation);
        *self.waiting = None;
        self.ring();
    }

    /// Hands out the room for this rank's next text, of so many bytes: what was written there before it is published
    /// stays. `None` if there is no room, which then is waited for.
    ///
    /// # Errors
    /// [`Missing::Lost`]: there will be no room.
    #[inline]
    pub fn fill<R>(
        &mut self,
        len: usize,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<Option<R>, Missing> {
        let filled = self.member.board.fill(len, f);
        if filled.is_none() {
            self.await_that(Awaited::Room(len))?;
        }
        Ok(filled)
    }

    /// Publishes what was written, of so many bytes. False if there was no room.
    #[inline]
    pub fn publish(&mut self, len: usize) -> bool {
        let published = self.member.board.publish(len);
        self.ring();
        published
    }

    /// Hands out what that member has published for this round, and the mark of its operation. `None` if it has not yet;
    /// then it is waited for.
    ///
    /// # Errors
    /// [`Missing`]: it will not come.
    #[inline]
    pub fn read<R>(
        &mut self,
        rank: usize,
        f: impl FnOnce(&[u8], u64) -> R,
    ) -> Result<Option<R>, Missing> {
        if !self.comes(rank) {
            self.await_that(Awaited::Text(rank))?;
        }
        Ok(self.member.board.read(rank, f))
    }

    /// Passes the round: what the others have published for it is no longer read here.
    #[inline]
    pub fn pass(&mut self) {
        self.member.board.pass();
        *self.waiting = None;
        self.ring();
    }

    /// Looks until it is there, for a while.
    #[inline]
    fn comes(&self, rank: usize) -> bool {
        self.member.board.has(rank)
            || (0..self.looks).any(|_| {
                core::hint::spin_loop();
                self.member.board.has(rank)
            })
    }

    /// Wakes those members that sleep.
    #[inline]
    fn ring(&self) {
        for node in &self.member.nodes {
            let bell = &self.segment.control(node.index()).bell.0;
            bell.ring(Until::Frame, self.park);
        }
    }

    /// From now on a sleep of this rank ends when that is there.
    #[cold]
    fn await_that(&mut self, awaited: Awaited) -> Result<(), Missing> {
        if let Awaited::Text(rank) = awaited
            && self.member.board.has_skipped(rank)
        {
            return Err(Missing::Skipped);
        }
        self.member.awaited = awaited;
        *self.waiting = Some(self.area);
        let epoch = self.segment.header().epoch.0.load(Ordering::Acquire);
        if self.member.epoch == Some(epoch) {
            return Ok(());
        }
        let lost = self.lost(awaited);
        // What it has published before its end counts.
        if let Some(lost) = lost.filter(|_| !self.member.is_there(awaited)) {
            *self.waiting = None;
            return Err(Missing::Lost(lost));
        }
        let nodes = self.member.nodes.iter();
        let all_work = nodes
            .clone()
            .all(|node| self.state(*node) == RankState::Attached);
        self.member.epoch = all_work.then_some(epoch);
        Ok(())
    }

    /// A member without which the group gets no further: one that died, or the one that is waited for, if it has
    /// finished in good order.
    fn lost(&self, awaited: Awaited) -> Option<Node> {
        let nodes = &self.member.nodes;
        let dead = nodes
            .iter()
            .find(|node| self.state(**node) == RankState::Dead);
        let from = match awaited {
            Awaited::Text(from) => nodes.get(from),
            Awaited::Room(_) => None,
        };
        let finished = || from.filter(|node| self.state(**node) == RankState::Finished);
        dead.or_else(finished).copied()
    }

    fn state(&self, node: Node) -> RankState {
        self.segment.state_of(node.index())
    }
}
