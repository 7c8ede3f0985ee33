//! Tests `pombo measure`, the file that it writes, `pombo explain` of an operation, and that the library does what that
//! says: by the counts of its messages.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Outcome, directory, finish, pombo};

/// Ranks of the jobs here: not a power of two, so that algorithms differ.
const RANKS: &str = "5";

/// A file of a network between hosts whose messages have these times: bytes, t_hold, t_end.
fn network(place: &Path, name: &str, knots: &[[u64; 3]]) -> PathBuf {
    let knots = knots.iter().map(|[bytes, hold, end]| {
        format!("{{ bytes = {bytes}, hold = {hold}, end = {end}, combine = 0 }}, ")
    });
    let knots: String = knots.collect();
    let text = format!(
        "version = 1\n[[network]]\nname = \"udp\"\nranks = 2\nmeasured = \"by hand\"\ndeviation = 0.0\nstandard = [{knots}]\n"
    );
    let path = place.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// Compiles the program for one test.
fn program(test: &str) -> PathBuf {
    let program = directory(test).join("chosen");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/c/chosen.c");
    let outcome = finish(pombo(["mpicc", "-o"]).arg(&program).arg(source));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    program
}

/// Runs an operation, each rank on a host of its own, and returns the messages and bytes that each rank sent.
fn counts(program: &Path, words: &[&str], environment: &[(&str, &Path)]) -> (Vec<String>, Outcome) {
    counts_over("udp", program, words, environment)
}

fn counts_over(
    net: &str,
    program: &Path,
    words: &[&str],
    environment: &[(&str, &Path)],
) -> (Vec<String>, Outcome) {
    let file = program.with_file_name("counts");
    let _ = fs::remove_file(&file);
    let mut command = pombo(["run", "--net", net, "-n", RANKS]);
    command
        .arg(program)
        .args(words)
        .env("POMBO_STATS_FILE", &file);
    for (name, value) in environment {
        command.env(name, value);
    }
    let outcome = finish(&mut command);
    assert_eq!(outcome.code, 0, "{words:?}: {outcome:?}");
    let text = fs::read_to_string(&file).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sent = |line: &str| {
        line.split_whitespace()
            .take(3)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let mut lines: Vec<String> = lines.map(sent).collect();
    lines.sort_unstable();
    assert_eq!(lines.len().to_string(), RANKS, "{text}");
    (lines, outcome)
}

fn explained(operation: &str, bytes: &str, file: &Path) -> String {
    let mut command = pombo(["explain", operation, "--json", "--no-multicast"]);
    command.args([
        "--ranks",
        RANKS,
        "--net",
        "udp",
        "--bytes",
        bytes,
        "--network",
    ]);
    let outcome = finish(command.arg(file));
    assert_eq!((outcome.code, &*outcome.err), (0, ""), "{outcome:?}");
    let (_, rest) = outcome
        .out
        .split_once("\"algorithm\":\"")
        .expect("an algorithm");
    let algorithm = rest.split('"').next().unwrap_or_default();
    assert!(outcome.out.contains("least predicted time"), "{outcome:?}");
    algorithm.to_owned()
}

/// The explained algorithm is the one that the library takes by the same file: its ranks send as many messages and bytes
/// as where the variable names that algorithm, and as where the communicator's info key does. All have the file, as it
/// says how they make communicators, too.
#[test]
fn the_library_does_what_is_explained() {
    let program = program("measure-explained-program");
    let place = directory("measure-explained");
    // Start-up alone; bandwidth alone; a little of both, with a sender that is soon free.
    let starts = network(&place, "starts.toml", &[[0, 1000, 1000]]);
    let bandwidth = network(
        &place,
        "bandwidth.toml",
        &[[0, 0, 0], [1000, 100_000, 100_000]],
    );
    let soon_free = network(&place, "free.toml", &[[0, 1, 1000], [1_000_000, 100, 2000]]);
    let mut taken = Vec::new();
    for (operation, bytes) in [
        ("allreduce", "80000"),
        ("alltoall", "2000"),
        ("gather", "4000"),
        ("allgather", "5000"),
    ] {
        for file in [&starts, &bandwidth, &soon_free] {
            let algorithm = explained(operation, bytes, file);
            let (by_file, _) = counts(
                &program,
                &["-", "-", operation, bytes],
                &[("POMBO_NETWORK", file)],
            );
            let variable = format!("POMBO_COLL_{}", operation.to_uppercase());
            let environment = [
                ("POMBO_NETWORK", &**file),
                (&*variable, Path::new(&algorithm)),
            ];
            let (by_name, _) = counts(&program, &["-", "-", operation, bytes], &environment);
            assert_eq!(by_file, by_name, "{operation} {algorithm} {file:?}");
            let key = format!("pombo_coll_{operation}");
            let (by_key, _) = counts(
                &program,
                &[&key, &algorithm, operation, bytes],
                &environment[..1],
            );
            assert_eq!(by_key, by_name, "{operation} {algorithm}");
            taken.push((operation, algorithm, by_file));
        }
    }
    // The cases are not all alike: else the counts would show nothing.
    for operation in ["allreduce", "alltoall", "gather", "allgather"] {
        let mut kinds: Vec<_> = taken.iter().filter(|(of, _, _)| *of == operation).collect();
        kinds.sort_unstable();
        kinds.dedup_by_key(|(_, algorithm, _)| algorithm.clone());
        assert!(kinds.len() > 1, "{kinds:?}");
        assert!(
            kinds.windows(2).all(|two| two[0].2 != two[1].2),
            "{kinds:?}"
        );
    }
}

/// Broadcasts by the trees that depend on times are right for every root, and those of these times have these counts.
#[test]
fn trees_by_measured_times() {
    let program = program("measure-trees-program");
    let place = directory("measure-trees");
    let sends = |tree: &str, knots: &[[u64; 3]]| {
        let file = network(&place, "times.toml", knots);
        let words = ["pombo_coll_bcast", tree, "bcast", "100"];
        counts(&program, &words, &[("POMBO_NETWORK", &file)]).0
    };
    let (soon_free, held) = (&[[0, 1, 100]], &[[0, 100, 1]]);
    assert_ne!(sends("linear", held), sends("chain", held));
    for tree in ["optimal", "blocked_binomial"] {
        assert_eq!(sends(tree, soon_free), sends("linear", soon_free), "{tree}");
    }
    assert_eq!(sends("optimal", held), sends("chain", held));
    assert_eq!(sends("blocked_binomial", held), sends("binomial", held));
}

/// A wrong value is ignored, as MPI wants it of hints, and told to who asks.
#[test]
fn a_key_that_names_no_algorithm() {
    let program = program("measure-key-program");
    let words = |key, value| [key, value, "allreduce", "80000"];
    let (plain, _) = counts(&program, &words("-", "-"), &[]);
    for (key, value) in [
        ("pombo_coll_allreduce", "fastest"),
        ("pombo_coll_allreduce", "bruck"),
        ("pombo_coll_all", "ring"),
        ("POMBO_COLL_ALLREDUCE", "linear"),
    ] {
        let verbose: &[(&str, &Path)] = &[("POMBO_VERBOSE", Path::new("1"))];
        let (ignored, outcome) = counts(&program, &words(key, value), verbose);
        assert_eq!(ignored, plain, "{key} {value}");
        let told = outcome
            .err
            .lines()
            .filter(|line| line.contains("the info key"));
        let told: Vec<&str> = told.collect();
        match key.starts_with("pombo") {
            true => assert!(
                told.len() == 1 && told[0].contains(key) && told[0].contains(value),
                "{outcome:?}"
            ),
            false => assert!(told.is_empty(), "{outcome:?}"),
        }
    }
    let (other, _) = counts(&program, &words("pombo_coll_allreduce", "linear"), &[]);
    assert_ne!(other, plain);
}

/// The whole way on shared memory: the file, the predictions beside the measurement, the drawing, and a job by the file.
#[test]
fn measured_and_used() {
    let place = directory("measure-shm");
    let (file, drawing) = (place.join("network.toml"), place.join("trees.svg"));
    let line =
        "measure --samples 3 --sizes 0,64,8192,8193 --broadcasts 64 --collectives --directory";
    let mut command = pombo(line.split(' '));
    command
        .arg(place.join("program"))
        .arg("-o")
        .arg(&file)
        .arg("--validate")
        .arg(&drawing);
    let outcome = finish(&mut command);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    for words in [
        "t_hold",
        "synchronous",
        "off by at most",
        "allreduce",
        "optimal",
        "the chosen tree",
    ] {
        assert!(outcome.out.contains(words), "{words}: {outcome:?}");
    }
    let text = fs::read_to_string(&file).unwrap();
    for words in [
        "version = 1\n",
        "name = \"shm\"",
        "{ bytes = 0, hold = ",
        "what = \"hold\", mode = \"synchronous\", bytes = 8193",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let cases = fs::read_to_string(drawing.with_extension("toml")).unwrap();
    assert_eq!(cases.matches("{ predicted = ").count(), 5, "{cases}");
    assert_eq!(cases.matches("measured = ").count(), 5, "{cases}");
    let drawn = fs::read_to_string(&drawing).unwrap();
    assert_eq!(drawn.matches("<circle").count(), 5);
    let mut command = pombo(["explain", "scan", "--network"]);
    let outcome = finish(command.arg(&file));
    assert!(
        outcome.out.contains("least predicted time") || outcome.out.contains("ranks share cores"),
        "{outcome:?}"
    );
    let outcome = finish(pombo(["run", "-n", "2", "echo", "started"]).env("POMBO_NETWORK", &file));
    assert_eq!(
        (outcome.code, &*outcome.out),
        (0, "started\nstarted\n"),
        "{outcome:?}"
    );
}

#[test]
fn what_is_refused() {
    let place = directory("measure-refused");
    let good = network(&place, "good.toml", &[[0, 1, 2]]);
    let text = fs::read_to_string(&good).unwrap();
    let old = place.join("old.toml");
    fs::write(&old, text.replace("version = 1", "version = 7")).unwrap();
    let (old, good) = (old.to_str().unwrap(), good.to_str().unwrap());
    for (arguments, words) in [
        (
            &["measure", "--net", "ethernet"][..],
            &["--net", "ethernet", "--hosts"][..],
        ),
        (&["measure", "--net", "shm", "--hosts"], &["--net", "shm"]),
        (&["measure", "--print", old], &["old.toml", "version is 7"]),
        (&["measure", "-n", "1"], &["'1'", "RANKS"]),
        (
            &["measure", "-o", "a.toml", "--validate", "a.svg"],
            &["--validate", "a.svg", "-o"],
        ),
        (&["measure", "--shape", "1mbit"], &["--hosts"]),
        (
            &["measure", "-o", old],
            &["old.toml", "version is 7", "measure again"],
        ),
        (
            &["explain", "bcasts"],
            &["bcasts", "process ID", "bcast, gather"],
        ),
        (
            &["explain", "bcast", "--bytes", "many"],
            &["--bytes", "many", "64K"],
        ),
        (
            &["explain", "bcast", "--network", "/no/such"],
            &["/no/such"],
        ),
        (
            &["explain", "1", "--network", good],
            &["--network", "process ID"],
        ),
        (&["explain", "-1"], &["-1"]),
    ] {
        let outcome = finish(&mut pombo(arguments));
        assert_eq!(
            (outcome.code, &*outcome.out),
            (1, ""),
            "{arguments:?}: {outcome:?}"
        );
        for word in words {
            assert!(
                outcome.err.contains(word),
                "{arguments:?} lacks {word}: {outcome:?}"
            );
        }
    }
    for (value, word) in [("/no/such", "/no/such"), (old, "version is 7")] {
        let outcome = finish(pombo(["run", "echo"]).env("POMBO_NETWORK", value));
        assert_eq!((outcome.code, &*outcome.out), (1, ""), "{outcome:?}");
        assert!(outcome.err.contains(word), "{outcome:?}");
    }
    let outcome = finish(pombo(["run", "echo"]).env("POMBO_NETWORK_TIMES", "udp 1:2"));
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.err.contains("POMBO_NETWORK_TIMES"), "{outcome:?}");
    let outcome = finish(&mut pombo(["measure", "--print", good]));
    assert_eq!((outcome.code, &*outcome.err), (0, ""), "{outcome:?}");
    let times = outcome.out.trim_end();
    let outcome = finish(pombo(["run", "echo"]).env("POMBO_NETWORK_TIMES", times));
    assert_eq!(outcome.code, 0, "{times}: {outcome:?}");
    // All programs of a job choose alike.
    for (name, one, other) in [
        ("POMBO_NETWORK_TIMES", "udp 0:1:2:3", "udp 0:1:2:4"),
        ("POMBO_COLL_BCAST", "chain", "binomial"),
    ] {
        let line = [
            "run", "-env", name, one, "true", ":", "-env", name, other, "true",
        ];
        let outcome = finish(&mut pombo(line));
        assert_eq!(outcome.code, 1, "{outcome:?}");
        assert!(outcome.err.contains(name), "{outcome:?}");
        let line = [
            "run", "-env", name, one, "true", ":", "-env", name, one, "true",
        ];
        let outcome = finish(&mut pombo(line));
        assert_eq!((outcome.code, &*outcome.err), (0, ""));
    }
    let nets = ["run", "-env", "POMBO_NET", "udp", "true", ":", "true"];
    let outcome = finish(pombo(nets).env("POMBO_NETWORK", good));
    assert!(
        outcome.code == 1 && outcome.err.contains("POMBO_NET,"),
        "{outcome:?}"
    );
    // A name is relative to the directory of the program.
    let mut command = pombo(["run", "-wdir", place.to_str().unwrap(), "true"]);
    let outcome = finish(command.env("POMBO_NETWORK", "good.toml"));
    assert_eq!((outcome.code, &*outcome.err), (0, ""));
}

/// A communicator remembers how its last operation of a kind went, over memory or by messages, until it gets a hint.
#[test]
fn a_hint_between_two_operations_counts() {
    let program = program("measure-hint-program");
    let sent = |words: &[&str]| counts_over("shm", &program, words, &[]).0;
    let call = ["allreduce", "4000"];
    let hint = ["pombo_coll_allreduce", "linear"];
    let none = ["-", "-"];
    let before = sent(&[hint, call, call].concat());
    let between = sent(&[none, call, hint, call].concat());
    let never = sent(&[none, call, call].concat());
    assert_ne!(between, never);
    assert_ne!(between, before);
}
