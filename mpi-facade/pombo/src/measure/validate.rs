//! Predictions of broadcast trees against measurement. The predictions are in a file before the measurement begins.
//! Only `measure` uses it.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use pombo_collective::model::Network as _;
use pombo_mpi::collective::{Algorithm, Conditions, MessageTimes, Operation, Selector, TABLE};

use super::collectives::{Spec, Time};
use super::network_file::{Network, NetworkFile};
use crate::error::Error;

/// The trees, by the names of their algorithms.
const TREES: [Algorithm; 5] = [
    Algorithm::Linear,
    Algorithm::Binomial,
    Algorithm::Chain,
    Algorithm::BlockedBinomial,
    Algorithm::Optimal,
];

/// A broadcast along all trees.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) ranks: u32,
    pub(super) bytes: u64,
    /// The part of t_hold for which a message keeps a processor busy, at most; 1 where nothing else holds messages back.
    pub(super) processor: f64,
    pub(super) trees: Vec<Tree>,
}

/// One tree: its time in nanoseconds, as predicted and as measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    pub(super) algorithm: &'static str,
    /// How many ranks at once want a processor, on average, where processors carry the messages; 1 elsewhere.
    pub(super) sharers: f64,
    pub(super) predicted: u64,
    pub(super) measured: Option<Time>,
}

/// Returns the time of a broadcast of which `start` is start-up while so many ranks at once want a processor: each has
/// 1/S of its bandwidth (ECCLib, equation 4.3).
fn slowed(start: u64, time: u64, sharers: f64) -> u64 {
    let start = start.min(time);
    start + ((time - start) as f64 * sharers) as u64
}

/// Returns the text that ranks read of one network.
pub(super) fn times(network: &Network) -> String {
    NetworkFile::new(vec![network.clone()]).compact()
}

/// Predicts a broadcast along all trees. Where processors carry the messages, `cores` is their number: a message keeps
/// its sender and its receiver busy for t_hold each, so S is what all messages need by what the tree leaves them.
pub(super) fn predict(
    network: &Network,
    ranks: u32,
    bytes: u64,
    (cores, processor): (Option<u32>, f64),
) -> Case {
    // The times hold as they are, so each rank counts as one that has a processor.
    let selector = |network: &Network| {
        let wanted = [None; TABLE.len()];
        Selector::new(wanted, ranks as usize, &times(network), &network.name)
    };
    let empty = Network {
        standard: network.standard.first().copied().into_iter().collect(),
        ..network.clone()
    };
    let (own, start) = (selector(network), selector(&empty));
    let conditions = Conditions {
        ranks: ranks as usize,
        several_hosts: network.name != "shm",
        ..Conditions::default()
    };
    let busy = 2.0 * f64::from(ranks - 1) * hold(network, bytes);
    let tree = |algorithm: Algorithm| {
        let cost = |by: &Selector| by.cost(Operation::Bcast, algorithm, bytes as usize, conditions);
        let (start, time) = (cost(&start)?, cost(&own)?);
        let sharers = cores.map_or(1.0, |cores| {
            (busy / (time.max(1) as f64 * f64::from(cores))).max(1.0)
        });
        Some(Tree {
            algorithm: algorithm.name(),
            sharers,
            predicted: slowed(start, time, sharers),
            measured: None,
        })
    };
    Case {
        ranks,
        bytes,
        processor,
        trees: TREES.into_iter().filter_map(tree).collect(),
    }
}

/// Returns t_hold of a message, in nanoseconds.
pub(super) fn hold(network: &Network, bytes: u64) -> f64 {
    let times = MessageTimes::parse(&times(network), &network.name);
    times.map_or(0.0, |times| times.message(bytes as usize).hold as f64)
}

/// Writes the predictions, and when they are on the disk lets `measure` measure the trees of each case, in their order.
pub(super) fn run(
    path: &Path,
    cases: &mut [Case],
    mut measure: impl FnMut(&Case, &[Spec]) -> Result<Vec<Time>, Error>,
) -> Result<(), Error> {
    write(path, cases)?;
    for case in cases {
        let spec = |tree: &Tree| Spec {
            operation: "bcast".into(),
            algorithm: tree.algorithm.into(),
            bytes: case.bytes,
        };
        let specs: Vec<Spec> = case.trees.iter().map(spec).collect();
        let times = measure(case, &specs)?;
        for (tree, time) in case.trees.iter_mut().zip(times) {
            tree.measured = Some(time);
        }
    }
    Ok(())
}

