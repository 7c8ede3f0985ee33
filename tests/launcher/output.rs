//! Tests that the output of ranks arrives whole, whatever they print and however it is read.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::support::{Job, directory, finish, pids, pombo, script};

#[test]
fn lines_of_eight_ranks_stay_whole() {
    // Lines have very different lengths, and are written in pieces that do not end with the line.
    let print = r#"awk -v r=$POMBO_RANK 'BEGIN {
        for (i = 0; i < 3000; i++) {
            line = sprintf("%d %d ", r, i)
            for (j = i % 200; j > 0; j--) line = line "abcdefgh"
            print line "."
        }
    }'"#;
    let outcome = finish(&mut script(8, print));
    assert_eq!(outcome.code, 0);
    let mut next = [0; 8];
    for line in outcome.out.lines() {
        let mut words = line.splitn(3, ' ');
        let mut number = || words.next().unwrap().parse::<usize>().unwrap();
        let (rank, index) = (number(), number());
        assert_eq!(index, next[rank], "rank {rank}'s lines in order");
        next[rank] += 1;
        let text = "abcdefgh".repeat(index % 200) + ".";
        assert_eq!(words.next(), Some(text.as_str()));
    }
    assert_eq!(next, [3000; 8]);
}

#[test]
fn both_outputs_in_one_file_keep_their_lines() {
    let place = directory("one-file");
    let file = File::create(place.join("log")).unwrap();
    let print = r#"awk -v r=$POMBO_RANK 'BEGIN {
        for (i = 0; i < 20000; i++) {
            print "out of rank " r " number " i
            print "err of rank " r " number " i > "/dev/stderr"
        }
    }'"#;
    let status = script(4, print)
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .status();
    assert!(status.unwrap().success());
    let log = std::fs::read_to_string(place.join("log")).unwrap();
    assert_eq!(log.lines().count(), 4 * 2 * 20000);
    for line in log.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [stream, "of", "rank", rank, "number", number] = words[..] else {
            panic!("a broken line: {line:?}");
        };
        assert!(
            ["out", "err"].contains(&stream) && rank.len() == 1,
            "{line:?}"
        );
        number.parse::<u32>().unwrap();
    }
}

#[test]
fn streams_are_not_mixed() {
    let outcome = finish(&mut script(2, "echo out; echo err >&2"));
    assert_eq!(
        (outcome.out.as_str(), outcome.err.as_str()),
        ("out\nout\n", "err\nerr\n")
    );
}

#[test]
fn tags_name_the_rank_of_every_line() {
    for option in ["--tag-output", "-tag-output", "-l"] {
        let outcome = finish(&mut pombo([
            "run",
            option,
            "-n",
            "2",
            "sh",
            "-c",
            r"printf 'a\n\nlast'; echo e >&2",
        ]));
        assert_eq!(
            outcome.sorted(),
            ["[0] ", "[0] a", "[0] last", "[1] ", "[1] a", "[1] last"]
        );
        assert!(outcome.err.contains("[0] e\n") && outcome.err.contains("[1] e\n"));
    }
}

#[test]
fn the_last_line_needs_no_end() {
    let outcome = finish(&mut script(1, "printf 'one\ntwo'"));
    assert_eq!(outcome.out, "one\ntwo");
}

#[test]
fn a_line_longer_than_any_buffer() {
    let outcome = finish(&mut script(
        1,
        "head -c 5000000 /dev/zero | tr '\\0' x; echo",
    ));
    assert_eq!(outcome.out.len(), 5_000_001);
    assert!(outcome.out.trim_end().bytes().all(|byte| byte == b'x'));
}

#[test]
fn a_line_is_there_while_the_job_runs() {
    let mut job = Job::start(&mut script(1, "echo ready; exec sleep 1000"));
    assert_eq!(job.lines(1), ["ready"]);
    job.signal(Signal::SIGTERM);
    assert_eq!(job.finish().code, 143);
}

#[test]
fn a_slow_reader_gets_all() {
    let print = "seq 200000";
    let mut child = script(4, print).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    sleep(Duration::from_millis(300));
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    assert_eq!(text.lines().count(), 800_000);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_leaves_ends_the_job() {
    let launcher = env!("CARGO_BIN_EXE_pombo");
    // The shell prints the launcher's exit code and its messages.
    let line = format!("{{ '{launcher}' run -n 3 yes; echo code $? >&2; }} | head -n 2");
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(output.stdout, b"y\ny\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "code 141\n");
}

#[test]
fn a_full_disk_is_told() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = script(1, "echo lost")
        .stdout(full)
        .stderr(Stdio::piped())
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("cannot write the ranks' output"),
        "{message}"
    );
}

#[test]
fn a_background_process_does_not_hold_the_job() {
    let mut job = Job::start(&mut script(2, "sleep 1000 & echo $!"));
    let left = pids(&job.lines(2));
    assert_eq!(job.finish().code, 0);
    crate::support::assert_gone(&left);
}
