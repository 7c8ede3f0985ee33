//! The project's performance targets, and which of them are missed. Only `bench` uses it.
//!
//! A target is a ratio to the best peer of the same run, in each state of the line for itself. It is missed if the upper
//! 95 % bound of the ratio lies below it, so not by chance. Starts have figures instead: the values on two cores of a
//! Xeon in 2026. What is unwritten has no target.

use std::ops::RangeInclusive;

use super::measured_value::Key;
use super::plan::{PSS, PSS_RANKS, is_unwritten};
use super::results::{Ratio, Results, Rival, Row};
use super::state::State;
use super::table::{ABSENT, aligned, number};

/// The target of some measurements.
struct Target {
    network: &'static str,
    names: &'static [&'static str],
    /// Bytes of a message.
    sizes: RangeInclusive<u64>,
    /// The number of ranks; `None` if it holds for all.
    ranks: Option<u32>,
    /// The state of the line; `None` if it holds for all.
    state: Option<State>,
    goal: Goal,
}

/// What a target requires.
#[derive(Clone, Copy)]
enum Goal {
    /// So many times better than the best peer.
    Ratio(f64),
    /// At most this value in the measurement's unit.
    Figure(f64),
}

const fn ratio(
    names: &'static [&'static str],
    sizes: RangeInclusive<u64>,
    ranks: u32,
    ratio: f64,
) -> Target {
    Target {
        network: "shm",
        names,
        sizes,
        ranks: Some(ranks),
        state: None,
        goal: Goal::Ratio(ratio),
    }
}

const fn figure(names: &'static [&'static str], ranks: u32, most: f64) -> Target {
    Target {
        goal: Goal::Figure(most),
        ..ratio(names, 0..=0, ranks, 0.0)
    }
}

const KIB: u64 = 1 << 10;
const LATENCY: &[&str] = &["latency"];
const LONG_MESSAGES: &[&str] = &["latency", "bandwidth"];
const RATES: &[&str] = &[
    "rate-equal-tags",
    "rate-distinct-tags",
    "rate-reverse-order",
    "rate-any-source",
];
const COLLECTIVES: &[&str] = &["bcast", "reduce", "allreduce", "allgather", "alltoall"];

const TARGETS: [Target; 20] = [
    ratio(LATENCY, 0..=0, 2, 1.25),
    ratio(LATENCY, 8..=8, 2, 1.7),
    ratio(LATENCY, 64..=64, 2, 1.3),
    ratio(LONG_MESSAGES, KIB..=8 * KIB, 2, 1.2),
    ratio(LONG_MESSAGES, 8 * KIB + 1..=u64::MAX, 2, 1.0),
    Target {
        state: Some(State::Near),
        ..ratio(RATES, 8..=8, 2, 2.0)
    },
    Target {
        state: Some(State::Far),
        ..ratio(RATES, 8..=8, 2, 1.3)
    },
    Target {
        ranks: None,
        ..ratio(COLLECTIVES, 64 * KIB..=u64::MAX, 0, 1.1)
    },
    ratio(&["barrier"], 0..=0, 4, 1.5),
    ratio(&["barrier"], 0..=0, 8, 1.9),
    ratio(&["allreduce"], 8..=8, 4, 1.4),
    ratio(&["allreduce"], 8..=8, 8, 1.4),
    ratio(&["bcast"], KIB..=KIB, 8, 1.6),
    figure(&["init"], 2, 2.0),
    figure(&["init"], 8, 5.0),
    figure(&["launch"], 2, 15.0),
    figure(&["memory"], 2, 4.0),
    figure(&["memory"], 8, 4.0),
    Target {
        sizes: 8..=8,
        ..figure(&[PSS], PSS_RANKS, 1024.0)
    },
    Target {
        sizes: 1 << 20..=1 << 20,
        ..figure(&[PSS], PSS_RANKS, 4096.0)
    },
];

/// Over UDP: no slower than the best over TCP.
const UDP_TARGETS: [Target; 1] = [Target {
    network: "udp",
    ..ratio(LATENCY, 8..=8, 2, 1.0)
}];

/// What no measurement may fall below, neither beside the best peer nor beside Intel's.
const FLOOR: f64 = 0.95;

impl Target {
    fn holds_for(&self, key: &Key, state: State) -> bool {
        self.names.contains(&&*key.name)
            && self.sizes.contains(&key.size)
            && self.ranks.is_none_or(|ranks| ranks == key.ranks)
            && self.state.is_none_or(|only| only == state)
    }
}

/// How one of our libraries compares with a target in one measurement.
struct Comparison {
    /// The cells of a line of the table.
    line: Vec<String>,
    /// Whether the target is met; `None` if there is no peer, no figure, or too few rounds.
    is_met: Option<bool>,
}

