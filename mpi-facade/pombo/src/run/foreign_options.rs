//! Options of other launchers that scripts pass: those of Open MPI's `mpirun` and of MPICH's `mpiexec` that are not
//! ours. Only `run::arguments` uses it.

/// The treatment of an option of another launcher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// The option needs no action: Pombo already behaves so.
    Granted,
    /// These options of ours mean the same.
    Same(&'static [&'static str]),
    /// The option has no effect on the job; the user is told why.
    Ignored(&'static str),
    /// The option sets a parameter of Open MPI, which [`parameter`] explains.
    Parameter,
    /// The option places ranks; [`ranks_per_host`] understands some of its values.
    Mapping,
    /// The option is for the launcher that starts ranks on other hosts; on one host it needs no action.
    Hydra,
    /// The job would differ from the requested one; the user is told what to do instead.
    Refused(&'static str),
}

use Meaning::{Granted, Hydra, Ignored, Mapping, Parameter, Refused, Same};

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

const TUNING: Meaning = Ignored(TUNED_BY_VARIABLES);
const TUNED_BY_VARIABLES: &str =
    "it tunes another library; Pombo is tuned by variables, which `pombo info` lists";
const REPORT: Meaning = Ignored("that report is not built");
const PLACES: Meaning = Ignored(MAPPING);
const FILES: Meaning =
    Refused("output of ranks goes to the terminal; redirect it in the shell (-l names the ranks)");
const WRAPPER: Meaning = Refused("start the tool as the program, with the program behind it");
const ENVIRONMENT: Meaning =
    Refused("all variables are passed on; start it by `env -i NAME=VALUE..` to pass on fewer");
const CORES: Meaning =
    Refused("-bind-to core takes the allowed cores in order; choose them by `taskset -c LIST`");

static OPTIONS: &[Foreign] = &[
    of(&["allow-run-as-root", "genvall", "envall"], 0, Granted),
    of(&["use-hwthread-cpus", "q", "quiet"], 0, Granted),
    of(&["localonly", "leave-session-attached"], 0, Granted),
    of(&["bind-to-core"], 0, Same(&["--bind-to", "core"])),
    of(&["bind-to-socket"], 0, Same(&["--bind-to", "socket"])),
    of(&["bind-to-none"], 0, Same(&["--bind-to", "none"])),
    of(&["pernode"], 0, Same(&["--ppn", "1"])),
    of(
        &["envlist", "genvlist"],
        1,
        Ignored("the ranks get all variables of the launcher, these among them"),
    ),
    of(&["iface", "launcher", "bootstrap"], 1, Hydra),
    of(&["launcher-exec", "bootstrap-exec", "rmk"], 1, Hydra),
    of(&["localhost"], 1, Hydra),
    of(
        &["skip-launch-node", "disable-hostname-propagation"],
        0,
        Hydra,
    ),
    of(&["mca", "gmca", "pmixmca", "prtemca"], 2, Parameter),
    of(&["am", "tune", "prefix"], 1, TUNING),
    of(&["map-by", "rank-by"], 1, Mapping),
    of(&["npersocket", "ranks-per-proc"], 1, PLACES),
    of(&["bynode", "byslot", "bysocket", "bycore", "rr"], 0, PLACES),
    of(&["nolocal"], 0, PLACES),
    of(&["order-nodes", "hosts-group"], 1, PLACES),
    of(&["topolib", "demux", "nameserver", "pmi-port"], 1, TUNING),
    of(&["enable-x", "disable-x", "profile"], 0, TUNING),
    of(
        &["personality", "stream-buffering", "memory-alloc-kinds"],
        1,
        TUNING,
    ),
    of(&["runtime-options", "rto", "gpu-support"], 1, TUNING),
    of(&["noprefix", "no-app-prefix", "hetero-nodes"], 0, TUNING),
    of(
        &["membind"],
        1,
        Ignored("memory lies where the rank that touches it first runs"),
    ),
    of(
        &["gpus-per-proc"],
        1,
        Ignored("Pombo gives out no accelerators"),
    ),
    of(
        &["with-ft"],
        1,
        Ignored("--enable-recovery keeps the others running"),
    ),
    of(&["disable-recovery", "silent-abort"], 0, Granted),
    of(
        &["max-restarts"],
        1,
        Ignored("a rank that fails is not started again"),
    ),
    of(
        &["nooversubscribe", "no-oversubscribe", "noversubscribe"],
        0,
        Ignored("more ranks than cores are always allowed"),
    ),
    of(&["display-map", "display-devel-map"], 0, REPORT),
    of(
        &[
            "display-allocation",
            "print-rank-map",
            "print-all-exitcodes",
            "display-topo",
            "debug-daemons",
            "show-progress",
            "get-stack-traces",
            "report-state-on-timeout",
            "report-child-jobs-separately",
            "prot",
        ],
        0,
        REPORT,
    ),
    of(&["display", "report-pid", "report-uri"], 1, REPORT),
    of(&["output", "output-filename", "outfile-pattern"], 1, FILES),
    of(&["errfile-pattern", "output-directory"], 1, FILES),
    of(&["prepend-pattern"], 1, FILES),
    of(
        &[
            "merge-stderr-to-stdout",
            "xml",
            "timestamp-output",
            "prepend-timestamp",
        ],
        0,
        FILES,
    ),
    of(&["debug", "tv", "gdb", "ddt", "aps", "mps"], 0, WRAPPER),
    of(&["xterm", "debugger", "gtool", "gtoolfile"], 1, WRAPPER),
    of(&["gdb-args", "exec-agent"], 1, WRAPPER),
    of(&["stop-on-exec", "stop-in-init", "stop-in-app"], 0, WRAPPER),
    of(&["envnone", "genvnone"], 0, ENVIRONMENT),
    of(
        &["cpu-set", "cpu-list", "cpus-per-proc", "cpus-per-rank"],
        1,
        CORES,
    ),
    of(&["rankfile", "rf", "rankmap", "cpu-bind"], 1, CORES),
    of(
        &["path"],
        1,
        Refused("name the program by its path, or start the job by `env PATH=..`"),
    ),
    of(&["soft"], 1, Refused("say by -n how many ranks there are")),
    of(
        &["arch"],
        1,
        Refused("name the hosts of that architecture by -H or -f"),
    ),
    of(
        &["usize"],
        1,
        Ignored("no rank can start others: MPI_UNIVERSE_SIZE is the number of ranks"),
    ),
    of(
        &["preload-files", "dvm-uri", "ompi-server"],
        1,
        Refused("every host must see the program and its files; each job starts by itself"),
    ),
    of(
        &["preload-binary"],
        0,
        Refused("every host must see the program by the same path"),
    ),
    of(
        &["continuous", "do-not-launch", "set-cwd-to-session-dir"],
        0,
        Refused("a job starts once, in the directory of -wdir, and ends with its ranks"),
    ),
];

/// Returns the treatment of an option and the number of following words that belong to it; `None` if no launcher knows
/// it.
pub(super) fn meaning(name: &str) -> Option<(Meaning, usize)> {
    let option = OPTIONS.iter().find(|option| option.names.contains(&name))?;
    Some((option.meaning, option.values))
}

/// Why options that place ranks are ignored.
pub(super) const MAPPING: &str = "ranks stand in the order of the command line; -ppn spreads them over hosts, -bind-to pins them";

/// Returns the number of ranks on each host of a mapping such as `ppr:2:node`.
pub(super) fn ranks_per_host(text: &str) -> Option<usize> {
    let mut fields = text.split("ppr:").nth(1)?.split(':');
    let ranks = fields.next()?.parse().ok().filter(|ranks| *ranks > 0)?;
    (fields.next() == Some("node")).then_some(ranks)
}

/// Says what a user of Open MPI wants who sets this parameter.
pub(super) fn parameter(text: &str) -> &'static str {
    let name = text.split([' ', '=']).nth(1).unwrap_or_default();
    let framework = name.split('_').next().unwrap_or_default();
    match framework {
        "btl" | "pml" | "mtl" | "oob" | "osc" => {
            "it has no meaning in Pombo; --net chooses the network"
        }
        "coll" => {
            "it has no meaning in Pombo; POMBO_COLL_<OPERATION> chooses algorithms, which `pombo info` lists"
        }
        "plm" | "rmaps" | "hwloc" | "orte" | "prte" => {
            "it has no meaning in Pombo; `pombo run -h` lists how ranks are started"
        }
        _ => TUNED_BY_VARIABLES,
    }
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
        assert_eq!(meaning("mca"), Some((Parameter, 2)));
        assert_eq!(meaning("bogus"), None);
    }

    #[test]
    fn values_that_are_understood() {
        assert_eq!(ranks_per_host("--map-by ppr:2:node"), Some(2));
        assert_eq!(ranks_per_host("-map-by=ppr:3:node:pe=2"), Some(3));
        for other in [
            "--map-by core",
            "--map-by ppr:0:node",
            "--map-by ppr:2:socket",
        ] {
            assert_eq!(ranks_per_host(other), None, "{other}");
        }
        assert!(parameter("--mca btl tcp,self").contains("--net"));
        assert!(parameter("-mca btl_tcp_if_include eth0").contains("--net"));
        assert!(parameter("-mca coll_tuned_use_dynamic_rules 1").contains("POMBO_COLL"));
        assert_eq!(parameter("--mca mpi_yield_when_idle 1"), TUNED_BY_VARIABLES);
    }
}
