//! All executions of a small world, level by level.
//!
//! A step is one input of one rank: its next act, a poll that reports the next frame of one sender (or of two), a frame
//! that has left, and whether the channel was full meanwhile; or the death of a rank. A rank is a function of its
//! inputs, and the frames under way between two ranks are those that one has sent and the other has not taken. So a
//! world consists of the histories of its ranks, and worlds with equal histories are explored once: this is exact and
//! merges all orders of independent steps. Every step makes one history longer, so equal worlds are on the same level,
//! and the first fault found is one with the fewest steps.

use crate::check;
use crate::machine::{Fault, Machine, Quick, RANKS};
use crate::rank::{Act, END, IDLE, Input, NOTHING, Stimulus};
use crate::report;
use crate::wire::Answers;
use pombo_kernel::Config;
use std::collections::HashMap;

/// One list of acts per rank.
pub(crate) type Program = Vec<Vec<Act>>;

/// The events that may occur besides the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Cells of every rank in every pool.
    pub(crate) credit: u32,
    /// Whether operations are claimed at the end, not as soon as they are complete.
    pub(crate) claim_late: bool,
    /// Number of times that the channel is full without a reason.
    pub(crate) fulls: u32,
    /// Number of times that the channel needs the memory until later.
    pub(crate) laters: u32,
    pub(crate) deaths: u32,
    /// Whether a poll may report two frames.
    pub(crate) pairs: bool,
    /// Largest number of frames under way between two ranks, at which the channel is full.
    pub(crate) capacity: Option<usize>,
    /// Whether every end is followed by an epilogue.
    pub(crate) epilogue: bool,
}

/// A world: the vertices of its ranks, and the dead ranks (bit r for rank r).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct World {
    pub(crate) vertices: [u32; RANKS],
    pub(crate) dead: u8,
}

/// Counts of what was explored.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) programs: usize,
    pub(crate) states: usize,
    pub(crate) steps: usize,
    pub(crate) ends: usize,
    /// Number of paths from the beginning to an end.
    pub(crate) schedules: f64,
    pub(crate) longest: usize,
    /// Number of runs of the kernel.
    pub(crate) runs: usize,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally {
            programs,
            states,
            steps,
            ends,
            schedules,
            longest,
            runs,
        } = self;
        write!(
            f,
            "{programs} programs, {states} states, {steps} steps, {ends} ends, {schedules:.1e} schedules of up to \
             {longest} steps, {runs} runs of the kernel"
        )
    }
}

/// Number of times that a probe is tried before the check of the end repeats it.
const TRIES: u32 = 2;

/// More steps than any small world takes.
const PATIENCE: usize = 500;

pub(crate) struct Explorer<'m, C> {
    pub(crate) machine: &'m mut Machine<C>,
    pub(crate) program: &'m Program,
    pub(crate) bounds: Bounds,
}

