//! Formats the results as a table for the terminal, and the same table as Markdown. Only `bench` uses it.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::machine::Machine;
use super::measured_value::Spread;
use super::plan::{PSS, START};
use super::results::{Ratio, Results, Rival, Row};
use super::state::{NEAR, State};

/// The text in place of a missing figure.
pub(super) const ABSENT: &str = "-";
/// The text in place of a figure in a state of the line that the run hardly met.
const NOT_SEEN: &str = "state not seen";

/// Returns a line for each measurement in each state, then the legend of the columns.
pub(super) fn text(results: &Results) -> String {
    let mut text = aligned(&lines(results));
    text.push('\n');
    text + &legend(results)
}

/// Writes the same as Markdown.
pub(super) fn markdown(results: &Results, machine: &Machine, mut to: impl Write) -> io::Result<()> {
    let mut lines = lines(results);
    let columns = lines[0].len();
    lines.insert(1, vec!["---".to_owned(); columns]);
    for line in lines {
        writeln!(to, "| {} |", line.join(" | "))?;
    }
    writeln!(to)?;
    for line in legend(results).lines() {
        writeln!(to, "- {line}")?;
    }
    writeln!(to, "- {}", measured_on(machine, results).trim_end())?;
    writeln!(to, "- `{}`", machine.command)?;
    to.flush()
}

fn lines(results: &Results) -> Vec<Vec<String>> {
    let has_states = has_states(results);
    let rows = results.rows.iter();
    let cells = rows.flat_map(|row| {
        let states = row.states().iter();
        states.map(move |&state| line(row, state, has_states, results))
    });
    std::iter::once(heading(has_states, results))
        .chain(cells)
        .collect()
}

fn has_states(results: &Results) -> bool {
    let mut rows = results.rows.iter();
    rows.any(|row| row.states() != [State::Shared])
}

fn heading(has_states: bool, results: &Results) -> Vec<String> {
    let words: &[&str] = match has_states {
        true => &["measurement", "ranks", "line", "unit"],
        false => &["measurement", "ranks", "unit"],
    };
    let mut words: Vec<String> = words.iter().copied().map(String::from).collect();
    words.extend(results.libraries.iter().map(|library| library.name.clone()));
    let is_one = results.ours().count() == 1;
    for rival in results.rivals() {
        let title = match rival {
            Rival::Best => "to best",
            Rival::Intel => "to Intel",
        };
        for ours in results.ours() {
            words.push(match is_one {
                true => title.to_owned(),
                false => format!("{} {title}", results.libraries[ours].name),
            });
            words.push("95 %".to_owned());
        }
    }
    words
}

fn line(row: &Row, state: State, has_states: bool, results: &Results) -> Vec<String> {
    let key = &row.key;
    let mut line = vec![key.to_string(), key.ranks.to_string()];
    if has_states {
        let is_start = START.contains(&&*key.name) || key.name == PSS;
        line.push(if is_start { ABSENT } else { state.name() }.to_owned());
    }
    line.push(key.unit.clone());
    for library in 0..results.libraries.len() {
        line.push(match results.figure(row, library, state) {
            Some(figure) => cell(figure),
            None if row.turns().any(|(_, who, _)| who == library) => NOT_SEEN.to_owned(),
            None => ABSENT.to_owned(),
        });
    }
    for rival in results.rivals() {
        for ours in results.ours() {
            let ratio = results.ratio(row, state, ours, rival);
            line.push(ratio.map_or(ABSENT.into(), |ratio| number(ratio.median)));
            line.push(ratio.map_or(ABSENT.into(), between));
        }
    }
    line
}

/// Formats the bounds of a ratio.
fn between(ratio: Ratio) -> String {
    ratio.bounds.map_or(ABSENT.to_owned(), |[low, high]| {
        format!("{} to {}", number(low), number(high))
    })
}

fn legend(results: &Results) -> String {
    let mut text = String::new();
    for library in &results.libraries {
        let version = match &*library.version {
            "" => "no figures",
            version => version,
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}: {version}", library.name);
    }
    text.push_str("Medians over rounds; +- is half the distance between the quartiles.\n");
    let rivals: Vec<Rival> = results.rivals().collect();
    if !rivals.is_empty() {
        let but_intel = match rivals.contains(&Rival::Intel) {
            true => " but Intel's",
            false => "",
        };
        let _ = writeln!(
            text,
            "to best: how many times better ours is than the best other{but_intel}, within each round; 95 %: the bounds \
             of its median."
        );
    }
    if has_states(results) {
        let (least, dropped) = (results.least, results.dropped());
        let _ = writeln!(
            text,
            "near, far: a cache line took less than {NEAR:.0} ns from core to core both before and after each turn, or \
             not; {dropped} turns between which that changed do not count, and fewer than {least} are no figure."
        );
    }
    text
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
    let states = [State::Near, State::Far].into_iter();
    let times = states.filter_map(|state| {
        let Spread { median, low, high } = results.line(state)?;
        let name = state.name();
        Some(format!(
            "{name} {median:.0} ns (quartiles {low:.0} and {high:.0})"
        ))
    });
    let times: Vec<String> = times.collect();
    if !times.is_empty() {
        let times = times.join(", ");
        text += &format!("; a cache line took from core to core: {times}");
    }
    text + ".\n"
}

#[cfg(test)]
mod tests {
    use super::super::measured_value::Figure;
    use super::super::results::tests::{CHANGED, FAR, NEAR, add_pair, results};
    use super::*;

    #[test]
    fn alone() {
        let mut results = Results::new([("pombo".into(), true, "shm")]);
        let line = "bench latency 8 0.25 0.2 0.3 us";
        results.add(0, 0, Figure::parse(line, 2).unwrap(), None);
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
        results.add(0, 1, Figure::parse(line, 8).unwrap(), None);
        let text = text(&results);
        let words = |line: &str| -> Vec<String> {
            let words = line.split_whitespace();
            words.map(String::from).collect()
        };
        let lines: Vec<_> = text.lines().map(words).collect();
        let expected = "latency 8 B 2 us 0.250 +- 20% 0.125 +- 0% - 0.500 -";
        assert_eq!(lines[1], words(expected));
        assert_eq!(lines[2], words("barrier 8 us - 1234 +- 0% - - -"));
        assert!(text.contains("b: no figures"));
        let widths: Vec<usize> = text.lines().take(3).map(str::len).collect();
        assert_eq!(widths, [widths[0]; 3]);
    }

    #[test]
    fn each_state_has_a_line() {
        let mut results = results(&[]);
        results.least = 7;
        for round in 0..7 {
            add_pair(&mut results, round, 3.0, FAR);
        }
        add_pair(&mut results, 7, 3.0, NEAR);
        add_pair(&mut results, 8, 3.0, CHANGED);
        let text = text(&results);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0][..4], ["measurement", "ranks", "line", "unit"]);
        let near = "latency 8 B 2 near us state not seen state not seen - - -";
        assert_eq!(lines[1].join(" "), near);
        let far = "latency 8 B 2 far us 2.000 +- 0% 3.000 +- 0% - 1.500 1.500 to 1.500";
        assert_eq!(lines[2].join(" "), far);
        assert!(
            text.contains("; 2 turns between which that changed"),
            "{text}"
        );
        let machine = Machine::here();
        let words = measured_on(&machine, &results);
        assert!(words.contains("far 201 ns"), "{words}");
        let mut page = Vec::new();
        markdown(&results, &machine, &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains("\n| latency 8 B | 2 | far | us |"), "{page}");
        assert!(page.contains("\n| --- | --- |"), "{page}");
    }
}
