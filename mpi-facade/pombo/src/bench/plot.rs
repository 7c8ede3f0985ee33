//! Draws the ratios to the best other library: a panel for each kind of measurement, a bar for each size and state of the
//! line. Only `bench` uses it.

use std::error::Error;
use std::io::{self, Write};

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::machine::Machine;
use super::results::{Ratio, Results, Rival, Row};
use super::state::State;
use super::targets;

pub(super) type Drawing<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Outcome<T = ()> = Result<T, Box<dyn Error>>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, LogCoord<f64>>>;

/// The colours of curves, in the order in which they are given out.
pub(super) const COLOURS: [RGBColor; 9] = [
    RGBColor(200, 30, 40),
    RGBColor(240, 140, 30),
    RGBColor(30, 90, 170),
    RGBColor(20, 130, 80),
    RGBColor(150, 60, 160),
    RGBColor(120, 90, 40),
    RGBColor(0, 150, 170),
    RGBColor(110, 110, 110),
    RGBColor(40, 40, 40),
];

const COLUMNS: usize = 3;
const PANEL: (u32, u32) = (520, 210);
const HEADING: u32 = 72;
const SPACE: u32 = 10;
const SMALL: i32 = 10;
/// Characters of a line of the heading, at most.
const LONGEST: usize = 200;
/// The ratios that a panel shows. A bar beyond them ends in an arrow; the number of each is below it.
const SHOWN: [f64; 2] = [0.5, 4.0];
/// The ratios at the vertical axis.
const LABELS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// The heights at which numbers and labels stand, below all bars.
const NUMBERS: f64 = 0.4;
const BOTTOM: f64 = 0.3;
/// Width of a bar, where points are 1 apart.
const BAR: f64 = 0.4;

/// Rows that share a panel: a measurement over its sizes, the message rates side by side, or measurements without size
/// over the numbers of ranks.
struct Panel<'a> {
    title: String,
    ours: usize,
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
        heading(&above, results, machine, panels.is_empty())?;
        for (panel, place) in panels.iter().zip(below.split_evenly((lines, COLUMNS))) {
            chart(panel, &place, results)?;
        }
        area.present()?;
    }
    Ok(text)
}

/// Returns the panels of what has a ratio.
fn panels(results: &Results) -> Vec<Panel<'_>> {
    let mut panels: Vec<Panel<'_>> = Vec::new();
    let is_one = results.ours().count() == 1;
    for ours in results.ours() {
        for row in &results.rows {
            let has_ratio = |state: &State| results.ratio(row, *state, ours, Rival::Best).is_some();
            if !row.states().iter().any(has_ratio) {
                continue;
            }
            let (mut title, point) = place(row);
            if !is_one {
                title = format!("{}: {title}", results.libraries[ours].name);
            }
            match panels.iter_mut().find(|panel| panel.title == title) {
                Some(panel) => panel.points.push((point, row)),
                None => panels.push(Panel {
                    title,
                    ours,
                    points: vec![(point, row)],
                }),
            }
        }
    }
    panels
}

/// Returns the title of a row's panel and the label below its bars.
fn place(row: &Row) -> (String, String) {
    let key = &row.key;
    match (key.name.strip_prefix("rate-"), &*key.size()) {
        (Some(kind), size) => {
            let title = format!("message rate {size}, {} ranks", key.ranks);
            (title, kind.replace('-', " "))
        }
        (None, "") => (key.title(), format!("{} ranks", key.ranks)),
        (None, size) => {
            let title = format!("{}, {} ranks", key.title(), key.ranks);
            (title, size.to_owned())
        }
    }
}

fn colour(state: State) -> RGBColor {
    match state {
        State::Near => RGBColor(40, 100, 180),
        State::Far => RGBColor(225, 135, 35),
        State::Shared => RGBColor(130, 130, 130),
    }
}

