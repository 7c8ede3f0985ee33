//! The cost of iterators against hand-written loops. Instructions are counted in a separate program
//! (`collectives/measure`), built in release mode as one codegen unit, one call at a time.

use crate::measured;

/// Largest ratio of instructions of all iterators to those of the loops.
const ITERATORS: f64 = 1.02;
/// Largest ratio of instructions of one operation to those of the loop, and the additional instructions for setting up
/// a schedule that can be suspended at every step.
const OPERATION: (f64, u64) = (1.2, 250);

#[test]
fn iterators_cost_what_loops_cost() {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        println!("SKIPPED: instructions are counted by the trap flag of x86-64");
        return;
    }
    let (mut iterators, mut loops, mut operations) = (0, 0, 0);
    for line in measured::measure("collectives") {
        let (ours, hand) = (line.ours, line.hand);
        if line.what == "iterator" {
            iterators += ours;
            loops += hand;
        } else {
            operations += 1;
            let bar = hand as f64 * OPERATION.0 + OPERATION.1 as f64;
            assert!(
                ours as f64 <= bar,
                "{}: {ours} instructions, by hand {hand}",
                line.name
            );
        }
    }
    assert!(loops > 1000 && operations > 10, "it has measured something");
    let ratio = iterators as f64 / loops as f64;
    println!("{iterators:6} {loops:6} {ratio:.4} all iterators");
    assert!(ratio <= ITERATORS, "{ratio:.4} is more than {ITERATORS}");
}
