//! The shared memory of all ranks of a machine: one anonymous file. A launcher creates it and keeps it to report dead
//! ranks to the others; a rank opens it and turns it into an [`Shm`](super::Shm).

use core::mem::offset_of;
use core::ptr::NonNull;

use pombo_kernel::channel::MIN_LIMIT;
use rustix::fd::{AsFd, BorrowedFd};

use super::cache;
use super::error::ShmError;
use super::file::{File, Mapping, ProcFiles};
use super::futex::Futex;
use super::layout::{
    self, Answer, BOARD_CELLS, BoardSlots, CELL, ConsumerCursor, Control, FRAME_LIMIT, Header,
    Layout, MAGIC, REGIONS, RING, RankStatus, VERSION,
};
use super::long_frames::{CursorAddress, LongCells};
use super::read_acks::ReadAcks;
use super::ring_memory::{MailMemory, RingMemory};
use super::sync::{AtomicU32, Ordering};
use crate::tuning::MAIL;
use crate::wait::cpu_quota;

/// An open segment. The kernel frees its file when the last process closes it: no file is left behind.
#[derive(Debug)]
pub struct Segment {
    file: File,
    mapping: Mapping,
    layout: Layout,
}

/// The state of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RankState {
    /// The rank has not attached yet.
    NotStarted,
    /// The rank is attached.
    Attached,
    /// The rank has detached in good order.
    Finished,
    /// The process of the rank has ended without detaching.
    Dead,
}

impl Segment {
    /// Creates the segment of a new world. A fingerprint of 0 leaves the choice to the first rank.
    ///
    /// # Errors
    /// [`ShmError::Ranks`], or [`ShmError::System`] if the system has no memory or descriptors left.
    pub fn create(ranks: usize, fingerprint: u64) -> Result<Self, ShmError> {
        let layout = Layout::new(ranks)?;
        let segment = Self::map(File::create(layout.size())?, layout)?;
        let header = segment.header();
        header.size.store(layout.size() as u64, Ordering::Relaxed);
        header.version.store(VERSION, Ordering::Relaxed);
        header.ranks.store(ranks as u64, Ordering::Relaxed);
        let asymmetric = u32::from(Futex::asymmetric_here());
        header.asymmetric.store(asymmetric, Ordering::Relaxed);
        if ranks > 1 {
            let quota = cpu_quota::processors(&mut ProcFiles).unwrap_or(0);
            header.quota.store(quota, Ordering::Relaxed);
        }
        let second_level = cache::second_level_bytes() as u32;
        header.second_level.store(second_level, Ordering::Relaxed);
        header.fingerprint.store(fingerprint, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(segment)
    }

    /// Opens the segment behind a descriptor, for instance one inherited from the launcher; the caller keeps the
    /// descriptor.
    ///
    /// # Errors
    /// [`ShmError::NotASegment`] and [`ShmError::Version`] if the file is no segment of this version, or
    /// [`ShmError::System`].
    pub fn open(fd: i32) -> Result<Self, ShmError> {
        Self::from_file(File::duplicate(fd)?)
    }

    pub(super) fn from_file(file: File) -> Result<Self, ShmError> {
        let size = file.fixed_size()?;
        let mut start = layout::Start::default();
        file.start(start.as_flattened_mut())?;
        Self::map(file, Layout::read(start, size)?)
    }

    fn map(file: File, layout: Layout) -> Result<Self, ShmError> {
        let mapping = file.map(layout.size())?;
        Ok(Self {
            file,
            mapping,
            layout,
        })
    }

    /// Returns the descriptor. It is closed on `exec`: a launcher hands its ranks a duplicate without that flag.
    pub fn fd(&self) -> i32 {
        self.file.fd()
    }

    /// Returns the number of ranks of the world.
    pub fn ranks(&self) -> usize {
        self.layout.ranks()
    }

    /// Returns the fingerprint of the ranks' composition; 0: no rank has attached yet to a segment that leaves it to them.
    pub fn fingerprint(&self) -> u64 {
        self.header().fingerprint.load(Ordering::Acquire)
    }

    /// Makes frames shorter than [`FRAME_LIMIT`]: a rank that attaches from now on sends none of more bytes. It is for who
    /// passes them on to a network.
    pub fn set_frame_limit(&self, limit: usize) {
        let limit = limit.clamp(MIN_LIMIT, FRAME_LIMIT);
        let of_segment = &self.header().frame_limit;
        of_segment.store(limit as u32, Ordering::Relaxed);
    }

    /// Returns the length in bytes of the longest frame.
    pub(super) fn frame_limit(&self) -> usize {
        match self.header().frame_limit.load(Ordering::Relaxed) {
            0 => FRAME_LIMIT,
            limit => FRAME_LIMIT.min(limit as usize),
        }
    }

    /// Returns the state of that rank.
    ///
    /// # Errors
    /// [`ShmError::NoSuchRank`].
    pub fn state(&self, rank: usize) -> Result<RankState, ShmError> {
        self.check(rank)?;
        Ok(self.state_of(rank))
    }

    /// Marks a rank as dead, unless it had finished, and wakes all others. The caller must be sure that its process has
    /// ended: the ranks then read its last frames and no later ones.
    ///
    /// # Errors
    /// [`ShmError::NoSuchRank`].
    pub fn mark_dead(&self, rank: usize) -> Result<(), ShmError> {
        self.check(rank)?;
        for from in [RankState::NotStarted, RankState::Attached] {
            self.transition(rank, from, RankState::Dead);
        }
        Ok(())
    }

    /// Records that this rank ends because another one has: its peers can name that one. The meaning of the number is
    /// the caller's.
    ///
    /// # Errors
    /// [`ShmError::NoSuchRank`].
    pub fn set_root_cause(&self, rank: usize, other: u16) -> Result<(), ShmError> {
        self.check(rank)?;
        let root_cause = &self.status(rank).root_cause;
        root_cause.store(u32::from(other) + 1, Ordering::Release);
        Ok(())
    }

    /// Returns the rank because of which this rank has ended, if it was recorded.
    pub fn root_cause(&self, rank: usize) -> Option<u16> {
        self.check(rank).ok()?;
        let root_cause = &self.status(rank).root_cause;
        u16::try_from(root_cause.load(Ordering::Acquire).checked_sub(1)?).ok()
    }

    fn check(&self, rank: usize) -> Result<(), ShmError> {
        let ranks = self.ranks();
        if rank < ranks {
            Ok(())
        } else {
            Err(ShmError::NoSuchRank { rank, ranks })
        }
    }

    /// Claims a rank for the caller, once.
    pub(super) fn claim(&self, rank: usize, fingerprint: u64) -> Result<(), ShmError> {
        self.check(rank)?;
        let agreed = &self.header().fingerprint;
        let set = agreed.compare_exchange(0, fingerprint, Ordering::AcqRel, Ordering::Acquire);
        match set {
            Err(theirs) if theirs != fingerprint => {
                let ours = fingerprint;
                return Err(ShmError::Fingerprint { ours, theirs });
            }
            _ => {}
        }
        if self.transition(rank, RankState::NotStarted, RankState::Attached) {
            Ok(())
        } else {
            Err(ShmError::RankTaken { rank })
        }
    }

    /// Changes a rank's state, and wakes all ranks at its end. Returns false if it was in another state.
    pub(super) fn transition(&self, rank: usize, from: RankState, to: RankState) -> bool {
        let state = &self.status(rank).state;
        let (old, new) = (from as u32, to as u32);
        let changed = state.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed);
        if changed.is_err() {
            return false;
        }
        self.header().epoch.0.fetch_add(1, Ordering::SeqCst);
        if to != RankState::Attached {
            for rank in 0..self.ranks() {
                self.control(rank)
                    .event_count
                    .0
                    .notify_always(&Futex::WAKER);
            }
        }
        true
    }

