//! The environment variables whose names begin with `POMBO_`: their valid values, defaults and meanings. `init` checks
//! all of them, whatever the network; a launcher checks them before it starts a rank, so that a job reports an error
//! once.

mod former;
mod table;

pub use former::FORMER_NAMES;
pub(crate) use table::single_copy;
pub use table::{
    ADAPTIVE_EVERY, ADAPTIVE_THRESHOLD, DIRECT_RECEIVE, EAGER_LIMIT, EARLY_DATA, MEANINGS,
    NETWORK_TIMES, PROGRESS_THREAD, SEND_BUFFER_BYTES, SHM_BURST_CELLS, SHM_BURST_PAUSE, SHM_MAIL,
    SHM_PASSED_CELLS, SHM_RING_RESTART, SHM_SINGLE_COPY, SITES, UNEXPECTED_CREDIT, VARIABLES,
};

use crate::collective::{self, Selection};
#[cfg(feature = "diagnostics")]
use alloc::boxed::Box;
#[cfg(any(feature = "diagnostics", test))]
use pombo_job::JobError;
use pombo_job::settings::{self, Variable, Verdict};

/// The variables of the job and of MPI that a rank reads, except those that select algorithms, which are in
/// [`crate::collective::TABLE`].
pub const TABLES: [&[&Variable]; 2] = [settings::VARIABLES, VARIABLES];

/// What the variables of [`TABLES`] mean.
pub const TABLES_OF_MEANINGS: [&[&str]; 2] = [settings::MEANINGS, MEANINGS];

/// The variables that only the launcher reads: its own table has their valid values, and a rank ignores them.
pub const OF_LAUNCHER: [&str; 7] = [
    "POMBO_LIB",
    "POMBO_CC",
    "POMBO_CXX",
    "POMBO_KILL_TIMEOUT",
    "POMBO_LAUNCHER",
    "POMBO_JOIN_PORTS",
    "POMBO_NETWORK",
];

/// Checks a variable against these tables: [`TABLES`], and the launcher's if the launcher calls. A value that is not
/// valid UTF-8 is `None`.
pub fn check(tables: &[&'static [&'static Variable]], name: &str, value: Option<&str>) -> Verdict {
    let mut choices = collective::TABLE.iter();
    if let Some(choice) = choices.find(|choice| choice.variable() == name) {
        let mut former = former::FORMER_VALUES.iter();
        let former = former.find(|(was, now, _)| value == Some(was) && choice.allows(now));
        return match value.is_some_and(|it| choice.allows(it)) {
            true => Verdict::Fine,
            false => Verdict::Wrong {
                name: choice.variable,
                must: former.map_or(Selection::MUST, |(_, _, must)| must),
            },
        };
    }
    if let Some(&(name, now)) = FORMER_NAMES.iter().find(|(was, _)| *was == name) {
        return Verdict::Renamed { name, now };
    }
    let choices = collective::TABLE.iter().map(Selection::variable);
    settings::check(tables, OF_LAUNCHER.into_iter().chain(choices), name, value)
}

/// Checks the variables of this process; returns the first invalid one. The first rank reports unknown variables, if no
/// launcher has.
#[cfg(feature = "diagnostics")]
pub(crate) fn check_all() -> Result<(), Box<JobError>> {
    settings::check_all(|name, value| check(&TABLES, name, value))?;
    check_built_in(collective::BUILT_IN_TIMES)
}

