//! Draws how much faster the matrix product is on several processes than on one: on a frozen group
//! ([matrix.rs](matrix.rs)) and with MPI ([matrix.c](ported/matrix.c)), each beside its own sequential run.
//!
//! ```text
//! cargo build --release --bins --examples
//! target/release/examples/speed_ups 800 1,2,4 speed-ups.svg
//! ```
//!
//! The programs take turns, so what disturbs the machine disturbs both; each point is the median of its turns.

use plotters::prelude::*;
use std::path::Path;
use std::process::Command;

type Failed = Box<dyn std::error::Error>;

const TURNS: usize = 5;
/// What is before the number in the output of both programs.
const MARK: &str = "speed-up ";

/// Runs a command and returns its output.
fn output(command: &mut Command) -> Result<String, Failed> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(format!("{command:?} has failed: {text}").into()),
    }
}

/// Returns the median speed-up of each program for each number of processes.
fn measure(
    pombo: &Path,
    programs: [&Path; 2],
    rows: &str,
    processes: &[u32],
) -> Result<[Vec<(u32, f64)>; 2], Failed> {
    let mut all = [Vec::new(), Vec::new()];
    for number in processes {
        let mut turns = [Vec::new(), Vec::new()];
        for turn in 0..2 * TURNS {
            let (which, count) = (turn % 2, number.to_string());
            let program = programs[which];
            let text = output(
                Command::new(pombo)
                    .args(["run", "-n", &count])
                    .arg(program)
                    .arg(rows),
            )?;
            let figure = text
                .split(MARK)
                .nth(1)
                .and_then(|rest| rest.split_whitespace().next());
            let figure: f64 = figure
                .ok_or_else(|| format!("no speed-up in: {text}"))?
                .parse()?;
            turns[which].push(figure);
        }
        let [group, mpi] = turns.map(|mut turns| {
            turns.sort_by(f64::total_cmp);
            turns[TURNS / 2]
        });
        println!("{number} processes: group {group:.2}, MPI {mpi:.2}");
        for (points, figure) in all.iter_mut().zip([group, mpi]) {
            points.push((*number, figure));
        }
    }
    Ok(all)
}

fn draw(rows: &str, [group, mpi]: [Vec<(u32, f64)>; 2], to: &str) -> Result<(), Failed> {
    let processors = std::thread::available_parallelism()?;
    let most = group.iter().map(|point| point.0).max().unwrap_or(1);
    let area = SVGBackend::new(to, (640, 420)).into_drawing_area();
    area.fill(&WHITE)?;
    let caption =
        format!("{rows} x {rows}: times faster than one process, on {processors} processors");
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .caption(caption, ("sans-serif", 16))
        .x_label_area_size(35)
        .y_label_area_size(45)
        .build_cartesian_2d(1..most.max(2), 0.0..f64::from(most) * 1.05)?;
    let x_labels = most.min(16) as usize;
    chart
        .configure_mesh()
        .x_desc("processes")
        .x_labels(x_labels)
        .draw()?;
    let ends = [1, most];
    let series = [
        (
            "one process",
            ends.map(|at| (at, 1.0)).to_vec(),
            BLACK.mix(0.6),
        ),
        (
            "as many times as processes",
            ends.map(|at| (at, f64::from(at))).to_vec(),
            BLACK.mix(0.25),
        ),
        ("group", group, RGBColor(40, 100, 180).mix(1.0)),
        ("MPI", mpi, RGBColor(225, 135, 35).mix(1.0)),
    ];
    for (name, points, colour) in series {
        let style = colour.stroke_width(2);
        let dots = points
            .iter()
            .map(|point| Circle::new(*point, 3, style.filled()));
        chart.draw_series(dots)?;
        let line = chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
        line.label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    let mut legend = chart.configure_series_labels();
    legend
        .position(SeriesLabelPosition::UpperLeft)
        .border_style(BLACK.mix(0.3));
    legend.background_style(WHITE.mix(0.8)).draw()?;
    Ok(area.present()?)
}

fn main() -> Result<(), Failed> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [rows, processes, to] = &words[..] else {
        return Err("usage: speed_ups ROWS PROCESSES,.. FILE.svg".into());
    };
    let processes: Result<Vec<u32>, _> = processes.split(',').map(str::parse).collect();
    // The programs are beside this one, and the launcher above them.
    let here = std::env::current_exe()?;
    let examples = here.parent().ok_or("no directory")?;
    let pombo = examples.parent().ok_or("no directory")?.join("pombo");
    let (group, mpi) = (examples.join("matrix"), examples.join("matrix-mpi"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ported/matrix.c");
    output(
        Command::new(&pombo)
            .args(["mpicc", "-O3", "-o"])
            .arg(&mpi)
            .arg(source),
    )?;
    draw(
        rows,
        measure(&pombo, [&group, &mpi], rows, &processes?)?,
        to,
    )
}
