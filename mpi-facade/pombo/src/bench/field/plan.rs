//! What is measured between hosts. Only `field` uses it.

use super::super::hosts::MTU;
use super::super::plan::{Task, is_wanted};
use crate::error::Error;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const LATENCY: &str = "latency";
const SHORT: &str = "cast-time";
const LONG: &str = "cast";

/// Bandwidth between two hosts by the size of a frame's content.
pub(super) const BANDWIDTHS: [(u32, &str); 3] = [
    (MTU, "bandwidth-mtu-1500"),
    (9000, "bandwidth-mtu-9000"),
    (65000, "bandwidth-mtu-65000"),
];
/// Broadcasts on the slow line; the last takes long.
pub(super) const CASTS: [u64; 3] = [256 * KIB, 4 * MIB, 32 * MIB];
/// Of a short broadcast.
pub(super) const SHORTEST: u64 = 16;
/// Of a message on the fast line.
const MESSAGE: u64 = MIB;

/// What is measured while the same programs wait for their turns.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) ranks: u32,
    pub(super) mtu: u32,
    /// On cables without a limit.
    pub(super) fast: Vec<Task>,
    /// On limited ones.
    pub(super) slow: Vec<Task>,
}

/// Everything for these numbers of ranks whose name begins with one of the words; without words
/// all.
pub(super) fn stages(ranks: &[u32], is_quick: bool, only: &[String]) -> Vec<Stage> {
    let of = |ranks: u32| {
        let frames = if ranks == 2 {
            &BANDWIDTHS[..]
        } else {
            &BANDWIDTHS[..1]
        };
        frames
            .iter()
            .map(move |&(mtu, _)| stage(ranks, mtu, is_quick, only))
    };
    let stages = ranks.iter().flat_map(|&ranks| of(ranks));
    stages
        .filter(|stage| !stage.fast.is_empty() || !stage.slow.is_empty())
        .collect()
}

fn stage(ranks: u32, mtu: u32, is_quick: bool, only: &[String]) -> Stage {
    let mut fast = Vec::new();
    let mut slow = Vec::new();
    if ranks == 2 {
        let label = BANDWIDTHS.iter().find(|(of, _)| *of == mtu);
        fast.extend(label.map(|(_, label)| Task::called(label, "bandwidth", MESSAGE)));
    }
    if mtu == MTU {
        if ranks == 2 {
            fast.push(Task::new(LATENCY, 8));
        }
        fast.push(Task::new(SHORT, SHORTEST));
        let sizes = if is_quick { &CASTS[..2] } else { &CASTS };
        slow.extend(sizes.iter().map(|&size| Task::new(LONG, size)));
    }
    let is_asked = |task: &Task| is_wanted(task.label, only);
    fast.retain(is_asked);
    slow.retain(is_asked);
    Stage {
        ranks,
        mtu,
        fast,
        slow,
    }
}

/// Refuses a word that begins no name.
pub(super) fn known(only: &[String]) -> Result<(), Error> {
    let names = || {
        BANDWIDTHS
            .iter()
            .map(|(_, name)| *name)
            .chain([LATENCY, SHORT, LONG])
    };
    match only
        .iter()
        .find(|word| !names().any(|name| name.starts_with(word.as_str())))
    {
        None => Ok(()),
        Some(word) => Err(Error::Value {
            what: "--only",
            given: word.clone(),
            want: "the beginning of latency, bandwidth, cast or cast-time with --hosts",
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
            .map(|stage| (stage.fast.len(), stage.slow.len()));
        let counts: Vec<_> = counts.collect();
        assert_eq!(counts, [(3, 3), (1, 0), (1, 0), (1, 3)]);
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
            for task in stage.fast.iter().chain(&stage.slow) {
                let name = format!("{{\"{}\", ", task.name);
                assert!(super::super::super::SOURCE.contains(&name), "{name}");
            }
        }
    }
}
