//! Tests how a job ends, and that nothing of it remains.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pombo_kernel::channel::{Channel, Event};
use pombo_kernel::header::Peer;
use pombo_netdrivers::shm::{RankState, Segment, Shm};

use crate::support::{HANG, Job, assert_gone, finish, pids, pombo, script};

/// Seconds in which every rank can clean up, however slow the machine is.
const AMPLE: &str = "60";
/// Seconds beyond the hang limit.
const DAY: &str = "86400";

/// Prints the process ids of a rank and of a process that it started, then waits for ever.
const WAIT: &str = "sleep 1000 & echo $$ $!; wait";

#[test]
fn exit_code_of_the_rank_that_failed() {
    let outcome = finish(&mut script(
        3,
        "test $POMBO_RANK != 1 || exit 42; exec sleep 1000",
    ));
    assert_eq!(outcome.code, 42);
    let message = "sh) exited with code 42; ending the other 2 ranks\n";
    assert!(
        outcome.err.starts_with("pombo: rank 1 (pid "),
        "{outcome:?}"
    );
    assert!(outcome.err.ends_with(message), "{outcome:?}");
}

/// The output of a rank precedes the message about its end, even if the launcher reads both at once.
#[test]
fn last_words_come_before_the_message() {
    let print = "echo $$; read line; seq 5000 >&2; printf unfinished; exit 3";
    let mut command = pombo(["run", "sh", "-c"]);
    let mut job = Job::start_with(Stdio::piped(), command.arg(print));
    let rank = pids(&job.lines(1))[0];
    job.signal(Signal::SIGSTOP);
    job.child.stdin = None;
    let begin = Instant::now();
    while state(Pid::from_raw(rank)) != Some('Z') {
        assert!(begin.elapsed() < HANG, "the rank does not end");
        sleep(Duration::from_millis(5));
    }
    job.signal(Signal::SIGCONT);
    let outcome = job.finish();
    assert_eq!((outcome.code, outcome.out.as_str()), (3, "unfinished"));
    assert_gone(&[rank]);
    let lines: Vec<&str> = outcome.err.lines().collect();
    let (last, before) = lines.split_last().unwrap();
    assert!(last.contains("exited with code 3"), "{last}");
    assert_eq!((before.len(), before.last()), (5000, Some(&"5000")));
}

#[test]
fn the_first_failure_counts() {
    let fail = "trap 'exit 9' TERM; test $POMBO_RANK != 2 || exit 5; sleep 1000 & wait";
    let outcome = finish(&mut script(3, fail));
    assert_eq!(outcome.code, 5);
    assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
}

#[test]
fn a_killed_rank_is_named() {
    let mut job = Job::start(&mut script(4, &format!("echo $POMBO_RANK; {WAIT}")));
    let lines = job.lines(8);
    // A rank prints its number first; the message tells which process id is whose.
    let all: Vec<String> = lines
        .into_iter()
        .filter(|line| line.contains(' '))
        .collect();
    let leaders: Vec<i32> = all
        .iter()
        .map(|line| pids(std::slice::from_ref(line))[0])
        .collect();
    let victim = leaders[1];
    kill(Pid::from_raw(victim), Signal::SIGKILL).unwrap();
    let outcome = job.finish();
    assert_eq!(outcome.code, 137);
    let expected =
        format!("(pid {victim}, sh) was killed by signal 9 (SIGKILL); ending the other 3 ranks\n");
    assert!(outcome.err.ends_with(&expected), "{outcome:?}");
    assert_gone(&pids(&all));
}

#[test]
fn others_go_on_where_the_user_says_so() {
    let sleeper = "test $POMBO_RANK = 1 || exec sleep 1000; kill -KILL $$";
    let late = "test $POMBO_RANK = 1 && exit 5; sleep 0.3; echo $POMBO_RANK";
    for (option, words, code) in [
        ("--enable-recovery", late, 5),
        ("-disable-auto-cleanup", late, 5),
        ("--enable-recovery", sleeper, 124),
    ] {
        let mut command = pombo([
            "run",
            "--timeout",
            "2",
            option,
            "-n",
            "3",
            "sh",
            "-c",
            words,
        ]);
        let outcome = finish(&mut command);
        assert_eq!(outcome.code, code, "{outcome:?}");
        assert_eq!(outcome.sorted().len(), if code == 5 { 2 } else { 0 });
        let said = outcome.err.lines().next().unwrap_or_default();
        let ends = ["exited with code 5", "was killed by signal 9 (SIGKILL)"];
        assert!(ends.iter().any(|end| said.ends_with(end)), "{outcome:?}");
    }
}

