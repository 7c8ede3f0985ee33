//! The launcher's own messages to the terminal. Any module may use it; while a job runs, `run::output` prints instead.
//! A closed terminal is no reason to fail, or to panic.

use std::io::{Write, stderr, stdout};

/// Prints a line on standard output.
pub(crate) fn tell(text: &str) {
    let _ = stdout().write_all(format!("{}\n", text.trim_end()).as_bytes());
}

/// Prints a line on standard error, with the launcher's name in front.
pub(crate) fn warn(text: &str) {
    let _ = stderr().write_all(format!("pombo: {}\n", text.trim_end()).as_bytes());
}

/// Prints progress on standard error: a line, or the beginning of one.
pub(crate) fn progress(text: &str) {
    let _ = stderr().write_all(text.as_bytes());
}
