//! `pombo bench --layers`: what each layer adds to a message between two ranks. Below MPI the ranks are threads of this
//! process, over the same driver and the same composition. Only `bench` uses it.

mod endpoints;
mod pair;

use std::io;

use super::bench_process::{LIMIT, Session};
use super::library::Library;
use super::limited_command::Jobs;
use super::measured_value::{Figure, Key, Spread};
use super::plan::{Effort, Task};
use super::results::Results;
use crate::console::{progress, warn};
use crate::error::Error;
use pair::{Failure, Pattern};

/// The layers from below: column title, description, measurement.
const LAYERS: [(&str, &str, Measure); 3] = [
    (
        "line",
        "a cache line that two threads write in turn",
        endpoints::line,
    ),
    ("driver", "frames in shared memory", endpoints::driver),
    (
        "kernel",
        "blocking sends and receives with MPI's header and composition",
        endpoints::kernel,
    ),
];
const TOP: usize = LAYERS.len();

/// Returns `None` for a size that the layer does not carry.
type Measure = fn(Pattern, usize, f32) -> Result<Option<Spread>, Failure>;

const TASKS: [(Task, Pattern); 6] = [
    (Task::new("latency", 0), Pattern::PingPong),
    (Task::new("latency", 8), Pattern::PingPong),
    (Task::new("latency", 64), Pattern::PingPong),
    (Task::new("latency", 1 << 10), Pattern::PingPong),
    (Task::new("latency", 8 << 10), Pattern::PingPong),
    (Task::new("rate-equal-tags", 8), Pattern::Window),
];

/// Measures all layers; the last column is the library's.
pub(super) fn measure(
    library: &Library,
    jobs: &Jobs,
    effort: &Effort,
    cores: usize,
) -> Result<Results, Error> {
    let names = LAYERS.iter().map(|(name, ..)| (*name, true));
    let columns = names.chain([("MPI", true)]);
    let mut results = Results::new(columns.map(|(name, ours)| (name.to_owned(), ours, "shm")));
    for (column, (_, meaning, _)) in LAYERS.iter().enumerate() {
        results.describe(column, meaning);
    }
    let mut session = Session::start(jobs, library, 2, library.launch(2, cores, None))
        .map_err(|end| warn(&format!("without MPI: it {end}")))
        .ok();
    if let Some(session) = &session {
        results.describe(TOP, &session.version);
    }
    for (task, pattern) in TASKS {
        progress(&format!("layers: {} {} B\n", task.name, task.size));
        for round in 0..effort.rounds {
            below(&mut results, &task, pattern, round, effort.seconds)?;
            if let Some(figure) = session
                .as_mut()
                .and_then(|s| s.measure(&task, effort.seconds))
            {
                results.add(round, TOP, figure, None);
            }
        }
    }
    drop(session.map(|session| session.end(LIMIT)));
    Ok(results)
}

fn below(
    results: &mut Results,
    task: &Task,
    pattern: Pattern,
    round: usize,
    seconds: f32,
) -> Result<(), Error> {
    for (column, (.., measure)) in LAYERS.iter().enumerate() {
        let spread = measure(pattern, task.size as usize, seconds)
            .map_err(|failure| io::Error::other(failure.to_string()))
            .map_err(Error::system("measure a layer"))?;
        let unit = match pattern {
            Pattern::PingPong => "us",
            Pattern::Window => "M/s",
        };
        let key = Key {
            name: task.name.to_owned(),
            ranks: 2,
            size: task.size,
            unit: unit.to_owned(),
        };
        if let Some(spread) = spread {
            results.add(round, column, Figure { key, spread }, None);
        }
    }
    Ok(())
}

/// Returns the nanoseconds in which a cache line goes from one core to another now. Returns `None` with one core.
pub(super) fn line(cores: usize) -> Option<f64> {
    if cores < 2 {
        return None;
    }
    endpoints::line_now().ok()
}
