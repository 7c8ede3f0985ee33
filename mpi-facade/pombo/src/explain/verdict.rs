//! Whether a job is deadlocked: all its ranks wait, and nothing has arrived at any of them between two questions.

use std::time::Duration;

use super::rank_report::{Operation, RankReport, Wait};

/// Time for which nothing may have arrived at any rank of a deadlocked job.
const QUIET: Duration = Duration::from_secs(3);
/// Most groups of ranks that a verdict names.
const GROUPS: usize = 8;

/// What a question has shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Some rank may go on.
    None,
    /// The ranks have waited since the last question as they do now.
    Deadlock(String),
    /// They still do; it has been said.
    Known,
}

/// The answers to the questions so far.
#[derive(Default)]
pub(crate) struct Watch {
    /// Since when each rank waited at the last question, if all did.
    last: Option<Vec<(usize, u64)>>,
    is_known: bool,
}

impl Watch {
    /// Judges the answers to the next question.
    pub(crate) fn judge(&mut self, ranks: &[RankReport]) -> Verdict {
        let now = stuck(ranks);
        let is_same = now.is_some() && now == self.last;
        self.last = now;
        let was_known = std::mem::replace(&mut self.is_known, is_same);
        match (is_same, was_known) {
            (false, _) => Verdict::None,
            (true, true) => Verdict::Known,
            (true, false) => Verdict::Deadlock(describe(ranks)),
        }
    }
}

/// Returns since when each rank waits, if all do for something that only another one of them can do.
fn stuck(ranks: &[RankReport]) -> Option<Vec<(usize, u64)>> {
    let mut since = Vec::new();
    for report in ranks {
        match report {
            RankReport::Waiting { rank, wait } if wait.is_for_ranks() => {
                since.push((*rank, wait.since_ns));
            }
            RankReport::Left { .. } | RankReport::Dead { .. } => {}
            _ => return None,
        }
    }
    (!since.is_empty()).then_some(since)
}

impl Wait {
    fn is_for_ranks(&self) -> bool {
        // Another thread may complete a generalized request. A call that waits for requests names what is not.
        let is_known = !self.call.is_empty()
            && (!self.call.starts_with("MPI_Wait") || !self.waits_for.is_empty());
        let is_foreign = |it: &Operation| it.operation == "generalized request";
        is_known
            && !self.under_way
            && self.more == 0
            && !self.waits_for.iter().any(is_foreign)
            && self.quiet_ns >= QUIET.as_nanos() as u64
    }

