//! Tests the kernel on adversarial channels, and with ranks that crash: thousands of schedules, each from a seed.
//!
//! A schedule is random traffic among two to four ranks that are polled in turn in one thread: sends of all sizes and
//! modes, receives with wildcards, cancels, probes, waiting. A schedule depends on its seed alone.
//!
//! `POMBO_SCHEDULES=1000000` runs more of them than usual; `POMBO_SCHEDULE=SEED` runs one and prints its steps.

#[path = "faults/checks.rs"]
mod checks;
mod common;
#[path = "common/numbered.rs"]
mod numbered;
#[path = "faults/plan.rs"]
mod plan;
#[path = "faults/rank.rs"]
mod rank;
#[path = "faults/receives.rs"]
mod receives;
#[path = "faults/sends.rs"]
mod sends;
#[path = "faults/world.rs"]
mod world;

use plan::Plan;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;
use world::{End, World};

const USUAL: u64 = 10_000;
/// The hang limit; a schedule takes a few milliseconds at most.
const HANG: Duration = Duration::from_secs(120);

/// Counts of what has happened, which show that the schedules cover the cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Tally {
    schedules: u64,
    crashes: u64,
    messages: u64,
    received: u64,
    cancelled: u64,
    /// Operations that ended because a rank was lost.
    lost: u64,
    /// Of these, receives whose message was lost in the middle.
    broken: u64,
    /// Receives whose message was withdrawn.
    revoked: u64,
    probes: u64,
}

/// Runs one schedule from its seed.
fn run(seed: u64, loud: bool) -> Tally {
    let _told = Told(seed);
    let plan = Plan::new(seed);
    if loud {
        let Plan {
            composition,
            acts,
            crash,
            profile,
            channel,
            limits,
            habits,
            ..
        } = &plan;
        eprintln!(
            "{composition}, {} ranks, {acts} steps, crashes {crash:?}",
            plan.ranks.len()
        );
        eprintln!("{profile:?}\n{channel:?}\n{limits:?}\n{habits:?}");
    }
    let acts = plan.acts;
    let mut world = World::new(plan, loud);
    for _ in 0..acts {
        world.act();
    }
    world.settle();
    world.end_crashes();
    world.settle();
    world.claim();
    world.check();
    world.drain();
    world.check();
    world.check_losses();
    tally(&world)
}

/// Prints the seed if the schedule fails.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!(
                "schedule {0} fails; again: POMBO_SCHEDULE={0} cargo test -p pombo-kernel --test faults",
                self.0
            );
        }
    }
}

fn tally(world: &World) -> Tally {
    let sends = |f: fn(&world::Message) -> bool| world.messages.iter().filter(|m| f(m)).count();
    let receives = |f: fn(&End) -> bool| world.receives.iter().filter(|r| f(&r.end)).count();
    let lost = sends(world::Message::was_lost) + receives(|end| matches!(end, End::Lost(..)));
    Tally {
        schedules: 1,
        crashes: world.ranks.iter().filter(|rank| rank.is_none()).count() as u64,
        messages: world.messages.len() as u64,
        received: receives(|end| matches!(end, End::Got(_))) as u64,
        cancelled: sends(world::Message::was_cancelled) as u64,
        lost: lost as u64,
        broken: receives(|end| matches!(end, End::Lost(_, Some(_)))) as u64,
        revoked: receives(|end| *end == End::Revoked) as u64,
        probes: world.found.len() as u64,
    }
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.schedules += other.schedules;
        self.crashes += other.crashes;
        self.messages += other.messages;
        self.received += other.received;
        self.cancelled += other.cancelled;
        self.lost += other.lost;
        self.broken += other.broken;
        self.revoked += other.revoked;
        self.probes += other.probes;
    }
}

/// Runs the seeds from 0, distributed over as many threads as there are cores.
fn run_all(schedules: u64) -> Tally {
    let (next, total) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let (alive, watched) = mpsc::channel();
        for _ in 0..threads {
            let (alive, next, total) = (alive.clone(), &next, &total);
            scope.spawn(move || {
                let mut sum = Tally::default();
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= schedules {
                        break;
                    }
                    // The watching thread outlives this thread.
                    let _ = alive.send(seed);
                    sum.add(run(seed, false));
                }
                total.lock().expect("nobody panics with it").add(sum);
            });
        }
        drop(alive);
        let mut last = 0;
        loop {
            match watched.recv_timeout(HANG) {
                Ok(seed) => last = seed,
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    eprintln!("a schedule hangs: {last}, or one of the {threads} before");
                    std::process::abort();
                }
            }
        }
    });
    total.into_inner().expect("nobody panics with it")
}

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    let number = value.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable}={value}: give a number")))
}

#[test]
fn no_schedule_fails() {
    if let Some(seed) = number("POMBO_SCHEDULE") {
        eprintln!("{:?}", run(seed, true));
        return;
    }
    let schedules = number("POMBO_SCHEDULES").unwrap_or(USUAL);
    let tally = run_all(schedules);
    eprintln!("{tally:?}");
    assert_eq!(tally.schedules, schedules);
    if schedules >= USUAL {
        // The minimum is about half of the usual count.
        let least = [
            (tally.crashes, 30),
            (tally.messages, 900),
            (tally.received, 700),
            (tally.cancelled, 35),
            (tally.lost, 95),
            (tally.broken, 5),
            (tally.probes, 360),
        ];
        for (count, percent) in least {
            assert!(
                count > schedules * percent / 100,
                "the schedules are too tame"
            );
        }
    }
}

/// Checks that a seed determines a schedule to the last step.
#[test]
fn a_schedule_repeats_exactly() {
    for seed in 0..50 {
        assert_eq!(run(seed, false), run(seed, false), "schedule {seed}");
    }
}
