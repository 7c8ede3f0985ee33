//! `pombo bench --layers`: what the machine needs for a message between two ranks, and what each layer adds. Raw memory,
//! MPI and its peers are measured by programs, driver, kernel and mailboxes by threads of this process, over the same
//! driver. Only `bench` uses it.

mod endpoints;
mod limits;
mod mailboxes;
mod pair;
pub(super) mod plot;
mod raw;

use std::io;
use std::path::Path;

use super::bench_process::{LIMIT, Session};
use super::library::Library;
use super::limited_command::Jobs;
use super::measured_value::{Figure, Key, Spread};
use super::plan::{Effort, Task};
use super::results::Results;
use super::state::{Lines, State};
use crate::console::{progress, warn};
use crate::error::Error;
use pair::{Failure, Pattern};

/// One column: what measures it.
enum Layer<'a> {
    Threads(Measure),
    /// A program that measures messages up to this size.
    Program(Box<Session<'a>>, u64),
    /// A program that could not be started.
    Absent,
}

/// Returns `None` for a size that the layer does not carry.
type Measure = fn(Pattern, usize, f32) -> Result<Option<Spread>, Failure>;

const TASKS: [Task; 16] = [
    Task::new("latency", 0),
    Task::new("latency", 8),
    Task::new("latency", 64),
    Task::new("latency", 1 << 10),
    Task::new("latency", 8 << 10),
    Task::new("latency", 64 << 10),
    Task::new("latency", 1 << 20),
    Task::new("bandwidth", 1 << 10),
    Task::new("bandwidth", 8 << 10),
    Task::new("bandwidth", 64 << 10),
    Task::new("bandwidth", 1 << 20),
    Task::new("bidirectional", 64 << 10),
    Task::new("bidirectional", 1 << 20),
    Task::new("rate-equal-tags", 8),
    Task::new("rate-distinct-tags", 8),
    Task::new("rate-any-source", 8),
];

/// Passes over all tasks: a later one finds the line in the other state, perhaps.
const PASSES: usize = 2;

/// Measures all layers, the first library's the last of them, and the other libraries behind it. Programs are compiled and
/// run in this directory. Returns the text on the targets too, which is empty without other libraries.
pub(super) fn measure(
    libraries: &[Library],
    jobs: &Jobs,
    effort: &Effort,
    cores: usize,
    directory: &Path,
) -> Result<(Results, String), Error> {
    let mut names = vec![(
        "line",
        "a cache line that two threads write in turn".to_owned(),
    )];
    let mut layers = vec![Layer::Threads(endpoints::line)];
    for copy in raw::COPIES {
        names.push((copy.name, copy.meaning.to_owned()));
        layers.push(match copy.start(directory, jobs) {
            Ok(session) => Layer::Program(Box::new(session), copy.most),
            Err(why) => {
                warn(&format!("without raw {}: {why}", copy.name));
                Layer::Absent
            }
        });
    }
    names.push(("driver", "frames in shared memory".to_owned()));
    layers.push(Layer::Threads(endpoints::driver));
    let meaning = "blocking sends and receives with MPI's header and composition";
    names.push(("kernel", meaning.to_owned()));
    layers.push(Layer::Threads(endpoints::kernel));
    let meaning = "messages that are packed, posted, retrieved and unpacked";
    names.push(("mailboxes", meaning.to_owned()));
    layers.push(Layer::Threads(mailboxes::mailboxes));
    let ours = layers.len();
    let peers = libraries.iter().filter(|library| !library.is_ours());
    for (number, library) in libraries.iter().take(1).chain(peers).enumerate() {
        let name = if number == 0 { "MPI" } else { &library.name };
        let launch = library.launch(2, cores, None);
        match Session::start(jobs, library.program(), 2, launch) {
            Ok(session) => {
                names.push((name, session.version.clone()));
                layers.push(Layer::Program(Box::new(session), u64::MAX));
            }
            Err(end) => {
                warn(&format!("without {name}: it {end}"));
                names.push((name, String::new()));
                layers.push(Layer::Absent);
            }
        }
    }
    let columns = names
        .iter()
        .enumerate()
        .map(|(column, (name, _))| (name.to_string(), column <= ours, "shm"));
    let mut results = Results::new(columns);
    for (column, (_, meaning)) in names.iter().enumerate() {
        results.describe(column, meaning);
    }
    for _ in 0..PASSES {
        for task in TASKS {
            progress(&format!("layers: {} {} B\n", task.name, task.size));
            rounds(&mut results, &mut layers, ours, &task, (effort, cores))?;
        }
    }
    for layer in layers {
        if let Layer::Program(session, _) = layer {
            session.end(LIMIT);
        }
    }
    let text = limits::text(&results, 1..=raw::COPIES.len(), ours);
    Ok((results, text))
}

/// Lets every layer measure in turn, until the row has enough turns in the state that the line has at first, or until
/// that changes.
fn rounds(
    results: &mut Results,
    layers: &mut [Layer<'_>],
    ours: usize,
    task: &Task,
    (effort, cores): (&Effort, usize),
) -> Result<(), Error> {
    let row = |results: &Results| {
        results
            .row(task.label, task.size, 2)
            .map_or(0, |row| row.rounds.len())
    };
    let state = State::of_line(line(cores));
    for _ in 0..effort.rounds {
        let round = row(results);
        for (column, layer) in layers.iter_mut().enumerate() {
            let before = line(cores);
            let figure = turn(layer, task, effort.seconds)?;
            let lines: Lines = before.zip(line(cores)).map(<[f64; 2]>::from);
            if let Some(figure) = figure {
                results.add(round, column, figure, lines);
            }
        }
        let done = results.row(task.label, task.size, 2);
        let turns = done.map_or(0, |row| row.count(ours, state));
        if turns >= effort.rounds || State::of_line(line(cores)) != state {
            break;
        }
    }
    Ok(())
}

/// Measures one layer once. Returns `None` if it does not carry such messages, or has failed.
fn turn(layer: &mut Layer<'_>, task: &Task, seconds: f32) -> Result<Option<Figure>, Error> {
    match layer {
        Layer::Program(session, most) if task.size <= *most => {
            let figure = session.measure(task, seconds);
            if figure.is_none() {
                warn(&format!(
                    "no more of {}: it failed in {}",
                    session.version, task.name
                ));
                *layer = Layer::Absent;
            }
            Ok(figure)
        }
        Layer::Threads(measure) => {
            let Some(pattern) = Pattern::of(task.name) else {
                return Ok(None);
            };
            let spread = measure(pattern, task.size as usize, seconds)
                .map_err(|failure| io::Error::other(failure.to_string()))
                .map_err(Error::system("measure a layer"))?;
            let key = Key {
                name: task.name.to_owned(),
                ranks: 2,
                size: task.size,
                unit: pattern.unit().to_owned(),
            };
            Ok(spread.map(|spread| Figure { key, spread }))
        }
        Layer::Program(..) | Layer::Absent => Ok(None),
    }
}

/// Returns the nanoseconds in which a cache line goes from one core to another now. Returns `None` with one core.
pub(super) fn line(cores: usize) -> Option<f64> {
    if cores < 2 {
        return None;
    }
    endpoints::line_now().ok()
}
