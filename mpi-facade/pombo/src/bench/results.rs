//! All figures of all libraries over all rounds. `interleave` fills it; `table`, `json`, `plot` and `targets` read it.

use super::measured_value::{Figure, Key, Spread};
use super::median_bounds::bounds;
use super::state::{Lines, State, are_comparable};

/// The results; our own libraries come first.
pub(super) struct Results {
    pub(super) libraries: Vec<Column>,
    pub(super) rows: Vec<Row>,
    /// Turns in a state of the line that a library has at least, or it has no figure there.
    pub(super) least: usize,
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
    /// The turn of each library in each round.
    pub(super) rounds: Vec<Vec<Option<Turn>>>,
}

/// What a library measured in one round.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) spread: Spread,
    pub(super) lines: Lines,
}

/// The other libraries that ours is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rival {
    /// The best in the measurement of all but Intel's.
    Best,
    Intel,
}

/// How many times better ours is than another library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    /// The other library.
    pub(super) peer: usize,
    /// The median of the ratios of each round, because the machine may change between rounds.
    pub(super) median: f64,
    /// The 95 % bounds of the median; `None` of too few rounds.
    pub(super) bounds: Option<[f64; 2]>,
    /// Rounds in which both had a turn in this state, with lines that took about the same time.
    pub(super) rounds: usize,
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
            least: 1,
        }
    }

    /// Adds a figure, with the lines before and after its turn. Rows are in the order of their first figures.
    pub(super) fn add(&mut self, round: usize, library: usize, figure: Figure, lines: Lines) {
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
        let spread = figure.spread;
        rounds[round][library] = Some(Turn { spread, lines });
    }

    pub(super) fn describe(&mut self, library: usize, version: &str) {
        version.clone_into(&mut self.libraries[library].version);
    }

    /// Returns the row of a measurement, if it has any figure.
    pub(super) fn row(&self, name: &str, size: u64, ranks: u32) -> Option<&Row> {
        let is_it = |key: &Key| (&*key.name, key.size, key.ranks) == (name, size, ranks);
        self.rows.iter().find(|row| is_it(&row.key))
    }

    /// Returns the indices of our own libraries.
    pub(super) fn ours(&self) -> impl Iterator<Item = usize> {
        let numbered = self.libraries.iter().enumerate();
        numbered
            .filter(|(_, library)| library.is_ours)
            .map(|(index, _)| index)
    }

    /// Returns which other libraries there are to compare with.
    pub(super) fn rivals(&self) -> impl Iterator<Item = Rival> {
        let is_there = |rival: &Rival| self.libraries.iter().any(|one| one.is(*rival));
        [Rival::Best, Rival::Intel].into_iter().filter(is_there)
    }

    /// Returns the nanoseconds that lines took before and after all turns of this state.
    pub(super) fn line(&self, state: State) -> Option<Spread> {
        let turns = self.rows.iter().flat_map(Row::turns);
        let turns = turns.filter(|(.., turn)| turn.state() == Some(state));
        let lines: Vec<f64> = turns
            .flat_map(|(.., turn)| turn.lines.into_iter().flatten())
            .collect();
        (!lines.is_empty()).then(|| Spread::among(lines.into_iter()))
    }

    /// Returns the number of turns in which the state changed, so that they count nowhere.
    pub(super) fn dropped(&self) -> usize {
        self.rows.iter().map(Row::dropped).sum()
    }

    /// Returns a library's figure in this state; `None` if it had too few turns in it.
    pub(super) fn figure(&self, row: &Row, library: usize, state: State) -> Option<Spread> {
        let least = if state == State::Shared {
            1
        } else {
            self.least
        };
        let has_enough = row.count(library, state) >= least;
        has_enough.then(|| row.spread(library, state)).flatten()
    }

    /// Returns how many times better a library of ours is than another one over the same network in this state.
    pub(super) fn ratio(
        &self,
        row: &Row,
        state: State,
        ours: usize,
        rival: Rival,
    ) -> Option<Ratio> {
        self.figure(row, ours, state)?;
        let peer = self.peer(row, state, ours, rival)?;
        let in_round = |round: &Vec<Option<Turn>>| {
            let in_state = |turn: &Turn| turn.state() == Some(state);
            let ours = round[ours].filter(in_state)?;
            let peer = round[peer].filter(in_state)?;
            let (own, best) = (ours.spread.median, peer.spread.median);
            let ratio = if row.key.is_cost() {
                best / own
            } else {
                own / best
            };
            are_comparable(ours.lines, peer.lines).then_some(ratio)
        };
        let ratios = sorted(row.rounds.iter().filter_map(in_round));
        Some(Ratio {
            peer,
            median: middle(&ratios)?,
            bounds: bounds(&ratios),
            rounds: ratios.len(),
        })
    }

    /// Returns the library with the best median among the rivals over the same network.
    fn peer(&self, row: &Row, state: State, ours: usize, rival: Rival) -> Option<usize> {
        let network = self.libraries[ours].network;
        let numbered = self.libraries.iter().enumerate();
        let peers = numbered.filter(|(_, one)| one.is(rival) && one.network == network);
        let medians =
            peers.filter_map(|(who, _)| Some((who, self.figure(row, who, state)?.median)));
        let best = match row.key.is_cost() {
            true => medians.min_by(|a, b| a.1.total_cmp(&b.1)),
            false => medians.max_by(|a, b| a.1.total_cmp(&b.1)),
        };
        best.map(|(who, _)| who)
    }
}

