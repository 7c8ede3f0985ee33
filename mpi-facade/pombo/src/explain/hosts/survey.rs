//! The answers of all hosts to one question.

use std::fmt::Write;

use pombo_netdrivers::shm::MAX_RANKS;
use serde::{Deserialize, Serialize};

use crate::explain::rank_report::RankReport;
use crate::explain::text::text;

/// What is known of all ranks of a job.
#[derive(Deserialize, Serialize)]
pub(crate) struct Survey {
    /// One report for each rank of the job, in their order.
    pub(super) ranks: Vec<RankReport>,
    /// The hosts that have not answered, and why.
    silent_hosts: Vec<SilentHost>,
}

/// A host that has not answered.
#[derive(Deserialize, Serialize)]
pub(super) struct SilentHost {
    pub(super) host: String,
    pub(super) why: String,
}

impl Survey {
    /// Joins the answers of hosts. Two launchers on one host tell of the same ranks: then what speaks against a deadlock
    /// counts.
    pub(super) fn new(
        size: usize,
        answers: Vec<RankReport>,
        silent_hosts: Vec<SilentHost>,
    ) -> Survey {
        let unknown = |rank| RankReport::Unknown { rank };
        // A job with more ranks than there may be ends as it begins; nobody hears of the last one here.
        let mut ranks: Vec<_> = (0..size.min(MAX_RANKS + 1)).map(unknown).collect();
        for report in answers {
            if let Some(place) = ranks.get_mut(report.rank())
                && (matches!(place, RankReport::Unknown { .. }) || report.is_silent())
            {
                *place = report;
            }
        }
        Survey {
            ranks,
            silent_hosts,
        }
    }

    /// Returns the reports as text, a line for each host that has not answered behind them.
    pub(crate) fn text(&self) -> String {
        let mut text = text(&self.ranks);
        for silent in &self.silent_hosts {
            // Writing to a string does not fail.
            let _ = writeln!(text, "host {} {}", silent.host, silent.why);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::rank_report::Wait;

    #[test]
    fn every_rank_has_one_report_and_silent_hosts_are_named() {
        let waiting = |rank| RankReport::Waiting {
            rank,
            wait: Wait::default(),
        };
        let silent = SilentHost {
            host: "b".into(),
            why: "did not answer within 2 s".into(),
        };
        let answers = vec![
            waiting(2),
            waiting(0),
            RankReport::Busy { rank: 2 },
            RankReport::Left { rank: 9 },
        ];
        let survey = Survey::new(3, answers, vec![silent]);
        let text = survey.text();
        for part in [
            "rank 0 waits in a function of MPI",
            "rank 1 has not been heard of",
            "rank 2 does not wait",
            "host b did not answer within 2 s",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(survey.ranks.len(), 3);
    }
}
