//! The environment variables of a job: their valid values, defaults and meanings. A package above has a table of its
//! own, made by the same macro; the program checks all tables at once at its start, so that a job reports an error
//! once.

#[doc(hidden)]
pub mod const_format;
mod delay;
pub(crate) mod loss;
mod table;
mod values;
mod variable;

pub use const_format::words;
pub use table::*;
pub use values::{Values, numbers, whole};
#[doc(hidden)]
pub use variable::named;
pub use variable::{Variable, variables};

use crate::bootstrap::{JobError, excerpt, rank};
use crate::environment;
use crate::fixed_string::text;
use crate::log::{self, LogLine};
use alloc::boxed::Box;
use core::ffi::CStr;

/// Returns the number of places of this job for processes that join it while it runs: they are its last ranks.
pub fn spare_places() -> usize {
    SPARE.number().unwrap_or(0)
}

/// The result of checking a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The variable is valid, or is none of Pombo's.
    Fine,
    /// The variable has an invalid value.
    Wrong {
        /// The variable.
        name: &'static CStr,
        /// What it must be.
        must: &'static str,
    },
    /// The variable has been renamed.
    Renamed {
        /// The former name.
        name: &'static str,
        /// The present one.
        now: &'static str,
    },
    /// There is no such variable.
    Unknown,
}

/// Checks a variable whose name begins with `POMBO_` against these tables. Variables named in `others` are always
/// valid. A value that is not valid UTF-8 is `None`.
pub fn check(
    tables: &[&'static [&'static Variable]],
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
            name: known.name,
            must: known.values.must,
        },
        None if others.any(|other| other == name) => Verdict::Fine,
        None => Verdict::Unknown,
    }
}

/// Prefix of the names of test variables.
const OF_TESTS: &str = "POMBO_TEST_";

/// Checks all variables of this process by `judge`, which is [`check`] or calls it. The first rank reports unknown
/// variables, unless a launcher has.
///
/// # Errors
/// [`JobError::Variable`] or [`JobError::Renamed`]: the first invalid variable.
pub fn check_all(judge: impl Fn(&str, Option<&str>) -> Verdict) -> Result<(), Box<JobError>> {
    let warns = rank() == 0 && environment::variable(SHM_FD.name).is_none();
    for (name, value) in environment::all() {
        match judge(name, value.to_str().ok()) {
            Verdict::Fine => {}
            Verdict::Wrong { name, must } => {
                return Err(JobError::variable(name, must, Some(value)));
            }
            Verdict::Renamed { name, now } => {
                return Err(Box::new(JobError::Renamed { name, now }));
            }
            Verdict::Unknown if warns => log::error(&unknown(name)),
            Verdict::Unknown => {}
        }
    }
    Ok(())
}

/// Checks the variables of this package, for a program without variables of its own. Others are ignored.
///
/// # Errors
/// [`JobError::Variable`]: the first invalid variable.
pub fn check_own() -> Result<(), Box<JobError>> {
    check_all(
        |name, value| match check(&[VARIABLES], core::iter::empty(), name, value) {
            Verdict::Unknown => Verdict::Fine,
            known => known,
        },
    )
}

fn unknown(name: &str) -> LogLine {
    text!(
        "pombo: there is no variable {}; `pombo info` lists all",
        excerpt(name).as_str()
    )
}
