//! Tests jobs of real processes with groups: 16 members that join, leave, talk and are killed, over shared memory and
//! UDP, and the matrix product. `POMBO_GROUP_SECONDS` sets how long they do.

#[path = "launcher/support.rs"]
#[allow(dead_code, reason = "the launcher's own tests use the rest")]
mod support;

use std::collections::BTreeSet;
use support::{example, finish, pombo};

/// Runs 16 processes over that network, of which these are killed. All others print the same processes and members,
/// and none of the victims is among them.
fn survivors_have_the_same_groups(net: &[&str], victims: &[usize]) {
    let seconds = std::env::var("POMBO_GROUP_SECONDS").unwrap_or_else(|_| "2".into());
    let mut command = pombo(["run", "--enable-recovery", "-n", "16"]);
    command.args(net).arg(example("groups")).arg(seconds);
    command.args(victims.iter().map(usize::to_string));
    let outcome = finish(&mut command);
    let lines = outcome
        .out
        .lines()
        .filter_map(|line| line.strip_prefix("rank ")?.split_once(": "));
    let lines: Vec<(usize, &str)> = lines
        .map(|(rank, text)| (rank.parse().expect("a rank"), text))
        .collect();
    let ranks: Vec<usize> = lines
        .iter()
        .map(|(rank, _)| *rank)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let expected: Vec<usize> = (0..16).filter(|rank| !victims.contains(rank)).collect();
    assert_eq!(ranks, expected, "{outcome:?}");
    let texts: BTreeSet<&str> = lines.iter().map(|(_, text)| *text).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(
        texts
            .iter()
            .all(|text| text.starts_with(&format!("{expected:?}"))),
        "{texts:?}"
    );
    println!("{}", outcome.err);
}

#[test]
fn survivors_of_16_over_shared_memory_have_the_same_groups() {
    survivors_have_the_same_groups(&[], &[0, 1, 7, 12, 15]);
}

#[test]
fn survivors_of_16_over_udp_have_the_same_groups() {
    survivors_have_the_same_groups(&["--net", "udp"], &[0, 3, 4, 15]);
}

#[test]
fn a_product_is_that_of_one_process_however_it_is_distributed() {
    let matrix = example("matrix");
    for (ranks, n, order) in [
        ("3", "50", "ascending"),
        ("4", "64", "descending"),
        ("5", "33", "rotated"),
    ] {
        let mut command = pombo(["run", "-n", ranks]);
        let outcome = finish(command.arg(&matrix).args([n, order]));
        let expected = format!("{n} x {n}, {order}: {ranks} members have the product of one\n");
        assert_eq!(
            (outcome.code, &*outcome.out),
            (0, &*expected),
            "{}",
            outcome.err
        );
    }
}
