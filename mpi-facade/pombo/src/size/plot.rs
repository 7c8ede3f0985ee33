//! Draws the parts of each composition's program as one bar. Only `size` uses it.

use std::error::Error as StdError;
use std::io;

use plotters::prelude::*;

use super::parts::{Measured, PARTS};
use crate::error::Error;

const SIZE: (u32, u32) = (900, 420);
const SMALL: i32 = 12;

/// Returns the drawing, in SVG.
pub(super) fn draw(all: &[Measured]) -> Result<String, Error> {
    let mut text = String::new();
    drawn(all, &mut text)
        .map_err(|error| io::Error::other(error.to_string()))
        .map_err(Error::system("draw"))?;
    Ok(text)
}

fn drawn(all: &[Measured], text: &mut String) -> Result<(), Box<dyn StdError>> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let most = all.iter().map(|it| it.sizes.file).max().unwrap_or(1) as f64 / 1000.0;
    let count = all.len() as f64;
    let mut chart = ChartBuilder::on(&area)
        .margin(10)
        .x_label_area_size(24)
        .y_label_area_size(50)
        .caption(
            "a ping-pong that carries the library, KB",
            ("sans-serif", 15),
        )
        .build_cartesian_2d(-0.5..count + 1.4, 0.0..most * 1.08)?;
    let names = |place: &f64| {
        let is_whole = (place - place.round()).abs() < 0.01 && *place > -0.1;
        let named = all.get(place.round().max(0.0) as usize);
        named
            .filter(|_| is_whole)
            .map_or(String::new(), |it| it.name.into())
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(all.len() * 4)
        .x_label_formatter(&names)
        .draw()?;
    for (part, name) in PARTS.iter().enumerate() {
        let colour = Palette99::pick(part).mix(0.85);
        let bars = all.iter().enumerate().map(|(place, it)| {
            let below: u64 = it.sizes.parts[..part].iter().sum();
            let above = below + it.sizes.parts[part];
            let at = |side: f64, bytes: u64| (place as f64 + side, bytes as f64 / 1000.0);
            Rectangle::new([at(-0.3, below), at(0.3, above)], colour.filled())
        });
        chart
            .draw_series(bars)?
            .label(*name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled()));
    }
    for (place, it) in all.iter().enumerate() {
        let file = it.sizes.file as f64 / 1000.0;
        let words = format!("{file:.1}");
        let at = (place as f64 - 0.1, file + most * 0.05);
        chart.draw_series([Text::new(words, at, ("sans-serif", SMALL))])?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .label_font(("sans-serif", SMALL))
        .draw()?;
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::parts::Sizes;
    use super::*;

    #[test]
    fn every_part_has_its_colour_and_every_bar_its_number() {
        let sizes = Sizes {
            file: 123_400,
            parts: [12_340; PARTS.len()],
            ..Sizes::default()
        };
        let measured = Measured {
            name: "one-host",
            sizes,
            slots: [0; 2],
        };
        let text = draw(&[measured]).expect("a drawing");
        for words in ["one-host", "123.4", "netdrivers", "formatting"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
