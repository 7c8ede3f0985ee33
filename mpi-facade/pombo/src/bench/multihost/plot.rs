//! Repeats the published figures of 2003 with today's hosts: bandwidth of a broadcast over its size, to one receiver
//! and to many, and bursts that a last packet ends against those that a timer ends. Only `multihost` uses it.

use std::io::{self, Write};

use plotters::prelude::*;

use super::super::library::Library;
use super::super::machine::Machine;
use super::super::network_namespaces::BURST;
use super::super::plot::{COLOURS, Drawing, Outcome, save};
use super::super::results::Results;
use super::super::state::State;
use super::burst_broadcast::KINDS;
use super::link_ceiling::Link;
use super::plan::{FLOAT, PUBLISHED, PUBLISHED_SIZES};

/// Floats per message, and millions of bytes per second.
type Point = (f64, f64);

const PANEL: (u32, u32) = (680, 380);
const HEADING: u32 = 40;
const SPACE: u32 = 12;

/// One curve of a panel.
struct Curve {
    name: String,
    colour: RGBColor,
    /// Width of the line: thick for ours, thin for others, thinnest for others without tuning.
    width: u32,
    points: Vec<Point>,
}

/// Writes an SVG file.
pub(super) fn write(
    results: &Results,
    link: &Link,
    libraries: &[Library],
    machine: &Machine,
    to: impl Write,
) -> io::Result<()> {
    save(draw(results, link, libraries, machine), to)
}

fn draw(
    results: &Results,
    link: &Link,
    libraries: &[Library],
    machine: &Machine,
) -> Outcome<String> {
    let panels = panels(results, libraries);
    let lines = panels.len().div_ceil(2).max(1);
    let mut text = String::new();
    {
        let size = (2 * PANEL.0, HEADING + lines as u32 * PANEL.1);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        let (above, below) = area.split_vertically(HEADING);
        let what = format!(
            "Broadcast over {} Mbit/s until the last receiver has all; an idle port sends {} KiB at once. {}: {}",
            link.rate.megabits,
            BURST >> 10,
            machine.name,
            machine.command
        );
        let style = ("sans-serif", 13).into_font().color(&BLACK);
        above.draw(&Text::new(what, (SPACE as i32, SPACE as i32), style))?;
        for ((title, curves), place) in panels.iter().zip(below.split_evenly((lines, 2))) {
            chart(title, curves, link.rate.bytes(), &place)?;
        }
        area.present()?;
    }
    Ok(text)
}

/// Returns the panels: one receiver, many, ours with one and with many, and the two kinds of bursts.
fn panels(results: &Results, libraries: &[Library]) -> Vec<(String, Vec<Curve>)> {
    let rows = results.rows.iter().filter(|row| row.key.name == PUBLISHED);
    let mut ranks: Vec<u32> = rows.map(|row| row.key.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let all = |ranks: u32, is_in: &dyn Fn(&Library) -> bool| -> Vec<Curve> {
        let numbered = libraries.iter().enumerate();
        let wanted = numbered.filter(|(_, one)| is_in(one));
        let curves = wanted.map(|(who, one)| curve(results, who, one, ranks));
        curves.filter(|curve| !curve.points.is_empty()).collect()
    };
    let title = |ranks: u32| match ranks {
        2 => "1 receiver".to_owned(),
        ranks => format!("{} receivers", ranks - 1),
    };
    let is_burst = |one: &Library| KINDS.iter().any(|kind| kind.name == one.name);
    let mut panels: Vec<(String, Vec<Curve>)> = ranks
        .iter()
        .map(|&ranks| (title(ranks), all(ranks, &|_| true)))
        .collect();
    if let (Some(&few), Some(&many)) = (ranks.first(), ranks.last()) {
        let both = |is_in: &dyn Fn(&Library) -> bool| {
            let mut curves = Vec::new();
            for (number, ranks) in [few, many].into_iter().enumerate() {
                for (place, mut curve) in all(ranks, is_in).into_iter().enumerate() {
                    curve.name = format!("{}, {}", curve.name, title(ranks));
                    curve.colour = COLOURS[(2 * place + number) % COLOURS.len()];
                    curves.push(curve);
                }
            }
            curves
        };
        let names = format!("{} against {}", title(few), title(many));
        panels.push((names, both(&Library::is_ours)));
        panels.push(("bursts: last packet against timer".into(), both(&is_burst)));
    }
    panels.retain(|(_, curves)| !curves.is_empty());
    panels
}

fn curve(results: &Results, who: usize, one: &Library, ranks: u32) -> Curve {
    let rows = results.rows.iter();
    let rows = rows.filter(|row| row.key.name == PUBLISHED && row.key.ranks == ranks);
    let mut points: Vec<Point> = rows
        .filter_map(|row| {
            Some((
                (row.key.size / FLOAT) as f64,
                row.spread(who, State::Shared)?.median,
            ))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    // A library and its tuned variant have one colour.
    let family = one.name.trim_end_matches("-tuned");
    let names = results
        .libraries
        .iter()
        .map(|library| library.name.trim_end_matches("-tuned"));
    let mut families: Vec<&str> = names.collect();
    families.dedup();
    let place = families.iter().position(|name| *name == family);
    Curve {
        name: one.name.clone(),
        colour: COLOURS[place.unwrap_or(who) % COLOURS.len()],
        width: if one.is_ours() {
            3
        } else {
            1 + u32::from(one.is_tuned)
        },
        points,
    }
}

fn chart(title: &str, curves: &[Curve], rate: f64, area: &Drawing<'_>) -> Outcome {
    let sizes =
        PUBLISHED_SIZES[0] as f64 / 1.5..PUBLISHED_SIZES[PUBLISHED_SIZES.len() - 1] as f64 * 1.5;
    let mut chart = ChartBuilder::on(area)
        .margin(SPACE)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .caption(title, ("sans-serif", 15))
        .build_cartesian_2d(sizes.clone().log_scale(), 0.0..rate * 1.1)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("floats of a message")
        .y_desc("MB/s at each receiver")
        .label_style(("sans-serif", 11))
        .draw()?;
    let limit = [(sizes.start, rate), (sizes.end, rate)];
    chart.draw_series(LineSeries::new(limit, BLACK.mix(0.4)))?;
    for curve in curves.iter().rev() {
        let style = curve.colour.stroke_width(curve.width);
        let points = curve
            .points
            .iter()
            .map(|&(floats, value)| (floats, value.min(rate * 1.1)));
        let series = LineSeries::new(points, style).point_size(2);
        let legend = move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style);
        chart
            .draw_series(series)?
            .label(&*curve.name)
            .legend(legend);
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .label_font(("sans-serif", 11))
        .draw()?;
    Ok(())
}