#[test]
fn a_real_time_signal_has_a_number() {
    let outcome = finish(&mut script(
        2,
        "test $POMBO_RANK != 1 || kill -40 $$; exec sleep 1000",
    ));
    assert_eq!(outcome.code, 168);
    assert!(
        outcome.err.contains("was killed by signal 40;"),
        "{outcome:?}"
    );
}

/// The behaviour of a rank without MPI_Finalize; the next test starts a job of these.
#[test]
fn joins_and_never_leaves() {
    let Ok(rank) = std::env::var("POMBO_RANK") else {
        return;
    };
    let descriptor = std::env::var("POMBO_SHM_FD").unwrap();
    let segment = Segment::open(descriptor.parse().unwrap()).unwrap();
    let channel = Shm::attach(segment, rank.parse().unwrap(), 1).unwrap();
    std::mem::forget(channel);
    if rank != "1" {
        sleep(HANG);
    }
    std::process::exit(0);
}

#[test]
fn a_rank_must_leave_the_job_in_order() {
    let myself = std::env::current_exe().unwrap();
    let mut command = pombo(["run", "-n", "3"]);
    command.arg(myself);
    let outcome = finish(command.args(["--exact", "ending::joins_and_never_leaves"]));
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(
        outcome.err.starts_with("pombo: rank 1 (pid "),
        "{outcome:?}"
    );
    let message = "exited without calling MPI_Finalize; ending the other 2 ranks";
    assert!(outcome.err.contains(message), "{outcome:?}");
}

/// Not a test of its own, but the ranks of the next one. Rank 1 never joins; it ends when rank 0 has joined, or before.
#[test]
fn never_joins() {
    let (Ok(rank), Ok(first)) = (std::env::var("POMBO_RANK"), std::env::var(FIRST)) else {
        return;
    };
    let descriptor = std::env::var("POMBO_SHM_FD").unwrap();
    let segment = Segment::open(descriptor.parse().unwrap()).unwrap();
    let until = |rank, state| {
        let begin = Instant::now();
        while segment.state(rank) != Ok(state) {
            assert!(begin.elapsed() < HANG);
            sleep(Duration::from_millis(1));
        }
    };
    match (rank.as_str(), first.as_str()) {
        ("1", "1") => std::process::exit(0),
        ("1", _) => {
            until(0, RankState::Attached);
            std::process::exit(0)
        }
        (_, "1") => until(1, RankState::Dead),
        _ => {}
    }
    let mut channel = Shm::attach(segment, 0, 1).unwrap();
    let mut lost = false;
    while !lost {
        channel
            .poll(|event| lost |= matches!(event, Event::PeerLost(Peer(1))))
            .unwrap();
    }
    std::mem::forget(channel);
    std::process::exit(5)
}

const FIRST: &str = "POMBO_TEST_FIRST";

#[test]
fn nobody_waits_for_a_rank_that_never_joins() {
    let myself = std::env::current_exe().unwrap();
    let run = |first: &str| {
        let mut command = pombo(["run", "-n", "2"]);
        command.arg(&myself).env(FIRST, first);
        finish(command.args(["--exact", "ending::never_joins"]))
    };
    let outcome = run("0");
    let message = "exited without calling MPI_Init; ending the other rank";
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.err.contains("pombo: rank 1 (pid "), "{outcome:?}");
    assert!(outcome.err.contains(message), "{outcome:?}");
    assert_eq!(run("1").code, 5, "rank 0 has heard of it");
}

#[test]
fn the_other_ranks_may_clean_up() {
    let clean = "trap 'echo clean $POMBO_RANK; exit 0' TERM; echo ready; while :; do sleep 1; done";
    let mut job =
        Job::start(script(3, &fails_on_rank_0(3, clean)).env("POMBO_KILL_TIMEOUT", AMPLE));
    job.lines(2);
    job.child.stdin = None;
    let outcome = job.finish();
    assert_eq!(outcome.code, 3);
    assert_eq!(outcome.sorted(), ["clean 1", "clean 2"]);
}

