//! The errors of the shared memory driver, and what to do about them.

use crate::Errno;
use pombo_kernel::text::{Hexadecimal, ToText, WriteText, fill};

/// An error of creating, opening, or joining a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ShmError {
    /// A world has 1 to [`MAX_RANKS`](super::MAX_RANKS) ranks.
    Ranks {
        /// The requested number of ranks.
        ranks: usize,
    },
    /// There is no such rank in this segment.
    NoSuchRank {
        /// The requested rank.
        rank: usize,
        /// Number of ranks of the segment.
        ranks: usize,
    },
    /// Another process is this rank, or was.
    RankTaken {
        /// The requested rank.
        rank: usize,
    },
    /// The ranks are programs with different compositions.
    Fingerprint {
        /// The fingerprint of this rank.
        ours: u64,
        /// The fingerprint of the segment.
        theirs: u64,
    },
    /// The segment was created on a machine of the other byte order, or for one that is emulated.
    ByteOrder,
    /// The descriptor is not that of a segment.
    NotASegment,
    /// The segment was created by another version of this driver.
    Version {
        /// The version of this driver.
        ours: u64,
        /// The version of the segment.
        theirs: u64,
    },
    /// The name of the job does not fit into a socket's name.
    JobName {
        /// The longest name in bytes.
        limit: usize,
    },
    /// Not all ranks have reached rank 0 in time.
    RanksMissing {
        /// Number of ranks that joined, rank 0 included.
        joined: usize,
        /// Number of ranks of the job.
        ranks: usize,
    },
    /// Rank 0 did not answer.
    NoAnswer,
    /// Rank 0 is part of a job with another number of ranks.
    OtherJob {
        /// Number of ranks of that job.
        ranks: usize,
    },
    /// Another user answers under the name of this job.
    OtherUser {
        /// The user ID.
        uid: u32,
    },
    /// A system call failed.
    System {
        /// The name of the call.
        call: &'static str,
        /// The error number.
        errno: i32,
    },
}

pombo_kernel::text::display_as_text! { ShmError }

impl ToText for ShmError {
    fn put_text(&self, out: &mut dyn WriteText) {
        match *self {
            ShmError::Ranks { ranks } => fill!(
                out,
                "{} ranks: one machine takes 1 to {}",
                ranks,
                super::MAX_RANKS
            ),
            ShmError::NoSuchRank { rank, ranks } => fill!(
                out,
                "there is no rank {} among {}: count ranks from 0",
                rank,
                ranks
            ),
            ShmError::RankTaken { rank } => fill!(
                out,
                "rank {} is taken, or was: give every process its own rank, once",
                rank
            ),
            ShmError::Fingerprint { ours, theirs } => fill!(out, "this rank is composed as {}, the others as {}: \
                 build all ranks with the same features", Hexadecimal(ours, 16), Hexadecimal(theirs, 16)),
            ShmError::ByteOrder => out.write_text("the segment is of processes with the other byte order, which share no memory with this one: start all \
                 of them by mpiexec of Hydra"),
            ShmError::NotASegment => {
                out.write_text("the descriptor is not a segment: pass the launcher's on unchanged")
            }
            ShmError::Version { ours, theirs } => fill!(out, "the segment has layout {}, this rank knows {}: \
                 use launcher and library of one version", theirs, ours),
            ShmError::JobName { limit } => {
                fill!(out, "the name of the job must have 1 to {} bytes", limit)
            }
            ShmError::RanksMissing { joined, ranks } => fill!(
                out,
                "only {} of {} ranks came: see whether the others started on this machine",
                joined,
                ranks
            ),
            ShmError::NoAnswer => {
                out.write_text("rank 0 did not answer: see whether it started on this machine")
            }
            ShmError::OtherJob { ranks } => fill!(
                out,
                "rank 0 has {} ranks: give every job its own name, and all ranks their number",
                ranks
            ),
            ShmError::OtherUser { uid } => fill!(
                out,
                "user {} answers in place of rank 0: choose another name for the job",
                uid
            ),
            ShmError::System { call, errno } => {
                fill!(out, "{} failed: {}", call, Errno(errno))
            }
        }
    }
}

impl core::error::Error for ShmError {}

impl ShmError {
    /// Returns a function that makes the error of that system call of its error number.
    pub(super) fn failed<E: Into<Errno>>(call: &'static str) -> impl Fn(E) -> Self {
        move |error| {
            let Errno(errno) = error.into();
            ShmError::System { call, errno }
        }
    }

    /// Returns whether this is a system call's error of that number.
    pub(super) fn is(&self, number: i32) -> bool {
        matches!(*self, ShmError::System { errno, .. } if errno == number)
    }
}
