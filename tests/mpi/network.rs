//! Tests programs over the network between hosts: UDP between ranks that share this machine, or between two hosts that
//! are hosts by name only.

use crate::programs::{job, ok, program};
use crate::support::{Outcome, directory, pombo};
use std::fs::Permissions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const UDP: (&str, &str) = ("POMBO_NET", "udp");

/// Runs two ranks on each of two hosts, with variables for the library.
pub(crate) fn on_two_hosts(name: &str, variables: &[(&str, &str)]) -> Outcome {
    let program = program(name);
    let mut command = pombo(["run", "--stats", "-n", "2", "-env", "POMBO_FAKE_HOST", "a"]);
    command
        .arg(&program)
        .args([":", "-n", "2", "-env", "POMBO_FAKE_HOST", "b"]);
    job(command.arg(&program).envs(variables.iter().copied()))
}

/// Returns the table of `--stats`, by rank.
fn table(outcome: &Outcome) -> Vec<Vec<u64>> {
    let numbers = |line: &str| {
        let words = line.split_whitespace().map(str::parse);
        words.collect::<Result<Vec<u64>, _>>().ok()
    };
    outcome.err.lines().filter_map(numbers).collect()
}

/// Indices of columns of the table.
const FRAMES: usize = 3;
const RESENT: usize = 4;
const DROPPED: usize = 7;

#[test]
fn programs_over_udp() {
    for name in [
        "p2p", "ordering", "probe", "matched", "several", "comms", "env",
    ] {
        ok(3, name, &[], &[UDP]);
    }
    ok(5, "collectives", &[], &[UDP]);
}

#[test]
fn programs_over_udp_that_loses() {
    for name in ["p2p", "ordering", "many"] {
        for auth in ["on", "full", "off"] {
            let auth = ("POMBO_AUTH", auth);
            ok(4, name, &[], &[UDP, auth, ("POMBO_FAULT_LOSS", "2:7")]);
        }
    }
}

/// All ranks have the same key file, one has another, one has none, or others may read it.
#[test]
fn ranks_agree_on_a_key_only_with_the_same_key_file() {
    let place = directory("network-key");
    let keys = ["one", "other", "open"].map(|name| place.join(name));
    for key in &keys {
        let _ = std::fs::remove_file(key);
        std::fs::write(key, key.as_os_str().as_bytes()).expect("room");
        let shown = if key.ends_with("open") { 0o644 } else { 0o600 };
        std::fs::set_permissions(key, Permissions::from_mode(shown)).expect("it is ours");
    }
    let [one, other, open] = keys;
    let run = |rank_1: &str| {
        let mut command = pombo(["run", "--net", "udp", "-n", "3", "sh", "-c"]);
        command.arg(format!("[ $POMBO_RANK != 1 ] || {rank_1}; exec \"$0\""));
        command.arg(program("p2p")).env("POMBO_AUTH_KEY_FILE", &one);
        job(&mut command)
    };
    let outcome = run("true");
    assert_eq!(
        (outcome.code, &*outcome.out),
        (0, "ok p2p\n"),
        "{outcome:?}"
    );
    let export = |file: &Path| format!("export POMBO_AUTH_KEY_FILE={}", file.display());
    for (rank_1, why) in [
        (
            export(&other),
            "do not agree on a key: give all of them a POMBO_AUTH_KEY_FILE",
        ),
        ("unset POMBO_AUTH_KEY_FILE".into(), "do not agree on a key"),
        (
            export(&open),
            "POMBO_AUTH_KEY_FILE must be a file that its owner alone may read: chmod 600",
        ),
        (
            export(&place.join("none")),
            "cannot open the file that POMBO_AUTH_KEY_FILE names",
        ),
    ] {
        let outcome = run(&rank_1);
        assert_ne!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.err.contains(why), "not '{why}' in {}", outcome.err);
    }
}

/// Rank 0 reports on request how frames are authenticated.
#[test]
fn what_frames_are_believed_by_is_told() {
    for (auth, told) in [
        ("on", "a tag over headers and a checksum of the payload"),
        ("full", "a tag over every byte"),
        (
            "off",
            "not authenticated (POMBO_AUTH=off): whoever can send to these hosts can write",
        ),
    ] {
        let outcome = on_two_hosts("p2p", &[("POMBO_AUTH", auth), ("POMBO_VERBOSE", "1")]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let line = outcome
            .err
            .lines()
            .find(|line| line.starts_with("pombo: frames between hosts"));
        assert!(line.is_some_and(|line| line.contains(told)), "{outcome:?}");
    }
    for old in ["0", "1"] {
        let outcome = on_two_hosts("p2p", &[("POMBO_AUTH", old)]);
        assert_ne!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.err.contains("on, full, or off"), "{outcome:?}");
    }
}

