//! The environment variables of a job: what each may say, what holds without it, what it means. A package above has a
//! table of its own, made by the same macro; whoever starts up checks all tables at once, so that a job says it once.

#[doc(hidden)]
pub mod const_format;
pub(crate) mod loss;
mod table;
mod values;
mod variable;

pub use const_format::words;
pub use table::*;
pub use values::{Values, numbers};
#[doc(hidden)]
pub use variable::named;
pub use variable::{Variable, variables};

use crate::bootstrap::{self, JobError};
use crate::environment;
use crate::log::{self, LogLine};

/// What a variable is found to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// In order, or none of ours.
    Fine,
    /// It says something that cannot be.
    Wrong {
        /// The variable.
        name: &'static str,
        /// What it must be.
        must: &'static str,
    },
    /// It has another name now.
    Renamed {
        /// The former name.
        name: &'static str,
        /// The present one.
        now: &'static str,
    },
    /// There is no such variable.
    Unknown,
}

/// What is to be said of a variable whose name begins with `POMBO_`, by these tables; of one with a name of `others`
/// nothing. A value that is no text is `None`.
pub fn check(
    tables: &[&'static [Variable]],
    mut others: impl Iterator<Item = &'static str>,
    name: &str,
    value: Option<&str>,
) -> Verdict {
    if !name.starts_with("POMBO_") || name.starts_with(OF_TESTS) {
        return Verdict::Fine;
    }
    let mut all = tables.iter().flat_map(|table| table.iter());
    let known = all.find(|variable| variable.name() == name);
    match known {
        Some(known) if value.is_some_and(known.values.fits) => Verdict::Fine,
        Some(known) => Verdict::Wrong {
            name: known.name(),
            must: known.values.must,
        },
        None if others.any(|other| other == name) => Verdict::Fine,
        None => Verdict::Unknown,
    }
}

/// How the names of variables of tests begin.
const OF_TESTS: &str = "POMBO_TEST_";

/// Has all variables of this process judged, by [`check`] or what calls it. The first rank tells which ones nobody
/// knows, if no launcher has.
///
/// # Errors
/// [`JobError::Variable`] or [`JobError::Renamed`]: the first that is wrong.
pub fn check_all(judge: impl Fn(&str, Option<&str>) -> Verdict) -> Result<(), JobError> {
    let warns = bootstrap::rank() == 0 && environment::variable(SHM_FD.name).is_none();
    for (name, value) in environment::all() {
        match judge(name, value.to_str().ok()) {
            Verdict::Fine => {}
            Verdict::Wrong { name, must } => {
                return Err(JobError::variable(name, must, value.to_str().ok()));
            }
            Verdict::Renamed { name, now } => return Err(JobError::Renamed { name, now }),
            Verdict::Unknown if warns => log::error(&unknown(name)),
            Verdict::Unknown => {}
        }
    }
    Ok(())
}

/// Checks those of this package, for a program that has none of its own. Others are left alone.
///
/// # Errors
/// [`JobError::Variable`]: the first that is wrong.
pub fn check_own() -> Result<(), JobError> {
    check_all(
        |name, value| match check(&[VARIABLES], core::iter::empty(), name, value) {
            Verdict::Unknown => Verdict::Fine,
            known => known,
        },
    )
}

fn unknown(name: &str) -> LogLine {
    let shown = bootstrap::excerpt(name);
    LogLine::of(format_args!(
        "pombo: there is no variable {shown}; `pombo info` lists all"
    ))
}
