//! The environment variables of a job: what each may say, what holds without it, what it means. A package above has a
//! table of its own, made by the same macro; whoever starts up checks all tables at once, so that a job says it once.

pub(crate) mod loss;
mod table;
mod values;
mod variable;
#[doc(hidden)]
pub mod words;

pub use table::*;
pub use values::{Values, numbers};
#[doc(hidden)]
pub use variable::named;
pub use variable::{Variable, variables};
pub use words::words;

use crate::environment;
use crate::output::{self, Line};
use crate::place::{self, JobError};

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
    /// There is no such variable.
    Unknown {
        /// One that is called nearly so.
        nearest: Option<&'static str>,
    },
}

/// What is to be said of a variable whose name begins with `POMBO_`, by these tables; of one with a name of `others`
/// nothing. A value that is no text is `None`.
pub fn check(
    tables: &[&'static [Variable]],
    others: impl Iterator<Item = &'static str> + Clone,
    name: &str,
    value: Option<&str>,
) -> Verdict {
    if !name.starts_with("POMBO_") || name.starts_with(OF_TESTS) {
        return Verdict::Fine;
    }
    let all = || tables.iter().flat_map(|table| table.iter());
    let known = all().find(|variable| variable.name() == name);
    match known {
        Some(known) if value.is_some_and(known.values.fits) => Verdict::Fine,
        Some(known) => Verdict::Wrong {
            name: known.name(),
            must: known.values.must,
        },
        None if others.clone().any(|other| other == name) => Verdict::Fine,
        None => Verdict::Unknown {
            nearest: nearest(name, all().map(Variable::name).chain(others)),
        },
    }
}

/// How the names of variables of tests begin.
const OF_TESTS: &str = "POMBO_TEST_";

/// Has all variables of this process judged, by [`check`] or what calls it. The first rank tells which ones nobody
/// knows, if no launcher has.
///
/// # Errors
/// [`JobError::Variable`]: the first that is wrong.
pub fn check_all(judge: impl Fn(&str, Option<&str>) -> Verdict) -> Result<(), JobError> {
    let warns = place::rank() == 0 && environment::variable(SHM_FD.name).is_none();
    for (name, value) in environment::all() {
        match judge(name, value.to_str().ok()) {
            Verdict::Fine => {}
            Verdict::Wrong { name, must } => {
                return Err(JobError::variable(name, must, value.to_str().ok()));
            }
            Verdict::Unknown { nearest } if warns => output::error(&unknown(name, nearest)),
            Verdict::Unknown { .. } => {}
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
            Verdict::Unknown { .. } => Verdict::Fine,
            known => known,
        },
    )
}

fn unknown(name: &str, nearest: Option<&str>) -> Line {
    let shown = place::excerpt(name);
    match nearest {
        Some(nearest) => Line::of(format_args!(
            "pombo: there is no variable {shown}; did you mean {nearest}?"
        )),
        None => Line::of(format_args!(
            "pombo: there is no variable {shown}; `pombo info` lists all"
        )),
    }
}

/// At most three letters away.
fn nearest(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let near = names.map(|known| (distance(name, known), known));
    let (letters, known) = near.min_by_key(|(letters, _)| *letters)?;
    (letters <= 3).then_some(known)
}

/// Letters to insert, to take out or to change until both are the same. Of names that are too long: many.
fn distance(one: &str, other: &str) -> usize {
    const LONGEST: usize = 48;
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() >= LONGEST || other.len() >= LONGEST {
        return LONGEST;
    }
    let mut row: [usize; LONGEST] = core::array::from_fn(|place| place);
    for (index, letter) in one.iter().enumerate() {
        let mut before = index;
        row[0] = index + 1;
        for (place, known) in other.iter().enumerate() {
            let changed = before + usize::from(letter != known);
            before = row[place + 1];
            row[place + 1] = changed.min(before + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}
