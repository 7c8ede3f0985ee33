//! Tests the C library with mini-applications in the manner of the field, whose results do not depend on the number of
//! ranks: `tests/c/miniapps`. The expected results are those of MPICH.

use crate::peer;
use crate::programs::{job, program_in};
use crate::support::{Outcome, pombo};

const RESULTS: [(&str, &str); 4] = [
    ("halo", "aa48835ec09e767d"),
    ("gradient", "73 iterations, 1.096676e-06, 342156.310389"),
    ("samplesort", "47a6c330500c1005"),
    ("workers", "f9579338b9d1dc2e"),
];

fn computes(name: &str, result: &str, outcome: &Outcome) {
    let printed = (outcome.code, outcome.out.as_str());
    let expected = format!("{name}: {result}\nok {name}\n");
    assert_eq!(printed, (0, expected.as_str()), "{}", outcome.err);
}

#[test]
fn results_equal_those_of_mpich() {
    for (name, result) in RESULTS {
        let program = program_in("miniapps", name);
        for (network, ranks) in (1..=8).map(|ranks| ("shm", ranks)).chain([("udp", 3)]) {
            let mut command = pombo(["run", "-n", &ranks.to_string()]);
            command.arg(&program).env("POMBO_NET", network);
            computes(name, result, &job(&mut command));
        }
    }
}

#[test]
fn mpich_computes_these_results() {
    let Some(mpich) = peer::mpich_if_compared() else {
        return;
    };
    for (name, result) in RESULTS {
        let program = mpich.compile(&format!("tests/c/miniapps/{name}.c"));
        for ranks in [1, 2, 5] {
            computes(name, result, &mpich.finish(ranks, &program));
        }
    }
}
