//! Every environment variable whose name begins with `POMBO_`: what it may say, what holds without it, what it means.
//! `init` checks all of them, whatever the network; a launcher does before it starts anybody, so that a job says it once.

pub(crate) mod loss;
mod table;
mod values;
mod variable;
mod words;

pub use table::*;
pub use values::Values;
pub(crate) use values::one_copy;
pub use variable::Variable;

use crate::collective::{self, Choice};
use crate::environment;
use crate::output::{self, Line};
use crate::place::{self, PlaceError};

/// Those that the launcher alone reads: its own table says what they may say, and a rank leaves them alone.
pub const OF_LAUNCHER: [&str; 4] = ["POMBO_LIB", "POMBO_CC", "POMBO_CXX", "POMBO_GRACE"];

/// How the names of variables of tests begin.
const OF_TESTS: &str = "POMBO_TEST_";

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

/// What is to be said of a variable, by these tables: [`VARIABLES`], and the launcher's where that is who asks. A value
/// that is no text is `None`.
pub fn check(tables: &[&'static [Variable]], name: &str, value: Option<&str>) -> Verdict {
    if !name.starts_with("POMBO_") || name.starts_with(OF_TESTS) {
        return Verdict::Fine;
    }
    let mut known = tables.iter().flat_map(|table| table.iter());
    let known = known.find(|variable| variable.name() == name);
    let mut choices = collective::TABLE.iter();
    let choice = choices.find(|choice| choice.variable() == name);
    let (name, must, fits) = match (known, choice) {
        (Some(known), _) => {
            let Values { must, fits } = known.values;
            (known.name(), must, value.is_some_and(fits))
        }
        (_, Some(choice)) => {
            let fits = value.is_some_and(|it| choice.allows(it));
            (choice.variable(), Choice::MUST, fits)
        }
        _ if OF_LAUNCHER.contains(&name) => return Verdict::Fine,
        _ => {
            let nearest = nearest(name);
            return Verdict::Unknown { nearest };
        }
    };
    match fits {
        true => Verdict::Fine,
        false => Verdict::Wrong { name, must },
    }
}

/// Of this process: the first that is wrong. The first rank says which ones nobody knows, if no launcher has.
pub(crate) fn check_all() -> Result<(), PlaceError> {
    let warns = place::rank() == 0 && environment::variable(SHM_FD.name).is_none();
    for (name, value) in environment::all() {
        match check(&[VARIABLES], name, value.to_str().ok()) {
            Verdict::Fine => {}
            Verdict::Wrong { name, must } => {
                return Err(PlaceError::variable(name, must, value.to_str().ok()));
            }
            Verdict::Unknown { nearest } if warns => output::error(&unknown(name, nearest)),
            Verdict::Unknown { .. } => {}
        }
    }
    Ok(())
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
fn nearest(name: &str) -> Option<&'static str> {
    let names = VARIABLES.iter().map(|variable| variable.name());
    let names = names.chain(OF_LAUNCHER);
    let names = names.chain(collective::TABLE.iter().map(Choice::variable));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header;

    fn is_wrong(name: &str, value: &str) -> bool {
        matches!(
            check(&[VARIABLES], name, Some(value)),
            Verdict::Wrong { .. }
        )
    }

    #[test]
    fn what_they_may_say() {
        for (name, right, wrong) in [
            ("CREDIT", &["1", "128"][..], &["0", "129", "many", ""][..]),
            ("EAGER_LIMIT", &["0", "8192"], &["8193", "-1"]),
            ("VERBOSE", &["0", "1"], &["x", "2", "yes", ""]),
            ("AUTH", &["on", "full", "off"], &["0", "1", "yes", ""]),
            ("LOSS", &["0", "5:42"], &["100", "much"]),
            ("ONE_COPY", &["auto", "4096"], &["sometimes"]),
            ("NET", &["udp:eth0", "shm"], &["tcp", "udp:", "shm:1"]),
            ("COLL_BCAST", &["binomial"], &["fastest"]),
        ] {
            let name = alloc::format!("POMBO_{name}");
            for value in right {
                assert_eq!(
                    check(&[VARIABLES], &name, Some(value)),
                    Verdict::Fine,
                    "{name}={value}"
                );
            }
            for value in wrong {
                assert!(is_wrong(&name, value), "{name}={value}");
            }
            assert_ne!(
                check(&[VARIABLES], &name, None),
                Verdict::Fine,
                "{name}: no text"
            );
        }
    }

    #[test]
    fn bounds_are_those_of_the_composition() {
        for (variable, bound) in [
            (CREDIT, header::CREDIT as usize),
            (EAGER_LIMIT, header::EAGER),
        ] {
            let (name, most) = (variable.name(), alloc::format!("{bound}"));
            assert!(!is_wrong(name, &most));
            assert!(is_wrong(name, &alloc::format!("{}", bound + 1)));
            assert!(variable.values.must.ends_with(&alloc::format!(" {bound}")));
            assert_eq!(variable.default, most);
        }
    }

    /// What readers take where a variable is not set could be given.
    #[test]
    fn defaults_fit() {
        for variable in [
            NET,
            AUTH,
            ETHERNET_HELPER,
            VERBOSE,
            HOST_TIMEOUT,
            CREDIT,
            EAGER_LIMIT,
            SEND_BUFFER_BYTES,
            ONE_COPY,
            PROGRESS_THREAD,
            RANK,
            SIZE,
            LOSS,
        ] {
            assert!(
                !is_wrong(variable.name(), variable.default),
                "{}",
                variable.name()
            );
        }
    }

    /// A rank knows the names and no more.
    #[test]
    fn what_the_launcher_alone_reads_is_left_alone() {
        for name in OF_LAUNCHER {
            assert_eq!(check(&[VARIABLES], name, None), Verdict::Fine, "{name}");
        }
    }

    #[test]
    fn unknown_names_have_near_ones() {
        let nearest = |name: &str| match check(&[VARIABLES], name, Some("1")) {
            Verdict::Unknown { nearest } => nearest,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(nearest("POMBO_VERBOS"), Some("POMBO_VERBOSE"));
        assert_eq!(nearest("POMBO_CREDITS"), Some("POMBO_CREDIT"));
        assert_eq!(nearest("POMBO_COLL_BCATS"), Some("POMBO_COLL_BCAST"));
        assert_eq!(nearest("POMBO_SOMETHING_ELSE"), None);
        assert_eq!(check(&[VARIABLES], "PATH", Some("/")), Verdict::Fine);
        assert_eq!(
            check(&[VARIABLES], "POMBO_TEST_HOSTS", Some("")),
            Verdict::Fine
        );
    }

    #[test]
    fn names_are_unique() {
        let names = VARIABLES.iter().map(|variable| variable.name());
        let names: alloc::vec::Vec<_> = names.chain(OF_LAUNCHER).collect();
        for (place, name) in names.iter().enumerate() {
            assert!(!names[..place].contains(name), "{name}");
        }
    }
}
