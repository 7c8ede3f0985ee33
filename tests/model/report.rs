//! Reports a fault: the program, and the shortest schedule that leads to it.

use crate::explore::{Bounds, Program, World};
use crate::machine::{Fault, Machine, RANKS};
use crate::rank::{END, NOTHING, Stimulus};
use pombo_kernel::Config;
use std::fmt::Write;

/// Reports a fault of one rank, at its last input.
pub(crate) fn fault<C: Config>(
    machine: &Machine<C>,
    program: &Program,
    bounds: Bounds,
    world: World,
    fault: &Fault,
) -> String {
    let rank = world
        .vertices
        .iter()
        .position(|vertex| *vertex == fault.parent);
    let mut why = String::new();
    let rank = rank.unwrap_or(RANKS);
    let _ = write!(
        why,
        "{}\n  at: {rank} {}",
        fault.why,
        machine.describe(fault.input)
    );
    self::world(machine, program, bounds, world, &why)
}

/// Reports a fault of a world.
pub(crate) fn world<C: Config>(
    machine: &Machine<C>,
    program: &Program,
    bounds: Bounds,
    world: World,
    why: &str,
) -> String {
    let mut text = format!("{why}\n{:?}\n{bounds:?}\n", machine.setup);
    for (rank, acts) in program.iter().enumerate() {
        let _ = writeln!(text, "program of {rank}: {acts:?}");
    }
    for (rank, vertex) in schedule(machine, program.len(), world) {
        let vertex = machine.vertex(vertex);
        let _ = write!(text, "  {rank} {}", machine.describe(vertex.input));
        let (_, before) = (
            0,
            machine.vertex(parent(machine, world, rank, vertex.depth)),
        );
        for (to, sent) in vertex.sent.iter().enumerate() {
            for frame in &sent[before.sent[to].len()..] {
                let words = crate::machine::frame_in_words(machine.frame(*frame));
                let _ = write!(text, "\n      -> {to}: {words}");
            }
        }
        text.push('\n');
    }
    for rank in 0..program.len() {
        let dead = if world.is_dead(rank) { ", dead" } else { "" };
        let seen = &machine.vertex(world.vertices[rank]).seen;
        let _ = writeln!(text, "  {rank} in the end{dead}: {seen:?}");
    }
    text
}

fn parent<C: Config>(machine: &Machine<C>, world: World, rank: usize, depth: usize) -> u32 {
    match depth {
        0 | 1 => rank as u32,
        _ => machine.path(world.vertices[rank])[depth - 2],
    }
}

/// Returns an order of all inputs in which every frame is sent before it is taken.
pub(crate) fn schedule<C: Config>(
    machine: &Machine<C>,
    ranks: usize,
    world: World,
) -> Vec<(usize, u32)> {
    let paths: Vec<_> = (0..ranks)
        .map(|rank| machine.path(world.vertices[rank]))
        .collect();
    let mut at = vec![0; ranks];
    let mut order = Vec::new();
    while let Some(rank) = (0..ranks).find(|&rank| {
        let next = paths[rank].get(at[rank]);
        next.is_some_and(|&vertex| ready(machine, world, &paths, &at, (rank, vertex)))
    }) {
        order.push((rank, paths[rank][at[rank]]));
        at[rank] += 1;
    }
    let all: usize = paths.iter().map(Vec::len).sum();
    assert_eq!(order.len(), all, "histories fit together");
    order
}

fn ready<C: Config>(
    machine: &Machine<C>,
    world: World,
    paths: &[Vec<u32>],
    at: &[usize],
    (rank, vertex): (usize, u32),
) -> bool {
    let vertex = machine.vertex(vertex);
    let over = |from: usize| world.is_dead(from) && at[from] == paths[from].len();
    let sent = |from: usize| match at[from] {
        0 => 0,
        n => machine.vertex(paths[from][n - 1]).sent[rank].len(),
    };
    let frames_are_there = match vertex.input.stimulus {
        Stimulus::Poll(frames) => frames
            .iter()
            .filter(|frame| **frame != NOTHING)
            .all(|frame| {
                let from = usize::from(frame.0);
                match frame.1 {
                    END => over(from),
                    _ => over(from) || usize::from(vertex.taken[from]) <= sent(from),
                }
            }),
        _ => true,
    };
    let refused = vertex.calls.iter().enumerate().all(|(call, (to, _))| {
        vertex.input.answers.lost & 1 << call == 0 || over(usize::from(*to))
    });
    frames_are_there && refused
}