impl<C: Config> Explorer<'_, C> {
    /// Explores the program; returns the report of the first fault.
    pub(crate) fn run(&mut self, tally: &mut Tally) -> Result<(), String> {
        let first = World {
            vertices: [0, 1, 2],
            dead: 0,
        };
        let mut level: HashMap<World, f64, Quick> = HashMap::default();
        level.insert(first, 1.0);
        let mut next = HashMap::default();
        let mut found = Vec::new();
        tally.programs += 1;
        for steps in 0..PATIENCE {
            tally.longest = tally.longest.max(steps);
            for (world, ways) in level.drain() {
                found.clear();
                let ends = self.steps(world, &mut found).map_err(|(at, fault)| {
                    report::fault(self.machine, self.program, self.bounds, at, &fault)
                })?;
                tally.states += 1;
                tally.steps += found.len();
                if ends {
                    tally.ends += 1;
                    tally.schedules += ways;
                    let mut at = world;
                    check::end(self, &mut at).map_err(|why| {
                        report::world(self.machine, self.program, self.bounds, at, &why)
                    })?;
                }
                for world in &found {
                    *next.entry(*world).or_insert(0.0) += ways;
                }
            }
            std::mem::swap(&mut level, &mut next);
            if level.is_empty() {
                return Ok(());
            }
        }
        let (world, _) = level.drain().next().expect("it is not empty");
        Err(report::world(
            self.machine,
            self.program,
            self.bounds,
            world,
            "the ranks never come to rest",
        ))
    }

    /// Returns whether the program has matched probes.
    pub(crate) fn probes_and_takes(&self) -> bool {
        let is_matched = |act: &Act| matches!(act, Act::Matched(_) | Act::AwaitMatched(_));
        self.program.iter().flatten().any(is_matched)
    }

    /// Finds all worlds one step further. Returns true if nothing more happens without a call.
    fn steps(&mut self, world: World, found: &mut Vec<World>) -> Result<bool, (World, Fault)> {
        for rank in 0..self.program.len() {
            if world.is_dead(rank) {
                continue;
            }
            for stimulus in self.stimuli(world, rank) {
                let seen = [false, true];
                for &noticed in &seen[..1 + usize::from(world.dead != 0)] {
                    let answers = Answers::default();
                    let turn = Turn {
                        world,
                        rank,
                        stimulus,
                        noticed,
                    };
                    self.variants(turn, answers, 0, found)
                        .map_err(|fault| (world, fault))?;
                }
            }
        }
        let ends = found.is_empty();
        if world.dead.count_ones() < self.bounds.deaths {
            let alive = (0..self.program.len()).filter(|rank| !world.is_dead(*rank));
            found.extend(alive.map(|rank| world.without(rank)));
        }
        Ok(ends)
    }

    /// Returns the possible next inputs of a rank.
    pub(crate) fn stimuli(&self, world: World, rank: usize) -> Vec<Stimulus> {
        let vertex = self.machine.vertex(world.vertices[rank]);
        let mut stimuli = Vec::new();
        if let Some(&act) = self.program[rank].get(vertex.acts) {
            let given_up =
                matches!(act, Act::Await(_) | Act::AwaitMatched(_)) && vertex.tries >= TRIES;
            if !given_up && !vertex.seen.stalled {
                stimuli.push(Stimulus::Act(act));
            }
        }
        self.polls(world, rank, &mut stimuli);
        if !vertex.seen.flushed {
            stimuli.push(IDLE);
        }
        for (index, (_, cookie)) in vertex.late.iter().enumerate() {
            if !vertex.late[..index]
                .iter()
                .any(|(_, other)| other == cookie)
            {
                stimuli.push(Stimulus::Landed(*cookie));
            }
        }
        stimuli
    }

    fn polls(&self, world: World, rank: usize, stimuli: &mut Vec<Stimulus>) {
        let ranks = 0..self.program.len();
        let first: [_; RANKS] = std::array::from_fn(|from| self.frame(world, from, rank, 0));
        for from in ranks.clone() {
            let Some(frame) = first[from] else { continue };
            stimuli.push(Stimulus::Poll([frame, NOTHING]));
            if !self.bounds.pairs {
                continue;
            }
            for other in ranks.clone() {
                let second = match other == from {
                    true => self.frame(world, from, rank, 1),
                    false => first[other],
                };
                stimuli.extend(second.map(|second| Stimulus::Poll([frame, second])));
            }
        }
    }

    /// Returns the frame behind `ahead` others that are under way from one rank to another.
    fn frame(&self, world: World, from: usize, to: usize, ahead: usize) -> Option<(u8, u32)> {
        if from >= self.program.len() {
            return None;
        }
        let at = usize::from(self.machine.vertex(world.vertices[to]).taken[from]) + ahead;
        let sent = &self.machine.vertex(world.vertices[from]).sent[to];
        match sent.get(at) {
            Some(frame) => Some((from as u8, *frame)),
            None if at == sent.len() && world.is_dead(from) => Some((from as u8, END)),
            None => None,
        }
    }

    /// Runs one stimulus with all possible answers of the channel to its calls, from call `open` on.
    fn variants(
        &mut self,
        turn: Turn,
        answers: Answers,
        open: usize,
        found: &mut Vec<World>,
    ) -> Result<(), Fault> {
        let Turn {
            world,
            rank,
            stimulus,
            ..
        } = turn;
        let input = Input { stimulus, answers };
        let child = self.machine.child(world.vertices[rank], input)?;
        if let Some(forced) = self.forced(turn, child, answers) {
            return self.variants(turn, forced, open, found);
        }
        let vertex = self.machine.vertex(child);
        let refused = matches!(stimulus, Stimulus::Act(Act::Send { .. })) && vertex.seen.stalled;
        let left =
            vertex.calls.len() as u32 > answers.full.count_ones() + answers.lost.count_ones();
        let vain = stimulus == IDLE && !vertex.calls.is_empty() && !left && !vertex.seen.flushed;
        if refused || vain {
            return Ok(());
        }
        let mut after = world;
        after.vertices[rank] = child;
        found.push(after);
        let calls = vertex.calls.len();
        let (fulls, laters) = self.spent(after);
        for call in open..calls {
            let bit = 1 << call;
            if (answers.full | answers.lost | answers.later) & bit != 0 {
                continue;
            }
            if fulls < self.bounds.fulls {
                let full = answers.full | bit;
                self.variants(turn, Answers { full, ..answers }, call + 1, found)?;
            }
            if laters < self.bounds.laters && self.machine.vertex(child).calls[call].1 {
                let later = answers.later | bit;
                self.variants(turn, Answers { later, ..answers }, call + 1, found)?;
            }
        }
        Ok(())
    }

    fn spent(&self, world: World) -> (u32, u32) {
        let vertices = world.vertices.iter().take(self.program.len());
        let vertices = vertices.map(|vertex| self.machine.vertex(*vertex));
        vertices.fold((0, 0), |(fulls, laters), vertex| {
            (fulls + vertex.fulls, laters + vertex.laters)
        })
    }

    /// Returns other answers if the channel cannot have given these.
    fn forced(&self, turn: Turn, child: u32, mut answers: Answers) -> Option<Answers> {
        let before = turn.world.vertices[turn.rank];
        let mut went = [0; RANKS];
        for (call, &(to, _)) in self.machine.vertex(child).calls.iter().enumerate() {
            let (to, bit) = (usize::from(to), 1 << call);
            if (answers.full | answers.lost) & bit != 0 {
                continue;
            }
            if turn.world.is_dead(to) {
                if turn.noticed {
                    answers.lost |= bit;
                    return Some(answers);
                }
                continue;
            }
            went[to] += 1;
            if let Some(capacity) = self.bounds.capacity {
                let receiver = if to == turn.rank {
                    child
                } else {
                    turn.world.vertices[to]
                };
                let taken = self.machine.vertex(receiver).taken[turn.rank];
                let sent = self.machine.vertex(before).sent[to].len() + went[to];
                if sent - usize::from(taken) > capacity {
                    answers.full |= bit;
                    return Some(answers);
                }
            }
        }
        None
    }
}

#[derive(Clone, Copy)]
struct Turn {
    world: World,
    rank: usize,
    stimulus: Stimulus,
    /// Whether the channel already refuses frames to the dead; otherwise it drops them.
    noticed: bool,
}

impl World {
    pub(crate) fn is_dead(&self, rank: usize) -> bool {
        self.dead & 1 << rank != 0
    }

    fn without(mut self, rank: usize) -> World {
        self.dead |= 1 << rank;
        self
    }
}
