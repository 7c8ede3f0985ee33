//! Tests what a rank finds when it starts: variables, directory, input, descriptors, signals.

use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::support::{Job, directory, finish, finish_with, pombo, script};

#[test]
fn every_rank_knows_its_place() {
    let outcome = finish(&mut script(
        5,
        "echo $POMBO_RANK/$POMBO_SIZE $POMBO_LOCAL_RANK/$POMBO_LOCAL_SIZE",
    ));
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    let expected: Vec<String> = (0..5).map(|rank| format!("{rank}/5 {rank}/5")).collect();
    assert_eq!(outcome.sorted(), expected);
}

#[test]
fn one_rank_unless_asked() {
    let outcome = finish(&mut pombo(["run", "sh", "-c", "echo $POMBO_SIZE"]));
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "1\n"));
}

#[test]
fn all_ranks_hold_one_memory_file() {
    let outcome = finish(&mut script(
        3,
        "test $POMBO_SHM_FD -gt 2 && stat -L -c %i /proc/self/fd/$POMBO_SHM_FD",
    ));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let inodes = outcome.sorted();
    assert_eq!(inodes.len(), 3);
    assert_eq!(inodes.first(), inodes.last());
}

#[test]
fn nothing_else_is_inherited() {
    // The same shell counts and starts the launcher, because both inherit descriptors that concurrent tests leak.
    let list = "ls /proc/self/fd | wc -l";
    let both = format!("{list}; \"$0\" run -n 2 sh -c '{list}'");
    let mut command = std::process::Command::new("sh");
    let outcome = finish(command.args(["-c", &both, env!("CARGO_BIN_EXE_pombo")]));
    let counts: Vec<usize> = outcome.out.lines().map(|n| n.parse().unwrap()).collect();
    let [plain, ranks @ ..] = &counts[..] else {
        panic!("{outcome:?}");
    };
    assert_eq!(ranks, [plain + 1, plain + 1], "the memory file alone");
}

#[test]
fn signals_are_not_blocked() {
    let outcome = finish(&mut script(2, "grep SigBlk /proc/self/status"));
    let expected = "SigBlk:\t0000000000000000";
    assert_eq!(outcome.sorted(), [expected, expected]);
}

#[test]
fn several_programs_share_one_job() {
    let show = r#"echo "$0 $POMBO_RANK $POMBO_SIZE""#;
    let outcome = finish(&mut pombo([
        "run", "-n", "2", "sh", "-c", show, "a", ":", "-np", "1", "sh", "-c", show, "b", ":", "sh",
        "-c", show, "c",
    ]));
    assert_eq!(outcome.sorted(), ["a 0 4", "a 1 4", "b 2 4", "c 3 4"]);
}

#[test]
fn variables_from_the_command_line() {
    let show = r#"echo "$POMBO_RANK $A $B $C""#;
    let mut command = pombo([
        "run", "-env", "A", "-1", "-x", "B=x=y", "sh", "-c", show, ":", "--genv", "C", "c c", "-x",
        "B", "sh", "-c", show,
    ]);
    let outcome = finish(command.env("A", "outer").env("B", "outer"));
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    assert_eq!(outcome.sorted(), ["0 -1 x=y c c", "1 outer outer c c"]);
}

#[test]
fn a_variable_that_is_not_there_is_named() {
    let outcome = finish(&mut pombo(["run", "-x", "NOT_SET_ANYWHERE", "true"]));
    assert_eq!(outcome.code, 0);
    assert!(outcome.err.contains("NOT_SET_ANYWHERE"), "{outcome:?}");
}

#[test]
fn another_directory() {
    let place = directory("wdir").canonicalize().unwrap();
    symlink("/bin/pwd", place.join("here")).unwrap();
    for option in ["-wdir", "--wdir", "-wd"] {
        // A name with a slash is relative to that directory.
        let outcome = finish(
            pombo(["run", "-n", "2", option])
                .arg(&place)
                .args(["./here", "-P"]),
        );
        let place = place.to_str().unwrap();
        assert_eq!(outcome.sorted(), [place, place], "{outcome:?}");
    }
}

