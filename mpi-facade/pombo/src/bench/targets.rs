//! The project's performance targets, and which of them are missed. Only `bench` uses it.
//!
//! A target is a ratio to the best peer of the same run. The figure beside it is the value on two cores of a Xeon in
//! 2026; figures differ from machine to machine, so they count only where no ratio is required.

use super::measured_value::Key;
use super::results::{Results, Row};
use super::table::{aligned, number};

/// The target of one measurement.
struct Target {
    network: &'static str,
    name: &'static str,
    size: u64,
    ranks: u32,
    /// How many times better than the best peer.
    ratio: Option<f64>,
    /// The required value in the measurement's unit.
    figure: Option<f64>,
}

const fn target(
    name: &'static str,
    size: u64,
    ranks: u32,
    ratio: Option<f64>,
    figure: Option<f64>,
) -> Target {
    Target {
        network: "shm",
        name,
        size,
        ranks,
        ratio,
        figure,
    }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The target over UDP: no slower than the best over TCP.
const UDP_TARGETS: [Target; 1] = [Target {
    network: "udp",
    ..target("latency", 8, 2, Some(1.0), None)
}];

#[rustfmt::skip]
const TARGETS: [Target; 27] = [
    target("latency", 0, 2, Some(1.7), Some(0.17)),
    target("latency", 8, 2, Some(1.7), Some(0.17)),
    target("latency", 64, 2, Some(1.5), None),
    target("latency", KIB, 2, Some(1.5), None),
    target("latency", 8 * KIB, 2, Some(1.2), None),
    target("latency", 64 * KIB, 2, Some(1.0), None),
    target("latency", MIB, 2, Some(1.0), None),
    target("bandwidth", KIB, 2, Some(1.9), Some(6000.0)),
    target("bandwidth", 8 * KIB, 2, Some(1.2), Some(14000.0)),
    target("bandwidth", 64 * KIB, 2, Some(1.0), None),
    target("bandwidth", MIB, 2, Some(1.0), None),
    target("rate-equal-tags", 8, 2, Some(2.0), Some(25.0)),
    target("rate-distinct-tags", 8, 2, Some(2.0), Some(25.0)),
    target("rate-reverse-order", 8, 2, Some(2.0), Some(25.0)),
    target("rate-any-source", 8, 2, Some(2.0), Some(25.0)),
    target("init", 0, 2, None, Some(2.0)),
    target("init", 0, 8, None, Some(5.0)),
    target("launch", 0, 2, None, Some(15.0)),
    target("memory", 0, 2, None, Some(4.0)),
    target("barrier", 0, 4, Some(1.5), Some(1.5)),
    target("allreduce", 8, 4, Some(1.4), Some(2.2)),
    target("barrier", 0, 8, Some(1.9), Some(6.0)),
    target("allreduce", 8, 8, Some(1.4), Some(8.0)),
    target("bcast", KIB, 8, Some(1.6), Some(10.0)),
    target("bcast", MIB, 8, Some(1.25), Some(400.0)),
    target("allreduce", MIB, 8, Some(1.2), Some(900.0)),
    target("memory", 0, 8, None, Some(4.0)),
];

impl Target {
    fn row<'a>(&self, results: &'a Results) -> Option<&'a Row> {
        let is_it =
            |key: &Key| (&*key.name, key.size, key.ranks) == (self.name, self.size, self.ranks);
        results.rows.iter().find(|row| is_it(&row.key))
    }
}

/// The comparison of one of our libraries with one target.
struct Comparison {
    /// The cells of a line of the table.
    line: Vec<String>,
    /// Whether the target is met; `None` if it was not measured, or there is no peer.
    is_met: Option<bool>,
}

/// Returns the missed targets, and whether there are any.
pub(super) fn check(results: &Results) -> (String, bool) {
    let mut text = String::new();
    let mut is_short = false;
    for ours in results.ours() {
        let library = &results.libraries[ours];
        let targets = TARGETS.iter().chain(&UDP_TARGETS);
        let targets = targets.filter(|target| target.network == library.network);
        let comparisons: Vec<Comparison> = targets
            .map(|target| compare(target, results, ours))
            .collect();
        let count = |met| comparisons.iter().filter(|s| s.is_met == met).count();
        let (met, short) = (count(Some(true)), count(Some(false)));
        let name = &library.name;
        text += &format!("\n{name}: {met} targets met, {short} fall short");
        let open = count(None);
        if open > 0 {
            text += &format!(", {open} without figures to compare");
        }
        text += "\n";
        let short = comparisons.into_iter().filter(|s| s.is_met == Some(false));
        let mut lines: Vec<_> = short.map(|comparison| comparison.line).collect();
        if !lines.is_empty() {
            is_short = true;
            lines.insert(0, heading());
            text += &aligned(&lines);
        }
    }
    (text, is_short)
}

fn heading() -> Vec<String> {
    let words = [
        "falls short",
        "ranks",
        "unit",
        "ours",
        "target",
        "to best",
        "target",
    ];
    words.map(String::from).into()
}

fn compare(target: &Target, results: &Results, ours: usize) -> Comparison {
    let nothing = Comparison {
        line: Vec::new(),
        is_met: None,
    };
    let Some(row) = target.row(results) else {
        return nothing;
    };
    let Some(figure) = row.spread(ours).map(|spread| spread.median) else {
        return nothing;
    };
    let ratio = results.ratio(row, ours);
    let cells = [Some(figure), target.figure, ratio, target.ratio];
    let key = [
        row.key.to_string(),
        row.key.ranks.to_string(),
        row.key.unit.clone(),
    ];
    let cells = cells.map(|cell| cell.map_or("-".to_owned(), number));
    Comparison {
        line: key.into_iter().chain(cells).collect(),
        is_met: is_met(target, figure, ratio),
    }
}

fn is_met(target: &Target, figure: f64, ratio: Option<f64>) -> Option<bool> {
    match (target.ratio, target.figure) {
        (Some(wanted), _) => ratio.map(|ratio| ratio >= wanted),
        (None, Some(most)) => Some(figure <= most),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::results;
    use super::*;

    #[test]
    fn a_ratio_counts_where_there_is_one() {
        let results = results(&[
            (0, 0, "bench latency 8 0.3 0.3 0.3 us"),
            (0, 1, "bench latency 8 0.6 0.6 0.6 us"),
            (0, 0, "bench latency 64 0.1 0.1 0.1 us"),
            (0, 2, "bench latency 64 0.1 0.1 0.1 us"),
            (0, 0, "bench latency 1024 0.1 0.1 0.1 us"),
        ]);
        let (text, is_short) = check(&results);
        assert!(is_short);
        assert!(text.contains("1 targets met, 1 fall short"), "{text}");
        let line = text.lines().last().unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words.join(" "), "latency 64 B 2 us 0.100 - 1.000 1.500");
    }

    #[test]
    fn a_figure_counts_where_there_is_no_ratio() {
        let short = |line| check(&results(&[(0, 0, line)])).1;
        assert!(short("bench launch 0 15.1 15.1 15.1 ms"));
        assert!(!short("bench launch 0 14.9 14.9 14.9 ms"));
    }

    #[test]
    fn every_bar_is_measured() {
        for target in TARGETS {
            let tasks = super::super::plan::tasks(target.ranks, &[]);
            let is_start = super::super::plan::START.contains(&target.name);
            let is_task = tasks
                .iter()
                .any(|t| (t.name, t.size) == (target.name, target.size));
            assert!(is_start || is_task, "{} {}", target.name, target.size);
        }
    }
}