    /// Returns the call with what it waits for, for example "MPI_Recv(source 1, tag 5)".
    fn call(&self) -> String {
        let mut call = self.function().to_owned();
        let Some(first) = self.waits_for.first() else {
            return call;
        };
        let name = first.communicator.as_deref();
        let other = name.filter(|name| *name != "MPI_COMM_WORLD");
        let parts = [
            first.arguments(),
            other.map(|name| format!("communicator {name}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            call += &format!("({})", parts.join(", "));
        }
        match self.waits_for.len() - 1 {
            0 => call,
            others => format!("{call} and {others} more"),
        }
    }
}

/// Returns, for example, "rank 0 waits in MPI_Recv(source 1, tag 5), rank 1 in MPI_Recv(source 0, tag 5)".
fn describe(ranks: &[RankReport]) -> String {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for report in ranks {
        if let RankReport::Waiting { rank, wait } = report {
            let call = wait.call();
            match groups.iter_mut().find(|(other, _)| *other == call) {
                Some((_, members)) => members.push(*rank),
                None => groups.push((call, vec![*rank])),
            }
        }
    }
    groups.sort_by_key(|(_, members)| std::cmp::Reverse(members.len()));
    let mut parts = Vec::new();
    for (call, members) in groups.iter().take(GROUPS) {
        let verb = if parts.is_empty() { "waits in" } else { "in" };
        parts.push(match members.as_slice() {
            [rank] => format!("rank {rank} {verb} {call}"),
            members => format!("{} of {} ranks are in {call}", members.len(), ranks.len()),
        });
    }
    let left = groups.iter().skip(GROUPS).map(|(_, members)| members.len());
    match left.sum() {
        0usize => {}
        others => parts.push(format!("{others} other ranks elsewhere")),
    }
    let is_over =
        |it: &&RankReport| matches!(it, RankReport::Left { .. } | RankReport::Dead { .. });
    for report in ranks.iter().filter(is_over).take(GROUPS) {
        parts.push(match report {
            RankReport::Left { rank } => format!("rank {rank} has called MPI_Finalize"),
            RankReport::Dead { rank } => format!("rank {rank} has ended"),
            _ => continue,
        });
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(rank: usize, call: &str, source: Option<i64>, since_ns: u64) -> RankReport {
        let operation = source.map(|source| Operation {
            operation: "receive".into(),
            rank: Some(source),
            tag: Some(5),
            communicator: Some("MPI_COMM_WORLD".into()),
            ..Operation::default()
        });
        let wait = Wait {
            call: call.into(),
            quiet_ns: 4_000_000_000,
            since_ns,
            waits_for: operation.into_iter().collect(),
            ..Wait::default()
        };
        RankReport::Waiting { rank, wait }
    }

    #[test]
    fn ranks_that_wait_for_each_other_are_named_once() {
        let ranks = || {
            [
                waiting(0, "MPI_Recv", Some(1), 7),
                waiting(1, "MPI_Recv", Some(0), 8),
            ]
        };
        let mut watch = Watch::default();
        assert_eq!(watch.judge(&ranks()), Verdict::None);
        let said = "rank 0 waits in MPI_Recv(source 1, tag 5), rank 1 in MPI_Recv(source 0, tag 5)";
        assert_eq!(watch.judge(&ranks()), Verdict::Deadlock(said.into()));
        assert_eq!(watch.judge(&ranks()), Verdict::Known);
        let later = [
            waiting(0, "MPI_Recv", Some(1), 9),
            waiting(1, "MPI_Recv", Some(0), 8),
        ];
        assert_eq!(watch.judge(&later), Verdict::None);
    }

    #[test]
    fn collective_calls_that_differ_are_grouped() {
        let ranks = || {
            [
                waiting(0, "MPI_Barrier", None, 1),
                waiting(1, "MPI_Barrier", None, 1),
                waiting(2, "MPI_Allreduce", None, 1),
                waiting(3, "MPI_Barrier", None, 1),
                RankReport::Left { rank: 4 },
            ]
        };
        let mut watch = Watch::default();
        watch.judge(&ranks());
        let said = "3 of 5 ranks are in MPI_Barrier, rank 2 in MPI_Allreduce, rank 4 has called MPI_Finalize";
        assert_eq!(watch.judge(&ranks()), Verdict::Deadlock(said.into()));
    }

    #[test]
    fn a_rank_that_computes_or_waits_for_a_thread_or_has_a_message_under_way_is_none() {
        let mut has_sent = waiting(1, "MPI_Recv", Some(0), 1);
        if let RankReport::Waiting { wait, .. } = &mut has_sent {
            wait.under_way = true;
        }
        let cases = [
            [
                waiting(0, "MPI_Recv", Some(1), 1),
                RankReport::Busy { rank: 1 },
            ],
            [
                waiting(0, "MPI_Recv", Some(1), 1),
                RankReport::NotJoined { rank: 1 },
            ],
            [
                waiting(0, "MPI_Recv", Some(1), 1),
                waiting(1, "MPI_Wait", None, 1),
            ],
            [
                waiting(0, "MPI_Recv", Some(1), 1),
                RankReport::Unknown { rank: 1 },
            ],
            [waiting(0, "MPI_Recv", Some(1), 1), has_sent],
        ];
        for ranks in cases {
            let mut watch = Watch::default();
            assert_eq!(watch.judge(&ranks), Verdict::None);
            assert_eq!(watch.judge(&ranks), Verdict::None);
        }
    }
}
