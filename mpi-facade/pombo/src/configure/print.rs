//! What `pombo configure` prints: each part with its cause, or a table for a build. `mod.rs` calls it.

use std::fmt::Write as _;

use super::decision::{Composition, Decision};
use super::features;

/// A part of the composition as it is printed: name, value, cause.
type Row<'a> = (&'static str, &'static str, &'a str);

fn rows(all: &Composition) -> [Row<'_>; 12] {
    let matcher = ["linear", "adaptive"][usize::from(all.adaptive_matcher.value)];
    [
        flag("basic", &all.basic),
        ("datatypes", all.datatypes.value.name(), &all.datatypes.why),
        flag("rendezvous", &all.rendezvous),
        flag("buffering", &all.buffering),
        flag("any-source", &all.any_source),
        flag("any-tag", &all.any_tag),
        ("matcher", matcher, &all.adaptive_matcher.why),
        flag("collectives", &all.collectives),
        flag("in-place", &all.in_place),
        flag("hosts", &all.hosts),
        flag("heterogeneous", &all.heterogeneous),
        flag("diagnostics", &all.diagnostics),
    ]
}

fn flag<'a>(name: &'static str, choice: &'a Decision<bool>) -> Row<'a> {
    (name, if choice.value { "yes" } else { "no" }, &choice.why)
}

/// Returns a line for each part.
pub(super) fn text(composition: &Composition) -> String {
    let mut text = String::new();
    for (name, value, why) in rows(composition) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<14}{value:<11}{why}");
    }
    text
}

/// Returns a table in TOML, the causes as comments.
pub(super) fn toml(composition: &Composition) -> String {
    let features = features::of(composition);
    let quoted: Vec<String> = features.iter().map(|name| format!("\"{name}\"")).collect();
    let mut text = format!(
        "# features of {}\nfeatures = [{}]\n\n[composition]\n",
        features::package(composition).name,
        quoted.join(", ")
    );
    for (name, value, why) in rows(composition) {
        let value = match value {
            "yes" => "true".to_owned(),
            "no" => "false".to_owned(),
            word => format!("\"{word}\""),
        };
        let _ = writeln!(text, "{name} = {value} # {why}");
    }
    text
}