/// Checks the times of messages that the library was built with.
#[cfg(any(feature = "diagnostics", test))]
fn check_built_in(times: Option<&'static str>) -> Result<(), Box<JobError>> {
    match times {
        Some(text) if !(NETWORK_TIMES.values.fits)(text) => Err(JobError::variable(
            NETWORK_TIMES.name,
            "what `pombo measure --print FILE` prints where the library is built; build it again",
            None,
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message_header;
    use pombo_job::settings::{
        AUTH, ETHERNET_HELPER, FAULT_LOSS, HOST_TIMEOUT, NET, RANK, SIZE, VERBOSE,
    };

    fn is_wrong(name: &str, value: &str) -> bool {
        matches!(check(&TABLES, name, Some(value)), Verdict::Wrong { .. })
    }

    #[test]
    fn what_they_may_say() {
        for (name, right, wrong) in [
            (
                "UNEXPECTED_CREDIT",
                &["1", "128"][..],
                &["0", "129", "many", ""][..],
            ),
            ("EAGER_LIMIT", &["0", "8192"], &["8193", "-1"]),
            ("VERBOSE", &["0", "1"], &["x", "2", "yes", ""]),
            ("AUTH", &["on", "full", "off"], &["0", "1", "yes", ""]),
            ("FAULT_LOSS", &["0", "5:42"], &["100", "much"]),
            ("SHM_RING_RESTART", &["0", "1"], &["2", "auto"]),
            ("SHM_SINGLE_COPY", &["auto", "4096"], &["sometimes"]),
            ("NET", &["udp:eth0", "shm"], &["tcp", "udp:", "shm:1"]),
            ("COLL_BCAST", &["binomial"], &["fastest"]),
        ] {
            let name = alloc::format!("POMBO_{name}");
            for value in right {
                assert_eq!(
                    check(&TABLES, &name, Some(value)),
                    Verdict::Fine,
                    "{name}={value}"
                );
            }
            for value in wrong {
                assert!(is_wrong(&name, value), "{name}={value}");
            }
            assert_ne!(
                check(&TABLES, &name, None),
                Verdict::Fine,
                "{name}: no text"
            );
        }
    }

    #[test]
    fn bounds_are_those_of_the_composition() {
        for (variable, bound) in [
            (UNEXPECTED_CREDIT, message_header::CREDIT as usize),
            (EAGER_LIMIT, message_header::EAGER),
        ] {
            let (name, most) = (variable.name(), alloc::format!("{bound}"));
            assert!(!is_wrong(name, &most));
            assert!(is_wrong(name, &alloc::format!("{}", bound + 1)));
            assert!(variable.values.must.ends_with(&alloc::format!(" {bound}")));
            assert_eq!(variable.default, most);
        }
    }

    /// Checks that the defaults of variables are valid values.
    #[test]
    fn defaults_fit() {
        for variable in [
            NET,
            AUTH,
            ETHERNET_HELPER,
            VERBOSE,
            HOST_TIMEOUT,
            UNEXPECTED_CREDIT,
            EAGER_LIMIT,
            SEND_BUFFER_BYTES,
            SHM_RING_RESTART,
            SHM_SINGLE_COPY,
            DIRECT_RECEIVE,
            SHM_MAIL,
            SHM_BURST_PAUSE,
            SHM_BURST_CELLS,
            SHM_PASSED_CELLS,
            EARLY_DATA,
            PROGRESS_THREAD,
            RANK,
            SIZE,
            FAULT_LOSS,
        ] {
            assert!(
                !is_wrong(variable.name(), variable.default),
                "{}",
                variable.name()
            );
        }
    }

    #[test]
    fn what_the_library_was_built_with() {
        assert!(check_built_in(None).is_ok());
        assert!(check_built_in(Some("shm 0:50:130:0")).is_ok());
        for wrong in ["", "shm", "pombo-network.toml", "shm 8:1:1:1 8:1:1:1"] {
            assert!(check_built_in(Some(wrong)).is_err(), "{wrong:?}");
        }
    }

    /// Checks that a rank knows the launcher's variables by name only.
    #[test]
    fn what_the_launcher_alone_reads_is_left_alone() {
        for name in OF_LAUNCHER {
            assert_eq!(check(&TABLES, name, None), Verdict::Fine, "{name}");
        }
    }

    #[test]
    fn who_knows_what() {
        assert_eq!(check(&TABLES, "POMBO_VERBOS", Some("1")), Verdict::Unknown);
        assert_eq!(check(&TABLES, "PATH", Some("/")), Verdict::Fine);
        assert_eq!(check(&TABLES, "POMBO_TEST_HOSTS", Some("")), Verdict::Fine);
    }

    #[test]
    fn former_algorithms_lead_to_present_ones() {
        for (was, now, must) in former::FORMER_VALUES {
            let mut choices = collective::TABLE.iter();
            let choice = choices.find(|choice| choice.allows(now)).expect(now);
            let name = choice.variable;
            let verdict = check(&TABLES, choice.variable(), Some(was));
            assert_eq!(verdict, Verdict::Wrong { name, must });
        }
    }

    #[test]
    fn names_are_unique() {
        let names = TABLES.into_iter().flatten().map(|variable| variable.name());
        let names: alloc::vec::Vec<_> = names.chain(OF_LAUNCHER).collect();
        for (place, name) in names.iter().enumerate() {
            assert!(!names[..place].contains(name), "{name}");
        }
    }
}
