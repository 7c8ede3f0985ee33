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
    /// Waits for a message of the other rank for each place, which it fills.
    fn receive(&mut self, places: &mut [Vec<u8>]) -> Outcome;
}

/// The traffic of one repetition.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Pattern {
    /// One message in each direction; the result is the time of each in microseconds.
    PingPong,
    /// Many messages and one answer; the result is millions of messages per second.
    Rate,
    /// The same; the result is millions of bytes per second.
    Bandwidth,
}

impl Pattern {
    /// Returns the pattern of one of `bench.c`'s measurements; `None` if layers below MPI have none such.
    pub(super) fn of(name: &str) -> Option<Pattern> {
        match name {
            "latency" => Some(Pattern::PingPong),
            "rate-equal-tags" => Some(Pattern::Rate),
            "bandwidth" => Some(Pattern::Bandwidth),
            _ => None,
        }
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Pattern::PingPong => "us",
            Pattern::Rate => "M/s",
            Pattern::Bandwidth => "MB/s",
        }
    }

    /// Returns the number of messages before the answer.
    fn messages(self) -> usize {
        match self {
            Pattern::PingPong => 1,
            Pattern::Rate | Pattern::Bandwidth => WINDOW,
        }
    }

    fn answer_size(self, size: usize) -> usize {
        match self {
            Pattern::PingPong => size,
            Pattern::Rate | Pattern::Bandwidth => 0,
        }
    }
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
    let mut out = vec![vec![0; size]; pattern.messages()];
    let mut back = [vec![0; pattern.answer_size(size)]];
    let mut number = 0;
    let mut once = || {
        number += 1;
        for message in &mut out {
            fill(message, number);
            rank.send(message)?;
        }
        rank.receive(&mut back)?;
        check(&back, number)
    };
    once()?;
    let threads = [gettid().as_raw(), signs.answerer.load(Ordering::Acquire)];
    let values = sample(&mut once, seconds.into(), &threads)?;
    // The answering rank reads this after it has received.
    signs.is_over.store(true, Ordering::Release);
    once()?;
    let values = values.into_iter().map(|seconds| match pattern {
        Pattern::PingPong => seconds / 2.0 * 1e6,
        Pattern::Rate => WINDOW as f64 / (seconds * 1e6),
        Pattern::Bandwidth => (WINDOW * size) as f64 / (seconds * 1e6),
    });
    Ok(Spread::among(values))
}

fn answer(rank: &mut impl Rank, pattern: Pattern, size: usize, is_over: &AtomicBool) -> Outcome {
    let mut places = vec![vec![0; size]; pattern.messages()];
    let mut out = vec![0; pattern.answer_size(size)];
    let mut number = 0;
    loop {
        number += 1;
        rank.receive(&mut places)?;
        check(&places, number)?;
        let was_last = is_over.load(Ordering::Acquire);
        fill(&mut out, number);
        rank.send(&out)?;
        if was_last {
            return Ok(());
        }
    }
}

/// Writes a message of this repetition, every word of it, as `bench.c` does.
fn fill(message: &mut [u8], number: u64) {
    for (word, place) in (first_word(number)..).zip(message.chunks_exact_mut(8)) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
}

/// Compares every word with what was written.
fn check(messages: &[Vec<u8>], number: u64) -> Outcome {
    let wrong = |message: &Vec<u8>| {
        let words = (first_word(number)..).zip(message.chunks_exact(8));
        let differences = words.map(|(word, place)| word.to_ne_bytes() != place);
        differences.fold(false, |any, one| any | one)
    };
    match messages.iter().any(wrong) {
        false => Ok(()),
        true => Err("a wrong byte".into()),
    }
}

/// Returns the first word of a message; the others count on. The factor leaves room for them.
fn first_word(number: u64) -> u64 {
    number << 24
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