/// Writes what is known of the cases, to the disk.
pub(super) fn write(path: &Path, cases: &[Case]) -> Result<(), Error> {
    let mut file = File::create(path).map_err(Error::file("write", path))?;
    let written = file
        .write_all(toml(cases).as_bytes())
        .and_then(|()| file.sync_all());
    written.map_err(Error::file("write", path))
}

fn toml(cases: &[Case]) -> String {
    let mut text = String::from("# Broadcasts along trees; nanoseconds\n");
    for Case {
        ranks,
        bytes,
        processor,
        trees,
    } in cases
    {
        let _ = write!(
            text,
            "\n[[broadcast]]\nranks = {ranks}\nbytes = {bytes}\nprocessor = {processor:.3}\n"
        );
        for tree in trees {
            let Tree {
                algorithm,
                sharers,
                predicted,
                measured,
            } = tree;
            let _ = write!(
                text,
                "{algorithm} = {{ predicted = {predicted}, sharers = {sharers:.2}"
            );
            if let Some(Time {
                median,
                least,
                most,
            }) = measured
            {
                let _ = write!(
                    text,
                    ", measured = {median:.0}, least = {least:.0}, most = {most:.0}"
                );
            }
            text += " }\n";
        }
    }
    text
}

impl Case {
    /// Returns the tree of least predicted time, which the library takes.
    pub(super) fn chosen(&self) -> Option<&Tree> {
        self.trees.iter().min_by_key(|tree| tree.predicted)
    }

    /// Returns by which factor the chosen tree is slower than the best measured one.
    pub(super) fn behind(&self) -> Option<f64> {
        let measured = |tree: &Tree| tree.measured.map(|time| time.median);
        let best = self
            .trees
            .iter()
            .filter_map(measured)
            .min_by(f64::total_cmp)?;
        Some(measured(self.chosen()?)? / best)
    }

    /// Returns whether the model's assumption holds: messages wait for the line, not for a processor.
    pub(super) fn is_real(&self) -> bool {
        self.processor <= 0.1
    }
}

