//! Tests `pombo tree`: its table against the published example, its trees, its drawing, and what it refuses.

use std::fs;

use crate::support::{Outcome, directory, finish, pombo};

fn tree(line: &str) -> Outcome {
    finish(pombo(["tree"]).args(line.split_whitespace()))
}

/// The parameterised multicast trees' example: hold time and latency of the three trees, and the sequential one as the
/// best.
#[test]
fn the_published_example() {
    let outcome = tree("--k 4 --hold 2 --end 5");
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
    let (table, drawn) = outcome.out.split_once("\n\n").expect("a table and a tree");
    let mut lines = table.lines();
    let heading = "4 ranks, t_hold 2, t_end 5; all times are in the unit of these two";
    assert_eq!(lines.next(), Some(heading));
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let rows: Vec<_> = lines.map(words).collect();
    for row in [
        "tree latency hold",
        "optimal 9 6",
        "binomial 10 4",
        "blocked binomial, 3 9 6",
        "binary 10 4",
        "sequential 9 6",
        "chain 15 2",
    ] {
        assert!(rows.contains(&words(row)), "{row}: {table}");
    }
    assert_eq!(
        drawn,
        "optimal: each rank, and when it has the message\n0 at 0\n  3 at 5\n  2 at 7\n  1 at 9\n"
    );
}

/// MPI-F's tree of nine ranks: 0, 1, 2 and 3, 4, 5 are blocks, and 6 to 8 hang below 0 to 2.
#[test]
fn the_shape_that_was_asked_for() {
    let outcome = tree("--k 9 --hold 2 --end 5 --shape blocked --block 3");
    let (_, drawn) = outcome.out.split_once("\n\n").expect("a table and a tree");
    assert_eq!(
        drawn,
        "blocked binomial, 3: each rank, and when it has the message\n0 at 0\n  3 at 5\n    4 at 10\n    5 at 12\n  \
         1 at 7\n    7 at 12\n  2 at 9\n    8 at 14\n  6 at 11\n"
    );
    let outcome = tree("--k 1 --hold 0 --end 0 --shape chain");
    assert!(outcome.out.ends_with("\n0 at 0\n"), "{outcome:?}");
}

/// Where a send takes longer than its message, the best tree is deep.
#[test]
fn sends_that_hold_long() {
    let outcome = tree("--k 5 --hold 100 --end 1");
    assert!(
        outcome
            .out
            .ends_with("0 at 0\n  1 at 1\n    2 at 2\n      3 at 3\n        4 at 4\n"),
        "{outcome:?}"
    );
}

#[test]
fn the_drawing() {
    let file = directory("tree").join("tree.svg");
    let line = format!("--k 24 --hold 2 --end 5 --svg {}", file.display());
    let outcome = tree(&line);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let svg = fs::read_to_string(&file).expect("a drawing");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(
        svg.contains("optimal, 24 ranks, t_hold 2, t_end 5: latency "),
        "{svg}"
    );
    // Each rank has a node in the tree and an arrival on its time line; 23 messages arrive.
    assert_eq!(svg.matches("<circle").count(), 2 * 24);
    assert_eq!(svg.matches("#E18723").count(), 24 + 23 + 1);
}

/// The message names the option and what it was given.
#[test]
fn what_is_refused() {
    for (line, words) in [
        ("--hold 2 --end 5", &["--k"][..]),
        ("--k 4 --hold 2", &["--end"]),
        ("--k 0 --hold 2 --end 5", &["--k", "'0'"]),
        ("--k 1025 --hold 2 --end 5", &["--k", "'1025'", "1024"]),
        ("--k 4 --hold -2 --end 5", &["--hold", "'-2'"]),
        ("--k 4 --hold 2 --end fast", &["--end", "'fast'"]),
        (
            "--k 4 --hold 1000000000001 --end 5",
            &["--hold", "1000000000000"],
        ),
        (
            "--k 4 --hold 2 --end 5 --shape star",
            &["--shape", "'star'"],
        ),
        ("--k 4 --hold 2 --end 5 --block 0", &["--block", "'0'"]),
        (
            "--k 4 --hold 2 --end 5 --svg /nowhere/a.svg",
            &["/nowhere/a.svg"],
        ),
    ] {
        let outcome = tree(line);
        assert_eq!(
            (outcome.code, outcome.out.as_str()),
            (1, ""),
            "{line}: {outcome:?}"
        );
        assert_eq!(outcome.err.lines().count(), 1, "{line}: {outcome:?}");
        for word in words {
            assert!(
                outcome.err.contains(word),
                "{line} lacks {word}: {outcome:?}"
            );
        }
    }
}