/// Returns the missed targets, and whether there are any.
pub(super) fn check(results: &Results) -> (String, bool) {
    let mut text = String::new();
    let mut is_short = false;
    for ours in results.ours() {
        let comparisons = against_targets(results, ours);
        let floors = against_floor(results, ours);
        let count = |met| comparisons.iter().filter(|one| one.is_met == met).count();
        let [met, short, open] = [Some(true), Some(false), None].map(count);
        let below = floors.iter().filter(|one| one.is_met == Some(false));
        let (below, all) = (below.count(), floors.len());
        let name = &results.libraries[ours].name;
        text += &format!("\n{name}: {met} targets met, {short} fall short");
        if open > 0 {
            text += &format!(", {open} without figures to compare");
        }
        if all > 0 {
            text += &format!("; {below} of {all} cells below {FLOOR}");
        }
        text += "\n";
        let short = comparisons.into_iter().chain(floors);
        let short = short.filter(|one| one.is_met == Some(false));
        let mut lines: Vec<_> = short.map(|one| one.line).collect();
        if !lines.is_empty() {
            is_short = true;
            lines.insert(0, heading());
            text += &aligned(&lines);
        }
    }
    (text, is_short)
}

/// Returns the ratio that is wanted in this measurement and state, if any.
pub(super) fn wanted_ratio(network: &str, key: &Key, state: State) -> Option<f64> {
    let targets = TARGETS.iter().chain(&UDP_TARGETS);
    let mut targets = targets.filter(|one| one.network == network && one.holds_for(key, state));
    targets.find_map(|target| match target.goal {
        Goal::Ratio(ratio) => Some(ratio),
        Goal::Figure(_) => None,
    })
}

fn heading() -> Vec<String> {
    let words = [
        "falls short",
        "ranks",
        "line",
        "unit",
        "ours",
        "beside",
        "ratio",
        "at most",
        "target",
    ];
    words.map(String::from).into()
}

/// Returns the comparisons with all targets of this library's network; those that were not measured are open.
fn against_targets(results: &Results, ours: usize) -> Vec<Comparison> {
    let network = results.libraries[ours].network;
    let targets = TARGETS.iter().chain(&UDP_TARGETS);
    let mut comparisons = Vec::new();
    for target in targets.filter(|target| target.network == network) {
        let before = comparisons.len();
        for row in &results.rows {
            let states = row.states().iter();
            let states = states.filter(|state| target.holds_for(&row.key, **state));
            comparisons
                .extend(states.map(|&state| compare(target.goal, row, state, results, ours)));
        }
        if comparisons.len() == before {
            comparisons.push(Comparison {
                line: Vec::new(),
                is_met: None,
            });
        }
    }
    comparisons
}

fn compare(goal: Goal, row: &Row, state: State, results: &Results, ours: usize) -> Comparison {
    match goal {
        Goal::Ratio(wanted) => beside(Rival::Best, wanted, row, state, results, ours),
        Goal::Figure(most) => {
            let figure = results.figure(row, ours, state);
            Comparison {
                line: cells(row, state, results, ours, None, most),
                is_met: figure.map(|figure| figure.median <= most),
            }
        }
    }
}

/// Returns the comparison of each cell that has a peer with the floor, for each kind of peers.
fn against_floor(results: &Results, ours: usize) -> Vec<Comparison> {
    let rows = results.rows.iter();
    let rows = rows.filter(|row| !is_unwritten(&row.key.name));
    let cells = rows.flat_map(|row| row.states().iter().map(move |&state| (row, state)));
    let comparisons = cells.flat_map(|(row, state)| {
        let rivals = results.rivals();
        rivals.map(move |rival| beside(rival, FLOOR, row, state, results, ours))
    });
    comparisons.filter(|one| one.is_met.is_some()).collect()
}

fn beside(
    rival: Rival,
    wanted: f64,
    row: &Row,
    state: State,
    results: &Results,
    ours: usize,
) -> Comparison {
    let ratio = results.ratio(row, state, ours, rival);
    let bounds = ratio.and_then(|ratio| ratio.bounds);
    Comparison {
        line: cells(row, state, results, ours, ratio, wanted),
        is_met: bounds.map(|[_, high]| high >= wanted),
    }
}

