//! The results for other programs, as JSON. Only `bench` uses it.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::results::{Results, Row};

/// Writes everything and a last newline.
pub(super) fn write(results: &Results, mut to: impl Write) -> io::Result<()> {
    writeln!(to, "{:#}", value(results))?;
    to.flush()
}

fn value(results: &Results) -> Value {
    let libraries = results.libraries.iter();
    let libraries = libraries.map(|library| {
        json!({
            "name": library.name,
            "version": library.version,
        })
    });
    let rows = results.rows.iter().map(|row| measurement(row, results));
    json!({
        "libraries": libraries.collect::<Vec<_>>(),
        "measurements": rows.collect::<Vec<_>>(),
    })
}

/// A library without figures is left out; without a peer the ratio is null.
fn measurement(row: &Row, results: &Results) -> Value {
    let mut figures = Map::new();
    for (index, library) in results.libraries.iter().enumerate() {
        if let Some(spread) = row.spread(index) {
            let figure = json!({
                "median": spread.median,
                "low": spread.low,
                "high": spread.high,
            });
            figures.insert(library.name.clone(), figure);
        }
    }
    json!({
        "name": row.key.name,
        "ranks": row.key.ranks,
        "size": row.key.size,
        "unit": row.key.unit,
        "figures": figures,
        "ratio": row.ratio(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::figure::Figure;
    use super::*;

    #[test]
    fn reads_back() {
        let mut results = Results::new(vec!["pombo".into(), "a \"b\"".into(), "c".into()]);
        for (library, line) in [
            (0, "bench latency 8 0.25 0.125 0.5 us"),
            (1, "bench latency 8 0.5 0.5 0.5 us"),
        ] {
            results.add(library, Figure::parse(line, 2).unwrap());
        }
        let mut text = Vec::new();
        write(&results, &mut text).unwrap();
        let value: Value = serde_json::from_slice(&text).unwrap();
        let row = &value["measurements"][0];
        assert_eq!(row["figures"]["pombo"]["low"], 0.125);
        assert_eq!(row["figures"]["a \"b\""]["median"], 0.5);
        assert_eq!(row["figures"].get("c"), None);
        assert_eq!(row["ratio"], 2.0);
        assert_eq!(value["libraries"][2]["name"], "c");
    }
}
