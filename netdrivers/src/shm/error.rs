//! Why a rank did not come to its shared memory, and what to do.

use crate::Errno;
use core::fmt;

/// Why a segment could not be made, opened, or joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ShmError {
    /// A world has 1 to [`MAX_RANKS`](super::MAX_RANKS) ranks.
    Ranks {
        /// The number that was asked for.
        ranks: usize,
    },
    /// There is no such rank in this segment.
    NoSuchRank {
        /// The rank that was asked for.
        rank: usize,
        /// How many there are.
        ranks: usize,
    },
    /// Somebody is this rank already, or was.
    RankTaken {
        /// The rank that was asked for.
        rank: usize,
    },
    /// The ranks are programs with different compositions.
    Fingerprint {
        /// This rank's.
        ours: u64,
        /// The segment's.
        theirs: u64,
    },
    /// The descriptor names something else.
    NotASegment,
    /// The segment was made by another version of this driver.
    Version {
        /// This driver's.
        ours: u64,
        /// The segment's.
        theirs: u64,
    },
    /// The name of the job does not fit into a socket's name.
    JobName {
        /// The longest name in bytes.
        limit: usize,
    },
    /// Rank 0 waited in vain for others.
    RanksMissing {
        /// How many ranks came, rank 0 included.
        joined: usize,
        /// How many there should be.
        ranks: usize,
    },
    /// Rank 0 did not answer.
    NoAnswer,
    /// Rank 0 is part of a job with another number of ranks.
    OtherJob {
        /// How many it has.
        ranks: usize,
    },
    /// Another user answers under the name of this job.
    OtherUser {
        /// The user's number.
        uid: u32,
    },
    /// A system call failed.
    System {
        /// Its name.
        call: &'static str,
        /// Its error number.
        errno: i32,
    },
}

impl fmt::Display for ShmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ShmError::Ranks { ranks } => write!(
                f,
                "{ranks} ranks: one machine takes 1 to {}",
                super::MAX_RANKS
            ),
            ShmError::NoSuchRank { rank, ranks } => write!(
                f,
                "there is no rank {rank} among {ranks}: count ranks from 0"
            ),
            ShmError::RankTaken { rank } => write!(
                f,
                "rank {rank} is taken, or was: give every process its own rank, once"
            ),
            ShmError::Fingerprint { ours, theirs } => write!(
                f,
                "this rank is composed as {ours:016x}, the others as {theirs:016x}: \
                 build all ranks with the same features"
            ),
            ShmError::NotASegment => {
                f.write_str("the descriptor is not a segment: pass the launcher's on unchanged")
            }
            ShmError::Version { ours, theirs } => write!(
                f,
                "the segment has layout {theirs}, this rank knows {ours}: \
                 use launcher and library of one version"
            ),
            ShmError::JobName { limit } => {
                write!(f, "the name of the job must have 1 to {limit} bytes")
            }
            ShmError::RanksMissing { joined, ranks } => write!(
                f,
                "only {joined} of {ranks} ranks came: see whether the others started on this machine"
            ),
            ShmError::NoAnswer => {
                f.write_str("rank 0 did not answer: see whether it started on this machine")
            }
            ShmError::OtherJob { ranks } => write!(
                f,
                "rank 0 has {ranks} ranks: give every job its own name, and all ranks their number"
            ),
            ShmError::OtherUser { uid } => write!(
                f,
                "user {uid} answers in place of rank 0: choose another name for the job"
            ),
            ShmError::System { call, errno } => {
                write!(f, "{call} failed: {}", Errno(errno))
            }
        }
    }
}

impl core::error::Error for ShmError {}

impl ShmError {
    /// That call has failed.
    pub(super) fn failed<E: Into<Errno>>(call: &'static str) -> impl Fn(E) -> Self {
        move |error| {
            let Errno(errno) = error.into();
            ShmError::System { call, errno }
        }
    }

    /// Was it that error number?
    pub(super) fn is(&self, number: i32) -> bool {
        matches!(*self, ShmError::System { errno, .. } if errno == number)
    }
}
