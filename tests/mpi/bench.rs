//! Tests `pombo bench`: every measurement gives a figure for this library. No test asserts on the values.

use crate::programs::{compile, job, source};
use crate::support::{directory, pombo};

fn bench(place: &std::path::Path, words: &str) -> crate::support::Outcome {
    let mut command = pombo(["bench", "--quick", "--alone", "--directory"]);
    command.arg(place).args(words.split_whitespace());
    job(command.current_dir(place))
}

#[test]
fn every_measurement_has_a_figure() {
    let place = directory("bench");
    let outcome = bench(
        &place,
        "-n 2,3 --check --json figures.json --markdown figures.md --plot figures.svg",
    );
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    for name in [
        "latency 1 MiB",
        "bandwidth 8 KiB",
        "latency unwritten 64 KiB",
        "bandwidth unwritten 1 MiB",
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
        "targets met",
    ] {
        assert!(outcome.out.contains(name), "{name}: {}", outcome.out);
    }
    let figures = std::fs::read_to_string(place.join("figures.json")).unwrap();
    assert!(figures.contains("pombo-shm"), "{figures}");
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    let row = &figures["measurements"][0];
    assert_eq!(row["name"], "latency");
    assert!(
        row["turns"]
            .as_array()
            .is_some_and(|turns| !turns.is_empty())
    );
    let table = std::fs::read_to_string(place.join("figures.md")).unwrap();
    assert!(table.contains("\n| bcast 1 MiB | 3 | "), "{table}");
    let drawing = std::fs::read_to_string(place.join("figures.svg")).unwrap();
    assert!(drawing.contains("no other library"), "{drawing}");
}

#[test]
fn one_kind_alone() {
    let place = directory("bench-only");
    let outcome = bench(&place, "-n 2,4 --only barrier");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    // Two ranks have a row for each state of the line, where each has a core.
    let rows = outcome
        .out
        .lines()
        .filter_map(|line| line.strip_prefix("barrier"));
    let ranks = rows.filter_map(|row| row.split_whitespace().next());
    let mut ranks: Vec<&str> = ranks.collect();
    ranks.dedup();
    assert_eq!(ranks, ["2", "4"], "{}", outcome.out);
    assert!(!outcome.out.contains("launch"), "{}", outcome.out);
}

#[test]
fn without_copies_from_process_to_process() {
    let place = directory("bench-no-cma");
    let outcome = bench(&place, "-n 2 --no-cma --only bandwidth");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    assert!(outcome.out.contains("bandwidth 1 MiB"), "{}", outcome.out);
}

#[test]
fn a_wrong_byte_ends_the_measurement() {
    let place = directory("bench-wrong-byte");
    let program = place.join("bench");
    // Both files are one program: the first one changes a byte of what the second one receives.
    let bench = source("examples/ported/bench.c");
    let bench = bench.to_str().unwrap();
    compile(&source("tests/c/wrong_byte.c"), &program, &["-O3", bench]);
    for (words, wrong) in [
        ("latency 8", false),
        ("latency 1001", true),
        ("latency-unwritten 1001", false),
        ("bandwidth 1001", true),
        ("bcast 1001", true),
        ("allreduce 1008", true),
        ("alltoall 1001", true),
    ] {
        let mut command = pombo(["run", "-n", "2"]);
        command.arg(&program).arg("0.001").args(words.split(' '));
        let outcome = job(&mut command);
        let expected = format!("a wrong byte in {words}");
        assert_eq!(
            outcome.err.contains(&expected),
            wrong,
            "{words}: {}",
            outcome.err
        );
        assert_eq!(outcome.code == 0, !wrong, "{words}: {}", outcome.err);
    }
}

#[test]
fn every_layer() {
    let place = directory("bench-layers");
    let outcome = bench(&place, "--layers --plot layers.svg");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let heading = outcome
        .out
        .lines()
        .find(|line| line.starts_with("measurement"));
    let words: Vec<_> = heading.unwrap().split_whitespace().collect();
    let columns = ["line", "mail", "copies", "streamed", "single-copy"];
    let columns = [&columns[..], &["driver", "kernel", "mailboxes", "MPI"]].concat();
    assert!(words.ends_with(&columns), "{words:?}");
    // All measurements but that of the cache line carry data, in one state of the line or the other.
    let lines = outcome.out.lines();
    let lines = lines.filter(|line| line.starts_with("latency 1 KiB"));
    let figures: usize = lines.map(|line| line.matches("+-").count()).sum();
    assert!(figures >= columns.len() - 1, "{}", outcome.out);
    let drawn = std::fs::read_to_string(place.join("layers.svg")).unwrap();
    for words in ["latency [us]", "bandwidth [MB/s]", "mailboxes", "MPI"] {
        assert!(drawn.contains(words), "{drawn}");
    }
}

#[test]
fn a_measurement_that_is_not_there() {
    let place = directory("bench-unknown");
    let outcome = bench(&place, "--only speed");
    assert_eq!(outcome.code, 1);
    assert!(outcome.err.contains("--only is 'speed'"), "{}", outcome.err);
}

/// Messages on a system that permits no hosts, or has no launcher for them.
const NO_HOSTS: [&str; 3] = [
    "this system makes no hosts",
    "which makes hosts on one machine",
    "are started by Hydra",
];

#[test]
fn two_hosts() {
    let place = directory("bench-hosts");
    let outcome = bench(
        &place,
        "--hosts -n 2 --net udp --only cast,latency --json figures.json",
    );
    if let Some(reason) = NO_HOSTS.iter().find(|words| outcome.err.contains(**words)) {
        return eprintln!("SKIPPED two_hosts: {reason}: {}", outcome.err);
    }
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    for words in [
        "Broadcast over 100 Mbit/s",
        "1: 256 KiB",
        "1: 4 MiB",
        "half round trip 8 B",
        "16 B to 1, us",
    ] {
        assert!(outcome.out.contains(words), "{words}: {}", outcome.out);
    }
    let ours = outcome
        .out
        .lines()
        .find(|line| line.starts_with("pombo-udp"));
    assert_eq!(ours.unwrap().matches('%').count(), 2, "{}", outcome.out);
    // The figure shows that the limited network carried the messages.
    assert!(
        !outcome.out.contains("faster than the line"),
        "{}",
        outcome.out
    );
    let figures = std::fs::read_to_string(place.join("figures.json")).unwrap();
    assert!(figures.contains("\"megabits\": 100"), "{figures}");
}

#[test]
fn what_hosts_do_not_have() {
    let place = directory("bench-hosts-wrong");
    for (words, reason) in [
        ("--hosts --net shm", "--net is 'shm'"),
        ("--net ethernet", "--net is 'ethernet'"),
        ("--hosts --shape fast", "100mbit"),
        ("--hosts -n 1", "-n is '1'"),
        ("--hosts --only barrier", "--only is 'barrier'"),
        ("--shape 10mbit", "--hosts"),
    ] {
        let outcome = bench(&place, words);
        assert_eq!(outcome.code, 1, "{words}: {}", outcome.err);
        assert!(outcome.err.contains(reason), "{words}: {}", outcome.err);
    }
}
