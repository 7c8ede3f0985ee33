//! `pombo info`: prints what a person or a bug report needs to know. `cli` calls it.

use std::fmt::Write as _;

use crate::console::tell;
use crate::error::Error;
use crate::{install, library, run, variables};
use pombo_mpi::collective;

/// Prints the information; a missing part is reported, not an error.
pub(crate) fn main() -> Result<u8, Error> {
    tell(&text());
    Ok(0)
}

fn text() -> String {
    let mut text = String::new();
    let mut add = |name: &str, value: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<10}{value}");
    };
    add("version", env!("CARGO_PKG_VERSION").into());
    add("launcher", found(library::executable()));
    let library = library::find();
    let header = library.as_ref().ok().and_then(install::installed);
    let header = header.map(|prefix| prefix.include.join("mpi.h"));
    add(
        "library",
        found(library.map(|library| library.file().to_owned())),
    );
    add(
        "header",
        header.map_or("in the launcher; mpicc lays it down".into(), |header| {
            header.display().to_string()
        }),
    );
    add("cores", format!("{}", run::allowed_cores().len()));
    add(
        "compose",
        format!("{:016x}", pombo_mpi::message_header::FINGERPRINT),
    );
    text.push_str("\nEnvironment variables\n");
    for (variable, meaning) in variables::explained() {
        let default = match variable.default {
            "" => "none",
            default => default,
        };
        let _ = writeln!(
            text,
            "  {:<24}{}: {} [default: {default}]{}",
            variable.name(),
            variable.values.must,
            meaning,
            now(variable.name())
        );
    }
    text.push_str("\nAlgorithms of collective operations: variables, what they may say, what holds without them\n");
    for choice in collective::TABLE {
        let names = choice.allowed.iter().map(|algorithm| algorithm.name());
        let rules = choice.rules.iter().map(ToString::to_string);
        let (names, rules) = (names.collect::<Vec<_>>(), rules.collect::<Vec<_>>());
        let _ = writeln!(
            text,
            "  {:<26}{} [default: {}]{}",
            choice.variable(),
            names.join(", "),
            rules.join(", else "),
            now(choice.variable())
        );
    }
    text
}

/// Returns the value of a variable in this process.
fn now(variable: &str) -> String {
    std::env::var_os(variable).map_or(String::new(), |now| format!(" (now {})", now.display()))
}

fn found(path: Result<std::path::PathBuf, Error>) -> String {
    match path {
        Ok(path) => path.display().to_string(),
        Err(error) => error.to_string(),
    }
}