#[test]
fn who_does_not_listen_is_killed() {
    let deaf = "trap '' TERM INT; echo $$; while :; do sleep 1; done";
    let mut job = Job::start(script(3, &fails_on_rank_0(4, deaf)).env("POMBO_KILL_TIMEOUT", "0.2"));
    let left = pids(&job.lines(2));
    job.child.stdin = None;
    assert_eq!(job.finish().code, 4);
    assert_gone(&left);
}

#[test]
fn a_job_that_takes_too_long_is_ended() {
    let named = "pombo: the job took longer than 0.2 s; ending 2 ranks";
    let sleep = ["sleep", "1000"];
    let option = [&["run", "-n", "2", "--timeout", "0.2"][..], &sleep].concat();
    let outcome = finish(&mut pombo(option));
    assert_eq!((outcome.code, outcome.err.trim_end()), (124, named));
    let variable = [&["run", "-n", "2"][..], &sleep].concat();
    let outcome = finish(pombo(&variable).env("MPIEXEC_TIMEOUT", "0.2"));
    assert_eq!((outcome.code, outcome.err.trim_end()), (124, named));
    let outcome = finish(pombo(variable).env("MPIEXEC_TIMEOUT", "soon"));
    assert_eq!(outcome.code, 1);
    assert!(outcome.err.contains("MPIEXEC_TIMEOUT is 'soon'"));
}

#[test]
fn a_stopped_rank_ends_too() {
    let stop = fails_on_rank_0(6, "echo $$; kill -STOP $$");
    let mut job = Job::start(script(2, &stop).env("POMBO_KILL_TIMEOUT", DAY));
    let left = pids(&job.lines(1));
    job.child.stdin = None;
    assert_eq!(job.finish().code, 6);
    assert_gone(&left);
}

/// Returns a script in which rank 0 fails when its input ends, and the other ranks run `others`.
fn fails_on_rank_0(code: i32, others: &str) -> String {
    format!("test $POMBO_RANK != 0 || {{ read line; exit {code}; }}; {others}")
}

#[test]
fn signals_are_passed_on_and_end_the_job() {
    for (signal, code) in [
        (Signal::SIGINT, 130),
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 129),
    ] {
        let mut job = Job::start(&mut script(3, WAIT));
        let all = pids(&job.lines(3));
        job.signal(signal);
        let outcome = job.finish();
        assert_eq!(outcome.code, code, "{outcome:?}");
        let number = signal as i32;
        assert!(
            outcome
                .err
                .contains(&format!("got signal {number} ({signal}); ending 3 ranks"))
        );
        assert_gone(&all);
    }
}

#[test]
fn ranks_see_the_signal_itself() {
    let catch = "trap 'echo INT $POMBO_RANK; exit 0' INT; echo ready; while :; do sleep 1; done";
    let mut job = Job::start(script(2, catch).env("POMBO_KILL_TIMEOUT", AMPLE));
    assert_eq!(job.lines(2), ["ready", "ready"]);
    job.signal(Signal::SIGINT);
    let outcome = job.finish();
    assert_eq!(outcome.code, 130);
    assert_eq!(outcome.sorted(), ["INT 0", "INT 1"]);
}

#[test]
fn a_second_signal_ends_the_grace() {
    // The ranks handle the signal and do not end. The launcher could merge two signals that it has not read yet.
    let deaf = "trap 'echo heard' INT; echo ready; while :; do sleep 1; done";
    let mut job = Job::start(script(2, deaf).env("POMBO_KILL_TIMEOUT", DAY));
    job.lines(2);
    job.signal(Signal::SIGINT);
    assert_eq!(job.lines(2), ["heard", "heard"]);
    job.signal(Signal::SIGINT);
    assert_eq!(job.finish().code, 130);
}

#[test]
fn user_signals_reach_the_ranks() {
    let catch = "trap 'echo USR1; exit 0' USR1; echo ready; sleep 1000 & wait";
    let mut job = Job::start(&mut script(2, catch));
    job.lines(2);
    job.signal(Signal::SIGUSR1);
    let outcome = job.finish();
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "USR1\nUSR1\n"));
}

