//! The shared memory of a job's ranks: the memory file. Only `run` uses it.

use std::fs::File;
use std::os::fd::RawFd;

use nix::fcntl::{FcntlArg, fcntl};
use pombo_netdrivers::shm::{MAX_RANKS, RankState, Segment};

use crate::error::Error;
use crate::join::Places;

/// The inherited descriptor has this number or the next free one, above those that shells and scripts use.
const DESCRIPTOR: RawFd = 300;
/// The number to use if the limit on descriptors is below that.
const LOW_DESCRIPTOR: RawFd = 10;

/// The first rank sets the fingerprint that all ranks must have.
const ANY_FINGERPRINT: u64 = 0;

/// The shared memory of one job; it is freed when the last process that holds it has ended.
pub(crate) struct Job {
    segment: Segment,
    descriptor: RawFd,
}

impl Job {
    /// Creates memory for `ranks` ranks.
    pub(crate) fn create(ranks: usize) -> Result<Job, Error> {
        let segment = Segment::create(ranks, ANY_FINGERPRINT).map_err(Error::Job)?;
        let descriptor = inheritable(&segment)?;
        Ok(Job {
            segment,
            descriptor,
        })
    }

    /// Returns the descriptor that ranks inherit.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.descriptor
    }

    /// Returns the memory, to ask the ranks.
    pub(crate) fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Returns whether the rank has joined the job, which programs without MPI do not.
    pub(crate) fn has_joined(&self, rank: usize) -> bool {
        let state = self.segment.state(rank);
        matches!(state, Ok(RankState::Attached | RankState::Finished))
    }

    /// Returns whether the rank has left the job regularly.
    pub(crate) fn has_left(&self, rank: usize) -> bool {
        self.segment.state(rank) == Ok(RankState::Finished)
    }

    /// Marks a rank as dead for the other ranks, so that none waits for it. `first` is the rank that ended before it
    /// and made the launcher terminate it.
    pub(crate) fn mark_dead(&self, rank: usize, first: Option<usize>) {
        // A rank that does not exist is the only error.
        if let Some(first) = first.and_then(|first| u16::try_from(first).ok())
            && self.segment.root_cause(rank).is_none()
        {
            let _ = self.segment.set_root_cause(rank, first);
        }
        let _ = self.segment.mark_dead(rank);
    }
}

/// Refuses a job that is too large before anything is created.
pub(crate) fn check(ranks: usize) -> Result<(), Error> {
    match (1..=MAX_RANKS).contains(&ranks) {
        true => Ok(()),
        false => Err(Error::TooManyRanks {
            ranks,
            most: MAX_RANKS,
        }),
    }
}

/// Returns a second descriptor, which survives exec and stays open as long as the launcher lives. The segment's own
/// descriptor is not inherited.
fn inheritable(segment: &Segment) -> Result<RawFd, Error> {
    let path = format!("/proc/self/fd/{}", segment.fd());
    let file = File::options()
        .read(true)
        .write(true)
        .open(&path)
        .map_err(Error::file("open", path))?;
    fcntl(&file, FcntlArg::F_DUPFD(DESCRIPTOR))
        .or_else(|_| fcntl(&file, FcntlArg::F_DUPFD(LOW_DESCRIPTOR)))
        .map_err(Error::errno(
            "pass the memory file on to the ranks (`ulimit -n` may be too low)",
        ))
}

impl Places for Job {
    fn memory(&self) -> i32 {
        self.segment.fd()
    }

    fn has_left(&self, place: usize) -> bool {
        Job::has_left(self, place)
    }

    fn mark_dead(&self, place: usize) {
        Job::mark_dead(self, place, None);
    }
}