    /// Returns the state of a rank; an unknown value counts as dead.
    pub(super) fn state_of(&self, rank: usize) -> RankState {
        let state = self.status(rank).state.load(Ordering::Acquire);
        let known = [
            RankState::NotStarted,
            RankState::Attached,
            RankState::Finished,
        ];
        let found = known.into_iter().find(|known| *known as u32 == state);
        found.unwrap_or(RankState::Dead)
    }

    /// Makes the ranks monitor each other; their PIDs are valid in that PID namespace.
    pub(super) fn set_pid_namespace(&self, space: u64) {
        self.header().pid_namespace.store(space, Ordering::Release);
    }

    /// Returns the PID namespace of the ranks' processes, if they monitor each other.
    pub(super) fn pid_namespace(&self) -> Option<u64> {
        let space = self.header().pid_namespace.load(Ordering::Acquire);
        (space != 0).then_some(space)
    }

    /// Records the process of a rank, by its PID in the namespace of the monitoring ranks.
    pub(super) fn set_monitored_pid(&self, rank: usize, process: i32) {
        let noted = &self.status(rank).monitored_pid;
        noted.store(process.cast_unsigned(), Ordering::Relaxed);
    }

    /// Returns the monitored process of the rank, if it was recorded.
    pub(super) fn monitored_pid(&self, rank: usize) -> Option<i32> {
        self.status(rank).monitored_pid()
    }

    /// Records the process of the rank by its own PID: frames of the rank may then expose that process' memory.
    pub(super) fn set_pid(&self, rank: usize, process: i32) {
        let named = &self.status(rank).own_pid;
        named.store(process.cast_unsigned(), Ordering::Relaxed);
    }

    pub(super) fn status(&self, rank: usize) -> &RankStatus {
        &self.control(rank).status.0
    }

    pub(super) fn header(&self) -> &Header {
        self.atomics(0)
    }

