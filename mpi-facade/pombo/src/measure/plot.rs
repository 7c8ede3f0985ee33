//! Draws broadcasts along trees, as predicted and as measured, a panel for each number of ranks. Only `measure` uses it.

use std::io::{self, Write};

use plotters::prelude::*;

use super::validate::Case;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const PANEL: (u32, u32) = (620, 420);
const HEADING: u32 = 30;
const COLOURS: [RGBColor; 5] = [
    RGBColor(200, 30, 40),
    RGBColor(30, 90, 170),
    RGBColor(20, 130, 80),
    RGBColor(240, 140, 30),
    RGBColor(120, 40, 140),
];

/// Writes an SVG file.
pub(super) fn write(title: &str, cases: &[Case], mut to: impl Write) -> io::Result<()> {
    let drawing = draw(title, cases).map_err(|error| io::Error::other(error.to_string()))?;
    to.write_all(drawing.as_bytes())
}

fn draw(title: &str, cases: &[Case]) -> Outcome<String> {
    let mut ranks: Vec<u32> = cases.iter().map(|case| case.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let columns = ranks.len().max(1);
    let mut text = String::new();
    {
        let size = (columns as u32 * PANEL.0, HEADING + PANEL.1);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        let (above, below) = area.split_vertically(HEADING);
        let style = ("sans-serif", 13).into_font().color(&BLACK);
        above.draw(&Text::new(title.to_owned(), (10, 10), style))?;
        for (ranks, place) in ranks.iter().zip(below.split_evenly((1, columns))) {
            let cases: Vec<&Case> = cases.iter().filter(|case| case.ranks == *ranks).collect();
            panel(*ranks, &cases, &place)?;
        }
        area.present()?;
    }
    Ok(text)
}

/// Draws predictions as lines, and measurements as points with the runs' least and greatest.
fn panel(
    ranks: u32,
    cases: &[&Case],
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
) -> Outcome {
    let micros = |nanoseconds: f64| (nanoseconds / 1e3).max(1e-3);
    let all = cases.iter().flat_map(|case| &case.trees);
    let times = all.flat_map(|tree| {
        [
            Some(tree.predicted as f64),
            tree.measured.map(|time| time.least),
            tree.measured.map(|time| time.most),
        ]
    });
    let times: Vec<f64> = times.flatten().map(micros).collect();
    let least = times.iter().copied().fold(f64::INFINITY, f64::min).min(1e9);
    let most = times.iter().copied().fold(least, f64::max);
    let bytes = cases.iter().map(|case| case.bytes.max(1) as f64);
    let (first, last) = bytes.fold((f64::INFINITY, 1.0), |(least, most), one| {
        (f64::min(least, one), f64::max(most, one))
    });
    let first = first.min(last);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(35)
        .y_label_area_size(60)
        .caption(format!("{ranks} ranks"), ("sans-serif", 14))
        .build_cartesian_2d(
            (first / 1.3..last * 1.3).log_scale(),
            (least / 1.3..most * 1.3).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("bytes")
        .y_desc("us until the last rank has all")
        .draw()?;
    let Some(trees) = cases.first().map(|case| &case.trees) else {
        return Ok(());
    };
    for (index, (tree, colour)) in trees.iter().zip(COLOURS).enumerate() {
        let of = |case: &&&Case| {
            case.trees
                .get(index)
                .map(|tree| (case.bytes.max(1) as f64, tree.clone()))
        };
        let points: Vec<_> = cases.iter().filter_map(|case| of(&case)).collect();
        let line = points
            .iter()
            .map(|(bytes, tree)| (*bytes, micros(tree.predicted as f64)));
        chart
            .draw_series(LineSeries::new(line, &colour))?
            .label(tree.algorithm)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 15, y)], colour));
        // A little beside each other, as trees often take the same time.
        let beside = 1.0 + 0.03 * (index as f64 - 2.0);
        for (bytes, tree) in &points {
            let Some(time) = tree.measured else { continue };
            let at = bytes * beside;
            chart.draw_series([Circle::new(
                (at, micros(time.median)),
                4,
                colour.stroke_width(2),
            )])?;
            let ends = [(at, micros(time.least)), (at, micros(time.most))];
            chart.draw_series([PathElement::new(ends, colour)])?;
        }
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::collectives::Time;
    use super::super::validate::Tree;
    use super::*;

    #[test]
    fn every_measured_tree_is_a_point() {
        let tree = |algorithm, predicted| Tree {
            algorithm,
            sharers: 1.0,
            predicted,
            measured: Some(Time {
                median: 2e3,
                least: 1e3,
                most: 3e3,
            }),
        };
        let case = |ranks, bytes| Case {
            ranks,
            bytes,
            processor: 0.0,
            trees: vec![tree("linear", 1000), tree("chain", 0)],
        };
        let text = draw("a title", &[case(4, 0), case(4, 1000), case(8, 1000)]).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        assert_eq!(text.matches("<circle").count(), 6);
        for words in ["a title", "4 ranks", "8 ranks", "linear", "chain"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn nothing_to_draw() {
        assert!(draw("", &[]).unwrap().trim_end().ends_with("</svg>"));
    }
}
