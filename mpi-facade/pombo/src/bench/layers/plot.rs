//! Draws latency and bandwidth of the layers by the size of the messages. Only `bench` uses it, with `--layers`.

use std::io::{self, Write};

use plotters::prelude::*;

use super::super::machine::Machine;
use super::super::plot::{COLOURS, Drawing, Outcome, save};
use super::super::results::Results;
use super::super::state::State;

const SIZE: (u32, u32) = (1200, 480);
/// Each measurement with a panel, and its vertical axis.
const PANELS: [(&str, &str); 2] = [("latency", "us"), ("bandwidth", "MB/s")];

/// Writes an SVG file.
pub(in super::super) fn write(
    results: &Results,
    machine: &Machine,
    to: impl Write,
) -> io::Result<()> {
    save(draw(results, machine), to)
}

fn draw(results: &Results, machine: &Machine) -> Outcome<String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let words = format!(
            "{}: {}; cores far apart are drawn pale",
            machine.name, machine.command
        );
        let area = area.titled(&words, ("sans-serif", 14))?;
        for ((name, unit), place) in PANELS.into_iter().zip(area.split_evenly((1, PANELS.len()))) {
            panel(results, name, unit, &place)?;
        }
        area.present()?;
    }
    Ok(text)
}

/// The points of a layer in one state.
struct Series<'a> {
    layer: &'a str,
    style: ShapeStyle,
    points: Vec<(f64, f64)>,
}

fn panel(results: &Results, name: &str, unit: &str, area: &Drawing<'_>) -> Outcome {
    let series = series(results, name);
    let all = || series.iter().flat_map(|series| &series.points);
    let range = |of: fn(&(f64, f64)) -> f64| {
        let least = all().map(of).fold(f64::INFINITY, f64::min);
        let most = all().map(of).fold(0.0, f64::max);
        // Without a figure the panel is empty.
        if least <= most {
            least / 1.5..most * 1.5
        } else {
            1.0..2.0
        }
    };
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .caption(format!("{name} [{unit}] by bytes"), ("sans-serif", 15))
        .x_label_area_size(30)
        .y_label_area_size(60)
        .build_cartesian_2d(range(|it| it.0).log_scale(), range(|it| it.1).log_scale())?;
    chart.configure_mesh().light_line_style(WHITE).draw()?;
    for Series {
        layer,
        style,
        points,
    } in &series
    {
        let dots = points
            .iter()
            .map(|point| Circle::new(*point, 3, style.filled()));
        chart.draw_series(dots)?;
        let line = chart.draw_series(LineSeries::new(points.iter().copied(), *style))?;
        let style = *style;
        line.label(*layer)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    let position = if unit == "us" {
        SeriesLabelPosition::UpperLeft
    } else {
        SeriesLabelPosition::LowerRight
    };
    chart
        .configure_series_labels()
        .position(position)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

/// Returns the figures of every layer in every state in which it has some. A message without a byte has no place.
fn series<'a>(results: &'a Results, name: &str) -> Vec<Series<'a>> {
    let mut all = Vec::new();
    for (column, library) in results.libraries.iter().enumerate() {
        for state in [State::Near, State::Far, State::Shared] {
            let rows = results.rows.iter();
            let rows = rows.filter(|row| row.key.name == name && row.key.size > 0);
            let points: Vec<_> = rows
                .filter_map(|row| Some((row.key.size as f64, row.spread(column, state)?.median)))
                .collect();
            let colour = COLOURS[column % COLOURS.len()];
            let style = colour
                .mix(if state == State::Far { 0.4 } else { 1.0 })
                .stroke_width(2);
            if !points.is_empty() {
                all.push(Series {
                    layer: &library.name,
                    style,
                    points,
                });
            }
        }
    }
    all
}
