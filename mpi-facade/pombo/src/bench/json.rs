//! Writes the results as JSON for other programs. Only `bench` uses it.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::machine::Machine;
use super::measured_value::Spread;
use super::results::{Results, Row};

/// Writes all results and a final newline; `network` describes the network between hosts.
pub(super) fn write(
    results: &Results,
    machine: &Machine,
    network: Value,
    mut to: impl Write,
) -> io::Result<()> {
    writeln!(to, "{:#}", value(results, machine, network))?;
    to.flush()
}

fn value(results: &Results, machine: &Machine, network: Value) -> Value {
    let libraries = results.libraries.iter();
    let libraries = libraries.map(|library| {
        json!({
            "name": library.name,
            "version": library.version,
            "ours": library.is_ours,
        })
    });
    let rows = results.rows.iter().map(|row| measurement(row, results));
    json!({
        "machine": machine.name,
        "cores": machine.cores,
        "unix_time": machine.seconds,
        "command": machine.command,
        "network": network,
        "line_ns": results.line().map(spread),
        "libraries": libraries.collect::<Vec<_>>(),
        "measurements": rows.collect::<Vec<_>>(),
    })
}

/// Returns one measurement. A library without figures is omitted, and so is a ratio without a peer.
fn measurement(row: &Row, results: &Results) -> Value {
    let mut figures = Map::new();
    let mut ratios = Map::new();
    for ours in results.ours() {
        if let Some(ratio) = results.ratio(row, ours) {
            ratios.insert(results.libraries[ours].name.clone(), ratio.into());
        }
    }
    for (index, library) in results.libraries.iter().enumerate() {
        if let Some(figure) = row.spread(index) {
            figures.insert(library.name.clone(), spread(figure));
        }
    }
    json!({
        "name": row.key.name,
        "ranks": row.key.ranks,
        "size": row.key.size,
        "unit": row.key.unit,
        "figures": figures,
        "ratios": ratios,
    })
}

fn spread(figure: Spread) -> Value {
    json!({
        "median": figure.median,
        "low": figure.low,
        "high": figure.high,
    })
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::results;
    use super::*;

    #[test]
    fn reads_back() {
        let results = results(&[
            (0, 0, "bench latency 8 0.25 0.125 0.5 us"),
            (0, 1, "bench latency 8 0.5 0.5 0.5 us"),
        ]);
        let mut text = Vec::new();
        write(&results, &Machine::here(), Value::Null, &mut text).unwrap();
        let value: Value = serde_json::from_slice(&text).unwrap();
        let row = &value["measurements"][0];
        assert_eq!(row["figures"]["pombo"]["low"], 0.125);
        assert_eq!(row["figures"]["a"]["median"], 0.5);
        assert_eq!(row["figures"].get("b"), None);
        assert_eq!(row["ratios"]["pombo"], 2.0);
        assert_eq!(value["libraries"][2]["name"], "b");
        assert!(value["cores"].as_u64().unwrap() > 0);
    }
}
