//! Tests erroneous programs: every trial of `tests/c/adversarial` prints and ends as its table says, without a crash
//! and without a hang. With `POMBO_COMPARE=1` MPICH runs them too, and a table compares the results.

use crate::programs::{job, program_in, source};
use crate::support::{Outcome, finish, with_suite_settings};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The programs, by theme.
const PROGRAMS: [&str; 14] = [
    "buffers",
    "calls",
    "counts",
    "deaths",
    "forks",
    "freed",
    "handles",
    "in_place",
    "lifetimes",
    "mismatched",
    "signals",
    "threads",
    "traffic",
    "truncated",
];

/// Seconds after which a trial counts as a hang: most take a tenth of a second, all at most two.
const HANG: &str = "90";

/// The same limit beside MPICH, where nearly every hang is one of MPICH's.
const SHORT_HANG: &str = "30";

/// The exit code of `timeout` if it had to end a job.
const TIMED_OUT: i32 = 124;

/// How a trial is started; the values of `enum kind` in trial.h.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    SupervisedChannel,
    Unwatched,
}

/// A line of a program's table.
struct Trial {
    name: String,
    ranks: usize,
    /// Exit code of the job.
    code: i32,
    kind: Kind,
    /// Expected output of the ranks; `*` where it is nondeterministic.
    expect: String,
}

/// The end of a job.
#[derive(PartialEq)]
enum End {
    Hang,
    Fault(String),
    Said { text: String, code: i32 },
}

impl End {
    fn of(trial: &Trial, outcome: &Outcome) -> End {
        let asked = outcome.code == trial.code && trial.code > 128;
        if outcome.code == TIMED_OUT || (outcome.code == 137 && !asked) {
            return End::Hang;
        }
        let faults = ["SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT"];
        let all = format!("{}{}", outcome.out, outcome.err);
        let own = "error in the MPI library itself";
        let named = faults.iter().chain([&own]).find(|it| all.contains(**it));
        let foreign = all.contains("APPLICATION TERMINATED WITH THE EXIT STRING");
        match named {
            Some(fault) if !asked => End::Fault((*fault).to_owned()),
            _ if foreign && !asked => End::Fault(signal(&all)),
            _ => End::Said {
                text: said(trial.ranks, &outcome.out),
                code: outcome.code,
            },
        }
    }

    fn is_right(&self, trial: &Trial) -> bool {
        match self {
            End::Said { text, code } => {
                trial.expect == "*" || (*text == trial.expect && *code == trial.code)
            }
            _ => false,
        }
    }

    /// Returns the words of the table.
    fn words(&self) -> String {
        match self {
            End::Hang => "**hangs**".into(),
            End::Fault(what) => format!("**fault: {what}**"),
            End::Said { text, code: 0 } => text.clone(),
            End::Said { text, code } => format!("{text} (exit code {code})"),
        }
    }
}

/// Returns the signal in a message such as "Segmentation fault (signal 11)" of MPICH's launcher.
fn signal(text: &str) -> String {
    let (_, rest) = text.split_once("EXIT STRING: ").unwrap_or(("", "unknown"));
    rest.lines().next().unwrap_or(rest).to_owned()
}

/// Returns the lines of all ranks, in rank order; a line without a number if all ranks print the same.
fn said(ranks: usize, out: &str) -> String {
    let mut lines: Vec<(usize, &str)> = out
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(rank, text)| Some((rank.parse().ok()?, text)))
        .collect();
    lines.sort_unstable();
    let texts: BTreeSet<&str> = lines.iter().map(|(_, text)| *text).collect();
    match texts.first() {
        Some(text) if texts.len() == 1 && lines.len() == ranks => (*text).to_owned(),
        _ => {
            let lines: Vec<String> = lines
                .iter()
                .map(|(rank, it)| format!("{rank} {it}"))
                .collect();
            lines.join("; ")
        }
    }
}

fn trials(program: &Path) -> Vec<Trial> {
    let table = finish(Command::new(program).arg("list")).out;
    let trial = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, ranks, code, kind, expect] = fields[..] else {
            panic!("a line of another form: {line}")
        };
        Trial {
            name: name.to_owned(),
            ranks: ranks.parse().unwrap(),
            code: code.parse().unwrap(),
            kind: match kind {
                "2" => Kind::Unwatched,
                _ => Kind::SupervisedChannel,
            },
            expect: expect.to_owned(),
        }
    };
    let trials: Vec<Trial> = table.lines().map(trial).collect();
    assert!(!trials.is_empty(), "{} has no trials", program.display());
    trials
}

/// Returns a command that ends after `seconds`, with the suite's settings.
fn limited(seconds: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "10", seconds]);
    with_suite_settings(&mut command);
    command
}

fn here(program: &Path, trial: &Trial, limit: &str, variables: &[(&str, &str)]) -> End {
    let outcome = match trial.kind {
        Kind::SupervisedChannel => {
            let mut command = limited(limit);
            command
                .arg(env!("CARGO_BIN_EXE_pombo"))
                .args(["run", "-n", &trial.ranks.to_string()])
                .arg(program)
                .arg(&trial.name)
                .envs(variables.iter().copied());
            job(&mut command)
        }
        Kind::Unwatched => unwatched(program, trial, limit, variables),
    };
    End::of(trial, &outcome)
}

