//! Tests options that users of MPICH and Open MPI write: what they do here, or what is said of them.

use std::fs;

use crate::support::{Outcome, directory, finish, finish_with, pombo};

fn run(line: &[&str]) -> Outcome {
    finish(pombo(["run"]).args(line))
}

/// What a user writes out of habit runs the job, with at most one line about it.
#[test]
fn habits_of_others() {
    for (options, said) in [
        (&["--allow-run-as-root"][..], ""),
        (&["-genvall"], ""),
        (&["-perhost", "2"], ""),
        (&["-H", "localhost:2"], ""),
        (&["--host", "localhost,127.0.0.1"], ""),
        (&["--oversubscribe"], ""),
        (&["-ppn", "1"], "-ppn 1 is ignored: all 2 ranks"),
        (&["-genvlist", "HOME,PATH"], "all variables"),
        (
            &["-mca", "btl", "tcp"],
            "-mca btl tcp is ignored: it has no meaning in Pombo; --net",
        ),
        (
            &["--mca", "coll_tuned_priority", "1"],
            "POMBO_COLL_<OPERATION>",
        ),
        (&["-gmca", "mpi_leave_pinned", "0"], "pombo info"),
        (&["--map-by", "core"], "--map-by core is ignored"),
        (&["-rank-by", "node"], "-rank-by node is ignored"),
        (&["--map-by", "ppr:4:node"], ""),
    ] {
        let mut line = options.to_vec();
        line.extend(["-c", "2", "sh", "-c", "echo $POMBO_SIZE"]);
        let outcome = run(&line);
        assert_eq!(
            (outcome.code, outcome.out.as_str()),
            (0, "2\n2\n"),
            "{line:?}: {outcome:?}"
        );
        let lines = outcome.err.lines().count();
        assert_eq!(
            lines,
            usize::from(!said.is_empty()),
            "{line:?}: {outcome:?}"
        );
        assert!(outcome.err.contains(said), "{line:?}: {outcome:?}");
    }
    let outcome = run(&["-map-by", "ppr:3:node", "echo"]);
    assert_eq!(
        (outcome.code, outcome.out.as_str()),
        (0, "\n\n\n"),
        "{outcome:?}"
    );
}

/// Hosts that are all this one need no other launcher; their ranks are counted.
#[test]
fn hosts_that_are_this_one() {
    let file = directory("this-host").join("hosts");
    fs::write(&file, "# one\nlocalhost slots=2\n127.0.0.1:1\n").unwrap();
    let file = file.to_str().unwrap();
    for (options, ranks) in [
        (&["-f", file][..], 3),
        (&["-hostfile", file, "-n", "2"], 2),
        (&["-H", "localhost:2,localhost", "-s", "2"], 3),
        (&["-H", "localhost", "-ppn", "4"], 4),
    ] {
        let outcome = run(&[options, &["sh", "-c", "echo $POMBO_SIZE"]].concat());
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{options:?}");
        let line = format!("{ranks}\n");
        assert_eq!(outcome.out, line.repeat(ranks), "{options:?}");
    }
    for (text, word) in [("", "names no host"), ("localhost slots=x\n", "slots=x'")] {
        fs::write(file, text).unwrap();
        let outcome = run(&["-f", file, "true"]);
        assert_eq!(outcome.code, 1, "{outcome:?}");
        assert!(outcome.err.contains(word), "{outcome:?}");
    }
}

/// Hydra, where it is there, starts the ranks of hosts by their names; `fork` keeps them here.
#[test]
fn other_hosts_are_for_hydra() {
    let hydra = |line: &[&str]| {
        let outcome = run(&[&["-launcher", "fork", "-H", "one:1,two:2"], line].concat());
        let is_missing = outcome.err.contains("are started by Hydra");
        (!is_missing).then_some(outcome)
    };
    let Some(outcome) = hydra(&["echo", "there"]) else {
        return eprintln!("SKIPPED: there is no Hydra");
    };
    assert_eq!(
        (outcome.code, outcome.out.as_str()),
        (0, "there\nthere\nthere\n"),
        "{outcome:?}"
    );
    // Signals that are blocked for the launcher and Hydra are for the ranks.
    let outcome = hydra(&["grep", "SigBlk", "/proc/self/status"]).unwrap();
    assert_eq!(
        outcome.out,
        "SigBlk:\t0000000000000000\n".repeat(3),
        "{outcome:?}"
    );
    let outcome = hydra(&["there-is-none"]).unwrap();
    assert_ne!(outcome.code, 0, "{outcome:?}");
    let named = "cannot start 'there-is-none'";
    assert!(outcome.err.contains(named), "{outcome:?}");
    let outcome = hydra(&["--timeout", "1", "sleep", "1000"]).unwrap();
    assert_eq!(outcome.code, 124, "{outcome:?}");
}

