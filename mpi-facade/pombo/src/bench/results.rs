//! All figures of all libraries over all rounds. `bench` fills it, `table` and `report` read it.

use super::figure::{Figure, Key, Spread};

/// The first library is our own.
pub(super) struct Results {
    pub(super) libraries: Vec<Library>,
    pub(super) rows: Vec<Row>,
}

/// One column.
pub(super) struct Library {
    pub(super) name: String,
    /// What it says of itself; empty if it never came to that.
    pub(super) version: String,
}

/// One measurement.
pub(super) struct Row {
    pub(super) key: Key,
    /// For each library what each round gave.
    rounds: Vec<Vec<Spread>>,
}

impl Results {
    pub(super) fn new(names: Vec<String>) -> Results {
        let library = |name| Library {
            name,
            version: String::new(),
        };
        Results {
            libraries: names.into_iter().map(library).collect(),
            rows: Vec::new(),
        }
    }

    /// Rows come in the order of their first figures.
    pub(super) fn add(&mut self, library: usize, figure: Figure) {
        let place = self.rows.iter().position(|row| row.key == figure.key);
        let place = place.unwrap_or_else(|| {
            self.rows.push(Row {
                key: figure.key,
                rounds: vec![Vec::new(); self.libraries.len()],
            });
            self.rows.len() - 1
        });
        self.rows[place].rounds[library].push(figure.spread);
    }

    pub(super) fn describe(&mut self, library: usize, version: String) {
        self.libraries[library].version = version;
    }
}

impl Row {
    /// The median of the rounds' medians, and the quartiles of all that the rounds gave.
    pub(super) fn spread(&self, library: usize) -> Option<Spread> {
        let rounds = &self.rounds[library];
        let medians = sorted(rounds.iter().map(|round| round.median));
        let all = rounds.iter().flat_map(|r| [r.low, r.median, r.high]);
        let all = sorted(all);
        let quarter = all.len() / 4;
        Some(Spread {
            median: middle(&medians)?,
            low: *all.get(quarter)?,
            high: *all.iter().rev().nth(quarter)?,
        })
    }

    pub(super) fn libraries(&self) -> usize {
        self.rounds.len()
    }

    /// How many times faster our library is than the best of the others.
    pub(super) fn ratio(&self) -> Option<f64> {
        let median = |library| self.spread(library).map(|spread| spread.median);
        let ours = median(0)?;
        let others = (1..self.libraries()).filter_map(median);
        match self.key.is_time() {
            true => others.reduce(f64::min).map(|best| best / ours),
            false => others.reduce(f64::max).map(|best| ours / best),
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn middle(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    let upper = sorted.get(half)?;
    Some(match sorted.len() % 2 {
        1 => *upper,
        _ => (sorted[half - 1] + upper) / 2.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds lines of (library, line).
    fn results(lines: &[(usize, &str)]) -> Results {
        let mut results = Results::new(["pombo", "a", "b"].map(String::from).to_vec());
        for &(library, line) in lines {
            results.add(library, Figure::parse(line, 2).unwrap());
        }
        results
    }

    #[test]
    fn median_over_rounds() {
        let lines = [
            (0, "bench latency 8 9 8 10 us"),
            (0, "bench latency 8 1 0.5 2 us"),
            (0, "bench latency 8 2 1.5 3 us"),
        ];
        let spread = |lines| {
            let spread = results(lines).rows[0].spread(0).unwrap();
            (spread.median, spread.low, spread.high)
        };
        assert_eq!(spread(&lines), (2.0, 1.5, 8.0));
        assert_eq!(spread(&lines[..2]), (5.0, 1.0, 9.0));
        assert_eq!(spread(&lines[..1]), (9.0, 8.0, 10.0));
    }

    #[test]
    fn ratio_to_the_best_peer() {
        let times = results(&[
            (0, "bench latency 8 2 2 2 us"),
            (1, "bench latency 8 6 6 6 us"),
            (2, "bench latency 8 3 3 3 us"),
        ]);
        assert_eq!(times.rows[0].ratio(), Some(1.5));
        let rates = results(&[
            (0, "bench rate 8 2 2 2 M/s"),
            (1, "bench rate 8 4 4 4 M/s"),
            (2, "bench rate 8 1 1 1 M/s"),
        ]);
        assert_eq!(rates.rows[0].ratio(), Some(0.5));
    }

    #[test]
    fn no_ratio_to_nobody() {
        let alone = results(&[(0, "bench latency 8 2 2 2 us")]);
        assert_eq!(alone.rows[0].ratio(), None);
        let theirs = results(&[(1, "bench latency 8 2 2 2 us")]);
        assert_eq!(theirs.rows[0].ratio(), None);
        assert_eq!(theirs.rows[0].spread(0), None);
    }

    #[test]
    fn rows_differ_by_ranks_and_size() {
        let mut results = results(&[
            (1, "bench latency 8 2 2 2 us"),
            (0, "bench latency 0 2 2 2 us"),
            (0, "bench latency 8 2 2 2 us"),
        ]);
        results.add(0, Figure::parse("bench latency 8 1 1 1 us", 4).unwrap());
        let keys = results.rows.iter().map(|row| (row.key.size, row.key.ranks));
        let rows: Vec<_> = keys.collect();
        assert_eq!(rows, [(8, 2), (0, 2), (8, 4)]);
    }
}
