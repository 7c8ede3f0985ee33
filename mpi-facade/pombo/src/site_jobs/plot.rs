//! Draws the times of traces. Only `traces` uses it.

use plotters::prelude::*;

use super::traces::{TREES, Times};

const SIZE: (u32, u32) = (960, 420);
const COLOURS: [RGBColor; TREES.len()] = [
    RGBColor(200, 30, 40),
    RGBColor(240, 140, 30),
    RGBColor(30, 90, 170),
    RGBColor(20, 130, 80),
    RGBColor(110, 110, 110),
];

/// Draws a group of bars for each trace, as SVG.
pub(super) fn draw(all: &[Times]) -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let most = all
            .iter()
            .flat_map(|times| times.seconds)
            .fold(0.0, f64::max);
        let mut chart = ChartBuilder::on(&area)
            .caption(
                "Broadcast and reduce over six hosts whose links change: seconds of the program by trace",
                ("sans-serif", 15),
            )
            .margin(10)
            .x_label_area_size(36)
            .y_label_area_size(48)
            .build_cartesian_2d(0.0..all.len().max(1) as f64, 0.0..most * 1.05)?;
        let name = |place: &f64| {
            let times = all.get(*place as usize);
            times.map_or_else(String::new, |times| times.seed.to_string())
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(all.len() + 1)
            .x_label_formatter(&name)
            .x_desc("seed")
            .y_desc("seconds")
            .draw()?;
        let width = 0.8 / TREES.len() as f64;
        for (place, (tree, ..)) in TREES.iter().enumerate() {
            let colour = COLOURS[place];
            let bars = all.iter().enumerate().map(|(number, times)| {
                let left = number as f64 + 0.1 + place as f64 * width;
                let corners = [(left, 0.0), (left + width, times.seconds[place])];
                Rectangle::new(corners, colour.filled())
            });
            let series = chart.draw_series(bars)?;
            series.label(*tree).legend(move |(x, y)| {
                Rectangle::new([(x, y - 4), (x + 10, y + 4)], colour.filled())
            });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .draw()?;
        area.present()?;
    }
    Ok(text)
}
