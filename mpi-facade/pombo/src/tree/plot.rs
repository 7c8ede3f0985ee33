//! Draws a tree: its edges on the left, and beside each rank its time line with the sends and their arrivals. Only
//! `tree` uses it.

use std::error::Error;
use std::io::{self, Write};

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::timed_tree::TimedTree;

const SPACE: i32 = 20;
/// Height of the heading and of the labels of the time axis.
const HEADING: i32 = 70;
const ROW: i32 = 18;
/// Width of a level of the tree, if there are few of them, and of all of them, at most.
const LEVEL: i32 = 26;
const LEVELS: i32 = 400;
/// Width of the numbers of ranks.
const NUMBER: i32 = 30;
const TIME: i32 = 860;
/// Parts of the time axis.
const PARTS: u64 = 10;
const SENDING: RGBColor = RGBColor(40, 100, 180);
const MESSAGE: RGBColor = RGBColor(225, 135, 35);

/// Writes an SVG file.
pub(super) fn write(tree: &TimedTree, mut to: impl Write) -> io::Result<()> {
    let drawing = draw(tree).map_err(|error| io::Error::other(error.to_string()))?;
    to.write_all(drawing.as_bytes())?;
    to.flush()
}

fn draw(tree: &TimedTree) -> Result<String, Box<dyn Error>> {
    let rows = tree.rows();
    let deepest = rows.iter().map(|(_, depth)| *depth as i32).max();
    let level = (LEVELS / deepest.unwrap_or(0).max(1)).clamp(1, LEVEL);
    let begin = SPACE + level * deepest.unwrap_or(0) + NUMBER;
    let bottom = HEADING + ROW * rows.len() as i32;
    let size = ((begin + TIME + 3 * SPACE) as u32, (bottom + SPACE) as u32);
    // The rows of ranks, and the end of the last send or arrival.
    let mut row_of = vec![0; rows.len()];
    let mut last = tree.latency().max(1);
    for (row, (rank, _)) in rows.iter().enumerate() {
        row_of[*rank] = HEADING + ROW * row as i32 + ROW / 2;
        let sends = tree.sends(*rank).last();
        last = last.max(sends.map_or(0, |send| send.begin + tree.times.hold));
    }
    let at = |time: u64| begin + (time as f64 / last as f64 * f64::from(TIME)) as i32;
    let font = |pixels: i32, h: HPos, colour: &RGBColor| {
        let style = ("sans-serif", pixels).into_font().color(colour);
        style.pos(Pos::new(h, VPos::Center))
    };

    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        let what = format!(
            "{}, {} ranks, t_hold {}, t_end {}: latency {}, hold time {}",
            tree.name,
            rows.len(),
            tree.times.hold,
            tree.times.end,
            tree.latency(),
            tree.hold()
        );
        let legend = [
            (what, SPACE, 16, BLACK),
            ("rank sends".to_owned(), begin, 36, SENDING),
            ("message arrives".to_owned(), begin + 100, 36, MESSAGE),
        ];
        for (words, left, top, colour) in legend {
            area.draw(&Text::new(
                words,
                (left, top),
                font(16, HPos::Left, &colour),
            ))?;
        }
        let mut label = None;
        for time in (0..=PARTS).map(|part| last * part / PARTS) {
            // Short times have fewer labels than parts.
            if label.replace(time) == Some(time) {
                continue;
            }
            let line = [(at(time), HEADING - 6), (at(time), bottom)];
            area.draw(&PathElement::new(line, BLACK.mix(0.15)))?;
            let words = Text::new(
                time.to_string(),
                (at(time), HEADING - 14),
                font(13, HPos::Center, &BLACK),
            );
            area.draw(&words)?;
        }
        for (rank, depth) in &rows {
            let (x, y) = (SPACE + level * *depth as i32, row_of[*rank]);
            let line = [(at(tree.arrival(*rank)), y), (at(last), y)];
            area.draw(&PathElement::new(line, BLACK.mix(0.4)))?;
            for send in tree.sends(*rank) {
                let (child, until) = (row_of[send.to], send.begin + tree.times.hold);
                let edge = [(x, y), (x, child), (x + level, child)];
                area.draw(&PathElement::new(edge, BLACK.mix(0.4)))?;
                let corners = [(at(send.begin), y - 3), (at(until), y + 3)];
                area.draw(&Rectangle::new(corners, SENDING.mix(0.5).filled()))?;
                area.draw(&Rectangle::new(corners, SENDING.stroke_width(1)))?;
                let way = [(at(send.begin), y), (at(tree.arrival(send.to)), child)];
                area.draw(&PathElement::new(way, MESSAGE.stroke_width(1)))?;
            }
            area.draw(&Circle::new((x, y), 3, BLACK.filled()))?;
            area.draw(&Circle::new(
                (at(tree.arrival(*rank)), y),
                2,
                MESSAGE.filled(),
            ))?;
            let number = Text::new(
                rank.to_string(),
                (x + 6, y - 1),
                font(13, HPos::Left, &BLACK),
            );
            area.draw(&number)?;
            let arrival = Text::new(
                tree.arrival(*rank).to_string(),
                (at(last) + 6, y - 1),
                font(13, HPos::Left, &BLACK),
            );
            area.draw(&arrival)?;
        }
        area.present()?;
    }
    Ok(text)
}
