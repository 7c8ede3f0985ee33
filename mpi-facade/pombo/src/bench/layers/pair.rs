//! Two ranks as threads, and the time of their messages. Only `layers` uses it.

use std::error::Error;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::Instant;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::{Pid, gettid};

use super::super::measured_value::Spread;

pub(super) type Failure = Box<dyn Error + Send + Sync>;
pub(super) type Outcome = Result<(), Failure>;

/// One of two ranks, on a thread of its own.
pub(super) trait Rank {
    /// Sends the bytes to the other rank.
    fn send(&mut self, bytes: &[u8]) -> Outcome;
    /// Waits for a message of the other rank that fills the bytes.
    fn receive(&mut self, bytes: &mut [u8]) -> Outcome;
}

/// The traffic of one repetition.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Pattern {
    /// One message in each direction; the result is the time of each in microseconds.
    PingPong,
    /// Many messages and one answer; the result is millions of messages per second.
    Window,
}

/// Messages in a window, as in `bench.c`.
const WINDOW: usize = 64;
/// Largest number of batches of a measurement, as in `bench.c`.
const BATCHES: usize = 25;
const MOST_REPEATS: usize = 10_000_000;
/// Longest wait for an undisturbed batch, in multiples of the measurement's seconds, as in `bench.c`.
const PATIENCE: f64 = 4.0;

/// State that the threads share beside their messages.
#[derive(Default)]
struct Signs {
    is_over: AtomicBool,
    /// The thread id of the answering rank.
    answerer: AtomicI32,
}

/// Measures between two ranks. The caller creates them before, because a pinned thread sees only one core.
pub(super) fn measure<R: Rank + Send>(
    pattern: Pattern,
    size: usize,
    seconds: f32,
    [mut zero, mut one]: [R; 2],
) -> Result<Spread, Failure> {
    let signs = &Signs::default();
    thread::scope(|scope| {
        // The ranks move into the threads: one that fails is dropped, which notifies the other.
        let answering = scope.spawn(move || {
            pin(1);
            signs.answerer.store(gettid().as_raw(), Ordering::Release);
            answer(&mut one, pattern, size, &signs.is_over)
        });
        let asking = scope.spawn(move || {
            pin(0);
            ask(&mut zero, pattern, size, seconds, signs)
        });
        let spread = asking.join().map_err(|_| "rank 0 panicked")?;
        answering.join().map_err(|_| "rank 1 panicked")??;
        spread
    })
}

/// Pins this thread to the core of that number among the allowed cores, as the ranks of `bench.c` do. Without pinning
/// the figures are worse, but not wrong.
pub(super) fn pin(rank: usize) {
    let this = Pid::from_raw(0);
    let Ok(allowed) = sched_getaffinity(this) else {
        return;
    };
    let is_allowed = |core: &usize| allowed.is_set(*core) == Ok(true);
    let mut own = CpuSet::new();
    if let Some(core) = (0..CpuSet::count()).filter(is_allowed).nth(rank)
        && own.set(core).is_ok()
    {
        let _ = sched_setaffinity(this, &own);
    }
}

fn ask(
    rank: &mut impl Rank,
    pattern: Pattern,
    size: usize,
    seconds: f32,
    signs: &Signs,
) -> Result<Spread, Failure> {
    let (out, mut back) = (vec![0; size], vec![0; answer_size(pattern, size)]);
    let mut once = || {
        for _ in 0..messages(pattern) {
            rank.send(&out)?;
        }
        rank.receive(&mut back)
    };
    once()?;
    let threads = [gettid().as_raw(), signs.answerer.load(Ordering::Acquire)];
    let values = sample(&mut once, seconds.into(), &threads)?;
    // The answering rank reads this after it has received.
    signs.is_over.store(true, Ordering::Release);
    once()?;
    let values = values.into_iter().map(|seconds| match pattern {
        Pattern::PingPong => seconds / 2.0 * 1e6,
        Pattern::Window => WINDOW as f64 / (seconds * 1e6),
    });
    Ok(Spread::among(values))
}

fn answer(rank: &mut impl Rank, pattern: Pattern, size: usize, is_over: &AtomicBool) -> Outcome {
    let (mut place, out) = (vec![0; size], vec![0; answer_size(pattern, size)]);
    loop {
        for _ in 0..messages(pattern) {
            rank.receive(&mut place)?;
        }
        let was_last = is_over.load(Ordering::Acquire);
        rank.send(&out)?;
        if was_last {
            return Ok(());
        }
    }
}

fn messages(pattern: Pattern) -> usize {
    match pattern {
        Pattern::PingPong => 1,
        Pattern::Window => WINDOW,
    }
}

fn answer_size(pattern: Pattern, size: usize) -> usize {
    match pattern {
        Pattern::PingPong => size,
        Pattern::Window => 0,
    }
}

/// Returns the seconds of one repetition in each batch. A batch in which a thread lost its core to another thread
/// counts only if there is no other batch.
fn sample(
    mut once: impl FnMut() -> Outcome,
    seconds: f64,
    threads: &[i32],
) -> Result<Vec<f64>, Failure> {
    let aim = seconds / BATCHES as f64;
    let (mut values, mut spent, mut repeats) = (Vec::new(), 0.0, 1);
    while values.is_empty() || (values.len() < BATCHES && spent < seconds) {
        let before = interrupts(threads);
        let began = Instant::now();
        for _ in 0..repeats {
            once()?;
        }
        let took = began.elapsed().as_secs_f64();
        spent += took;
        if took < aim / 2.0 && repeats < MOST_REPEATS {
            let times = (aim / took.max(1e-9)).min(8.0);
            repeats = ((repeats as f64 * times) as usize + 1).min(MOST_REPEATS);
        } else if interrupts(threads) == before || spent > PATIENCE * seconds {
            values.push(took / repeats as f64);
        }
    }
    Ok(values)
}

/// Returns how often the threads lost their cores to others; 0 if the system does not tell.
fn interrupts(threads: &[i32]) -> u64 {
    let of = |thread: &i32| {
        let text = fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
        let mut lines = text.lines();
        let number = lines.find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
        number?.trim().parse::<u64>().ok()
    };
    threads.iter().filter_map(of).sum()
}