fn cells(
    row: &Row,
    state: State,
    results: &Results,
    ours: usize,
    ratio: Option<Ratio>,
    wanted: f64,
) -> Vec<String> {
    let Key { ranks, unit, .. } = &row.key;
    let figure = results.figure(row, ours, state);
    let high = ratio.and_then(|ratio| ratio.bounds).map(|[_, high]| high);
    let absent = || ABSENT.to_owned();
    vec![
        row.key.to_string(),
        ranks.to_string(),
        state.name().to_owned(),
        unit.clone(),
        figure.map_or_else(absent, |figure| number(figure.median)),
        ratio.map_or_else(absent, |ratio| results.libraries[ratio.peer].name.clone()),
        ratio.map_or_else(absent, |ratio| number(ratio.median)),
        high.map_or_else(absent, number),
        number(wanted),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{FAR, NEAR, add_pair, results};
    use super::*;

    /// Returns the verdict on latencies of 8 bytes, 2 us each, beside a peer that takes so long in each round.
    fn verdict(peer: &[f64]) -> (String, bool) {
        let mut results = results(&[]);
        for (round, time) in peer.iter().enumerate() {
            add_pair(&mut results, round, *time, None);
        }
        check(&results)
    }

    #[test]
    fn a_ratio_falls_short_when_its_upper_bound_does() {
        // 1.7 times 2 us are 3.4 us; of 8 rounds the second best bounds the median.
        let (text, is_short) = verdict(&[3.0, 3.0, 3.2, 3.2, 3.2, 3.3, 3.3, 9.0]);
        assert!(is_short);
        let line: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        let expected = "latency 8 B 2 shared us 2.000 a 1.600 1.650 1.700";
        assert_eq!(line.join(" "), expected, "{text}");
        let (text, is_short) = verdict(&[3.0, 3.0, 3.2, 3.2, 3.2, 3.3, 3.5, 9.0]);
        assert!(
            !is_short && text.contains("1 targets met, 0 fall short"),
            "{text}"
        );
    }

    #[test]
    fn too_few_rounds_decide_nothing() {
        let (text, is_short) = verdict(&[1.0; 4]);
        assert!(
            !is_short && text.contains(": 0 targets met, 0 fall short"),
            "{text}"
        );
    }

    #[test]
    fn the_floor_holds_for_every_cell_that_is_written() {
        let lines = |name: &str| -> Vec<(usize, usize, String)> {
            let ours = (0..5).map(|round| (round, 0, format!("bench {name} 4096 2 2 2 us")));
            let theirs = (0..5).map(|round| (round, 1, format!("bench {name} 4096 1 1 1 us")));
            ours.chain(theirs).collect()
        };
        let verdict = |name| {
            let lines = lines(name);
            let lines = lines.iter();
            let lines = lines.map(|(round, who, line)| (*round, *who, &**line));
            check(&results(&lines.collect::<Vec<_>>()))
        };
        let (text, is_short) = verdict("reduce");
        assert!(
            is_short && text.contains("; 1 of 1 cells below 0.95"),
            "{text}"
        );
        let (text, is_short) = verdict("latency-unwritten");
        assert!(!is_short && !text.contains("cells"), "{text}");
    }

    #[test]
    fn intel_has_the_floor_alone() {
        let mut results = results(&[]);
        for round in 0..5 {
            add_pair(&mut results, round, 2.2, None);
        }
        results.describe(1, "Intel(R) MPI Library 2021.18.1");
        let (text, is_short) = check(&results);
        assert!(!is_short && text.contains("; 0 of 1 cells"), "{text}");
    }

    #[test]
    fn states_have_targets_of_their_own() {
        let rate = |state| {
            let key = Key {
                name: "rate-any-source".into(),
                ranks: 2,
                size: 8,
                unit: "M/s".into(),
            };
            let targets = TARGETS.iter().filter(|one| one.holds_for(&key, state));
            let goals = targets.map(|one| match one.goal {
                Goal::Ratio(ratio) => ratio,
                Goal::Figure(_) => f64::NAN,
            });
            goals.collect::<Vec<_>>()
        };
        assert_eq!(rate(State::Near), [2.0]);
        assert_eq!(rate(State::Far), [1.3]);
        assert!(rate(State::Shared).is_empty());
        let mut results = results(&[]);
        for round in 0..5 {
            add_pair(&mut results, 2 * round, 4.0, NEAR);
            add_pair(&mut results, 2 * round + 1, 3.0, FAR);
        }
        let (text, _) = check(&results);
        assert!(text.contains(": 1 targets met, 1 fall short"), "{text}");
        assert!(text.lines().last().unwrap().contains(" far "), "{text}");
    }

    #[test]
    fn a_figure_counts_for_starts() {
        let short = |line| check(&results(&[(0, 0, line)])).1;
        assert!(short("bench launch 0 15.1 15.1 15.1 ms"));
        assert!(!short("bench launch 0 14.9 14.9 14.9 ms"));
    }

    #[test]
    fn every_target_is_measured() {
        for target in &TARGETS {
            let tasks = super::super::plan::tasks(target.ranks.unwrap_or(8), &[]);
            for name in target.names {
                let is_start = super::super::plan::START.contains(name) || *name == PSS;
                let is_task = tasks
                    .iter()
                    .any(|task| task.name == *name && target.sizes.contains(&task.size));
                assert!(is_start || is_task, "{name} {:?}", target.sizes);
            }
        }
    }
}
