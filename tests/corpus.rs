//! Replays the inputs that the fuzzers have found, and a number of random inputs.

#[path = "fuzz/src/lib.rs"]
mod fuzz;

use std::fs;
use std::path::Path;

/// Number of random inputs for each target.
const RANDOM: u64 = 3000;

fn replay(target: &str, run: fn(&[u8])) {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz");
    let corpus = fs::read_dir(fuzz.join("corpus").join(target)).expect("the corpus");
    let mut inputs = 0;
    for input in corpus {
        let path = input.expect("an input").path();
        println!("{}", path.display());
        run(&fs::read(&path).expect("the input"));
        inputs += 1;
    }
    assert!(inputs > 10, "the corpus of {target} is there");
}

/// Generates random inputs by splitmix64, which needs no crate.
fn random(run: fn(&[u8])) {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    };
    for input in 0..RANDOM {
        let len = next() % 400;
        let bytes: Vec<u8> = (0..len).map(|_| next() as u8).collect();
        println!("random input {input}");
        run(&bytes);
    }
}

#[test]
fn frames_are_read() {
    replay("frames", fuzz::frames);
    random(fuzz::frames);
}

#[test]
fn frames_and_calls_in_any_order() {
    replay("arrive", fuzz::arrive);
    random(fuzz::arrive);
}

#[test]
fn links_bear_anything() {
    replay("links", fuzz::links);
    random(fuzz::links);
}

#[test]
fn groups_bear_anything() {
    replay("groups", fuzz::groups);
    random(fuzz::groups);
}
