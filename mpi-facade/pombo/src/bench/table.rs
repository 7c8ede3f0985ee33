//! Formats the results as a table for the terminal. Only `bench` uses it.

use std::fmt::Write as _;

use super::machine::Machine;
use super::measured_value::Spread;
use super::results::{Results, Row};

/// The text in place of a missing figure.
pub(super) const ABSENT: &str = "-";

/// Returns a line for each measurement, then the legend of the columns.
pub(super) fn text(results: &Results) -> String {
    let mut lines = vec![heading(results)];
    lines.extend(results.rows.iter().map(|row| line(row, results)));
    let mut text = aligned(&lines);
    text.push('\n');
    for library in &results.libraries {
        let version = match &*library.version {
            "" => "no figures",
            version => version,
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}: {version}", library.name);
    }
    text.push_str("Medians over rounds; +- is half the distance between the quartiles.\n");
    if results.has_peers() {
        text.push_str(
            "to best: how many times better ours is than the best other, within each round.\n",
        );
    }
    text
}

fn heading(results: &Results) -> Vec<String> {
    let mut words: Vec<String> = ["measurement", "ranks", "unit"].map(String::from).into();
    words.extend(results.libraries.iter().map(|library| library.name.clone()));
    if results.has_peers() {
        let is_one = results.ours().count() == 1;
        words.extend(results.ours().map(|ours| match is_one {
            true => "to best".to_owned(),
            false => format!("{} to best", results.libraries[ours].name),
        }));
    }
    words
}

fn line(row: &Row, results: &Results) -> Vec<String> {
    let key = &row.key;
    let mut line = vec![key.to_string(), key.ranks.to_string(), key.unit.clone()];
    let libraries = 0..results.libraries.len();
    line.extend(libraries.map(|library| row.spread(library).map_or(ABSENT.into(), cell)));
    if results.has_peers() {
        let ratios = results.ours().map(|ours| results.ratio(row, ours));
        line.extend(ratios.map(|ratio| ratio.map_or(ABSENT.into(), number)));
    }
    line
}

/// Formats as "0.312 +-  3%"; a spread beyond 999 % is shown as 999 %.
pub(super) fn cell(spread: Spread) -> String {
    let around = (spread.high - spread.low) / 2.0 / spread.median * 100.0;
    format!("{} +-{:3.0}%", number(spread.median), around.min(999.0))
}

/// Formats a number with three or four significant digits.
pub(super) fn number(value: f64) -> String {
    let digits = match value {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Aligns columns of equal width, the first to the left and all others to the right.
pub(super) fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max();
    let widths: Vec<usize> = (0..columns).filter_map(width).collect();
    let mut text = String::new();
    for line in lines {
        let _ = write!(text, "{:<1$}", line[0], widths[0]);
        for (word, width) in line.iter().zip(&widths).skip(1) {
            let _ = write!(text, "  {word:>width$}");
        }
        text.push('\n');
    }
    text
}

/// Describes the machine on which the figures were measured.
pub(super) fn measured_on(machine: &Machine, results: &Results) -> String {
    let Machine { name, cores, .. } = machine;
    let mut text = format!("{name}, {cores} cores");
    if let Some(share) = machine.others() {
        let percent = (share * 100.0).round();
        text += &format!("; other programs took {percent} % of it");
    }
    if let Some(line) = results.line() {
        let Spread { median, low, high } = line;
        text += &format!(
            "; a cache line took {median:.0} ns from core to core (quartiles {low:.0} and {high:.0})"
        );
    }
    text + ".\n"
}

#[cfg(test)]
mod tests {
    use super::super::measured_value::Figure;
    use super::super::results::tests::results;
    use super::*;

    #[test]
    fn alone() {
        let mut results = Results::new([("pombo".into(), true, "shm")]);
        let line = "bench latency 8 0.25 0.2 0.3 us";
        results.add(0, 0, Figure::parse(line, 2).unwrap());
        results.describe(0, "Ours 1.0");
        let text = text(&results);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "measurement  ranks  unit         pombo");
        assert_eq!(lines[1], "latency 8 B      2    us  0.250 +- 20%");
        assert_eq!(lines[3], "pombo: Ours 1.0");
        assert!(!text.contains("best"));
    }

    #[test]
    fn beside_one_that_is_faster_and_one_that_never_started() {
        let mut results = results(&[
            (0, 0, "bench latency 8 0.25 0.2 0.3 us"),
            (0, 1, "bench latency 8 0.125 0.125 0.125 us"),
        ]);
        let line = "bench barrier 0 1234.5 1234.5 1234.5 us";
        results.add(0, 1, Figure::parse(line, 8).unwrap());
        let text = text(&results);
        let words = |line: &str| -> Vec<String> {
            let words = line.split_whitespace();
            words.map(String::from).collect()
        };
        let lines: Vec<_> = text.lines().map(words).collect();
        let expected = "latency 8 B 2 us 0.250 +- 20% 0.125 +- 0% - 0.500";
        assert_eq!(lines[1], words(expected));
        assert_eq!(lines[2], words("barrier 8 us - 1234 +- 0% - -"));
        assert!(text.contains("b: no figures"));
        let widths: Vec<usize> = text.lines().take(3).map(str::len).collect();
        assert_eq!(widths, [widths[0]; 3]);
    }
}
