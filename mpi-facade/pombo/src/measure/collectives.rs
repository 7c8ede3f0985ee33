//! Collective operations by ECCLib's method: each participant times its own part after a barrier, in runs of some
//! iterations. Only `measure` uses it.

use super::program::{self, Program, Setting};
use crate::error::Error;

/// Iterations of a run, and runs, as in the source.
pub(super) const ITERATIONS: u32 = 16;
pub(super) const RUNS: u32 = 4;

/// Microseconds for which all ranks are silent before an iteration between hosts, so that acknowledgements are not in
/// its way, and that ports that were busy can send at once again what an idle one can.
const PAUSE: u32 = 5000;

/// An operation by an algorithm.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spec {
    pub(super) operation: String,
    /// `default`: the one that the library selects.
    pub(super) algorithm: String,
    pub(super) bytes: u64,
}

/// Its time in nanoseconds: the median of the runs' medians, and the least and the greatest of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Time {
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Spec {
    fn word(&self) -> String {
        let Spec {
            operation,
            algorithm,
            bytes,
        } = self;
        format!("{operation}:{algorithm}:{bytes}")
    }
}

/// Measures all of them, iteration by iteration in turn.
pub(super) fn measure(
    program: &Program,
    setting: &Setting<'_>,
    specs: &[Spec],
) -> Result<Vec<Time>, Error> {
    let pause = if setting.hosts.is_some() { PAUSE } else { 0 };
    let numbers = [RUNS, ITERATIONS, pause].map(|number| number.to_string());
    let words = specs.iter().map(Spec::word);
    let arguments: Vec<String> = ["collectives".to_owned()]
        .into_iter()
        .chain(numbers)
        .chain(words)
        .collect();
    let lines = program.run(setting, &arguments)?;
    specs.iter().map(|spec| time(&lines, spec)).collect()
}

fn time(lines: &[String], spec: &Spec) -> Result<Time, Error> {
    let word = spec.word();
    let median = |line: &String| {
        let (words, [median, _, _]) = program::parse(line, 2)?;
        (words[0] == word).then_some(median)
    };
    let mut medians: Vec<f64> = lines.iter().filter_map(median).collect();
    medians.sort_unstable_by(f64::total_cmp);
    let (Some(&least), Some(&most)) = (medians.first(), medians.last()) else {
        return Err(Error::Measurement {
            why: format!("printed no {word}"),
        });
    };
    let median = medians[medians.len() / 2];
    Ok(Time {
        median,
        least,
        most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_runs() {
        let spec = |algorithm: &str| Spec {
            operation: "bcast".into(),
            algorithm: algorithm.into(),
            bytes: 8,
        };
        let lines = [
            "bcast:chain:8 0 30 20 40",
            "bcast:chain:8 1 10 9 40",
            "bcast:linear:8 0 99 98 100",
            "bcast:chain:8 2 20 20 20",
            "noise",
        ];
        let lines = lines.map(String::from);
        let found = time(&lines, &spec("chain")).unwrap();
        assert_eq!(
            found,
            Time {
                median: 20.0,
                least: 10.0,
                most: 30.0
            }
        );
        let error = time(&lines, &spec("optimal")).unwrap_err().to_string();
        assert!(error.contains("bcast:optimal:8"), "{error}");
    }
}
