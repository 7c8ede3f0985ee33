//! Every environment variable whose name begins with `POMBO_`, and what it may say. `init` checks all of them, whatever
//! the network; a launcher does before it starts anybody, so that a job says it once.

pub(crate) mod loss;

use crate::collective::{self, Choice};
use crate::environment;
use crate::header::{CREDIT, EAGER};
use crate::output::{self, Line};
use crate::place::{self, Auth, PlaceError};
use core::ffi::{CStr, c_char};

/// One variable.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it may say, in words that follow "must be" or "give".
    pub must: &'static str,
    fits: fn(&str) -> bool,
}

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

const fn setting(name: &'static str, must: &'static str, fits: fn(&str) -> bool) -> Setting {
    Setting { name, must, fits }
}

/// All but those that choose algorithms, which [`collective::TABLE`] has.
pub const TABLE: &[Setting] = &[
    setting("POMBO_RANK", "a whole number", is_number),
    setting("POMBO_SIZE", "a whole number", is_number),
    setting("POMBO_LOCAL_RANK", "a whole number", is_number),
    setting("POMBO_LOCAL_SIZE", "a whole number", is_number),
    setting("POMBO_LOCAL_CORES", "a whole number", is_number),
    setting("POMBO_SHM_FD", "a whole number", is_number),
    setting("POMBO_JOB", "a name", is_text),
    setting("POMBO_CREDIT", "a whole number from 1 to 128", |text| {
        is_in(text, 1, CREDIT as usize)
    }),
    setting(
        "POMBO_EAGER_LIMIT",
        "a number of bytes from 0 to 8192",
        |text| is_in(text, 0, EAGER),
    ),
    setting("POMBO_SEND_BUFFER_BYTES", "a number of bytes", is_number),
    setting(
        "POMBO_ONE_COPY",
        "auto, never, always, or a number of bytes",
        |text| ["auto", "never", "always"].contains(&text) || is_number(text),
    ),
    setting(
        "POMBO_NET",
        "auto, shm, udp, udp: and an address or an interface of this host, ethernet, or ethernet: and an interface",
        is_net,
    ),
    setting("POMBO_AUTH", Auth::MUST, |text| Auth::read(text).is_some()),
    setting("POMBO_AUTH_KEY_FILE", "a file", is_text),
    setting("POMBO_VERBOSE", "0 or 1", is_switch),
    setting("POMBO_PROGRESS_THREAD", "0 or 1", is_switch),
    setting("POMBO_ETHERNET_HELPER", "a program", is_text),
    setting("POMBO_HOST", "a name", is_text),
    setting("POMBO_HOST_TIMEOUT", "seconds from 1 to 3600", |text| {
        is_in(text, 1, 3600)
    }),
    setting("POMBO_LOSS", loss::LOSS, |text| loss::parse(text).is_some()),
    setting("POMBO_STATS", "a file", is_text),
    setting("POMBO_LIB", "a directory", |_| true),
    setting("POMBO_CC", "a compiler", |_| true),
    setting("POMBO_CXX", "a compiler", |_| true),
    // The launcher looks at it.
    setting("POMBO_GRACE", "seconds from 0 to 86400", is_text),
];

/// Variables of tests.
const OF_TESTS: &str = "POMBO_TEST_";

