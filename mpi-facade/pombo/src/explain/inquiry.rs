//! A question to all ranks of a job, and their answers.

use std::time::{Duration, Instant};

use pombo_netdrivers::shm::{Question, RankState, Segment};

use super::rank_report::{RankReport, Wait};

/// How long a question is open for ranks that wait. They sleep for a tenth of a second at most where they cannot be
/// woken.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);
/// Time between two looks for answers.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A question that is open.
pub(crate) struct Inquiry {
    question: Question,
    begin: Instant,
}

impl Inquiry {
    /// Asks all ranks what they wait for.
    pub(crate) fn begin(segment: &Segment) -> Inquiry {
        Inquiry {
            question: segment.ask(),
            begin: Instant::now(),
        }
    }

    /// Returns a report of every rank, once all that are attached have answered or the question is older than
    /// `patience`.
    pub(crate) fn poll(&self, segment: &Segment, patience: Duration) -> Option<Vec<RankReport>> {
        let ranks = 0..segment.ranks();
        let reports: Vec<_> = ranks.map(|rank| self.report(segment, rank)).collect();
        let is_late = self.begin.elapsed() >= patience;
        let mut silent = (0..).zip(&reports).filter(|(_, report)| report.is_silent());
        match is_late || silent.clone().next().is_none() {
            true => Some(reports),
            false => {
                silent.by_ref().for_each(|(rank, _)| segment.wake(rank));
                None
            }
        }
    }

    fn report(&self, segment: &Segment, rank: usize) -> RankReport {
        let answer = segment.answer(rank, self.question);
        let state = segment.state(rank);
        let rank = segment.job_rank(rank).unwrap_or(rank);
        let wait: Option<Wait> = answer.and_then(|answer| serde_json::from_slice(&answer).ok());
        match (state, wait) {
            (Ok(RankState::NotStarted), _) => RankReport::NotJoined { rank },
            (Ok(RankState::Attached), Some(wait)) => RankReport::Waiting {
                rank: wait.world_rank,
                wait,
            },
            (Ok(RankState::Attached), None) => RankReport::Busy { rank },
            (Ok(RankState::Finished), _) => RankReport::Left { rank },
            _ => RankReport::Dead { rank },
        }
    }
}
