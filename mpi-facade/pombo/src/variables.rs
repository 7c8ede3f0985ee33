//! The variables that only the launcher reads, beside those of ranks in `pombo_job` and `pombo_mpi`. `run` checks all
//! of them and `info` prints them; a test below keeps the README's table equal to these tables.

use std::time::Duration;

use pombo_job::settings::{Values, Variable, Verdict, variables};
use pombo_mpi::collective::{Selection, TABLE};
use pombo_mpi::settings;

use crate::ports::{MUST as PORTS_MUST, Ports};

const COMPILER: Values = Values {
    must: "a compiler",
    ..Values::ANY
};

variables! {
    LIB: Values { must: "a directory", ..Values::ANY }, default "found beside the launcher",
        "holds libmpi_abi.so.1 and libmpi_abi.a";
    CC: COMPILER, default "$MPICH_CC, else cc, gcc or clang",
        "C compiler behind mpicc, with its own leading options if need be";
    CXX: COMPILER, default "$MPICH_CXX, else c++, g++ or clang++",
        "C++ compiler behind mpicxx, with its own leading options if need be";
    KILL_TIMEOUT: Values {
        must: "seconds from 0 to 86400, such as 2.5",
        fits: |text| kill_timeout(text).is_some(),
        ..Values::ANY
    }, default "1",
        "between asking the ranks of an ending job to stop and killing them";
    LAUNCHER: Values { must: "a port and a key", ..Values::ANY }, default "",
        "set by the launcher of a job on several hosts: where its other hosts tell what their ranks wait for";
    JOIN_PORTS: Values { must: PORTS_MUST, fits: |text| text.parse::<Ports>().is_ok(), ..Values::ANY }, default "any",
        "ports at which processes of other machines join a job by pombo join: any, none, one, or a range such as 5000:5010";
    NETWORK: Values { must: "a file of pombo measure", ..Values::ANY }, default "",
        "what messages cost, by which collective operations choose their algorithms where nothing else says it";
}

/// The tables of jobs, of MPI, and of the launcher.
static TABLES: [&[&Variable]; 3] = {
    let [job, mpi] = settings::TABLES;
    [job, mpi, VARIABLES]
};

/// Returns every variable, in the order of the documentation.
pub(crate) fn all() -> impl Iterator<Item = &'static Variable> {
    TABLES.into_iter().flatten().copied()
}

/// Returns every variable, and what it means.
pub(crate) fn explained() -> impl Iterator<Item = (&'static Variable, &'static str)> {
    let [job, mpi] = settings::TABLES_OF_MEANINGS;
    all().zip([job, mpi, MEANINGS].into_iter().flatten().copied())
}

/// Checks a variable of any of the tables.
pub(crate) fn check(name: &str, value: Option<&str>) -> Verdict {
    settings::check(&TABLES, name, value)
}

/// Returns the known variable whose name differs by at most three letters.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let names = all().map(Variable::name);
    let names = names.chain(TABLE.iter().map(Selection::variable));
    let near = names.map(|known| (strsim::levenshtein(name, known), known));
    let (letters, known) = near.min_by_key(|(letters, _)| *letters)?;
    (letters <= 3).then_some(known)
}

/// The longest time-out: one day.
const LONGEST: Duration = Duration::from_secs(86_400);

/// Parses a time-out in seconds; `None` if it is invalid or too long.
pub(crate) fn kill_timeout(seconds: &str) -> Option<Duration> {
    let kill_timeout = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
    (kill_timeout <= LONGEST).then_some(kill_timeout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_library() {
        let (credit, eager) = (
            pombo_mpi::message_header::CREDIT,
            pombo_mpi::message_header::EAGER,
        );
        assert_eq!(settings::UNEXPECTED_CREDIT.default, credit.to_string());
        assert_eq!(settings::EAGER_LIMIT.default, eager.to_string());
    }

    #[test]
    fn what_the_launchers_may_say() {
        let longest = LONGEST.as_secs().to_string();
        assert!(KILL_TIMEOUT.values.must.contains(&format!(" {longest},")));
        for right in [KILL_TIMEOUT.default, "0", "2.5", &longest] {
            assert_eq!(
                check("POMBO_KILL_TIMEOUT", Some(right)),
                Verdict::Fine,
                "{right}"
            );
        }
        for wrong in ["", "-1", "86400.5", "long", "NaN", "inf"] {
            let verdict = check("POMBO_KILL_TIMEOUT", Some(wrong));
            assert!(matches!(verdict, Verdict::Wrong { .. }), "{wrong}");
        }
        assert_eq!(check("POMBO_LIB", Some("")), Verdict::Fine);
        assert_ne!(check("POMBO_LIB", None), Verdict::Fine, "no text");
    }

    #[test]
    fn unknown_names_have_near_ones() {
        assert_eq!(nearest("POMBO_VERBOS"), Some("POMBO_VERBOSE"));
        assert_eq!(
            nearest("POMBO_UNEXPECTED_CREDITS"),
            Some("POMBO_UNEXPECTED_CREDIT")
        );
        assert_eq!(nearest("POMBO_COLL_BCATS"), Some("POMBO_COLL_BCAST"));
        assert_eq!(nearest("POMBO_LIBS"), Some("POMBO_LIB"));
        assert_eq!(nearest("POMBO_SOMETHING_ELSE"), None);
    }

    #[test]
    fn former_names_lead_to_present_ones() {
        for &(name, now) in settings::FORMER_NAMES {
            assert_eq!(check(name, Some("1")), Verdict::Renamed { name, now });
            assert!(all().any(|variable| variable.name() == now), "{now}");
        }
    }

    /// Formats a default as code if a user could type it, and a name.
    fn code(text: &str) -> String {
        match text {
            "" => String::new(),
            text => format!("`{text}`"),
        }
    }

    fn row((variable, meaning): (&Variable, &str)) -> String {
        let Values { must, fits, .. } = variable.values;
        let default = match variable.default {
            text if fits(text) && !text.contains(' ') => code(text),
            text => text.to_owned(),
        };
        let name = code(variable.name());
        format!("| {name} | {default} | {must} | {meaning} |\n")
    }

    /// Checks that ranks know the names of the launcher's own variables, and that the README has the tables as they
    /// are.
    #[test]
    fn the_tables_agree() {
        let own = TABLES[2].iter().map(|variable| variable.name());
        assert!(own.eq(settings::OF_LAUNCHER));
        let readme = include_str!("../../../README.md");
        let head = "| variable | without it | what it says | |\n| --- | --- | --- | --- |\n";
        let table = head.to_owned() + &explained().map(row).collect::<String>();
        assert!(
            readme.contains(&format!("\n\n{table}\n")),
            "the table in the section 'Variables' of README.md has to be:\n\n{table}"
        );
    }

    #[test]
    fn names_are_unique_and_carry_the_prefix() {
        let mut names: Vec<_> = all().map(Variable::name).collect();
        assert!(names.iter().all(|name| name.starts_with("POMBO_")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count());
    }
}
