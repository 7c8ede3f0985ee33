//! The measurements and their durations, between two ranks and by all ranks together. Only `bench` uses it.

use std::time::Duration;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Measurements between two ranks.
const PAIR: [(&str, &[u64]); 9] = [
    ("latency", &[0, 8, 64, KIB, 8 * KIB, 64 * KIB, MIB]),
    ("latency-unwritten", &[8, 8 * KIB, 64 * KIB, MIB]),
    ("bandwidth", &[KIB, 8 * KIB, 64 * KIB, MIB]),
    ("bandwidth-unwritten", &[8 * KIB, 64 * KIB, MIB]),
    ("bidirectional", &[KIB, 8 * KIB, 64 * KIB, MIB]),
    ("rate-equal-tags", &[8]),
    ("rate-distinct-tags", &[8]),
    ("rate-reverse-order", &[8]),
    ("rate-any-source", &[8]),
];

/// Measurements by all ranks together.
const ALL: [(&str, &[u64]); 6] = [
    ("barrier", &[0]),
    ("bcast", &[8, KIB, 64 * KIB, MIB]),
    ("reduce", &[8, KIB, 64 * KIB, MIB]),
    ("allreduce", &[8, KIB, 64 * KIB, MIB]),
    ("allgather", &[8, KIB, 64 * KIB]),
    ("alltoall", &[8, KIB, 64 * KIB]),
];

/// Measurements of a start; the last one is the time of the whole job.
pub(super) const START: [&str; 3] = ["init", "memory", LAUNCH];
pub(super) const LAUNCH: &str = "launch";

/// What memory a library needs for a rank, on [`PSS_RANKS`] ranks of which each has sent to all others.
pub(super) const PSS: &str = "pss";
pub(super) const PSS_RANKS: u32 = 64;

/// One measurement, as `bench.c` names it.
#[derive(Debug, PartialEq)]
pub(super) struct Task {
    pub(super) name: &'static str,
    pub(super) size: u64,
    /// The title of its row.
    pub(super) label: &'static str,
}

impl Task {
    pub(super) const fn new(name: &'static str, size: u64) -> Task {
        Task::called(name, name, size)
    }

    pub(super) const fn called(label: &'static str, name: &'static str, size: u64) -> Task {
        Task { name, size, label }
    }

    /// Returns whether it depends on the line between two cores. With short messages, ranks that take turns wait for a core
    /// most of the time; long ones go from core to core all the same: all-to-all of 64 KiB on 8 ranks of 2 cores took 430 to
    /// 560 us near, and 820 to 940 far.
    pub(super) fn depends_on_line(&self, ranks: u32, cores: usize) -> bool {
        let take_turns = ranks as usize > cores;
        ranks > 1 && cores > 1 && (!take_turns || self.size >= 64 * KIB)
    }
}

/// The duration of the measurements.
pub(super) struct Effort {
    /// Turns of each library in each measurement, and in each state of the line.
    pub(super) rounds: usize,
    /// Seconds of each turn.
    pub(super) seconds: f32,
    /// Starts of each library.
    pub(super) starts: usize,
    /// Longest turn. A library that exceeds it gets no more turns in this measurement: it is so far behind that one
    /// figure suffices.
    pub(super) patience: Duration,
    /// How long a state of the line is waited for that measurements still lack.
    pub(super) wait: Duration,
}

/// How unwritten measurements end: what they send is not written before, and no target holds for them.
const UNWRITTEN: &str = "-unwritten";

/// Returns whether messages of this measurement are neither written before they are sent nor read.
pub(super) fn is_unwritten(name: &str) -> bool {
    name.ends_with(UNWRITTEN)
}

/// Returns the measurements for this many ranks whose names begin with one of the words; without words all.
pub(super) fn tasks(ranks: u32, only: &[String]) -> Vec<Task> {
    let pair = if ranks == 2 { &PAIR[..] } else { &[] };
    let plan = pair.iter().chain(&ALL);
    let wanted = plan.filter(|(name, _)| is_wanted(name, only));
    let sizes =
        wanted.flat_map(|&(name, sizes)| sizes.iter().map(move |&size| Task::new(name, size)));
    sizes.collect()
}

/// Returns whether starts are measured.
pub(super) fn has_starts(only: &[String]) -> bool {
    START.iter().any(|name| is_wanted(name, only))
}

/// Returns whether memory is measured.
pub(super) fn has_pss(only: &[String]) -> bool {
    is_wanted(PSS, only)
}

/// Returns whether the name begins with one of the words, or there are no words.
pub(super) fn is_wanted(name: &str, only: &[String]) -> bool {
    only.is_empty() || only.iter().any(|word| name.starts_with(word.as_str()))
}

/// Returns whether any name begins with the word.
pub(super) fn is_known(word: &str) -> bool {
    let plan = PAIR.iter().chain(&ALL).map(|(name, _)| *name);
    plan.chain(START)
        .chain([PSS])
        .any(|name| name.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_measures_more() {
        assert_eq!(tasks(8, &[]).len(), 19);
        assert_eq!(tasks(2, &[]).len(), 19 + 19 + 7);
    }

    #[test]
    fn ranks_that_take_turns_need_the_line_for_long_messages() {
        let depends = |size, ranks, cores| Task::new("bcast", size).depends_on_line(ranks, cores);
        assert!(depends(8, 2, 2) && depends(64 * KIB, 8, 2));
        assert!(!depends(8, 8, 2) && !depends(MIB, 2, 1) && !depends(MIB, 1, 2));
    }

    #[test]
    fn a_word_is_enough() {
        let only = ["rate".into(), "barrier".into()];
        let names: Vec<_> = tasks(2, &only).iter().map(|task| task.name).collect();
        assert_eq!(names.len(), 5);
        assert_eq!(names[4], "barrier");
        assert_eq!(tasks(4, &only).len(), 1);
        assert!(!has_starts(&only));
        assert!(has_starts(&["mem".into()]));
        assert!(has_pss(&["pss".into()]) && !has_pss(&only));
        assert!(is_known("all"));
        assert!(!is_known("nothing"));
    }

    #[test]
    fn the_program_has_every_name() {
        for (name, _) in PAIR.iter().chain(&ALL) {
            assert!(super::super::program::SOURCE.contains(&format!("{{\"{name}\", ")));
        }
    }
}