fn heading(area: &Drawing<'_>, results: &Results, machine: &Machine, is_empty: bool) -> Outcome {
    let font = ("sans-serif", 13).into_font();
    let space = SPACE as i32;
    let libraries = results.libraries.iter();
    let libraries: Vec<String> = libraries
        .map(|library| format!("{} ({})", library.name, library.version))
        .collect();
    let cores = machine.cores;
    let mut what = format!("{}, {cores} cores: {}", machine.name, machine.command);
    if what.chars().count() > LONGEST {
        what = what.chars().take(LONGEST).chain("..".chars()).collect();
    }
    for (top, words) in [(10, libraries.join(", ")), (28, what)] {
        area.draw(&Text::new(words, (space, top), font.clone().color(&BLACK)))?;
    }
    let mut legend = vec![("no other library to compare with", BLACK)];
    if !is_empty {
        legend = vec![
            ("times better than the best other library:", BLACK),
            ("cores near", colour(State::Near)),
            ("cores far", colour(State::Far)),
            ("cores shared, or starts", colour(State::Shared)),
            ("| 95 % bounds", BLACK),
            ("\u{2013} target", RED),
        ];
        if results.rivals().any(|rival| rival == Rival::Intel) {
            legend.push(("\u{25cb} Intel's library instead", BLACK));
        }
    }
    let mut left = space;
    for (words, colour) in legend {
        let style = font.color(&colour);
        let (wide, _) = area.estimate_text_size(words, &style)?;
        area.draw(&Text::new(words, (left, 48), style))?;
        left += wide as i32 + 2 * space;
    }
    Ok(())
}

fn chart(panel: &Panel<'_>, area: &Drawing<'_>, results: &Results) -> Outcome {
    let count = panel.points.len() as f64;
    // There is room above and below for arrows and numbers.
    let mut chart = ChartBuilder::on(area)
        .margin(SPACE)
        .x_label_area_size(20)
        .y_label_area_size(30)
        .caption(&panel.title, ("sans-serif", 14))
        .build_cartesian_2d(-0.6..count - 0.4, (BOTTOM..SHOWN[1] * 1.4).log_scale())?;
    let right = count - 0.4;
    for at in LABELS {
        let width = if at == 1.0 { 2 } else { 1 };
        let style = BLACK.mix(0.3).stroke_width(width);
        let across = PathElement::new([(-0.6, at), (right, at)], style);
        chart.draw_series([across])?;
        note(
            &mut chart,
            (-0.62, at),
            HPos::Right,
            VPos::Center,
            at.to_string(),
        )?;
    }
    for (place, (label, row)) in panel.points.iter().enumerate() {
        let place = place as f64;
        let below = (place, BOTTOM / 1.05);
        note(&mut chart, below, HPos::Center, VPos::Top, label.clone())?;
        let states = row.states();
        for (index, &state) in states.iter().enumerate() {
            let middle = place + (index as f64 - (states.len() - 1) as f64 / 2.0) * BAR;
            let ratio = results.ratio(row, state, panel.ours, Rival::Best);
            if let Some(ratio) = &ratio {
                bar(&mut chart, middle, state, ratio)?;
            }
            let words = ratio.map_or("?".to_owned(), |ratio| number(ratio.median));
            note(
                &mut chart,
                (middle, NUMBERS),
                HPos::Center,
                VPos::Center,
                words,
            )?;
            let network = results.libraries[panel.ours].network;
            if let Some(goal) = targets::wanted_ratio(network, &row.key, state) {
                let ends = [(middle - BAR / 2.0, goal), (middle + BAR / 2.0, goal)];
                chart.draw_series([PathElement::new(ends, RED.stroke_width(2))])?;
            }
            if let Some(ratio) = results.ratio(row, state, panel.ours, Rival::Intel) {
                let at = (middle, clipped(ratio.median));
                chart.draw_series([Circle::new(at, 3, BLACK.stroke_width(1))])?;
                if at.1 != ratio.median {
                    let beside = (middle + BAR / 8.0, at.1);
                    let words = number(ratio.median);
                    note(&mut chart, beside, HPos::Left, VPos::Bottom, words)?;
                }
            }
        }
    }
    Ok(())
}

fn clipped(ratio: f64) -> f64 {
    ratio.clamp(SHOWN[0], SHOWN[1])
}

