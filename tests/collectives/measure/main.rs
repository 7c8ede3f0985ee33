//! A separate program that walks through topologies by their iterators and by hand-written loops, carries out whole
//! operations in both ways, and prints how many instructions each executes.
//!
//! The test `collectives` builds it in release mode, in one codegen unit, runs it, and compares.

mod hand;
mod log;
#[path = "../../twin/measure/step.rs"]
mod step;

use log::Log;
use pombo_collective::{self as collective, Distributor, Execution, Step};
use pombo_collective::topology::{Binomial, Circle, Complete, Linear, Ring, Rooted, Topology, Tree};
use std::hint::black_box;

/// Executes both variants, compares their results, and prints their costs.
fn compare(what: &str, name: &str, iterator: impl Fn(&mut Log), hand: impl Fn(&mut Log)) {
    let run = |f: &dyn Fn(&mut Log)| {
        let mut log = Log::default();
        // The first call warms up, because a lazily bound symbol would be counted.
        f(&mut Log::default());
        let (steps, ()) = step::count(|| f(&mut log));
        (steps, black_box(log))
    };
    let ((iterator, one), (hand, two)) = (run(&iterator), run(&hand));
    assert_eq!(one, two, "{name}: not the same");
    println!("{what} {iterator} {hand} {name}");
}

/// Carries out an operation.
#[inline(always)]
fn drive(steps: impl Iterator<Item = Step>, log: &mut Log) {
    let mut running = Execution::new(steps);
    while !running.poll(log).unwrap_or(true) {}
}

fn main() {
    step::prepare();
    for ranks in [2, 3, 8, 17, 64] {
        // The compiler must not know these values.
        let (n, root) = (black_box(ranks), black_box(ranks / 2));
        let rank = black_box(0);
        let scene = |name: &str| format!("{name} of {ranks}");

        compare(
            "iterator",
            &scene("children in a binomial tree"),
            |log| {
                Rooted::new(Binomial, root, n, root)
                    .children()
                    .for_each(|child| log.note(child))
            },
            |log| hand::binomial_children(root, n, root, |child| log.note(child)),
        );
        compare(
            "iterator",
            &scene("a line"),
            |log| Linear::new(n).line(root).for_each(|other| log.note(other)),
            |log| hand::linear(n, root, |other| log.note(other)),
        );
        compare(
            "iterator",
            &scene("a ring"),
            |log| Ring::new(n).line(root).for_each(|other| log.note(other)),
            |log| hand::ring(n, root, |other| log.note(other)),
        );
        compare(
            "iterator",
            &scene("everybody else"),
            |log| {
                Complete::new(n)
                    .line(root)
                    .for_each(|other| log.note(other))
            },
            |log| hand::others(n, root, |other| log.note(other)),
        );
        compare(
            "iterator",
            &scene("turns of the circle"),
            |log| {
                let circle = Circle::new(Complete::new(n), rank);
                circle
                    .turns()
                    .for_each(|(to, from)| log.note(to * 64 + from));
            },
            |log| hand::turns(n, rank, |to, from| log.note(to * 64 + from)),
        );
        compare(
            "operation",
            &scene("broadcast"),
            |log| {
                drive(
                    collective::broadcast(Rooted::new(Binomial, rank, n, root), 1),
                    log,
                )
            },
            |log| hand::broadcast(rank, n, root, log),
        );
        compare(
            "operation",
            &scene("scatter"),
            |log| {
                let slices = Distributor::Ascending;
                drive(
                    collective::scatter(Complete::new(n), root, root, slices),
                    log,
                );
            },
            |log| hand::scatter(root, n, log),
        );
        compare(
            "operation",
            &scene("all-to-all"),
            |log| {
                drive(
                    collective::alltoall(Circle::new(Complete::new(n), rank), 1),
                    log,
                )
            },
            |log| hand::alltoall(rank, n, log),
        );
        compare(
            "operation",
            &scene("all-gather"),
            |log| {
                drive(
                    collective::allgather(Circle::new(Complete::new(n), rank)),
                    log,
                )
            },
            |log| hand::allgather(rank, n, log),
        );
    }
}