#[test]
fn arguments_arrive_as_they_are() {
    let show = r#"printf '<%s>' "$0" "$@""#;
    let outcome = finish(&mut pombo([
        "run", "-n", "1", "--", "sh", "-c", show, "-n", "7", "", "a b", "--", "-x",
    ]));
    assert_eq!(outcome.out, "<-n><7><><a b><--><-x>");
}

#[test]
fn argv_0_is_the_name_given() {
    let outcome = finish(&mut pombo(["run", "cat", "/proc/self/cmdline"]));
    assert_eq!(outcome.out, "cat\0/proc/self/cmdline\0");
}

#[test]
fn input_goes_to_rank_0() {
    let text = "line\n".repeat(100_000);
    let outcome = finish_with(&mut script(3, "echo $POMBO_RANK $(wc -c)"), text.as_bytes());
    assert_eq!(outcome.sorted(), ["0 500000", "1 0", "2 0"]);
}

#[test]
fn input_that_nobody_reads_stays() {
    let place = directory("stdin");
    let path = place.join("input");
    std::fs::write(&path, "first\nsecond\n").unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let launcher = env!("CARGO_BIN_EXE_pombo");
    let line = format!("read first; '{launcher}' run -n 2 true; read second; echo $second");
    let output = std::process::Command::new("sh")
        .args(["-c", &line])
        .stdin(Stdio::from(file))
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"second\n");
}

#[test]
fn a_terminal_is_handed_on() {
    use std::io::Write;
    let terminal = nix::pty::openpty(None, None).unwrap();
    let mut keyboard = std::fs::File::from(terminal.master);
    let mut command = script(2, "echo $POMBO_RANK $(cat)");
    let job = Job::start_with(Stdio::from(terminal.slave), &mut command);
    // The input is two lines and the end of input.
    keyboard.write_all(b"one\ntwo\n\x04").unwrap();
    let outcome = job.finish();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(outcome.sorted(), ["0 one two", "1"]);
}

#[test]
fn links_decide_by_their_name() {
    let place = directory("links");
    for name in ["mpirun", "mpiexec"] {
        let link = place.join(name);
        symlink(env!("CARGO_BIN_EXE_pombo"), &link).unwrap();
        let mut command = std::process::Command::new(link);
        let outcome = finish(command.args(["-np", "2", "sh", "-c", "echo $POMBO_SIZE"]));
        assert_eq!((outcome.code, outcome.out.as_str()), (0, "2\n2\n"));
    }
}

#[test]
fn cores_are_given_out_when_there_are_enough() {
    // The number of allowed cores is expected, not the share of processor time, which is less in some containers.
    let allowed = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap();
    let cores = 0..nix::sched::CpuSet::count();
    let cores = cores
        .filter(|&core| allowed.is_set(core) == Ok(true))
        .count();
    let show = "grep Cpus_allowed_list /proc/self/status";
    let bound = |ranks: usize| {
        let ranks = ranks.to_string();
        finish(&mut pombo([
            "run", "-bind-to", "hwthread", "-n", &ranks, "sh", "-c", show,
        ]))
    };
    let outcome = bound(cores);
    let mut lists = outcome.sorted();
    lists.dedup();
    assert_eq!(lists.len(), cores, "every rank its own core: {outcome:?}");
    assert!(lists.iter().all(|list| !list.contains(['-', ','])));
    let outcome = bound(cores + 1);
    let mut lists = outcome.sorted();
    lists.dedup();
    assert_eq!(lists.len(), 1, "too many ranks are left alone: {outcome:?}");
}

#[test]
fn more_ranks_than_cores() {
    let mut job = Job::start(&mut pombo([
        "run",
        "--oversubscribe",
        "-n",
        "40",
        "sh",
        "-c",
        "echo $POMBO_RANK",
    ]));
    assert_eq!(job.lines(40).len(), 40);
    assert_eq!(job.finish().code, 0);
}