#[test]
fn programs_on_two_hosts() {
    for name in [
        "p2p",
        "ordering",
        "probe",
        "matched",
        "collectives",
        "many",
        "comms",
    ] {
        let outcome = on_two_hosts(name, &[]);
        let expected = (0, format!("ok {name}\n"));
        assert_eq!((outcome.code, outcome.out), expected, "{}", outcome.err);
    }
}

#[test]
fn the_table_tells_what_the_network_did() {
    let outcome = on_two_hosts("many", &[("POMBO_FAULT_LOSS", "5")]);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let table = table(&outcome);
    assert_eq!(table.len(), 4, "{}", outcome.err);
    for (rank, row) in table.iter().enumerate() {
        assert_eq!(row[0], rank as u64);
        let bad = [FRAMES, RESENT, DROPPED]
            .iter()
            .any(|column| row[*column] == 0);
        assert!(!bad, "{}", outcome.err);
    }
}

/// In shared memory nothing is sent again, and there are no frames to count.
#[test]
fn a_job_on_one_host_has_no_network() {
    let mut command = pombo(["run", "--stats", "-n", "3"]);
    let outcome = job(command.arg(program("p2p")));
    let table = table(&outcome);
    assert_eq!(table.len(), 3, "{}", outcome.err);
    assert!(
        table
            .iter()
            .all(|row| row[1] > 0 && row[FRAMES..].iter().all(|n| *n == 0))
    );
}

/// Every other rank detects a death on its own, whatever it waits in, and names the dead rank, even if it waits for a
/// rank that has ended because of that.
#[test]
fn a_killed_rank_is_named_by_all_others() {
    for way in ["receive", "send", "spin", "collective", "any"] {
        let mut command = pombo(["run", "-l", "--net", "udp", "-n", "4"]);
        command.arg(program("die")).args(["1", way, "stubborn"]);
        let outcome = job(command.env("POMBO_KILL_TIMEOUT", "60"));
        assert_eq!(outcome.code, 137, "{way}: {}", outcome.err);
        let says = |rank: &str, what: &str| {
            let mut lines = outcome.err.lines();
            lines.any(|line| line.starts_with(&format!("[{rank}]")) && line.contains(what))
        };
        let dead = "rank 1 of MPI_COMM_WORLD has ended";
        let all = ["0", "2", "3"].iter().all(|rank| says(rank, dead));
        assert!(all, "{way}: {}", outcome.err);
    }
}

/// A rank computes until another has completed both directions of a long exchange with it, which only the progress
/// thread can serve.
#[test]
fn the_thread_serves_others_while_the_program_computes() {
    let done = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpi-served");
    for variables in [&[][..], &[UDP], &[UDP, ("POMBO_FAULT_LOSS", "5")]] {
        let _ = std::fs::remove_file(&done);
        let mut command = pombo(["run", "-n", "2"]);
        command.arg(program("busy")).arg(&done);
        command
            .env("POMBO_PROGRESS_THREAD", "1")
            .envs(variables.iter().copied());
        let outcome = job(&mut command);
        let expected = (0, "ok busy\n".to_owned());
        assert_eq!(
            (outcome.code, outcome.out),
            expected,
            "{variables:?}: {}",
            outcome.err
        );
    }
    for name in ["p2p", "collectives", "ordering"] {
        let thread = ("POMBO_PROGRESS_THREAD", "1");
        ok(3, name, &[], &[thread]);
        ok(3, name, &[], &[thread, UDP, ("POMBO_FAULT_LOSS", "2")]);
    }
}

#[test]
fn what_cannot_be_is_named() {
    let net = |net: &str| {
        let mut command = pombo(["run", "-n", "2"]);
        job(command.arg(program("p2p")).env("POMBO_NET", net))
    };
    for (wrong, code, named) in [
        ("tcp", 1, "POMBO_NET is 'tcp'; give auto"),
        ("udp:no-such-interface", 16, "'no-such-interface'"),
        ("udp:192.0.2.1", 16, "192.0.2.1"),
        ("ethernet:", 1, "POMBO_NET is 'ethernet:'; give auto"),
        (
            "ethernet:no-such-interface",
            16,
            "no interface no-such-interface",
        ),
    ] {
        let outcome = net(wrong);
        assert_eq!(outcome.code, code, "{}", outcome.err);
        assert!(outcome.err.contains(named), "{}", outcome.err);
    }
    let outcome = on_two_hosts("p2p", &[("POMBO_NET", "shm")]);
    assert!(
        outcome.err.contains("on 2 hosts, and POMBO_NET is shm"),
        "{}",
        outcome.err
    );
    let outcome = on_two_hosts("p2p", &[("POMBO_AUTH", "yes")]);
    assert!(outcome.err.contains("POMBO_AUTH"), "{}", outcome.err);
    let outcome = on_two_hosts("p2p", &[("POMBO_FAULT_LOSS", "much")]);
    assert!(outcome.err.contains("POMBO_FAULT_LOSS"), "{}", outcome.err);
}
