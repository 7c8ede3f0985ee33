//! Draws the times of `pombo simulate`: a panel for each number of broadcasts, with a bar for each tree, divided into
//! what its time went to. Panels have scales of their own.

use std::error::Error;
use std::io::{self, Write};

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::run::{Series, Times};
use super::table::seconds;

const SPACE: i32 = 20;
const HEADING: i32 = 60;
const TITLE: i32 = 24;
const ROW: i32 = 20;
const NAME_WIDTH: i32 = 200;
const BAR_WIDTH: i32 = 640;
/// Width of the total behind a bar.
const TOTAL_WIDTH: i32 = 90;

/// What a part of a bar is called, its colour, and its time.
type Part = (&'static str, RGBColor, fn(&Times) -> u64);

const PARTS: [Part; 4] = [
    ("measuring links", RGBColor(150, 150, 150), |times| {
        times.measuring
    }),
    ("building the tree", RGBColor(40, 100, 180), |times| {
        times.building
    }),
    ("checking and adapting", RGBColor(225, 135, 35), |times| {
        times.checking
    }),
    ("broadcasts", RGBColor(70, 150, 80), |times| {
        times.broadcasting
    }),
];

/// Writes an SVG file.
pub(super) fn write(
    heading: &str,
    series: &[Series],
    broadcasts: &[u64],
    mut to: impl Write,
) -> io::Result<()> {
    let drawing =
        draw(heading, series, broadcasts).map_err(|error| io::Error::other(error.to_string()))?;
    to.write_all(drawing.as_bytes())?;
    to.flush()
}

fn draw(heading: &str, series: &[Series], broadcasts: &[u64]) -> Result<String, Box<dyn Error>> {
    let panel = TITLE + ROW * series.len() as i32 + SPACE;
    let height = HEADING + panel * broadcasts.len() as i32;
    let width = SPACE + NAME_WIDTH + BAR_WIDTH + TOTAL_WIDTH;
    let font = |pixels: i32, h: HPos| {
        let style = ("sans-serif", pixels).into_font().color(&BLACK);
        style.pos(Pos::new(h, VPos::Center))
    };
    let mut text = String::new();
    {
        let area =
            SVGBackend::with_string(&mut text, (width as u32, height as u32)).into_drawing_area();
        area.fill(&WHITE)?;
        area.draw(&Text::new(
            heading.to_owned(),
            (SPACE, 16),
            font(15, HPos::Left),
        ))?;
        for (index, (name, colour, _)) in PARTS.iter().enumerate() {
            let left = SPACE + 200 * index as i32;
            area.draw(&Rectangle::new(
                [(left, 34), (left + 12, 46)],
                colour.filled(),
            ))?;
            area.draw(&Text::new(*name, (left + 18, 40), font(13, HPos::Left)))?;
        }
        let mut top = HEADING;
        for &number in broadcasts {
            let at = |series: &Series| {
                series
                    .times
                    .get(number as usize - 1)
                    .copied()
                    .unwrap_or_default()
            };
            let longest = series
                .iter()
                .map(|series| at(series).total())
                .max()
                .unwrap_or(0)
                .max(1);
            let x = |time: u64| {
                SPACE + NAME_WIDTH + (time as f64 / longest as f64 * f64::from(BAR_WIDTH)) as i32
            };
            let words = match number {
                1 => "1 broadcast".to_owned(),
                _ => format!("{number} broadcasts"),
            };
            area.draw(&Text::new(
                words,
                (SPACE, top + TITLE / 2),
                font(14, HPos::Left),
            ))?;
            top += TITLE;
            for series in series {
                let (times, middle) = (at(series), top + ROW / 2);
                let name = Text::new(
                    series.name.clone(),
                    (SPACE + NAME_WIDTH - 8, middle),
                    font(13, HPos::Right),
                );
                area.draw(&name)?;
                let mut begin = 0;
                for (_, colour, time) in PARTS {
                    let end = begin + time(&times);
                    let corners = [(x(begin), middle - 7), (x(end), middle + 7)];
                    area.draw(&Rectangle::new(corners, colour.filled()))?;
                    begin = end;
                }
                let total = format!("{} s", seconds(begin));
                area.draw(&Text::new(
                    total,
                    (x(begin) + 6, middle),
                    font(12, HPos::Left),
                ))?;
                top += ROW;
            }
            top += SPACE;
        }
        area.present()?;
    }
    Ok(text)
}
