//! The memory that all ranks of a machine share: one anonymous file. A launcher creates it and keeps it to tell the
//! others of a rank that died; a rank opens it and turns it into an [`Shm`](super::Shm).

use core::mem::offset_of;
use core::ptr::NonNull;

use rustix::fd::{AsFd, BorrowedFd};

use super::error::ShmError;
use super::file::{File, Mapping, ProcFiles};
use super::futex::Futex;
use super::layout::{
    self, BoardSlots, CHUNK, CHUNKS, ConsumerCursor, Control, Header, Layout, MAGIC, REGIONS, RING,
    RankStatus, VERSION,
};
use super::read_acks::ReadAcks;
use super::ring_memory::RingMemory;
use super::sync::{AtomicU32, Ordering};
use crate::wait::cpu_quota;

/// An open segment. Its file goes with the last process that has it open: nothing is ever left behind.
#[derive(Debug)]
pub struct Segment {
    file: File,
    mapping: Mapping,
    layout: Layout,
}

/// What a rank is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RankState {
    /// Not there yet.
    NotStarted,
    /// At work.
    Attached,
    /// Gone, in good order.
    Finished,
    /// Gone without saying so.
    Dead,
}

impl Segment {
    /// Makes the segment of a new world. A fingerprint of 0 leaves the choice to the first rank.
    ///
    /// # Errors
    /// [`ShmError::Ranks`], or [`ShmError::System`] where the system has no memory or descriptors left.
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
        header.fingerprint.store(fingerprint, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(segment)
    }

    /// Opens the segment behind a descriptor, which stays the caller's: inherited from the launcher, say.
    ///
    /// # Errors
    /// [`ShmError::NotASegment`] and [`ShmError::Version`] if it is something else, or [`ShmError::System`].
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

    /// The descriptor. It is closed on `exec`: a launcher hands its ranks a duplicate without that flag.
    pub fn fd(&self) -> i32 {
        self.file.fd()
    }

    /// How many ranks the world has.
    pub fn ranks(&self) -> usize {
        self.layout.ranks()
    }

    /// What that rank is now.
    ///
    /// # Errors
    /// [`ShmError::NoSuchRank`].
    pub fn state(&self, rank: usize) -> Result<RankState, ShmError> {
        self.check(rank)?;
        Ok(self.state_of(rank))
    }

    /// Tells everybody that this rank's process is no more, unless it had finished. The caller must be sure: the ranks
    /// then read what it left behind and hear nothing of it any more.
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

    /// Notes that this rank ends because another one has: whoever misses it can name that one. The number is the
    /// caller's, here it means nothing.
    ///
    /// # Errors
    /// [`ShmError::NoSuchRank`].
    pub fn set_root_cause(&self, rank: usize, other: u16) -> Result<(), ShmError> {
        self.check(rank)?;
        let root_cause = &self.status(rank).root_cause;
        root_cause.store(u32::from(other) + 1, Ordering::Release);
        Ok(())
    }

    /// The one because of which this rank has ended, if that was noted.
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

    /// Takes a rank for the caller, once.
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

    /// Changes a rank's state, and wakes everybody for its end. False if it was in another state.
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

    /// Whatever is none of the known states is a rank that cannot be relied on.
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

    /// Lets the ranks watch over each other, whose processes have numbers in that space.
    pub(super) fn set_pid_namespace(&self, space: u64) {
        self.header().pid_namespace.store(space, Ordering::Release);
    }

    /// The space for the numbers of the ranks' processes, if they watch over each other.
    pub(super) fn pid_namespace(&self) -> Option<u64> {
        let space = self.header().pid_namespace.load(Ordering::Acquire);
        (space != 0).then_some(space)
    }

    /// Notes the process of a rank, by a number that holds in the space of those who watch.
    pub(super) fn set_monitored_pid(&self, rank: usize, process: i32) {
        let noted = &self.status(rank).monitored_pid;
        noted.store(process.cast_unsigned(), Ordering::Relaxed);
    }

    /// The process of a rank that is watched, if it was noted.
    pub(super) fn monitored_pid(&self, rank: usize) -> Option<i32> {
        self.status(rank).monitored_pid()
    }

    /// Names the process that has the rank, as it does itself: frames of the rank may then expose memory of that one.
    pub(super) fn set_pid(&self, rank: usize, process: i32) {
        let named = &self.status(rank).own_pid;
        named.store(process.cast_unsigned(), Ordering::Relaxed);
    }

    fn status(&self, rank: usize) -> &RankStatus {
        &self.control(rank).status.0
    }

    pub(super) fn header(&self) -> &Header {
        let header = self.mapping.at(0, size_of::<Header>());
        // SAFETY: inside the mapping, which is page-aligned and lives as long as `self`; all fields are atomics, for
        // which every value is valid.
        unsafe { header.cast().as_ref() }
    }

    pub(super) fn control(&self, rank: usize) -> &Control {
        let control = self.layout.control(rank);
        let control = self.mapping.at(control, size_of::<Control>());
        // SAFETY: as for the header; the layout aligns it.
        unsafe { control.cast().as_ref() }
    }

    /// Where a rank's board in an region begins: its slots, its chunks.
    pub(super) fn board(&self, region: usize, rank: usize) -> [NonNull<u8>; 2] {
        assert!(region < REGIONS && rank < self.ranks());
        let (lines, chunks) = (
            self.layout.board(region, rank),
            self.layout.chunks(region, rank),
        );
        [
            self.mapping.at(lines, size_of::<BoardSlots>()),
            self.mapping.at(chunks, CHUNKS * CHUNK),
        ]
    }

    /// A rank's acknowledgements of another one's exposed memory.
    pub(super) fn acks(&self, from: usize, to: usize) -> NonNull<ReadAcks> {
        let cursor = self.layout.cursor(from, to) + offset_of!(ConsumerCursor, acks);
        self.mapping.at(cursor, size_of::<ReadAcks>()).cast()
    }

    /// The ring from one rank to another.
    ///
    /// # Safety
    /// The ring memory must not outlive the segment, and be the only one in this process for its side of that ring.
    pub(super) unsafe fn ring_memory(&self, from: usize, to: usize) -> RingMemory {
        let ring = self.mapping.at(self.layout.ring(from, to), RING);
        let cursor = self.layout.cursor(from, to) + offset_of!(ConsumerCursor, position);
        let cursor = self.mapping.at(cursor, size_of::<ConsumerCursor>()).cast();
        // SAFETY: both lie inside the mapping, aligned by the layout, as long as the caller keeps the segment.
        unsafe { RingMemory::new(ring, cursor) }
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

    /// The process whose memory is this rank's, if it has named one.
    pub(super) fn own_pid(&self) -> Option<i32> {
        pid_of(&self.own_pid)
    }
}

fn pid_of(process: &AtomicU32) -> Option<i32> {
    let process = process.load(Ordering::Relaxed).cast_signed();
    (process > 0).then_some(process)
}
