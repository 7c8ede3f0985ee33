//! The launcher's own words to the person at the terminal. Any module may use it; while a job
//! runs, `run::output` speaks instead. A closed terminal is no reason to fail, or to panic.

use std::io::{Write, stderr, stdout};

/// A line on standard output.
pub(crate) fn tell(text: &str) {
    let _ = stdout().write_all(format!("{}\n", text.trim_end()).as_bytes());
}

/// A line on standard error, with our name in front.
pub(crate) fn warn(text: &str) {
    let _ = stderr().write_all(format!("pombo: {}\n", text.trim_end()).as_bytes());
}

/// What is going on, on standard error: a line, or the beginning of one.
pub(crate) fn progress(text: &str) {
    let _ = stderr().write_all(text.as_bytes());
}