/// Returns the table, and how often the chosen tree is the measured best or within 10 % of it.
pub(super) fn table(cases: &[Case]) -> String {
    let mut text = format!(
        "{:>5} {:>9} {:>6} {:<18} {:>13} {:>13} {:>25} {:>9}\n",
        "ranks",
        "bytes",
        "proc.",
        "tree",
        "predicted, us",
        "measured, us",
        "least to most of runs",
        "measured/predicted"
    );
    for case in cases {
        for tree in &case.trees {
            let Some(time) = tree.measured else { continue };
            let mark = if case.chosen() == Some(tree) { "*" } else { "" };
            let _ = writeln!(
                text,
                "{:>5} {:>9} {:>5.0}% {:<18} {:>13.1} {:>13.1} {:>25} {:>9.2}",
                case.ranks,
                case.bytes,
                case.processor * 100.0,
                format!("{}{mark}", tree.algorithm),
                tree.predicted as f64 / 1e3,
                time.median / 1e3,
                format!("{:.1} to {:.1}", time.least / 1e3, time.most / 1e3),
                time.median / (tree.predicted as f64).max(1.0)
            );
        }
    }
    for (is_real, name) in [
        (true, "processor at most 10 % of t_hold"),
        (false, "processors hold messages back"),
    ] {
        let behind = cases
            .iter()
            .filter(|case| case.is_real() == is_real)
            .filter_map(Case::behind);
        let behind: Vec<f64> = behind.collect();
        let good = behind.iter().filter(|&&factor| factor <= 1.1).count();
        if !behind.is_empty() {
            let _ = writeln!(
                text,
                "{name}: the chosen tree (*) is the measured best or within 10 % of it in {good} of {} cases",
                behind.len()
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::network_file::Knot;
    use super::*;

    fn network() -> Network {
        let knot = |bytes, hold, end| Knot {
            bytes,
            hold,
            end,
            combine: 0,
        };
        Network {
            name: "udp".into(),
            ranks: 4,
            measured: String::new(),
            deviation: 0.0,
            standard: vec![knot(0, 2, 5), knot(1000, 1002, 1005)],
            synchronous: Vec::new(),
            samples: Vec::new(),
        }
    }

    fn time(median: f64) -> Time {
        Time {
            median,
            least: median,
            most: median,
        }
    }

    /// The parameterised multicast trees' example: t_hold 2, t_end 5, four ranks.
    #[test]
    fn the_published_example() {
        let case = predict(&network(), 4, 0, (None, 0.0));
        let found: Vec<_> = case
            .trees
            .iter()
            .map(|tree| (tree.algorithm, tree.predicted))
            .collect();
        assert_eq!(
            found,
            [
                ("linear", 9),
                ("binomial", 10),
                ("chain", 15),
                ("blocked_binomial", 9),
                ("optimal", 9)
            ]
        );
        assert_eq!(case.chosen().unwrap().algorithm, "linear");
    }

    /// Two messages of three at a time on two processors, which two ranks fill: half of the bandwidth. Along the line one
    /// message follows the other, so nobody shares.
    #[test]
    fn sharers_take_bandwidth_but_no_start_up() {
        assert_eq!(slowed(100, 1100, 3.0), 3100);
        assert_eq!(slowed(100, 50, 3.0), 50);
        let case = predict(&network(), 8, 1_000_000, (Some(2), 1.0));
        let found = |name: &str| {
            let tree = case.trees.iter().find(|tree| tree.algorithm == name);
            let tree = tree.expect("a tree");
            (tree.sharers, tree.predicted)
        };
        let (line, binomial) = (found("linear"), found("binomial"));
        assert!((line.0 - 1.0).abs() < 0.01, "{line:?}");
        // Seven messages in the time of three.
        assert!((binomial.0 - 7.0 / 3.0).abs() < 0.01, "{binomial:?}");
        // So both take the time of seven messages.
        assert!(
            line.1.abs_diff(binomial.1) < line.1 / 100,
            "{line:?} {binomial:?}"
        );
        let alone = predict(&network(), 8, 1_000_000, (None, 0.0));
        assert!(alone.trees.iter().all(|tree| tree.sharers == 1.0));
    }

    #[test]
    fn predictions_are_on_the_disk_before_anything_is_measured() {
        let path = std::env::temp_dir().join(format!("pombo-predictions-{}", std::process::id()));
        let mut cases = [2, 4].map(|ranks| predict(&network(), ranks, 1000, (None, 0.0)));
        let expected = toml(&cases);
        let mut seen = Vec::new();
        run(&path, &mut cases, |case, specs| {
            seen.push(std::fs::read_to_string(&path).unwrap());
            assert!(case.trees.iter().all(|tree| tree.measured.is_none()));
            Ok(specs.iter().map(|_| time(1.0)).collect())
        })
        .unwrap();
        assert_eq!(seen, [expected.clone(), expected.clone()]);
        assert!(expected.contains("predicted") && !expected.contains("measured"));
        assert!(
            cases
                .iter()
                .flat_map(|case| &case.trees)
                .all(|tree| tree.measured == Some(time(1.0)))
        );
        write(&path, &cases).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(text.contains("measured = 1,"), "{text}");
    }

    #[test]
    fn the_chosen_tree_against_the_best() {
        let mut case = predict(&network(), 4, 0, (None, 0.05));
        for (tree, median) in case.trees.iter_mut().zip([12.0, 10.0, 11.0, 30.0, 40.0]) {
            tree.measured = Some(time(median));
        }
        assert!((case.behind().unwrap() - 1.2).abs() < 1e-9);
        let other = Case {
            processor: 0.5,
            ..case.clone()
        };
        let text = table(&[case, other]);
        for words in [
            "linear*",
            "at most 10 % of t_hold: the chosen tree (*) is the measured best or within 10 % of it in 0 of 1",
            "hold messages back",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