#[test]
fn a_killed_launcher_takes_all_with_it() {
    let mut job = Job::start(&mut script(4, WAIT));
    let all = pids(&job.lines(4));
    assert_eq!(all.len(), 8);
    job.signal(Signal::SIGKILL);
    assert_eq!(job.finish().code, 137);
    assert_gone(&all);
}

#[test]
fn a_killed_launcher_without_its_guard() {
    let mut job = Job::start(&mut script(3, "echo $$; exec sleep 1000"));
    let all = pids(&job.lines(3));
    let guard = guard_of(job.pid());
    kill(Pid::from_raw(guard), Signal::SIGKILL).unwrap();
    job.signal(Signal::SIGKILL);
    job.finish();
    assert_gone(&all);
    assert_gone(&[guard]);
}

#[test]
fn a_job_without_its_guard_goes_on() {
    let mut job = Job::start(&mut script(2, "echo ready; read line; exit 0"));
    job.lines(1);
    let guard = guard_of(job.pid());
    kill(Pid::from_raw(guard), Signal::SIGKILL).unwrap();
    job.child.stdin = None;
    let outcome = job.finish();
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
}

/// Returns the launcher's guard process, of which jobs know nothing.
fn guard_of(launcher: Pid) -> i32 {
    let children = format!("/proc/{launcher}/task/{launcher}/children");
    let children = std::fs::read_to_string(children).unwrap();
    let mut children = children.split_whitespace();
    let guard = children.find(|child| {
        let line = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        line == b"pombo\0__guard\0"
    });
    guard.unwrap().parse().unwrap()
}

#[test]
fn a_launcher_killed_while_starting() {
    for wait in 0..10 {
        // The launcher and its ranks are in different groups; the mark finds all processes.
        let mark = format!("launcher-test-{}-{wait}", std::process::id());
        let mut command = script(4, "exec sleep 1000");
        let job = Job::start(command.env("LAUNCHER_TEST_MARK", &mark).process_group(0));
        sleep(Duration::from_micros(500 * wait));
        job.signal(Signal::SIGKILL);
        job.finish();
        assert_none_marked(&mark);
    }
}

#[test]
fn a_stopped_launcher_stops_its_ranks() {
    let count = "while :; do echo tick; sleep 0.01; done";
    let mut job = Job::start(&mut script(1, count));
    job.lines(3);
    job.signal(Signal::SIGTSTP);
    let begin = Instant::now();
    while state(job.pid()) != Some('T') {
        assert!(begin.elapsed() < HANG, "the launcher does not stop");
        sleep(Duration::from_millis(5));
    }
    job.signal(Signal::SIGCONT);
    job.lines(1000 / 50);
    job.signal(Signal::SIGTERM);
    assert_eq!(job.finish().code, 143);
}

#[test]
fn a_slow_reader_does_not_hold_an_interrupted_launcher() {
    // The reader does not read, and the launcher's output is full.
    let mut child = script(2, "yes")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    sleep(Duration::from_millis(300));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(begin.elapsed() < HANG, "the launcher waits for its reader");
        sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(143));
}

#[test]
fn nohup_keeps_its_promise() {
    let launcher = env!("CARGO_BIN_EXE_pombo");
    let line =
        format!("trap '' HUP; exec '{launcher}' run sh -c 'echo ready; sleep 0.3; echo done'");
    let mut command = Command::new("sh");
    let mut job = Job::start(command.args(["-c", &line]));
    job.lines(1);
    job.signal(Signal::SIGHUP);
    let outcome = job.finish();
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "done\n"));
}

fn state(pid: Pid) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.trim_start().chars().next()
}

/// Checks the environment of every process that this user may read.
fn assert_none_marked(mark: &str) {
    let begin = Instant::now();
    while let Some(left) = marked(mark) {
        assert!(begin.elapsed() < HANG, "process {left} was left behind");
        sleep(Duration::from_millis(5));
    }
}

fn marked(mark: &str) -> Option<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut names = processes.map(|process| process.file_name().to_string_lossy().into_owned());
    names.find(|name| {
        let environment = std::fs::read(format!("/proc/{name}/environ")).unwrap_or_default();
        let is_running = name
            .parse()
            .is_ok_and(|pid| state(Pid::from_raw(pid)) != Some('Z'));
        let mark = mark.as_bytes();
        is_running && environment.windows(mark.len()).any(|part| part == mark)
    })
}
