//! Tests the main job: the picture of the heat solver depends on its halos only.

use crate::peer;
use crate::programs::{compile, job, source};
use crate::support::{directory, pombo};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const DECK: &str = "grid 61 47\nsteps 300\nreport 100\ninitial 20\nleft 0\nright 35\ntop 10\nbottom 60\n\
                    spot 20 20 6 100\nspot 45 30 8 0\n";

/// Runs the program in a directory of its own and returns the picture.
fn picture(name: &str, program: &Path, launch: impl FnOnce(&Path) -> Command) -> Vec<u8> {
    let place = directory(name);
    fs::write(place.join("heat.deck"), DECK).unwrap();
    let mut command = launch(program);
    let outcome = job(command.arg("heat.deck").current_dir(&place));
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    assert!(outcome.out.contains("time per step"), "{}", outcome.out);
    fs::read(place.join("heat.ppm")).unwrap()
}

fn on(ranks: usize) -> impl FnOnce(&Path) -> Command {
    move |program| {
        let mut command = pombo(["run", "-n", &ranks.to_string()]);
        command.arg(program);
        command
    }
}

/// Returns the solver without changes.
fn heat() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| with_options("heat", &[]))
}

/// Compiles the solver with options of the compiler, in a directory of that name.
fn with_options(name: &str, options: &[&str]) -> PathBuf {
    let program = directory(name).join("heat");
    compile(&source("examples/ported/heat.c"), &program, options);
    program
}

#[test]
fn the_picture_does_not_depend_on_the_number_of_ranks() {
    let program = heat();
    let one = picture("heat-1", program, on(1));
    assert!(one.starts_with(b"P6"));
    for ranks in [2, 3, 4, 7] {
        let other = picture(&format!("heat-{ranks}"), program, on(ranks));
        assert!(one == other, "{ranks} ranks draw another picture");
    }
}

#[test]
fn the_picture_depends_on_every_halo() {
    let right = picture("heat-right", heat(), on(4));
    for side in ["LEFT", "RIGHT", "UP", "DOWN"] {
        let option = format!("-DHEAT_SKIP_HALO={side}");
        let program = with_options(&format!("heat-without-{side}"), &[&option]);
        let wrong = picture(&format!("heat-wrong-{side}"), &program, on(4));
        assert!(
            right != wrong,
            "the halo on the side {side} changes nothing"
        );
    }
}

#[test]
fn the_picture_is_mpichs() {
    let Some(mpich) = peer::mpich() else { return };
    let program = mpich.compile("examples/ported/heat.c");
    let theirs = picture("heat-mpich-run", &program, |program| mpich.run(2, program));
    assert!(
        theirs == picture("heat-ours", heat(), on(2)),
        "the pictures differ"
    );
}

/// An input file that cannot be read, or is invalid, ends the job with a message that names it.
#[test]
fn a_bad_deck_is_named() {
    let program = heat();
    let place = directory("heat-bad");
    fs::write(place.join("bad.deck"), "grid 61 47\nsteps minus-one\n").unwrap();
    for (deck, named) in [("none.deck", "none.deck"), ("bad.deck", "bad.deck:2")] {
        let mut command = pombo(["run", "-n", "3"]);
        let outcome = job(command.arg(program).arg(deck).current_dir(&place));
        assert_ne!(outcome.code, 0);
        assert!(
            outcome.err.contains(named) || outcome.out.contains(named),
            "{}",
            outcome.err
        );
    }
}
