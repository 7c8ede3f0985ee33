//! The measurements between hosts. Only `multihost` uses it.

use super::super::network_namespaces::MTU;
use super::super::plan::{Task, is_wanted};
use crate::error::Error;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const LATENCY: &str = "latency";
const SHORT: &str = "cast-time";
const LONG: &str = "cast";

/// Bandwidths between two hosts by the size of a frame's content.
pub(super) const BANDWIDTHS: [(u32, &str); 3] = [
    (MTU, "bandwidth-mtu-1500"),
    (9000, "bandwidth-mtu-9000"),
    (65000, "bandwidth-mtu-65000"),
];
/// Sizes of broadcasts on the slow links, in bytes; the last one takes long.
pub(super) const CASTS: [u64; 3] = [256 * KIB, 4 * MIB, 32 * MIB];
/// Size of a short broadcast, in bytes.
pub(super) const SHORTEST: u64 = 16;
/// Size of a message on the fast links, in bytes.
const MESSAGE: u64 = MIB;

/// The measurement of the published figures.
pub(super) const PUBLISHED: &str = "one-cast";
/// Message sizes of the published figures, in floats.
pub(super) const PUBLISHED_SIZES: [u64; 10] = [
    8, 32, 128, 512, 2048, 8192, 32_768, 131_072, 524_288, 1_167_200,
];
pub(super) const FLOAT: u64 = 4;

/// Measurements by the same running programs.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) ranks: u32,
    pub(super) mtu: u32,
    /// Measurements on links without a limit.
    pub(super) fast: Vec<Task>,
    /// Measurements on limited links.
    pub(super) slow: Vec<Task>,
    /// Further measurements on limited links, for the published figures.
    pub(super) sizes: Vec<Task>,
}

impl Stage {
    /// Returns all measurements of the stage.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.fast.iter().chain(&self.slow).chain(&self.sizes)
    }
}

/// Returns the stages for these numbers of ranks, with the measurements whose names begin with one of the words;
/// without words all. The published figures use the least and the greatest number of ranks.
pub(super) fn stages(ranks: &[u32], is_quick: bool, only: &[String]) -> Vec<Stage> {
    let ends = [ranks.iter().min(), ranks.iter().max()];
    let mut stages = Vec::new();
    for ranks in ranks {
        let frames = if *ranks == 2 { BANDWIDTHS.len() } else { 1 };
        for (mtu, label) in &BANDWIDTHS[..frames] {
            let mut stage = Stage {
                ranks: *ranks,
                mtu: *mtu,
                fast: fast(*ranks, *mtu, label),
                slow: Vec::new(),
                sizes: Vec::new(),
            };
            if *mtu == MTU {
                let sizes = if is_quick { &CASTS[..2] } else { &CASTS };
                stage.slow = sizes.iter().map(|&size| Task::new(LONG, size)).collect();
            }
            if *mtu == MTU && !is_quick && ends.contains(&Some(ranks)) {
                let task = |floats| Task::new(PUBLISHED, floats * FLOAT);
                stage.sizes = PUBLISHED_SIZES.map(task).into();
            }
            for tasks in [&mut stage.fast, &mut stage.slow, &mut stage.sizes] {
                tasks.retain(|task| is_wanted(task.label, only));
            }
            if stage.tasks().next().is_some() {
                stages.push(stage);
            }
        }
    }
    stages
}

fn fast(ranks: u32, mtu: u32, bandwidth: &'static str) -> Vec<Task> {
    let mut tasks = Vec::new();
    if ranks == 2 {
        tasks.push(Task::called(bandwidth, "bandwidth", MESSAGE));
    }
    if ranks == 2 && mtu == MTU {
        tasks.push(Task::new(LATENCY, 8));
    }
    if mtu == MTU {
        tasks.push(Task::new(SHORT, SHORTEST));
    }
    tasks
}

/// Refuses a word with which no name begins.
pub(super) fn known(only: &[String]) -> Result<(), Error> {
    let names = || {
        BANDWIDTHS
            .iter()
            .map(|(_, name)| *name)
            .chain([LATENCY, SHORT, LONG, PUBLISHED])
    };
    match only
        .iter()
        .find(|word| !names().any(|name| name.starts_with(word.as_str())))
    {
        None => Ok(()),
        Some(word) => Err(Error::Value {
            what: "--only",
            given: word.clone(),
            want: "the beginning of latency, bandwidth, cast, cast-time or one-cast with --hosts",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_measures_more() {
        let stages = stages(&[2, 8], false, &[]);
        let mtus: Vec<u32> = stages.iter().map(|stage| stage.mtu).collect();
        assert_eq!(mtus, [1500, 9000, 65000, 1500]);
        let counts = stages
            .iter()
            .map(|stage| (stage.fast.len(), stage.slow.len(), stage.sizes.len()));
        let counts: Vec<_> = counts.collect();
        assert_eq!(counts, [(3, 3, 10), (1, 0, 0), (1, 0, 0), (1, 3, 10)]);
    }

    #[test]
    fn a_word_is_enough() {
        let only = ["latency".to_owned()];
        let stages = stages(&[2, 8], false, &only);
        assert_eq!(stages.len(), 1);
        assert!(known(&only).is_ok());
        assert!(known(&["speed".into()]).is_err());
    }

    #[test]
    fn the_program_has_every_name() {
        for stage in stages(&[2], false, &[]) {
            for task in stage.tasks() {
                let name = format!("{{\"{}\", ", task.name);
                assert!(
                    super::super::super::program::SOURCE.contains(&name),
                    "{name}"
                );
            }
        }
    }
}
