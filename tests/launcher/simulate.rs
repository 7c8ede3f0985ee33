//! Tests `pombo simulate`: its table and drawing, the page of the published experiment, and what it refuses.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Outcome, directory, finish, pombo};

/// The directory of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn simulate<'a>(words: impl IntoIterator<Item = &'a str>) -> Outcome {
    finish(pombo(["simulate"]).args(words).current_dir(repository()))
}

/// Each block of the page that begins with a command is what that command prints, and each drawing what it draws: the
/// page cannot become older than the program.
#[test]
fn the_page_shows_what_the_command_prints() {
    let page = repository().join("mpi-facade/pombo/adaptive.md");
    let page = fs::read_to_string(page).expect("the page");
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    let mut compared = 0;
    for block in blocks {
        let Some(block) = block.strip_prefix("text\n$ pombo simulate ") else {
            continue;
        };
        let (command, printed) = block.split_once('\n').expect("a line and an output");
        let fresh = directory("simulate-page").join("fresh.svg");
        let mut words: Vec<&str> = command.split_whitespace().collect();
        let drawing = words.iter().position(|word| *word == "--svg");
        let committed = drawing.map(|at| words[at + 1]);
        let path = fresh.to_str().expect("a path of text");
        if let Some(at) = drawing {
            words[at + 1] = path;
        }
        let outcome = simulate(words);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{command}");
        assert_eq!(
            outcome.out.trim_end(),
            printed.trim_end(),
            "{command}: put this into the page"
        );
        if let Some(committed) = committed {
            let read = |path: &Path| fs::read_to_string(path).expect("a drawing");
            assert!(
                read(&repository().join(committed)) == read(&fresh),
                "{committed}: draw it again with: pombo simulate {command}"
            );
        }
        compared += 1;
    }
    assert!(compared >= 6, "the page has {compared} blocks");
}

/// A line for each number of broadcasts and each tree, and a bar for each line.
#[test]
fn the_table_and_the_drawing() {
    let file = directory("simulate").join("times.svg");
    let svg = file.to_str().expect("a path of text");
    let words = "examples/sites/figure-5.toml --root 12 --broadcasts 1,3 --threshold 0,10 --every 1,2 --svg";
    let outcome = simulate(words.split_whitespace().chain([svg]));
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
    let lines: Vec<&str> = outcome.out.trim_end().lines().collect();
    assert_eq!(lines.len(), 2 + 2 * (3 + 2 * 2), "{outcome:?}");
    assert!(
        lines[0].contains("24 processes in 6 sites, root 12, 24 bytes, hold 17 % of the latency")
    );
    assert!(
        lines
            .iter()
            .any(|line| line.trim_start().starts_with("3  adaptive, 10 %, every 2 ")),
        "{outcome:?}"
    );
    let drawn = fs::read_to_string(&file).expect("a drawing");
    assert!(drawn.starts_with("<svg") && drawn.trim_end().ends_with("</svg>"));
    // The background, four colours in the legend, and four parts in each bar.
    assert_eq!(drawn.matches("<rect").count(), 1 + 4 + 4 * 14);
}

/// The message names the option or the file, and what it was given.
#[test]
fn what_is_refused() {
    let paper = "examples/sites/paper.toml";
    let bad = directory("simulate-bad").join("bad.toml");
    fs::write(
        &bad,
        "[[site]]\nname = \"a\"\nhosts = 2\nlatency = \"3 hours\"\n",
    )
    .expect("a file");
    let bad = bad.to_str().expect("a path of text");
    for (words, expected) in [
        (vec![], &["SITES.toml"][..]),
        (vec!["nowhere.toml"], &["nowhere.toml"]),
        (vec![bad], &["bad.toml, line 4", "3 hours", "120 ms"]),
        (vec![paper, "--root", "24"], &["--root", "'24'"]),
        (vec![paper, "--broadcasts", "0"], &["--broadcasts", "'0'"]),
        (vec![paper, "--broadcasts", "4,,8"], &["--broadcasts"]),
        (vec![paper, "--every", "0"], &["--every", "'0'"]),
        (
            vec![paper, "--threshold", "10001"],
            &["--threshold", "10000"],
        ),
        (vec![paper, "--hold", "some"], &["--hold", "17 %"]),
        (
            vec![paper, "--probe-limit", "2 days"],
            &["--probe-limit", "2 days"],
        ),
        (vec![paper, "--svg", "/nowhere/a.svg"], &["/nowhere/a.svg"]),
    ] {
        let outcome = simulate(words.iter().copied());
        assert_eq!(
            (outcome.code, outcome.out.as_str()),
            (1, ""),
            "{words:?}: {outcome:?}"
        );
        assert_eq!(outcome.err.lines().count(), 1, "{words:?}: {outcome:?}");
        for word in expected {
            assert!(
                outcome.err.contains(word),
                "{words:?} lacks {word}: {outcome:?}"
            );
        }
    }
}