#[test]
fn a_time_limit_has_its_exit_code() {
    let mut command = pombo(["run", "-n", "2", "sleep", "1000"]);
    let by_variable = finish(command.env("MPIEXEC_TIMEOUT", "1"));
    for outcome in [
        by_variable,
        run(&["--timeout", "0.5", "-n", "2", "sleep", "1000"]),
    ] {
        assert_eq!(outcome.code, 124, "{outcome:?}");
        assert!(outcome.err.contains("took longer than"), "{outcome:?}");
    }
}

#[test]
fn a_job_in_a_file() {
    let place = directory("config");
    let file = place.join("job");
    fs::write(
        &file,
        "# two programs\n-n 2 sh -c 'echo  $A $POMBO_RANK'\n\n-env A b \\\n sh -c \"echo $A $POMBO_RANK\"\n",
    )
    .unwrap();
    let outcome = finish(pombo(["run", "-genv", "A", "a", "-configfile"]).arg(&file));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(outcome.sorted(), ["a 0", "a 1", "b 2"]);
    fs::write(&file, "# nothing\n").unwrap();
    let outcome = finish(pombo(["run", "-configfile"]).arg(&file));
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(
        outcome.err.contains("a program on each line"),
        "{outcome:?}"
    );
    fs::write(&file, format!("-configfile {}\n", file.display())).unwrap();
    let outcome = finish(pombo(["run", "--app"]).arg(&file));
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(
        outcome.err.contains("only on the command line"),
        "{outcome:?}"
    );
}

#[test]
fn input_for_another_rank() {
    let script = ["-n", "3", "sh", "-c", "echo $POMBO_RANK $(cat)"];
    for (reader, lines) in [
        ("2", ["0", "1", "2 text"]),
        ("0", ["0 text", "1", "2"]),
        ("none", ["0", "1", "2"]),
    ] {
        let outcome = finish_with(pombo(["run", "-s", reader]).args(script), b"text\n");
        assert_eq!(
            (outcome.code, outcome.sorted()),
            (0, lines.to_vec()),
            "{outcome:?}"
        );
    }
}

/// Every rank tells where it may run; the launcher tells the same.
#[test]
fn pinning_is_told() {
    let show = ["sh", "-c", "grep Cpus_allowed_list /proc/self/status"];
    for unit in ["none", "hwthread", "core", "socket", "numa"] {
        let outcome = run(&[&["-report-bindings", "-bind-to", unit][..], &show].concat());
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let said = if unit == "none" {
            "rank 0 is not pinned"
        } else {
            "rank 0 is pinned to processors "
        };
        assert!(outcome.err.contains(said), "{unit}: {outcome:?}");
    }
    // More ranks than any machine here has.
    let outcome = run(&["-bind-to", "core", "-n", "700", "true"]);
    assert_eq!(
        (outcome.code, outcome.err.lines().count()),
        (0, 1),
        "{outcome:?}"
    );
    for word in [
        "-bind-to core: 700 ranks",
        "no rank is pinned",
        "overload-allowed",
    ] {
        assert!(outcome.err.contains(word), "{outcome:?}");
    }
    let outcome = run(&["-bind-to", "core:overload-allowed", "-n", "20", "true"]);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
}

#[test]
fn versions_that_scripts_read() {
    let place = directory("versions");
    for name in ["mpirun", "mpiexec", "pombo"] {
        let link = place.join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pombo"), &link).unwrap();
        let outcome = finish(std::process::Command::new(&link).arg("--version"));
        let version = env!("CARGO_PKG_VERSION");
        let said = format!("{name} (Pombo) {version}, MPI 5.0, ABI 1.0\n");
        assert_eq!((outcome.code, outcome.out), (0, said));
    }
}
