//! Whether the machine's own copies reach the project's targets, which are ratios to the best peer. Only `layers` uses it.

use std::ops::RangeInclusive;

use super::super::results::{Results, Row};
use super::super::state::State;
use super::super::table::{ABSENT, aligned, number};
use super::super::targets::wanted_ratio;

/// Returns a table of the measurements that have a target: what it asks, what the best of the raw copies takes, which
/// nothing built on them can beat, and what our library takes. The columns behind `ours` are the peers; without any the
/// text is empty.
pub(super) fn text(results: &Results, raw: RangeInclusive<usize>, ours: usize) -> String {
    let mut lines = vec![HEADING.map(String::from).to_vec()];
    for row in &results.rows {
        let states = row.states().iter();
        lines.extend(states.filter_map(|state| line(results, row, *state, &raw, ours)));
    }
    match lines.len() {
        1 => String::new(),
        _ => format!("{}\n{LEGEND}", aligned(&lines)),
    }
}

const HEADING: [&str; 10] = [
    "target",
    "line",
    "unit",
    "best peer",
    "its",
    "wanted",
    "at best",
    "raw limit",
    "its",
    "ours",
];
const LEGEND: &str = "wanted: how many times better than the best peer we want to be; at best: how many times better the \
                      machine's own copies are, which a\nlibrary does not beat; ours: how many times better we are. \
                      Where `at best` is below `wanted`, the target is out of reach.\n";

/// Returns the cells of a line; `None` if the measurement has no target or lacks a figure in this state.
fn line(
    results: &Results,
    row: &Row,
    state: State,
    raw: &RangeInclusive<usize>,
    ours: usize,
) -> Option<Vec<String>> {
    let wanted = wanted_ratio("shm", &row.key, state)?;
    let figure = |column| Some((row.spread(column, state)?.median, column));
    let best = |columns: &mut dyn Iterator<Item = usize>| {
        let figures = columns.filter_map(figure);
        match row.key.is_cost() {
            true => figures.min_by(|a, b| a.0.total_cmp(&b.0)),
            false => figures.max_by(|a, b| a.0.total_cmp(&b.0)),
        }
    };
    let name = |column: usize| results.libraries[column].name.clone();
    let (peer, who) = best(&mut (ours + 1..results.libraries.len()))?;
    let ratio = |value: f64| match row.key.is_cost() {
        true => number(peer / value),
        false => number(value / peer),
    };
    let absent = || ABSENT.to_owned();
    let limit = best(&mut raw.clone());
    let own = figure(ours).map(|(value, _)| ratio(value));
    Some(vec![
        row.key.to_string(),
        state.name().to_owned(),
        row.key.unit.clone(),
        name(who),
        number(peer),
        number(wanted),
        limit.map_or_else(absent, |(value, _)| ratio(value)),
        limit.map_or_else(absent, |(_, column)| name(column)),
        limit.map_or_else(absent, |(value, _)| number(value)),
        own.unwrap_or_else(absent),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::super::measured_value::Figure;
    use super::*;

    /// Returns the words of the table's lines of measurements; the columns are two raw copies, ours, and two peers.
    fn lines(figures: &[(usize, &str)]) -> Vec<String> {
        let names = ["a", "b", "MPI", "x", "y"];
        let mut results = Results::new(names.map(|name| (name.into(), true, "shm")));
        for &(column, line) in figures {
            results.add(0, column, Figure::parse(line, 2).unwrap(), None);
        }
        let text = text(&results, 0..=1, 2);
        let lines = text.lines().skip(1).take_while(|line| !line.is_empty());
        let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        words.collect()
    }

    #[test]
    fn a_limit_is_compared_with_the_best_peer() {
        let found = lines(&[
            (0, "bench latency 8 0.2 0.2 0.2 us"),
            (1, "bench latency 8 0.1 0.1 0.1 us"),
            (2, "bench latency 8 0.16 0.16 0.16 us"),
            (3, "bench latency 8 0.3 0.3 0.3 us"),
            (4, "bench latency 8 0.24 0.24 0.24 us"),
            (0, "bench bandwidth 1024 3000 3000 3000 MB/s"),
            (2, "bench bandwidth 1024 2000 2000 2000 MB/s"),
            (3, "bench bandwidth 1024 1000 1000 1000 MB/s"),
        ]);
        let expected = [
            "latency 8 B shared us y 0.240 1.700 2.400 b 0.100 1.500",
            "bandwidth 1 KiB shared MB/s x 1000 1.200 3.000 a 3000 2.000",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn nothing_is_told_without_a_peer_or_a_target() {
        let ours = "bench latency 8 0.2 0.2 0.2 us";
        assert!(lines(&[(0, ours), (2, ours)]).is_empty());
        let unwritten = "bench latency-unwritten 8 0.2 0.2 0.2 us";
        assert!(lines(&[(2, unwritten), (3, unwritten)]).is_empty());
        let without_limit = lines(&[(2, ours), (3, ours)]);
        assert_eq!(
            without_limit,
            ["latency 8 B shared us x 0.200 1.700 - - - 1.000"]
        );
    }
}
