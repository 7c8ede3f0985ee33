//! `pombo bench`: every measurement gives a figure for this library. How good they are no test decides.

use crate::support::{directory, finish, pombo};

fn bench(place: &std::path::Path, words: &str) -> crate::support::Outcome {
    let mut command = pombo(["bench", "--quick", "--alone", "--directory"]);
    command.arg(place).args(words.split_whitespace());
    finish(command.current_dir(place))
}

#[test]
fn every_measurement_has_a_figure() {
    let place = directory("bench");
    let outcome = bench(
        &place,
        "-n 2,3 --check --json figures.json --plot figures.svg",
    );
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    for name in [
        "latency 1 MiB",
        "bandwidth 8 KiB",
        "bidirectional 64 KiB",
        "rate equal tags 8 B",
        "rate any source 8 B",
        "barrier",
        "bcast 1 MiB",
        "reduce 8 B",
        "allreduce 64 KiB",
        "allgather 1 KiB",
        "alltoall 8 B",
        "init",
        "memory",
        "launch",
        "bars met",
    ] {
        assert!(outcome.out.contains(name), "{name}: {}", outcome.out);
    }
    let figures = std::fs::read_to_string(place.join("figures.json")).unwrap();
    assert!(figures.contains("pombo-shm"), "{figures}");
    let drawing = std::fs::read_to_string(place.join("figures.svg")).unwrap();
    assert!(drawing.contains("polyline"), "{drawing}");
}

#[test]
fn one_kind_alone() {
    let place = directory("bench-only");
    let outcome = bench(&place, "-n 2,4 --only barrier");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let rows = outcome
        .out
        .lines()
        .filter(|line| line.starts_with("barrier"));
    assert_eq!(rows.count(), 2, "{}", outcome.out);
    assert!(!outcome.out.contains("launch"), "{}", outcome.out);
}

#[test]
fn every_layer() {
    let place = directory("bench-layers");
    let outcome = bench(&place, "--layers");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let heading = outcome
        .out
        .lines()
        .find(|line| line.starts_with("measurement"));
    let words: Vec<_> = heading.unwrap().split_whitespace().skip(3).collect();
    assert_eq!(words, ["line", "driver", "kernel", "MPI"]);
    // All but the cache line carry data.
    let line = outcome
        .out
        .lines()
        .find(|line| line.starts_with("latency 1 KiB"));
    assert_eq!(line.unwrap().matches("+-").count(), 3, "{}", outcome.out);
}

#[test]
fn a_measurement_that_is_not_there() {
    let place = directory("bench-unknown");
    let outcome = bench(&place, "--only speed");
    assert_eq!(outcome.code, 1);
    assert!(outcome.err.contains("--only is 'speed'"), "{}", outcome.err);
}