/// Runs ranks without a launcher: each continues or ends on its own.
fn unwatched(program: &Path, trial: &Trial, limit: &str, variables: &[(&str, &str)]) -> Outcome {
    let job = format!("{}-{}-{}", trial.name, variables.len(), std::process::id());
    let start = |rank: usize| {
        let mut command = limited(limit);
        command
            .arg(program)
            .arg(&trial.name)
            .env("POMBO_JOB", &job)
            .env("POMBO_RANK", rank.to_string())
            .env("POMBO_SIZE", trial.ranks.to_string())
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("coreutils are everywhere")
    };
    let ranks: Vec<_> = (0..trial.ranks).map(start).collect();
    let mut whole = Outcome {
        code: 0,
        out: String::new(),
        err: String::new(),
    };
    for rank in ranks {
        let output = rank.wait_with_output().expect("a child");
        // A rank that kills itself on purpose has no exit code; the time limit ends any rank.
        let code = output.status.code().unwrap_or(0);
        whole.code = if [code, whole.code].contains(&TIMED_OUT) {
            TIMED_OUT
        } else {
            whole.code
        };
        whole.out += &String::from_utf8_lossy(&output.stdout);
        whole.err += &String::from_utf8_lossy(&output.stderr);
    }
    whole
}

/// Runs every trial of a program; panics with the failed ones.
fn all_of(name: &str) {
    all_with(name, &[]);
}

/// The same with variables of the environment.
fn all_with(name: &str, variables: &[(&str, &str)]) {
    let program = program_in("adversarial", name);
    let wrong: Vec<String> = trials(&program)
        .iter()
        .filter_map(|trial| {
            let end = here(&program, trial, HANG, variables);
            let Trial { name, expect, .. } = trial;
            (!end.is_right(trial)).then(|| format!("{name}: {} instead of {expect}", end.words()))
        })
        .collect();
    assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
}

#[test]
fn buffers() {
    all_of("buffers");
}

#[test]
fn drawn_calls() {
    all_of("calls");
}

#[test]
fn counts() {
    all_of("counts");
}

#[test]
fn deaths() {
    all_of("deaths");
}

#[test]
fn forks() {
    all_of("forks");
}

#[test]
fn freed_objects() {
    all_of("freed");
}

#[test]
fn handles() {
    all_of("handles");
}

#[test]
fn in_place() {
    all_of("in_place");
}

#[test]
fn lifetimes() {
    all_of("lifetimes");
}

#[test]
fn mismatched_collectives() {
    all_of("mismatched");
}

#[test]
fn signals() {
    all_of("signals");
}

#[test]
fn threads_of_all_kinds() {
    all_of("threads");
}

#[test]
fn threads_whose_messages_are_read_in_place() {
    all_with("threads", &[("POMBO_SHM_SINGLE_COPY", "always")]);
}

#[test]
fn more_traffic_than_is_wise() {
    all_of("traffic");
}

#[test]
fn truncated_messages() {
    all_of("truncated");
}

/// Compiles with MPICH's compiler, if there is one.
fn foreign(name: &str) -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpich");
    std::fs::create_dir_all(&place).unwrap();
    let program = place.join(name);
    let status = Command::new("mpicc.mpich")
        .args(["-std=c99", "-O1", "-w"])
        .arg(source(&format!("tests/c/adversarial/{name}.c")))
        .arg("-o")
        .arg(&program)
        .args(["-lm", "-lpthread"])
        .status();
    status
        .is_ok_and(|status| status.success())
        .then_some(program)
}

/// Compares each trial by shared memory, by UDP and with MPICH: no crash here, and no hang where MPICH continues.
#[test]
fn beside_mpich() {
    if std::env::var_os("POMBO_COMPARE").is_none() {
        println!("SKIPPED: takes some minutes; POMBO_COMPARE=1 runs it");
        return;
    }
    let mut table =
        String::from("| trial | right | here | by UDP | MPICH |\n|---|---|---|---|---|\n");
    let mut wrong = Vec::new();
    for name in PROGRAMS {
        let program = program_in("adversarial", name);
        let theirs = foreign(name);
        for trial in trials(&program) {
            let ours = here(&program, &trial, SHORT_HANG, &[]);
            let udp = here(&program, &trial, SHORT_HANG, &[("POMBO_NET", "udp")]);
            // MPICH's launcher ends the other ranks when one has left.
            let foreign = match (&theirs, trial.kind) {
                (Some(theirs), Kind::SupervisedChannel) => {
                    let mut command = limited(SHORT_HANG);
                    command
                        .args(["mpiexec.mpich", "-n", &trial.ranks.to_string()])
                        .arg(theirs)
                        .arg(&trial.name);
                    Some(End::of(&trial, &job(&mut command)))
                }
                _ => None,
            };
            let goes_on = matches!(foreign, Some(End::Said { .. }));
            if matches!(ours, End::Fault(_)) || (ours == End::Hang && goes_on) {
                wrong.push(format!("{name} {}: {}", trial.name, ours.words()));
            }
            let foreign = foreign.map_or("not run".into(), |it| it.words());
            let cells = [&trial.expect, &ours.words(), &udp.words(), &foreign];
            let cells = cells.map(|cell| cell.replace('|', "/")).join(" | ");
            table += &format!("| {name} {} | {cells} |\n", trial.name);
        }
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adversarial.md");
    std::fs::write(&place, &table).unwrap();
    println!("{table}\nin {}", place.display());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_program_has_its_test() {
    let files = std::fs::read_dir(source("tests/c/adversarial")).unwrap();
    let files: BTreeSet<String> = files
        .filter_map(|file| file.unwrap().file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".c")?.to_owned()))
        .collect();
    let known: BTreeSet<String> = PROGRAMS.map(str::to_owned).into();
    assert_eq!(files, known);
}
