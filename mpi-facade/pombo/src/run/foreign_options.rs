//! Options of other launchers that scripts pass: those of Open MPI's `mpirun` and of MPICH's `mpiexec` that are not
//! ours. Only `run::arguments` uses it.

/// The treatment of an option of another launcher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// The option needs no action: Pombo already behaves so.
    Granted,
    /// The option has no effect on the job; the user is told why.
    Ignored(&'static str),
    /// The option is for the launcher that starts ranks on other hosts; on one host it needs no action.
    Hydra,
    /// The job would differ from the requested one; the user is told what to do instead.
    Refused(&'static str),
}

use Meaning::{Granted, Hydra, Ignored, Refused};

/// An option with all its names, without dashes, and the number of following words that are its values.
struct Foreign {
    names: &'static [&'static str],
    values: usize,
    meaning: Meaning,
}

const fn of(names: &'static [&'static str], values: usize, meaning: Meaning) -> Foreign {
    Foreign {
        names,
        values,
        meaning,
    }
}

const TUNING: Meaning =
    Ignored("it tunes Open MPI; this library is tuned by variables, which `pombo info` lists");
const REPORT: Meaning = Ignored("that report is not built");
const PLACES: Meaning =
    Ignored("ranks stand in the order of the command line, and -bind-to core pins each to a core");
const FILES: Meaning =
    Refused("output of ranks goes to the terminal; redirect it in the shell (-l names the ranks)");
const WRAPPER: Meaning = Refused("start the tool as the program, with the program behind it");
const COMMAND_LINE: Meaning =
    Refused("write the parts of the job on the command line, with ':' between them");
const ENVIRONMENT: Meaning =
    Refused("all variables are passed on; start it by `env -i NAME=VALUE..` to pass on fewer");
const CORES: Meaning =
    Refused("-bind-to core takes the allowed cores in order; choose them by `taskset -c LIST`");

static OPTIONS: &[Foreign] = &[
    of(&["allow-run-as-root", "genvall", "envall"], 0, Granted),
    of(&["use-hwthread-cpus", "q", "quiet"], 0, Granted),
    of(&["envlist", "genvlist"], 1, Granted),
    of(&["iface", "launcher", "bootstrap"], 1, Hydra),
    of(&["launcher-exec", "bootstrap-exec", "rmk"], 1, Hydra),
    of(&["mca", "gmca", "pmixmca", "prtemca"], 2, TUNING),
    of(&["am", "tune", "prefix"], 1, TUNING),
    of(&["map-by", "rank-by", "ranks-per-proc"], 1, PLACES),
    of(&["bynode", "byslot", "rr", "bycore"], 0, PLACES),
    of(
        &["nooversubscribe", "no-oversubscribe"],
        0,
        Ignored("more ranks than cores are always allowed"),
    ),
    of(
        &["report-bindings", "display-map", "display-devel-map"],
        0,
        REPORT,
    ),
    of(
        &[
            "display-allocation",
            "print-rank-map",
            "print-all-exitcodes",
        ],
        0,
        REPORT,
    ),
    of(&["display", "report-pid", "report-uri"], 1, REPORT),
    of(&["output", "output-filename", "outfile-pattern"], 1, FILES),
    of(&["errfile-pattern"], 1, FILES),
    of(
        &["merge-stderr-to-stdout", "xml", "timestamp-output"],
        0,
        FILES,
    ),
    of(&["debug", "tv", "gdb", "ddt"], 0, WRAPPER),
    of(&["xterm", "debugger"], 1, WRAPPER),
    of(&["configfile", "app", "file"], 1, COMMAND_LINE),
    of(&["envnone", "genvnone"], 0, ENVIRONMENT),
    of(
        &["cpu-set", "cpu-list", "cpus-per-proc", "cpus-per-rank"],
        1,
        CORES,
    ),
    of(&["rankfile", "rf"], 1, CORES),
    of(&["s", "stdin"], 1, Refused("standard input goes to rank 0")),
    of(
        &["path", "soft", "arch", "usize"],
        1,
        Refused("it is not built"),
    ),
    of(
        &["preload-binary", "preload-files", "continuous"],
        0,
        Refused("it is not built"),
    ),
];

/// Returns the treatment of an option and the number of following words that belong to it; `None` if no launcher knows
/// it.
pub(super) fn meaning(name: &str) -> Option<(Meaning, usize)> {
    let option = OPTIONS.iter().find(|option| option.names.contains(&name))?;
    Some((option.meaning, option.values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = OPTIONS.iter().flat_map(|option| option.names).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert_eq!(meaning("mca"), Some((TUNING, 2)));
        assert_eq!(meaning("bogus"), None);
    }
}