/// What is to be said of a variable. A value that is no text is `None`.
pub fn check(name: &str, value: Option<&str>) -> Verdict {
    if !name.starts_with("POMBO_") || name.starts_with(OF_TESTS) {
        return Verdict::Fine;
    }
    let known = TABLE.iter().find(|setting| setting.name == name);
    let (name, must, fits) = match (known, choice(name)) {
        (Some(known), _) => (known.name, known.must, value.is_some_and(known.fits)),
        (_, Some(choice)) => (
            choice.variable(),
            ALGORITHMS,
            value.is_some_and(|it| choice.allows(it)),
        ),
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

const ALGORITHMS: &str = "one of the algorithms that `pombo info` lists";

/// Of this process: the first that is wrong. The first rank says which ones nobody knows, if no launcher has.
pub(crate) fn check_all() -> Result<(), PlaceError> {
    let warns = place::rank() == 0 && environment::variable(c"POMBO_SHM_FD").is_none();
    for (name, value) in variables() {
        match check(name, value.to_str().ok()) {
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

fn choice(name: &str) -> Option<&'static Choice> {
    let mut choices = collective::TABLE.iter();
    choices.find(|choice| choice.variable() == name)
}

/// At most three letters away.
fn nearest(name: &str) -> Option<&'static str> {
    let settings = TABLE.iter().map(|setting| setting.name);
    let names = settings.chain(collective::TABLE.iter().map(Choice::variable));
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

fn is_text(text: &str) -> bool {
    !text.is_empty()
}

fn is_number(text: &str) -> bool {
    text.parse::<usize>().is_ok()
}

fn is_in(text: &str, least: usize, most: usize) -> bool {
    text.parse()
        .is_ok_and(|number| (least..=most).contains(&number))
}

fn is_switch(text: &str) -> bool {
    ["0", "1"].contains(&text)
}

fn is_net(text: &str) -> bool {
    match text.split_once(':') {
        None => ["auto", "shm", "udp", "ethernet"].contains(&text),
        Some((means, by)) => ["udp", "ethernet"].contains(&means) && !by.is_empty(),
    }
}

/// Names and values of this process's environment; those without a name, or with one that is no text, are not ours.
fn variables() -> impl Iterator<Item = (&'static str, &'static CStr)> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: nobody changes the environment during MPI_Init; where there is none the list is null.
    let mut entry = unsafe { environ };
    let lines = core::iter::from_fn(move || {
        // SAFETY: the list ends with a null pointer, behind which nobody looks.
        let line = unsafe { entry.as_ref() }.filter(|line| !line.is_null())?;
        // SAFETY: there is another entry behind one that is not null.
        entry = unsafe { entry.add(1) };
        // SAFETY: every entry is a string of C that stays where it is during MPI_Init.
        Some(unsafe { CStr::from_ptr(*line) })
    });
    lines.filter_map(|line| {
        let bytes = line.to_bytes_with_nul();
        let at = bytes.iter().position(|byte| *byte == b'=')?;
        let name = core::str::from_utf8(bytes.get(..at)?).ok()?;
        let value = CStr::from_bytes_with_nul(bytes.get(at + 1..)?).ok()?;
        Some((name, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_wrong(name: &str, value: &str) -> bool {
        matches!(check(name, Some(value)), Verdict::Wrong { .. })
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
            ("LIB", &[""], &[]),
        ] {
            let name = alloc::format!("POMBO_{name}");
            for value in right {
                assert_eq!(check(&name, Some(value)), Verdict::Fine, "{name}={value}");
            }
            for value in wrong {
                assert!(is_wrong(&name, value), "{name}={value}");
            }
            assert_ne!(check(&name, None), Verdict::Fine, "{name}: no text");
        }
    }

    #[test]
    fn bounds_are_those_of_the_composition() {
        assert!(!is_wrong("POMBO_CREDIT", &alloc::format!("{CREDIT}")));
        assert!(!is_wrong("POMBO_EAGER_LIMIT", &alloc::format!("{EAGER}")));
        for (name, bound) in [
            ("POMBO_CREDIT", CREDIT as usize),
            ("POMBO_EAGER_LIMIT", EAGER),
        ] {
            let setting = TABLE
                .iter()
                .find(|setting| setting.name == name)
                .expect("known");
            assert!(setting.must.ends_with(&alloc::format!(" {bound}")));
        }
    }

    #[test]
    fn unknown_names_have_near_ones() {
        let nearest = |name: &str| match check(name, Some("1")) {
            Verdict::Unknown { nearest } => nearest,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(nearest("POMBO_VERBOS"), Some("POMBO_VERBOSE"));
        assert_eq!(nearest("POMBO_CREDITS"), Some("POMBO_CREDIT"));
        assert_eq!(nearest("POMBO_COLL_BCATS"), Some("POMBO_COLL_BCAST"));
        assert_eq!(nearest("POMBO_SOMETHING_ELSE"), None);
        assert_eq!(check("PATH", Some("/")), Verdict::Fine);
        assert_eq!(check("POMBO_TEST_HOSTS", Some("")), Verdict::Fine);
    }

    #[test]
    fn names_are_unique() {
        for (place, setting) in TABLE.iter().enumerate() {
            assert!(
                TABLE[..place]
                    .iter()
                    .all(|other| other.name != setting.name)
            );
        }
    }
}
