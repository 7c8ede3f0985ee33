//! Tests the client against launchers with correct and wrong answers.

extern crate std;

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::vec;
use std::{format, string::String};

/// Starts a launcher that reads a line before each of its answers, and returns the lines. It closes at its end.
fn launcher(answers: Vec<String>) -> (PmiConnection, thread::JoinHandle<Vec<String>>) {
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let heard = thread::spawn(move || {
        let mut lines = BufReader::new(theirs.try_clone().expect("a descriptor")).lines();
        let mut heard = Vec::new();
        for answer in answers {
            heard.extend(lines.next().and_then(Result::ok));
            // A client that has given up does not read.
            let _ = (&theirs).write_all(answer.as_bytes());
        }
        heard
    });
    let descriptor = Descriptor::returned(ours.into_raw_fd(), "test").expect("a descriptor");
    (PmiConnection::over(descriptor), heard)
}

const HELLO: [&str; 3] = [
    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
    "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n",
    "cmd=my_kvsname kvsname=kvs_1_0\n",
];

fn after_hello(answers: &[&str]) -> Vec<String> {
    let all = HELLO.iter().chain(answers);
    all.map(|answer| String::from(*answer)).collect()
}

#[test]
fn a_whole_conversation() {
    let (connection, heard) = launcher(after_hello(&[
        "cmd=put_result rc=0 msg=success\n",
        "cmd=barrier_out\n",
        "cmd=get_result rc=0 msg=success value=theirs\n",
        "cmd=finalize_ack\n",
        "",
    ]));
    let mut pmi = Pmi::begin(connection, (1, 2)).expect("hello");
    assert_eq!((pmi.rank(), pmi.size), (1, 2));
    pmi.put("pombo-1", "ours").expect("room");
    pmi.barrier().expect("all came");
    assert_eq!(pmi.get("pombo-0"), Ok(ExchangedText::from("theirs")));
    pmi.finish().expect("leave");
    pmi.abort(3);
    assert_eq!(
        heard.join().expect("it ends"),
        [
            "cmd=init pmi_version=1 pmi_subversion=1",
            "cmd=get_maxes",
            "cmd=get_my_kvsname",
            "cmd=put kvsname=kvs_1_0 key=pombo-1 value=ours",
            "cmd=barrier_in",
            "cmd=get kvsname=kvs_1_0 key=pombo-0",
            "cmd=finalize",
            "cmd=abort exitcode=3",
        ]
    );
}

#[test]
fn lines_arrive_in_pieces_and_together() {
    let (mut connection, _launcher) = launcher(vec!["cmd=a x".into(), "=1 rc=0\ncmd=b\n".into()]);
    connection
        .descriptor
        .write_all(b"go\n")
        .expect("a launcher");
    let a = connection.ask("a", "go on\n", "a").expect("an answer");
    assert_eq!(a.number("x"), Ok(1));
    assert!(connection.answer("b", "b").is_ok());
    let gone = JobError::LauncherGone { asked: "c" };
    assert_eq!(connection.answer("c", "c").err(), Some(Box::new(gone)));
}

#[test]
fn wrong_answers_are_named() {
    let wrong = |asked: &'static str, got: &str| JobError::LauncherAnswer {
        asked,
        got: Excerpt::new(got.into()),
    };
    let refused = |asked: &'static str, said: &str| JobError::LauncherRefused {
        asked,
        said: Excerpt::new(said.into()),
    };
    let begin = |answers: Vec<String>| Pmi::begin(launcher(answers).0, (0, 1)).err();
    let long = "x".repeat(LINE + 600);
    for (answer, error) in [
        (
            "HTTP/1.1 400\r\n",
            wrong("version 1 of PMI", "HTTP/1.1 400?"),
        ),
        ("\n", wrong("version 1 of PMI", "")),
        (
            "cmd=maxes rc=0\n",
            wrong("version 1 of PMI", "cmd=maxes rc=0"),
        ),
        (
            "cmd=response_to_init\t rc=-1 msg=old\r\n",
            refused("version 1 of PMI", "old"),
        ),
        (
            "",
            JobError::LauncherGone {
                asked: "version 1 of PMI",
            },
        ),
        (long.as_str(), JobError::LauncherLine { limit: LINE }),
    ] {
        assert_eq!(
            begin(vec![answer.into()]),
            Some(Box::new(error)),
            "{answer}"
        );
    }
    let maxes = |answer: &str| begin(vec![HELLO[0].into(), answer.into()]);
    for answer in [
        "cmd=maxes\n",
        "cmd=maxes vallen_max=\n",
        "cmd=maxes vallen_max=-1\n",
    ] {
        let wrong = Box::new(wrong("its limits", answer.trim_end()));
        assert_eq!(maxes(answer), Some(wrong));
    }
}

#[test]
fn values_that_do_not_fit_or_are_not_there() {
    let (connection, _launcher) =
        launcher(after_hello(&["cmd=get_result rc=-1 msg=key_x_not_found\n"]));
    let mut pmi = Pmi::begin(connection, (0, 1)).expect("hello");
    let long = "x".repeat(1024);
    assert!(matches!(
        pmi.put("x", &long).map_err(|error| *error),
        Err(JobError::LauncherRefused { .. })
    ));
    let said = Excerpt::new("key_x_not_found".into());
    let asked = "a value of another rank";
    assert_eq!(
        pmi.get("x"),
        Err(Box::new(JobError::LauncherRefused { asked, said }))
    );
}

#[test]
fn a_place_over_a_port() {
    let place = |set: &str| {
        let (mut connection, _launcher) = launcher(vec![set.into()]);
        connection.exchange_cards(7).ok()
    };
    let ack = "cmd=initack rc=0\n";
    let sets = "cmd=set size=4\ncmd=set rank=3\ncmd=set debug=0\n";
    assert_eq!(place(&format!("{ack}{sets}")), Some((3, 4)));
    assert_eq!(
        place(&format!("{ack}cmd=set size=4\ncmd=set size=4\n{sets}")),
        None
    );
    assert_eq!(place(&sets.replace("size=4", "size=x")), None);
}
