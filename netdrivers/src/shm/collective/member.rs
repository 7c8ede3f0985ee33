//! The state of a rank's groups. `Shm` has one [`Groups`]; `collective` fills it.

use alloc::boxed::Box;
use pombo_kernel::header::Peer;

use super::board::Board;
use super::layout::REGIONS;
use super::mapped_boards::MappedBoards;
use super::payload_writer::PayloadWriter;
use super::spin_credit::SpinCredits;
use crate::wait;

/// The groups of one rank, by their regions: a group that it has left stays until the next one takes its region.
#[derive(Default)]
pub(in crate::shm) struct Groups {
    pub(super) regions: [Option<Box<Member>>; REGIONS],
    /// The group in which this rank waits.
    pub(super) waiting: Option<Waiting>,
}

/// The group in which a rank waits. What looks for the event comes with the wait: who has no boards does not carry it.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    region: u8,
    is_there: fn(&Member) -> bool,
}

impl Waiting {
    /// Waits for what the member of that region awaits.
    pub(super) fn of(region: u8) -> Self {
        Waiting {
            region,
            is_there: |member| member.is_there(member.awaited),
        }
    }
}

/// This rank as the member of a group.
pub(super) struct Member {
    pub(super) board: Board<MappedBoards>,
    pub(super) writer: PayloadWriter,
    /// The rank whose timed payload this one is reading, and since when, in nanoseconds.
    pub(super) reading: Option<(usize, u64)>,
    /// Whether to spin in waits for the others.
    pub(super) credits: SpinCredits,
    /// This rank's number in the segment.
    pub(super) me: usize,
    /// The peers of the members.
    pub(super) peers: Box<[Peer]>,
    pub(super) awaited: Awaited,
    /// The segment's epoch when all others were last seen attached.
    pub(super) epoch: Option<u32>,
    /// The user has left the group. The region is free when the others have too.
    pub(super) left: bool,
}

/// The event that a rank waits for.
#[derive(Clone, Copy)]
pub(super) enum Awaited {
    /// The payload of this member.
    Payload(usize),
    /// Room for that many bytes.
    Room(usize),
    /// This member's end of that operation.
    Leave(usize, u64),
}

impl Member {
    /// Begins to time the reading of that rank's payload, if it is to be timed.
    #[inline]
    pub(super) fn begin_reading(&mut self, rank: usize) {
        if self.board.is_timed(rank) {
            self.reading = Some((rank, wait::now()));
        }
    }

    /// Ends the reading of the last payload.
    #[inline]
    pub(super) fn end_reading(&mut self) {
        if let Some((rank, began)) = self.reading.take() {
            self.board.spend(rank, wait::now().saturating_sub(began));
        }
    }

    #[inline]
    pub(super) fn is_there(&self, awaited: Awaited) -> bool {
        match awaited {
            Awaited::Payload(rank) => self.board.has(rank) || self.board.has_skipped(rank),
            Awaited::Room(len) => self.board.has_room_now(len),
            Awaited::Leave(rank, operation) => self.board.has_left(rank, operation),
        }
    }
}

impl Groups {
    /// Returns whether the awaited event has come.
    pub(in crate::shm) fn have_pending(&self) -> bool {
        let waiting = self.waiting.zip(self.waiting_member());
        waiting.is_some_and(|(waiting, member)| (waiting.is_there)(member))
    }

    /// Returns the rank of the segment whose board alone this one waits for, if there is such a rank.
    pub(in crate::shm) fn awaited_board(&self) -> Option<usize> {
        let member = self.waiting_member()?;
        match member.awaited {
            Awaited::Payload(rank) | Awaited::Leave(rank, _) => {
                member.peers.get(rank).map(|peer| peer.index())
            }
            Awaited::Room(_) => None,
        }
    }

    fn waiting_member(&self) -> Option<&Member> {
        let region = usize::from(self.waiting?.region);
        self.regions.get(region)?.as_deref()
    }
}
