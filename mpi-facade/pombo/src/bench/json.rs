//! Writes the results as JSON for other programs: medians and ratios in each state, and every turn. Only `bench` uses
//! it.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::machine::Machine;
use super::measured_value::Spread;
use super::results::{Ratio, Results, Rival, Row, Turn};
use super::state::{NEAR, State};

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
        "line_ns": {
            "near": results.line(State::Near).map(spread),
            "far": results.line(State::Far).map(spread),
            "far_from": NEAR,
        },
        "least_turns": results.least,
        "dropped_turns": results.dropped(),
        "libraries": libraries.collect::<Vec<_>>(),
        "measurements": rows.collect::<Vec<_>>(),
    })
}

/// Returns one measurement. A library without figures in a state is omitted there, and so is a ratio without a peer.
fn measurement(row: &Row, results: &Results) -> Value {
    let states = row.states().iter();
    let states = states.map(|&state| (state.name().to_owned(), in_state(row, state, results)));
    let turns = row.turns().map(|(round, library, one)| {
        let library = &results.libraries[library].name;
        turn(round, library, one)
    });
    json!({
        "name": row.key.name,
        "ranks": row.key.ranks,
        "size": row.key.size,
        "unit": row.key.unit,
        "states": states.collect::<Map<_, _>>(),
        "dropped_turns": row.dropped(),
        "turns": turns.collect::<Vec<_>>(),
    })
}

fn in_state(row: &Row, state: State, results: &Results) -> Value {
    let mut figures = Map::new();
    for (index, library) in results.libraries.iter().enumerate() {
        if let Some(figure) = results.figure(row, index, state) {
            let mut figure = spread(figure);
            figure["turns"] = row.count(index, state).into();
            figures.insert(library.name.clone(), figure);
        }
    }
    let ratios = |rival| -> Map<String, Value> {
        let ours = results.ours();
        let ratios = ours.filter_map(|ours| {
            let found = results.ratio(row, state, ours, rival)?;
            Some((results.libraries[ours].name.clone(), ratio(found, results)))
        });
        ratios.collect()
    };
    json!({
        "figures": figures,
        "ratios": ratios(Rival::Best),
        "ratios_to_intel": ratios(Rival::Intel),
    })
}

fn ratio(ratio: Ratio, results: &Results) -> Value {
    json!({
        "to": results.libraries[ratio.peer].name,
        "median": ratio.median,
        "bounds": ratio.bounds,
        "rounds": ratio.rounds,
    })
}

/// Returns one turn; its state is null if that changed, so that the turn does not count.
fn turn(round: usize, library: &str, turn: &Turn) -> Value {
    let mut value = spread(turn.spread);
    value["round"] = round.into();
    value["library"] = library.into();
    value["line_ns"] = turn.lines.map(Vec::from).into();
    value["state"] = turn.state().map(State::name).into();
    value
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
    use super::super::results::tests::{CHANGED, FAR, add_pair, results};
    use super::*;

    fn written(results: &Results) -> Value {
        let mut text = Vec::new();
        write(results, &Machine::here(), Value::Null, &mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn every_turn_has_its_lines() {
        let mut results = results(&[]);
        results.least = 2;
        add_pair(&mut results, 0, 3.0, FAR);
        add_pair(&mut results, 1, 5.0, FAR);
        add_pair(&mut results, 2, 3.0, CHANGED);
        let value = written(&results);
        assert_eq!(value["dropped_turns"], 2);
        assert_eq!(value["line_ns"]["far"]["low"], 200.0);
        let row = &value["measurements"][0];
        assert_eq!(row["dropped_turns"], 2);
        let far = &row["states"]["far"];
        assert_eq!(far["figures"]["a"]["turns"], 2);
        assert_eq!(far["ratios"]["pombo"]["median"], 2.0);
        assert_eq!(far["ratios"]["pombo"]["rounds"], 2);
        assert_eq!(
            row["states"]["near"]["figures"].as_object().unwrap().len(),
            0
        );
        let turns = row["turns"].as_array().unwrap();
        assert_eq!(turns.len(), 6);
        assert_eq!(turns[0]["state"], "far");
        assert_eq!(turns[5]["round"], 2);
        assert_eq!(turns[5]["library"], "a");
        assert_eq!(turns[5]["line_ns"], serde_json::json!([45.0, 201.0]));
        assert_eq!(turns[5]["state"], Value::Null);
    }

    #[test]
    fn reads_back() {
        let value = written(&results(&[
            (0, 0, "bench latency 8 0.25 0.125 0.5 us"),
            (0, 1, "bench latency 8 0.5 0.5 0.5 us"),
        ]));
        let row = &value["measurements"][0];
        let shared = &row["states"]["shared"];
        assert_eq!(shared["figures"]["pombo"]["low"], 0.125);
        assert_eq!(shared["figures"]["a"]["median"], 0.5);
        assert_eq!(shared["figures"].get("b"), None);
        assert_eq!(shared["ratios"]["pombo"]["median"], 2.0);
        assert_eq!(shared["ratios"]["pombo"]["to"], "a");
        assert_eq!(row["turns"][1]["median"], 0.5);
        assert_eq!(row["turns"][1]["line_ns"], Value::Null);
        assert_eq!(value["libraries"][2]["name"], "b");
        assert!(value["cores"].as_u64().unwrap() > 0);
    }
}