impl Column {
    fn is(&self, rival: Rival) -> bool {
        let is_intel = self.version.starts_with("Intel");
        !self.is_ours && is_intel == (rival == Rival::Intel)
    }
}

impl Turn {
    /// Returns the state in which the turn counts; `None` if the state changed.
    pub(super) fn state(&self) -> Option<State> {
        State::of_turn(self.lines)
    }
}

impl Row {
    /// Returns round, library and turn of all turns.
    pub(super) fn turns(&self) -> impl Iterator<Item = (usize, usize, &Turn)> {
        self.rounds.iter().enumerate().flat_map(|(round, turns)| {
            let turns = turns.iter().enumerate();
            turns.filter_map(move |(library, turn)| Some((round, library, turn.as_ref()?)))
        })
    }

    /// Returns the states in which the measurement has figures, or should have them.
    pub(super) fn states(&self) -> &'static [State] {
        match self.turns().any(|(.., turn)| turn.lines.is_some()) {
            true => &[State::Near, State::Far],
            false => &[State::Shared],
        }
    }

    /// Returns the number of turns of a library in this state.
    pub(super) fn count(&self, library: usize, state: State) -> usize {
        self.of(library, state).count()
    }

    /// Returns the number of turns in which the state changed.
    pub(super) fn dropped(&self) -> usize {
        let lost = self.turns().filter(|(.., turn)| turn.state().is_none());
        lost.count()
    }

    /// Returns the median of the medians of all turns in this state, and the quartiles of all their values.
    pub(super) fn spread(&self, library: usize, state: State) -> Option<Spread> {
        let medians = sorted(self.of(library, state).map(|spread| spread.median));
        let all = self.of(library, state);
        let all = sorted(all.flat_map(|spread| [spread.low, spread.median, spread.high]));
        let quarter = all.len() / 4;
        Some(Spread {
            median: middle(&medians)?,
            low: *all.get(quarter)?,
            high: *all.iter().rev().nth(quarter)?,
        })
    }

    fn of(&self, library: usize, state: State) -> impl Iterator<Item = Spread> {
        let turns = self.rounds.iter().filter_map(move |round| round[library]);
        let turns = turns.filter(move |turn| turn.state() == Some(state));
        turns.map(|turn| turn.spread)
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
            results.add(round, library, Figure::parse(line, 2).unwrap(), None);
        }
        results
    }

    /// Adds ours, two microseconds, and a peer's figure to a round, with the lines before and after both.
    pub(in super::super) fn add_pair(results: &mut Results, round: usize, peer: f64, lines: Lines) {
        let figure = |median: f64| {
            let line = format!("bench latency 8 {median} {median} {median} us");
            Figure::parse(&line, 2).unwrap()
        };
        results.add(round, 0, figure(2.0), lines);
        results.add(round, 1, figure(peer), lines);
    }

    pub(in super::super) const NEAR: Lines = Some([45.0, 46.0]);
    pub(in super::super) const FAR: Lines = Some([200.0, 201.0]);
    pub(in super::super) const CHANGED: Lines = Some([45.0, 201.0]);

    fn ratio(results: &Results) -> Option<f64> {
        let ratio = results.ratio(&results.rows[0], State::Shared, 0, Rival::Best);
        ratio.map(|ratio| ratio.median)
    }

    #[test]
    fn states_are_apart_and_changes_count_nowhere() {
        let mut results = results(&[]);
        results.least = 3;
        for round in 0..3 {
            add_pair(&mut results, 3 * round, 4.0, NEAR);
            add_pair(&mut results, 3 * round + 1, 1.0, FAR);
            add_pair(&mut results, 3 * round + 2, 1000.0, CHANGED);
        }
        let row = &results.rows[0];
        assert_eq!(row.states(), [State::Near, State::Far]);
        let ratio = |state| results.ratio(row, state, 0, Rival::Best).unwrap().median;
        assert_eq!((ratio(State::Near), ratio(State::Far)), (2.0, 0.5));
        assert_eq!((row.dropped(), results.dropped()), (6, 6));
        assert_eq!(results.line(State::Near).unwrap().low, 45.0);
        assert_eq!(results.line(State::Far).unwrap().high, 201.0);
        assert!(results.line(State::Shared).is_none());
    }

    #[test]
    fn too_few_turns_in_a_state_are_no_figure() {
        let mut results = results(&[]);
        results.least = 3;
        for round in 0..4 {
            let lines = if round < 2 { NEAR } else { FAR };
            add_pair(&mut results, round, 4.0, lines);
        }
        let row = &results.rows[0];
        for state in [State::Near, State::Far] {
            assert_eq!(row.count(0, state), 2);
            assert!(results.figure(row, 0, state).is_none());
            assert!(results.ratio(row, state, 0, Rival::Best).is_none());
        }
    }

    #[test]
    fn a_ratio_needs_both_in_one_state() {
        // In two rounds the state changed between the turns.
        let mut results = results(&[]);
        for round in 0..7 {
            add_pair(&mut results, round, 1.0 + round as f64, NEAR);
        }
        for (round, lines) in [(0, FAR), (1, Some([16.0, 17.0]))] {
            let peer = results.rows[0].rounds[round][1].as_mut();
            peer.unwrap().lines = lines;
        }
        let row = &results.rows[0];
        let ratio = results.ratio(row, State::Near, 0, Rival::Best).unwrap();
        assert_eq!((ratio.rounds, ratio.median), (5, 2.5));
        assert_eq!(ratio.bounds, Some([1.5, 3.5]));
    }

    #[test]
    fn intel_is_a_rival_of_its_own() {
        let mut results = results(&[
            (0, 0, "bench latency 8 2 2 2 us"),
            (0, 1, "bench latency 8 6 6 6 us"),
            (0, 2, "bench latency 8 1 1 1 us"),
        ]);
        results.describe(1, "MPICH Version: 5.0.2");
        results.describe(2, "Intel(R) MPI Library 2021.18.1 for Linux* OS");
        let row = &results.rows[0];
        let ratio = |rival| results.ratio(row, State::Shared, 0, rival).unwrap();
        assert_eq!(
            (ratio(Rival::Best).peer, ratio(Rival::Best).median),
            (1, 3.0)
        );
        assert_eq!(
            (ratio(Rival::Intel).peer, ratio(Rival::Intel).median),
            (2, 0.5)
        );
        let rivals: Vec<Rival> = results.rivals().collect();
        assert_eq!(rivals, [Rival::Best, Rival::Intel]);
    }

    #[test]
    fn median_over_rounds() {
        let lines = [
            (0, 0, "bench latency 8 9 8 10 us"),
            (1, 0, "bench latency 8 1 0.5 2 us"),
            (2, 0, "bench latency 8 2 1.5 3 us"),
        ];
        let spread = |lines| {
            let spread = results(lines).rows[0].spread(0, State::Shared).unwrap();
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
        assert_eq!(
            results.rows[0].spread(1, State::Shared).unwrap().median,
            4.0
        );
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
            results.add(0, library, Figure::parse(&line, 2).unwrap(), None);
        }
        assert_eq!(ratio(&results), Some(2.0));
    }

    #[test]
    fn no_ratio_to_nobody() {
        let alone = results(&[(0, 0, "bench latency 8 2 2 2 us")]);
        assert_eq!(ratio(&alone), None);
        let theirs = results(&[(0, 1, "bench latency 8 2 2 2 us")]);
        assert_eq!(ratio(&theirs), None);
        assert_eq!(theirs.rows[0].spread(0, State::Shared), None);
    }

    #[test]
    fn rows_differ_by_ranks_and_size() {
        let mut results = results(&[
            (0, 1, "bench latency 8 2 2 2 us"),
            (0, 0, "bench latency 0 2 2 2 us"),
            (0, 0, "bench latency 8 2 2 2 us"),
        ]);
        let figure = Figure::parse("bench latency 8 1 1 1 us", 4).unwrap();
        results.add(0, 0, figure, None);
        let keys = results.rows.iter().map(|row| (row.key.size, row.key.ranks));
        let rows: Vec<_> = keys.collect();
        assert_eq!(rows, [(8, 2), (0, 2), (8, 4)]);
    }
}