    pub(super) fn control(&self, rank: usize) -> &Control {
        self.atomics(self.layout.control(rank))
    }

    pub(super) fn slot(&self, rank: usize) -> &Answer {
        self.atomics(self.layout.answer(rank))
    }

    /// Returns the value at an offset of the layout, whose type it must be: [`Header`], [`Control`] or [`Answer`].
    fn atomics<T>(&self, offset: usize) -> &T {
        let value = self.mapping.at(offset, size_of::<T>());
        // SAFETY: the value is inside the mapping, which is page-aligned and lives as long as `self`, and the layout
        // aligns it; all fields of these three types are atomics, for which every value is valid.
        unsafe { value.cast().as_ref() }
    }

    /// Returns the bytes of a board behind its slots.
    pub(super) fn board_bytes(&self) -> usize {
        self.layout.board_bytes(self.second_level())
    }

    /// Returns the bytes of a processor's second cache, as the creator has found it.
    pub(super) fn second_level(&self) -> usize {
        self.header().second_level.load(Ordering::Relaxed) as usize
    }

    /// Returns the addresses of a rank's board in a region: its slots, and what lies behind them, with its cells.
    pub(super) fn board(&self, region: usize, rank: usize) -> [NonNull<u8>; 2] {
        assert!(region < REGIONS && rank < self.ranks());
        let (lines, behind) = (
            self.layout.board(region, rank),
            self.layout.behind_slots(region, rank),
        );
        [
            self.mapping.at(lines, size_of::<BoardSlots>()),
            self.mapping.at(behind, self.board_bytes() + BOARD_CELLS),
        ]
    }

    /// Returns the address of a rank's acknowledgements of another one's exposed memory.
    pub(super) fn acks(&self, from: usize, to: usize) -> NonNull<ReadAcks> {
        let cursor = self.layout.cursor(from, to) + offset_of!(ConsumerCursor, acks);
        self.mapping.at(cursor, size_of::<ReadAcks>()).cast()
    }

    /// Returns the mail line of two ranks.
    ///
    /// # Safety
    /// As [`Segment::ring_memory`].
    pub(super) unsafe fn mail_memory(&self, one: usize, other: usize) -> MailMemory {
        let at = self.layout.mail(one.min(other), one.max(other));
        let block = self.mapping.at(at, MAIL);
        // SAFETY: as below. The position of a mail's consumer is its first word: nobody asks for it.
        unsafe { RingMemory::new(block, block.cast()) }
    }

    /// Returns the memory of the ring from one rank to another.
    ///
    /// # Safety
    /// It must not outlive the segment, and must be the only one in this process for its side.
    pub(super) unsafe fn ring_memory(&self, from: usize, to: usize) -> RingMemory {
        let ring = self.mapping.at(self.layout.ring(from, to), RING);
        let position = self.cursor(from, to, offset_of!(ConsumerCursor, position));
        // SAFETY: both lie inside the mapping, aligned by the layout, as long as the caller keeps the segment; the file
        // starts with zeros.
        unsafe { RingMemory::new(ring, position) }
    }

    /// Returns the cells of a rank's long frames.
    ///
    /// # Safety
    /// They must not outlive the segment.
    pub(super) unsafe fn long_cells(&self, rank: usize) -> LongCells {
        let count = self.layout.long_cells();
        let cells = self
            .mapping
            .at(self.layout.cells(rank), usize::from(count) * CELL);
        // SAFETY: they lie inside the mapping as long as the caller keeps the segment; the file starts with zeros.
        unsafe { LongCells::new(cells, count) }
    }

    /// Returns the cursor of the long frames from one rank to another.
    ///
    /// # Safety
    /// As [`Segment::ring_memory`].
    pub(super) unsafe fn long_cursor(&self, from: usize, to: usize) -> CursorAddress {
        let cursor = self.cursor(from, to, offset_of!(ConsumerCursor, long));
        // SAFETY: it lies inside the mapping, aligned by the layout, as long as the caller keeps the segment.
        unsafe { CursorAddress::new(cursor) }
    }

    /// Returns the address of a field of a consumer's cursor.
    fn cursor<T>(&self, from: usize, to: usize, offset: usize) -> NonNull<T> {
        let at = self.layout.cursor(from, to) + offset;
        self.mapping.at(at, size_of::<T>()).cast()
    }
}

impl AsFd for Segment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl RankStatus {
    fn monitored_pid(&self) -> Option<i32> {
        pid_of(&self.monitored_pid)
    }

    /// Returns the process whose memory is this rank's, if it has named one.
    pub(super) fn own_pid(&self) -> Option<i32> {
        pid_of(&self.own_pid)
    }
}

fn pid_of(process: &AtomicU32) -> Option<i32> {
    let process = process.load(Ordering::Relaxed).cast_signed();
    (process > 0).then_some(process)
}
