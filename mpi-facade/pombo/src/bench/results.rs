//! All figures of all libraries over all rounds. `interleave` fills it; `table`, `json`, `plot` and `targets` read it.

use super::measured_value::{Figure, Key, Spread};

/// The results; our own libraries come first.
pub(super) struct Results {
    pub(super) libraries: Vec<Column>,
    pub(super) rows: Vec<Row>,
    /// Nanoseconds in which a cache line went from core to core, sampled before each measurement.
    pub(super) lines: Vec<f64>,
}

/// One library over one network.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) is_ours: bool,
    /// The network; libraries of the same network are compared.
    pub(super) network: &'static str,
    /// The version that the library reports; empty if it never started.
    pub(super) version: String,
}

/// One measurement.
pub(super) struct Row {
    pub(super) key: Key,
    /// The spread of each round, for each library.
    rounds: Vec<Vec<Option<Spread>>>,
}

impl Results {
    /// Creates empty results; a column has a name, whether it is ours, and its network.
    pub(super) fn new(columns: impl IntoIterator<Item = (String, bool, &'static str)>) -> Results {
        let library = |(name, is_ours, network)| Column {
            name,
            is_ours,
            network,
            version: String::new(),
        };
        Results {
            libraries: columns.into_iter().map(library).collect(),
            rows: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Returns the spread of the cache-line times during the measurements.
    pub(super) fn line(&self) -> Option<Spread> {
        let is_known = !self.lines.is_empty();
        is_known.then(|| Spread::among(self.lines.iter().copied()))
    }

    /// Adds a figure. Rows are in the order of their first figures.
    pub(super) fn add(&mut self, round: usize, library: usize, figure: Figure) {
        let place = self.rows.iter().position(|row| row.key == figure.key);
        let place = place.unwrap_or_else(|| {
            self.rows.push(Row {
                key: figure.key,
                rounds: Vec::new(),
            });
            self.rows.len() - 1
        });
        let rounds = &mut self.rows[place].rounds;
        if rounds.len() <= round {
            rounds.resize(round + 1, vec![None; self.libraries.len()]);
        }
        rounds[round][library] = Some(figure.spread);
    }

    pub(super) fn describe(&mut self, library: usize, version: &str) {
        version.clone_into(&mut self.libraries[library].version);
    }

    /// Returns the indices of our own libraries.
    pub(super) fn ours(&self) -> impl Iterator<Item = usize> {
        let numbered = self.libraries.iter().enumerate();
        numbered
            .filter(|(_, library)| library.is_ours)
            .map(|(index, _)| index)
    }

    /// Returns whether there are other libraries to compare with.
    pub(super) fn has_peers(&self) -> bool {
        self.libraries.iter().any(|library| !library.is_ours)
    }

    /// Returns the peer with the best median in this measurement over the same network.
    fn best_peer(&self, row: &Row, ours: usize) -> Option<usize> {
        let network = self.libraries[ours].network;
        let is_peer = |library: &Column| !library.is_ours && library.network == network;
        let peers = (0..self.libraries.len()).filter(|who| is_peer(&self.libraries[*who]));
        let medians = peers.filter_map(|who| Some((who, row.spread(who)?.median)));
        let best = match row.key.is_cost() {
            true => medians.min_by(|a, b| a.1.total_cmp(&b.1)),
            false => medians.max_by(|a, b| a.1.total_cmp(&b.1)),
        };
        best.map(|(who, _)| who)
    }

    /// Returns how many times better a library of ours is than the best peer: the median of the ratios of each round,
    /// because the machine may change between rounds.
    pub(super) fn ratio(&self, row: &Row, ours: usize) -> Option<f64> {
        let best = self.best_peer(row, ours)?;
        let ratios = row.rounds.iter().filter_map(|round| {
            let (ours, best) = (round[ours]?.median, round[best]?.median);
            Some(if row.key.is_cost() {
                best / ours
            } else {
                ours / best
            })
        });
        middle(&sorted(ratios))
    }
}

impl Row {
    /// Returns the median of the rounds' medians, and the quartiles of all values of the rounds.
    pub(super) fn spread(&self, library: usize) -> Option<Spread> {
        let rounds = || self.rounds.iter().filter_map(|round| round[library]);
        let medians = sorted(rounds().map(|round| round.median));
        let all = sorted(rounds().flat_map(|round| [round.low, round.median, round.high]));
        let quarter = all.len() / 4;
        Some(Spread {
            median: middle(&medians)?,
            low: *all.get(quarter)?,
            high: *all.iter().rev().nth(quarter)?,
        })
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
pub(super) mod tests {
    use super::*;

    /// Builds results of ours and two peers from lines of (round, library, line) on two ranks.
    pub(in super::super) fn results(lines: &[(usize, usize, &str)]) -> Results {
        let names = [("pombo", true), ("a", false), ("b", false)];
        let columns = names.map(|(name, is_ours)| (name.into(), is_ours, "shm"));
        let mut results = Results::new(columns);
        for &(round, library, line) in lines {
            results.add(round, library, Figure::parse(line, 2).unwrap());
        }
        results
    }

    fn ratio(results: &Results) -> Option<f64> {
        results.ratio(&results.rows[0], 0)
    }

    #[test]
    fn median_over_rounds() {
        let lines = [
            (0, 0, "bench latency 8 9 8 10 us"),
            (1, 0, "bench latency 8 1 0.5 2 us"),
            (2, 0, "bench latency 8 2 1.5 3 us"),
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
            (0, 0, "bench latency 8 2 2 2 us"),
            (0, 1, "bench latency 8 6 6 6 us"),
            (0, 2, "bench latency 8 3 3 3 us"),
        ]);
        assert_eq!(ratio(&times), Some(1.5));
        let rates = results(&[
            (0, 0, "bench rate 8 2 2 2 M/s"),
            (0, 1, "bench rate 8 4 4 4 M/s"),
            (0, 2, "bench rate 8 1 1 1 M/s"),
        ]);
        assert_eq!(ratio(&rates), Some(0.5));
    }

    #[test]
    fn the_ratio_is_that_of_each_round() {
        // From the second round on the machine is three times slower, and one peer has no figure.
        let results = results(&[
            (0, 0, "bench latency 8 1 1 1 us"),
            (0, 1, "bench latency 8 2 2 2 us"),
            (1, 0, "bench latency 8 3 3 3 us"),
            (1, 1, "bench latency 8 6 6 6 us"),
            (2, 0, "bench latency 8 3 3 3 us"),
            (2, 2, "bench latency 8 9 9 9 us"),
        ]);
        assert_eq!(ratio(&results), Some(2.0));
        assert_eq!(results.rows[0].spread(1).unwrap().median, 4.0);
    }

    #[test]
    fn the_ratio_is_to_peers_over_the_same_network() {
        let columns = [
            ("pombo", true, "udp"),
            ("a", false, "shm"),
            ("b", false, "udp"),
        ];
        let columns = columns.map(|(name, is_ours, network)| (name.into(), is_ours, network));
        let mut results = Results::new(columns);
        for (library, line) in [(0, "4 4 4"), (1, "1 1 1"), (2, "8 8 8")] {
            let line = format!("bench latency 8 {line} us");
            results.add(0, library, Figure::parse(&line, 2).unwrap());
        }
        assert_eq!(ratio(&results), Some(2.0));
    }

    #[test]
    fn no_ratio_to_nobody() {
        let alone = results(&[(0, 0, "bench latency 8 2 2 2 us")]);
        assert_eq!(ratio(&alone), None);
        let theirs = results(&[(0, 1, "bench latency 8 2 2 2 us")]);
        assert_eq!(ratio(&theirs), None);
        assert_eq!(theirs.rows[0].spread(0), None);
    }

    #[test]
    fn rows_differ_by_ranks_and_size() {
        let mut results = results(&[
            (0, 1, "bench latency 8 2 2 2 us"),
            (0, 0, "bench latency 0 2 2 2 us"),
            (0, 0, "bench latency 8 2 2 2 us"),
        ]);
        results.add(0, 0, Figure::parse("bench latency 8 1 1 1 us", 4).unwrap());
        let keys = results.rows.iter().map(|row| (row.key.size, row.key.ranks));
        let rows: Vec<_> = keys.collect();
        assert_eq!(rows, [(8, 2), (0, 2), (8, 4)]);
    }
}
