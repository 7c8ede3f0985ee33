//! Draws the results: a panel for each kind of measurement, with one curve per library. Only `bench` uses it.

use std::error::Error;
use std::io::{self, Write};

use plotters::coord::Shift;
use plotters::prelude::*;

use super::machine::Machine;
use super::results::{Results, Row};

pub(super) type Drawing<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const COLUMNS: usize = 4;
const PANEL: (u32, u32) = (360, 240);
const HEADING: u32 = 64;
const SPACE: u32 = 10;
/// Colours of curves. The first is ours; beyond the last they repeat.
const COLOURS: [RGBColor; 7] = [
    RGBColor(200, 30, 40),
    RGBColor(30, 90, 170),
    RGBColor(90, 160, 220),
    RGBColor(20, 130, 80),
    RGBColor(120, 190, 90),
    RGBColor(150, 110, 40),
    RGBColor(120, 120, 120),
];

/// Rows that share a panel: a measurement over its sizes, the message rates side by side, or measurements without size
/// over the numbers of ranks.
struct Panel<'a> {
    title: String,
    unit: &'a str,
    /// The label below each point, with its row.
    points: Vec<(String, &'a Row)>,
}

/// Writes an SVG file.
pub(super) fn write(results: &Results, machine: &Machine, to: impl Write) -> io::Result<()> {
    save(draw(results, machine), to)
}

/// Writes a finished drawing.
pub(super) fn save(drawing: Outcome<String>, mut to: impl Write) -> io::Result<()> {
    let drawing = drawing.map_err(|error| io::Error::other(error.to_string()))?;
    to.write_all(drawing.as_bytes())
}

fn draw(results: &Results, machine: &Machine) -> Outcome<String> {
    let panels = panels(results);
    let lines = panels.len().div_ceil(COLUMNS).max(1);
    let width = COLUMNS as u32 * PANEL.0;
    let height = HEADING + lines as u32 * PANEL.1;
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        area.fill(&WHITE)?;
        let (above, below) = area.split_vertically(HEADING);
        heading(&above, results, machine)?;
        for (panel, place) in panels.iter().zip(below.split_evenly((lines, COLUMNS))) {
            chart(panel, &place, results)?;
        }
        area.present()?;
    }
    Ok(text)
}

fn panels(results: &Results) -> Vec<Panel<'_>> {
    let mut panels: Vec<Panel<'_>> = Vec::new();
    for row in &results.rows {
        let (title, point) = place(row);
        match panels.iter_mut().find(|panel| panel.title == title) {
            Some(panel) => panel.points.push((point, row)),
            None => panels.push(Panel {
                title,
                unit: &row.key.unit,
                points: vec![(point, row)],
            }),
        }
    }
    panels
}

/// Returns the title of a row's panel and the label below its points.
fn place(row: &Row) -> (String, String) {
    let key = &row.key;
    match (key.name.split_once('-'), &*key.size()) {
        (Some((name, kind)), size) => {
            let word = kind.split('-').next().unwrap_or(kind);
            let title = format!("{name} {size}, {} ranks", key.ranks);
            (title, word.to_owned())
        }
        (None, "") => (key.title(), format!("{} ranks", key.ranks)),
        (None, size) => {
            let title = format!("{}, {} ranks", key.title(), key.ranks);
            (title, size.to_owned())
        }
    }
}

fn colour(library: usize) -> RGBColor {
    COLOURS[library % COLOURS.len()]
}

fn heading(area: &Drawing<'_>, results: &Results, machine: &Machine) -> Outcome {
    let small = ("sans-serif", 13).into_font();
    let space = SPACE as i32;
    let cores = machine.cores;
    let what = format!("{}, {cores} cores: {}", machine.name, machine.command);
    area.draw(&Text::new(what, (space, 36), small.clone().color(&BLACK)))?;
    let mut left = space;
    for (index, library) in results.libraries.iter().enumerate() {
        let words = format!("{} ({})", library.name, library.version);
        let style = ("sans-serif", 15).into_font().color(&colour(index));
        let (wide, _) = area.estimate_text_size(&words, &style)?;
        area.draw(&Text::new(words, (left, 12), style))?;
        left += wide as i32 + 3 * space;
    }
    Ok(())
}

fn chart(panel: &Panel<'_>, area: &Drawing<'_>, results: &Results) -> Outcome {
    let libraries = 0..results.libraries.len();
    let line = |library: usize| {
        let points = panel.points.iter().enumerate();
        points.filter_map(move |(x, (_, row))| Some((x as i32, row.spread(library)?.median)))
    };
    let values = || libraries.clone().flat_map(line).map(|(_, value)| value);
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(0.0, f64::max);
    let count = panel.points.len() as i32;
    let mut chart = ChartBuilder::on(area)
        .margin(SPACE)
        .x_label_area_size(28)
        .y_label_area_size(52)
        .caption(
            format!("{} ({})", panel.title, panel.unit),
            ("sans-serif", 15),
        )
        .build_cartesian_2d(-1..count, (low / 1.5..high * 1.5).log_scale())?;
    let below = |x: &i32| {
        let point = usize::try_from(*x).ok().and_then(|x| panel.points.get(x));
        point.map_or(String::new(), |(words, _)| words.clone())
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .x_labels(panel.points.len() + 2)
        .x_label_formatter(&below)
        .y_labels(5)
        .y_label_formatter(&short)
        .label_style(("sans-serif", 11))
        .draw()?;
    // Ours come last, so that they lie above the others.
    for library in libraries.rev() {
        let width = if results.libraries[library].is_ours {
            3
        } else {
            1
        };
        let style = colour(library).stroke_width(width);
        chart.draw_series(LineSeries::new(line(library), style).point_size(2))?;
    }
    Ok(())
}

/// Formats a label of the vertical axis.
fn short(value: &f64) -> String {
    match *value {
        1e6.. => format!("{} M", value / 1e6),
        1e3.. => format!("{} k", value / 1e3),
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::measured_value::Figure;
    use super::super::results::tests::results;
    use super::*;

    #[test]
    fn a_panel_for_each_kind() {
        let mut results = results(&[
            (0, 0, "bench latency 0 0.25 0.2 0.3 us"),
            (0, 1, "bench latency 8 0.25 0.2 0.3 us"),
            (0, 0, "bench rate-equal-tags 8 5 5 5 M/s"),
            (0, 0, "bench rate-any-source 8 5 5 5 M/s"),
            (0, 0, "bench barrier 0 1 1 1 us"),
        ]);
        results.add(0, 0, Figure::parse("bench barrier 0 9 9 9 us", 8).unwrap());
        let panels = panels(&results);
        let titles: Vec<_> = panels.iter().map(|panel| &*panel.title).collect();
        assert_eq!(titles, ["latency, 2 ranks", "rate 8 B, 2 ranks", "barrier"]);
        let points = |panel: usize| -> Vec<&str> {
            let points = panels[panel].points.iter();
            points.map(|(words, _)| &**words).collect()
        };
        assert_eq!(points(0), ["0 B", "8 B"]);
        assert_eq!(points(1), ["equal", "any"]);
        assert_eq!(points(2), ["2 ranks", "8 ranks"]);
        let text = draw(&results, &Machine::here()).unwrap();
        assert!(text.starts_with("<svg"), "{text}");
        for words in ["barrier (us)", "equal", "polyline"] {
            assert!(text.contains(words), "{words}");
        }
    }

    #[test]
    fn nothing_is_an_empty_drawing() {
        let text = draw(&results(&[]), &Machine::here()).unwrap();
        assert!(text.trim_end().ends_with("</svg>"));
    }
}
