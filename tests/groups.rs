//! Tests jobs of real processes with groups: 16 members that join, leave, talk and are killed, over shared memory and
//! UDP, and the matrix product. `POMBO_GROUP_SECONDS` sets how long they do.

#[path = "launcher/support.rs"]
#[allow(dead_code, reason = "the launcher's own tests use the rest")]
mod support;

use std::collections::BTreeSet;
use std::time::Duration;
use support::{Job, directory, example, finish, pombo, until};

/// Returns how long the processes join, leave and talk, in seconds.
fn seconds() -> u64 {
    let seconds = std::env::var("POMBO_GROUP_SECONDS").map(|text| text.parse().expect("seconds"));
    seconds.unwrap_or(2)
}

fn time() -> Duration {
    Duration::from_secs(seconds())
}

/// Runs 16 processes over that network, of which these are killed. All others print the same processes and members,
/// and none of the victims is among them.
fn survivors_have_the_same_groups(net: &[&str], victims: &[usize]) {
    let mut command = pombo(["run", "--enable-recovery", "-n", "16"]);
    command
        .args(net)
        .arg(example("groups"))
        .arg(seconds().to_string());
    command.args(victims.iter().map(usize::to_string));
    let outcome = Job::start(&mut command).finish_after(time());
    check(&outcome.out, victims);
    println!("{}", outcome.err);
}

/// Checks that the processes of 16 that are no victims have printed the same, and none of the victims.
fn check(out: &str, victims: &[usize]) {
    let lines = out
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
    assert_eq!(ranks, expected, "{out}");
    let texts: BTreeSet<&str> = lines.iter().map(|(_, text)| *text).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(
        texts
            .iter()
            .all(|text| text.starts_with(&format!("{expected:?}"))),
        "{texts:?}"
    );
}

/// Of 16 processes four join while the others run; two of those, and three of the others, are killed.
#[test]
fn survivors_of_16_of_which_some_join_later_have_the_same_groups() {
    let (file, victims) = (directory("groups-join").join("job"), [0, 7, 11, 13, 14]);
    let words = || victims.iter().map(usize::to_string);
    let mut command = pombo(["run", "--enable-recovery", "-n", "12", "--spare", "4"]);
    command.arg("--job-file").arg(&file);
    command
        .arg(example("groups"))
        .arg(seconds().to_string())
        .args(words());
    let job = Job::start(&mut command);
    until("the job has its file", || file.exists());
    let guests: Vec<Job> = (1..5)
        .map(|tenths| {
            std::thread::sleep(Duration::from_millis(seconds() * 100));
            let mut command = pombo(["join"]);
            command.arg(&file).arg(example("groups"));
            // All come to their ends at about the same time.
            let rest = seconds() - seconds() * tenths / 10;
            Job::start(command.arg(rest.to_string()).args(words()))
        })
        .collect();
    let finish = |job: Job| job.finish_after(time());
    let guests: Vec<_> = guests.into_iter().map(finish).collect();
    let job = finish(job);
    let out: String = guests.iter().chain([&job]).map(|one| &*one.out).collect();
    println!("{}", job.err);
    guests.iter().for_each(|guest| println!("{}", guest.err));
    check(&out, &victims);
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
