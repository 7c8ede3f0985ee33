//! Tests broadcast and reduce along trees that no formula gives: the two-level one of sites and the adaptive one.

use crate::programs::{SMALLEST, job, ok, program, run};
use crate::support::{directory, pombo};

const UDP: (&str, &str) = ("POMBO_NET", "udp");
const ADAPTIVE: [(&str, &str); 2] = [
    ("POMBO_COLL_BCAST", "adaptive"),
    ("POMBO_COLL_REDUCE", "adaptive"),
];
const TWO_LEVEL: [(&str, &str); 3] = [
    ("POMBO_COLL_BCAST", "two_level"),
    ("POMBO_COLL_REDUCE", "two_level"),
    ("POMBO_SITES", "0,0,1,2,1"),
];

/// With the threshold 0, every sample of a link changes the tree.
#[test]
fn adaptive_calls_give_what_others_give() {
    let often = [
        ("POMBO_ADAPTIVE_EVERY", "2"),
        ("POMBO_ADAPTIVE_THRESHOLD", "0"),
    ];
    for ranks in [1, 2, 3, 4, 8] {
        ok(ranks, "trees", &[], &[&ADAPTIVE[..], &often].concat());
        ok(
            ranks,
            "trees",
            &[],
            &[&ADAPTIVE[..], &often, &[UDP]].concat(),
        );
    }
    let loss = [UDP, ("POMBO_FAULT_LOSS", "2:3")];
    ok(4, "trees", &[], &[&ADAPTIVE[..], &often, &loss].concat());
    ok(
        4,
        "trees",
        &[],
        &[&ADAPTIVE[..], &often, &SMALLEST].concat(),
    );
    ok(
        4,
        "trees",
        &[],
        &[&ADAPTIVE[..], &[("POMBO_ADAPTIVE_EVERY", "0")]].concat(),
    );
}

#[test]
fn two_level_calls_give_what_others_give() {
    for ranks in [2, 5, 7] {
        ok(ranks, "trees", &[], &TWO_LEVEL);
        ok(ranks, "trees", &[], &[&TWO_LEVEL[..2], &[UDP]].concat());
    }
}

/// The delay of a frame is that of its link, both when it begins and when it changes.
#[test]
fn programs_over_links_with_delays() {
    let delay = (
        "POMBO_FAULT_DELAY",
        "0-1=2000000,1-2=300000,@20000000,0-1=100000,0-2=1000000",
    );
    ok(4, "trees", &[], &[&ADAPTIVE[..], &[UDP, delay]].concat());
    ok(3, "p2p", &[], &[UDP, delay, ("POMBO_FAULT_LOSS", "2:7")]);
}

#[test]
fn a_rank_that_ends_in_the_middle_is_an_error_of_all_others() {
    for call in ["0", "1", "7", "30"] {
        for net in [&[][..], &[UDP]] {
            let mut command = pombo(["run", "--enable-recovery", "-n", "5"]);
            command.arg(program("trees_end")).arg(call);
            command.envs(ADAPTIVE).env("POMBO_ADAPTIVE_EVERY", "3");
            let outcome = job(command.envs(net.iter().copied()));
            assert_eq!(outcome.out, "told\n".repeat(4), "{call}: {}", outcome.err);
        }
    }
}

/// Who asks is told of each change of a link that the tree uses, and which forecaster found it.
#[test]
fn changes_of_links_are_told_with_their_forecasters() {
    let verbose = [
        UDP,
        ("POMBO_VERBOSE", "1"),
        ("POMBO_ADAPTIVE_EVERY", "2"),
        ("POMBO_ADAPTIVE_THRESHOLD", "0"),
    ];
    let outcome = run(3, "trees", &[], &[&ADAPTIVE[..], &verbose].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let told = |line: &&str| line.starts_with("pombo: adaptive tree: rank ");
    let lines: Vec<&str> = outcome.err.lines().filter(told).collect();
    let names = ["value", "mean", "median", "exponential"];
    assert!(!lines.is_empty(), "{}", outcome.err);
    for line in lines {
        assert!(line.contains(" ns for its link to rank "), "{line}");
        assert!(names.iter().any(|name| line.ends_with(name)), "{line}");
    }
}

/// Without the tree of the rank that refuses, the other one would wait for it for ever.
#[test]
fn a_refused_first_call_does_not_keep_the_tree_from_the_others() {
    for net in [&[][..], &[UDP]] {
        ok(2, "trees_refused", &[], &[&ADAPTIVE[..], net].concat());
    }
}

#[test]
fn wrong_values_are_refused() {
    for (name, value, must) in [
        (
            "POMBO_ADAPTIVE_EVERY",
            "-1",
            "a whole number from 0 to 1000000",
        ),
        ("POMBO_ADAPTIVE_THRESHOLD", "76", "per cent from 0 to 75"),
        ("POMBO_SITES", "0,,1", "numbers separated by commas"),
        ("POMBO_FAULT_DELAY", "0-1", "A-B=NS"),
        ("POMBO_COLL_REDUCE", "multicast", "pombo info"),
        ("POMBO_COLL_GATHER", "adaptive", "pombo info"),
    ] {
        let outcome = run(2, "trees", &[], &[(name, value)]);
        assert_eq!(outcome.code, 1, "{name}={value}");
        assert!(
            outcome.err.contains(name) && outcome.err.contains(must),
            "{}",
            outcome.err
        );
    }
}

const SITES: &str = "[[site]]\nname = \"A\"\nhosts = 2\nlatency = \"1 ms\"\nrate = \"100mbit\"\n\
                     [[site]]\nname = \"B\"\nhosts = 1\n\
                     [[link]]\nsites = [\"A\", \"B\"]\nlatency = \"5 ms\"\n";

/// Without -n there is one rank on each host; two ranks share one of three hosts where there are five.
#[test]
fn jobs_over_hosts_of_sites() {
    let file = directory("trees-sites").join("sites.toml");
    let text =
        format!("{SITES}[[event]]\nat = \"100 ms\"\nsites = [\"A\", \"B\"]\nlatency = \"1 ms\"\n");
    std::fs::write(&file, text).expect("room");
    for count in [&[][..], &["-n", "5"]] {
        let mut command = pombo(["sites", "run"]);
        command.arg(&file).args(count).arg(program("trees"));
        let outcome = job(command.envs(ADAPTIVE));
        if outcome.err.contains("makes no hosts on one machine") {
            return eprintln!("SKIPPED: {}", outcome.err);
        }
        let got = (outcome.code, &*outcome.out);
        assert_eq!(got, (0, "ok trees\n"), "{}", outcome.err);
    }
    let text = format!("{SITES}[[event]]\nbroadcast = 2\nhosts = [0, 1]\nlatency = 7\n");
    std::fs::write(&file, text).expect("room");
    let mut command = pombo(["sites", "run"]);
    let outcome = job(command.arg(&file).arg(program("trees")));
    assert_eq!(outcome.code, 1);
    assert!(outcome.err.contains("at = \"2 s\""), "{}", outcome.err);
}
