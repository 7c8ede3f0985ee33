//! What is known of a rank; the format of its answer is that of `pombo_mpi`'s module `explanation`.

use serde::{Deserialize, Serialize};

/// A rank's report.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum RankReport {
    /// It has not called `MPI_Init`.
    NotJoined {
        rank: usize,
    },
    /// It has not answered: it computes, or polls.
    Busy {
        rank: usize,
    },
    Waiting {
        rank: usize,
        #[serde(flatten)]
        wait: Wait,
    },
    /// It has called `MPI_Finalize`.
    Left {
        rank: usize,
    },
    Dead {
        rank: usize,
    },
    /// It is a rank of another host, of which nothing is known.
    Unknown {
        rank: usize,
    },
}

/// What a rank waits for.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Wait {
    /// The rank in `MPI_COMM_WORLD`, which on several hosts is not the place among the ranks of this one.
    #[serde(default, skip_serializing)]
    pub(crate) world_rank: usize,
    /// The function of MPI; empty if the system does not tell.
    pub(crate) call: String,
    /// Its caller: file and offset.
    pub(crate) caller: String,
    /// Nanoseconds since anything arrived, and when that was.
    pub(crate) quiet_ns: u64,
    pub(crate) since_ns: u64,
    /// Whether another host has not acknowledged all that this rank sent to it.
    #[serde(default)]
    pub(crate) under_way: bool,
    /// The first operations, and the number of others.
    pub(crate) waits_for: Vec<Operation>,
    pub(crate) more: usize,
    /// The first receives without a message, and the number of all.
    pub(crate) posted: Vec<Operation>,
    pub(crate) posted_total: usize,
    /// The first messages without a receive, and the number of all.
    pub(crate) unexpected: Vec<Operation>,
    pub(crate) unexpected_total: usize,
}

/// An operation or a message.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Operation {
    pub(crate) operation: String,
    /// The other rank of the communicator; none: any, or the operation has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rank: Option<i64>,
    /// The tag; none: any, or the operation has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) communicator: Option<String>,
}

impl RankReport {
    /// Returns the rank in `MPI_COMM_WORLD`.
    pub(crate) fn rank(&self) -> usize {
        match self {
            RankReport::NotJoined { rank }
            | RankReport::Busy { rank }
            | RankReport::Waiting { rank, .. }
            | RankReport::Left { rank }
            | RankReport::Dead { rank }
            | RankReport::Unknown { rank } => *rank,
        }
    }

    /// Returns whether the rank is attached and has not answered.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self, RankReport::Busy { .. })
    }
}
