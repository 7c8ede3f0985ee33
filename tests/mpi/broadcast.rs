//! Tests collective operations of ranks on several hosts, and `MPI_Bcast` over multicast of the network: every root,
//! parts and copies of the world, many at once, all sizes.

use crate::message_counts::messages_between_hosts;
use crate::network::on_two_hosts;
use crate::programs::{job, ok, program};
use crate::support::{pombo, with_suite_settings};
use std::process::Stdio;

/// Runs a program with a letter for each rank: the name of its host.
fn ok_on(hosts: &str, name: &str, arguments: &[&str], variables: &[(&str, &str)]) {
    let mut command = pombo(["run"]);
    for (rank, host) in hosts.chars().enumerate() {
        let next = (rank > 0).then_some(":");
        command
            .args(next)
            .args(["-n", "1", "-env", "POMBO_FAKE_HOST"]);
        command
            .arg(host.to_string())
            .arg(program(name))
            .args(arguments);
    }
    let outcome = job(command.envs(variables.iter().copied()));
    let expected = (0, format!("ok {name}\n"));
    assert_eq!(
        (outcome.code, outcome.out),
        expected,
        "{hosts} {variables:?}: {}",
        outcome.err
    );
}

const UDP: (&str, &str) = ("POMBO_NET", "udp");
const MULTICAST: (&str, &str) = ("POMBO_COLL_BCAST", "multicast");

#[test]
fn every_rank_a_host() {
    ok(2, "bcast", &[], &[UDP]);
    ok(5, "bcast", &["200000", "1"], &[UDP, MULTICAST]);
}

#[test]
fn frames_get_lost() {
    ok(
        4,
        "bcast",
        &["8388608", "1"],
        &[UDP, ("POMBO_FAULT_LOSS", "2")],
    );
    ok(
        3,
        "bcast",
        &["300000", "1"],
        &[UDP, ("POMBO_FAULT_LOSS", "20:3")],
    );
}

#[test]
fn several_ranks_on_a_host() {
    for algorithm in ["multicast", "binomial"] {
        let variables = [("POMBO_COLL_BCAST", algorithm), ("POMBO_FAULT_LOSS", "1")];
        let outcome = on_two_hosts("bcast", &variables);
        let expected = (0, "ok bcast\n".to_owned());
        assert_eq!((outcome.code, outcome.out), expected, "{}", outcome.err);
    }
}

/// By the hierarchical algorithm and by multicast, a rank with a different length gets an error, and all continue.
#[test]
fn lengths_that_differ() {
    for hosts in ["aabb", "aab", "abba"] {
        ok_on(hosts, "lengths", &["hosts"], &[UDP]);
    }
}

/// Broadcasts of one root wait for each other; no rank sleeps while one can make progress.
#[test]
fn thousands_at_once() {
    ok_on("aabb", "outstanding", &[], &[UDP]);
}

/// Hosts with three ranks and one, with ranks that are not consecutive, or with only the first or last rank.
#[test]
fn ranks_lie_anywhere() {
    let udp = ("POMBO_NET", "udp");
    for hosts in ["aaab", "abba", "abaab", "abcca"] {
        ok_on(hosts, "bcast", &["100000", "1"], &[udp]);
    }
    for hosts in ["aaab", "abcca"] {
        ok_on(hosts, "collectives", &["few"], &[udp]);
    }
    ok_on(
        "aabab",
        "bcast",
        &["100000", "1"],
        &[udp, ("POMBO_FAULT_LOSS", "2")],
    );
    ok_on(
        "aabab",
        "collectives",
        &["few"],
        &[udp, ("POMBO_COLL_BCAST", "binomial")],
    );
}

/// The library uses exactly the algorithms that variables name.
#[test]
fn as_if_there_were_no_hosts() {
    let flat =
        ["BARRIER", "ALLREDUCE", "REDUCE", "ALLGATHER"].map(|name| format!("POMBO_COLL_{name}"));
    let mut variables = vec![("POMBO_NET", "udp"), ("POMBO_COLL_BCAST", "hierarchical")];
    ok_on("abab", "collectives", &[], &variables);
    variables.extend(flat.iter().map(|name| (name.as_str(), "linear")));
    ok_on("abab", "collectives", &["few"], &variables);
}

/// Without a network between hosts the name has no effect.
#[test]
fn one_host_needs_none() {
    ok(4, "bcast", &["100000", "1"], &[]);
    ok(3, "bcast", &["100000", "1"], &[MULTICAST]);
}

/// Returns the messages of all ranks of `entered`, each on a host of its own.
fn messages(what: &str, broadcasts: &str) -> u64 {
    let program = program("entered");
    messages_between_hosts(&program, &[what, broadcasts])
}

/// All ranks have entered groups: broadcasts are no messages, whichever rank makes which call first.
#[test]
fn ranks_enter_groups_when_mpi_starts() {
    for what in ["world", "copy", "some"] {
        assert_eq!(messages(what, "1"), messages(what, "60"), "{what}");
    }
}

/// The root dies before it has sent anything, and no launcher ends the other ranks: each of them names the root.
#[test]
fn the_root_dies() {
    let job = format!("test-root-dies-{}", std::process::id());
    let ranks = (0..4).map(|rank: usize| {
        // `timeout` ends a hang; the test takes a second.
        let mut command = std::process::Command::new("timeout");
        command.arg("600").arg(program("die")).args(["2", "bcast"]);
        with_suite_settings(&mut command);
        command.env("POMBO_JOB", &job).env("POMBO_SIZE", "4");
        command.env("POMBO_RANK", rank.to_string()).envs([UDP]);
        let piped = command.stdout(Stdio::null()).stderr(Stdio::piped());
        piped.spawn().expect("coreutils are everywhere")
    });
    for (rank, child) in ranks.collect::<Vec<_>>().into_iter().enumerate() {
        let output = child.wait_with_output().expect("a child");
        let said = String::from_utf8_lossy(&output.stderr);
        let names = "MPI_ERR_PROC_ABORTED: rank 2 of MPI_COMM_WORLD has ended";
        assert!(rank == 2 || said.contains(names), "rank {rank}: {said}");
    }
}