/// Draws a ratio from 1 on, with its bounds.
fn bar(chart: &mut Chart<'_, '_>, middle: f64, state: State, ratio: &Ratio) -> Outcome {
    let wide = BAR * 0.45;
    let [below, above] = SHOWN;
    let end = clipped(ratio.median);
    let corners = [(middle - wide, 1.0), (middle + wide, end)];
    chart.draw_series([Rectangle::new(corners, colour(state).filled())])?;
    let bounds = ratio.bounds.unwrap_or([ratio.median; 2]).map(clipped);
    let line = bounds.map(|bound| (middle, bound));
    chart.draw_series([PathElement::new(line, BLACK.stroke_width(1))])?;
    // An arrow shows that the bar would go on.
    let tip = match ratio.median {
        beyond if beyond > above => Some(above * 1.12),
        beyond if beyond < below => Some(below / 1.12),
        _ => None,
    };
    if let Some(tip) = tip {
        let corners = [(middle - wide, end), (middle + wide, end), (middle, tip)];
        chart.draw_series([Polygon::new(corners, colour(state).filled())])?;
    }
    Ok(())
}

fn number(ratio: f64) -> String {
    match ratio {
        10.0.. => format!("{ratio:.0}"),
        _ => format!("{ratio:.2}"),
    }
}

fn note(chart: &mut Chart<'_, '_>, at: (f64, f64), h: HPos, v: VPos, words: String) -> Outcome {
    let style = ("sans-serif", SMALL)
        .into_font()
        .color(&BLACK)
        .pos(Pos::new(h, v));
    chart.draw_series([Text::new(words, at, style)])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::measured_value::Figure;
    use super::super::results::tests::{FAR, NEAR, add_pair, results};
    use super::*;

    #[test]
    fn a_panel_for_each_kind() {
        let mut lines = Vec::new();
        for what in [
            "latency 0 2 2 2 us",
            "latency 8 2 2 2 us",
            "latency-unwritten 8 2 2 2 us",
            "rate-equal-tags 8 5 5 5 M/s",
            "rate-any-source 8 5 5 5 M/s",
            "barrier 0 1 1 1 us",
        ] {
            lines.extend([0, 1].map(|library| (library, format!("bench {what}"))));
        }
        let lines: Vec<_> = lines.iter().map(|(who, line)| (0, *who, &**line)).collect();
        let mut results = results(&lines);
        for library in [0, 1] {
            let line = "bench barrier 0 9 9 9 us";
            results.add(0, library, Figure::parse(line, 8).unwrap(), None);
        }
        let panels = panels(&results);
        let titles: Vec<_> = panels.iter().map(|panel| &*panel.title).collect();
        let expected = [
            "latency, 2 ranks",
            "latency unwritten, 2 ranks",
            "message rate 8 B, 2 ranks",
            "barrier",
        ];
        assert_eq!(titles, expected);
        let points = |panel: usize| -> Vec<&str> {
            let points = panels[panel].points.iter();
            points.map(|(words, _)| &**words).collect()
        };
        assert_eq!(points(0), ["0 B", "8 B"]);
        assert_eq!(points(2), ["equal tags", "any source"]);
        assert_eq!(points(3), ["2 ranks", "8 ranks"]);
    }

    #[test]
    fn every_ratio_is_a_number_also_beyond_the_panel() {
        let mut results = results(&[]);
        for round in 0..5 {
            add_pair(&mut results, 2 * round, 3.0, NEAR);
            add_pair(&mut results, 2 * round + 1, 90.0, FAR);
        }
        let text = draw(&results, &Machine::here()).unwrap();
        assert!(text.starts_with("<svg"), "{text}");
        for words in [
            "latency, 2 ranks",
            "\n1.50\n",
            "\n45\n",
            "<polygon",
            "cores far",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn nobody_to_compare_with() {
        let text = draw(&results(&[]), &Machine::here()).unwrap();
        assert!(text.contains("no other library"), "{text}");
        assert!(text.trim_end().ends_with("</svg>"));
    }
}
