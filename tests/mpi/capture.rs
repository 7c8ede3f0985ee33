//! Tests `pombo capture`: frames of two ranks over raw Ethernet and over UDP, in networks that the test creates without
//! root, as text and as files; and wrong input. Without such networks, or without tshark, the tests report so and pass.

use std::path::Path;
use std::process::Command;

use crate::programs::{job, program, source};
use crate::support::{Outcome, directory, finish, pombo};

/// A host with an Ethernet interface; a listener at loopback, by which ranks of one host communicate; a job. All of it
/// ends with its first process. Arguments: launcher, program, file, network, further options for `run`.
const SCRIPT: &str = r#"
    ip link set lo up
    ip link add a0 type veth peer name a1
    ip link set a0 up
    ip link set a1 up
    ip addr add 10.78.0.1/24 dev a0
    pombo=$1; program=$2; file=$3; net=$4; shift 4
    rm -f "$file.said"
    "$pombo" capture lo --write "$file" --seconds 3600 2>"$file.said" &
    for wait in $(seq 1000); do
        grep -q listening "$file.said" && break
        sleep 0.05
    done
    "$pombo" run --net "$net" -n 2 "$@" "$program"
    kill -INT $!
    wait $!
    cat "$file.said"
"#;

const APART: [&str; 7] = [
    "--map-root-user",
    "--net",
    "--mount-proc",
    "--pid",
    "--fork",
    "--kill-child",
    "--",
];

/// Returns whether this system permits users to create networks.
fn allowed(test: &str) -> bool {
    let mut command = Command::new("unshare");
    let script = "ip link add a0 type veth peer name a1 && ip link set lo up";
    let tried = command.args(APART).args(["sh", "-c", script]).output();
    let allowed = tried.is_ok_and(|output| output.status.success());
    if !allowed {
        eprintln!("SKIPPED {test}: this system makes no networks without root");
    }
    allowed
}

/// Captures a job on that network; checks that a signal has ended the listener, and that it has lost no frame.
fn captured(file: &Path, net: &str, words: &[&str]) {
    let mut command = Command::new("unshare");
    command.args(APART).args(["sh", "-ec", SCRIPT, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_pombo"));
    // The system keeps as many frames as these while the listener waits for a processor.
    command.arg(program("few")).arg(file).arg(net).args(words);
    let outcome = job(&mut command);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.out.contains("ok few"), "{outcome:?}");
    assert!(outcome.out.contains("; 0 of all"), "{outcome:?}");
}

fn shown(file: &Path) -> Outcome {
    let outcome = finish(pombo(["capture", "--read"]).arg(file));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    outcome
}

/// The error names the interface and what happened to it.
#[test]
fn an_interface_that_goes_down() {
    if !allowed("an_interface_that_goes_down") {
        return;
    }
    let script = r#"
        ip link add a0 type veth peer name a1
        ip link set a0 up
        "$1" capture a0 --seconds 3600 2>"$2" &
        for wait in $(seq 1000); do
            grep -q listening "$2" && break
            sleep 0.05
        done
        ip link set a0 down
        wait $! && exit 99
        cat "$2"
    "#;
    let said = directory("capture-down").join("said");
    let mut command = Command::new("unshare");
    command.args(APART).args(["sh", "-c", script, "sh"]);
    let outcome = finish(command.arg(env!("CARGO_BIN_EXE_pombo")).arg(said));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let named = "interface a0 went down or was taken away after 0 frames";
    assert!(outcome.out.contains(named), "{outcome:?}");
}

#[test]
fn a_job_over_raw_ethernet() {
    if !allowed("a_job_over_raw_ethernet") {
        return;
    }
    let file = directory("capture-ethernet").join("frames.pcapng");
    for auth in ["off", "full", "on"] {
        captured(&file, "ethernet:a0", &["-env", "POMBO_AUTH", auth]);
        let said = shown(&file).out;
        for what in [
            " DATA ",
            " REPORT ",
            " eager comm ",
            " tag ",
            " announce ",
            " request ",
            " data from 0",
        ] {
            assert!(said.contains(what), "no {what}");
        }
        let frames: Vec<&str> = said.lines().skip(1).collect();
        let peers = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            matches!(words[1..3], ["0", "1"] | ["1", "0"] | ["0" | "1", "all"])
        };
        assert!(frames.iter().all(peers) && frames.len() > 20, "{said}");
        let tags = said.matches(" authenticated ").count();
        let greetings = said.matches(" GREETING ").count();
        let all = frames.len() - greetings;
        assert_eq!(tags, if auth == "off" { 0 } else { all });
        assert!(frames[0].contains(" job "), "{}", frames[0]);
    }
    let first = finish(pombo(["capture", "--count", "2", "--read"]).arg(&file));
    assert_eq!(first.out.lines().count(), 3, "{first:?}");
    let copy = file.with_extension("copy");
    let copied = finish(
        pombo(["capture", "--read"])
            .arg(&file)
            .arg("--write")
            .arg(&copy),
    );
    assert_eq!((copied.code, copied.out.as_str()), (0, ""), "{copied:?}");
    assert_eq!(shown(&copy).out, shown(&file).out);
    dissected(&file);
}

#[test]
fn a_job_over_udp() {
    if !allowed("a_job_over_udp") {
        return;
    }
    let file = directory("capture-udp").join("frames.pcapng");
    captured(&file, "udp", &[]);
    let said = shown(&file).out;
    for what in [" DATA ", " REPORT ", " eager comm ", ":"] {
        assert!(said.contains(what), "no {what}");
    }
    dissected(&file);
}

/// Checks that Wireshark's reader with our dissector finds the same kinds as `pombo capture`.
fn dissected(file: &Path) {
    let lua = source("examples/wireshark/pombo.lua");
    let mut command = Command::new("tshark");
    command
        .arg("-X")
        .arg(format!("lua_script:{}", lua.display()));
    command
        .args(["-T", "fields", "-e", "pombo.kind", "-r"])
        .arg(file);
    if Command::new("tshark").arg("-v").output().is_err() {
        eprintln!("SKIPPED: this machine has no tshark; Debian's package tshark has it");
        return;
    }
    let outcome = finish(&mut command);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    // Several frames of one datagram are in one line.
    let theirs: Vec<&str> = outcome
        .out
        .lines()
        .flat_map(|line| line.split(','))
        .collect();
    let said = shown(file).out;
    let ours: Vec<&str> = said.lines().skip(1).collect();
    assert_eq!(theirs.len(), ours.len());
    for (their, our) in theirs.iter().zip(ours) {
        let known = [
            ("1", " DATA "),
            ("2", " REPORT "),
            ("3", " PACKET "),
            ("4", " REPAIR "),
            ("5", " POLL "),
            ("6", " ANNOUNCE "),
            ("7", " REPORT "),
        ];
        let same = |(number, name): &(&str, &str)| their == number && our.contains(name);
        // Greetings, by which ranks test a link, have no kind.
        let other = their.is_empty() && our.contains(" GREETING ");
        assert!(known.iter().any(same) || other, "{their}: {our}");
    }
}

#[test]
fn wrong_input_is_named() {
    let refused = |words: &[&str], expected: &[&str]| {
        let outcome = finish(&mut pombo(words));
        assert_eq!((outcome.code, outcome.out.as_str()), (1, ""), "{outcome:?}");
        for word in expected {
            assert!(outcome.err.contains(word), "lacks {word}: {outcome:?}");
        }
    };
    let place = directory("capture-wrong");
    let text = place.join("text");
    std::fs::write(&text, "not a capture").expect("a file");
    let (text, missing) = (
        text.display().to_string(),
        place.join("missing").display().to_string(),
    );
    refused(&["capture", "no-such-one"], &["no-such-one", "ip link"]);
    refused(
        &["capture", "--read", &text],
        &[&text, "not a pcapng file", "editcap"],
    );
    refused(&["capture", "--read", &missing], &[&missing]);
    refused(
        &["capture", "--read", &text, "--seconds", "1"],
        &["--seconds"],
    );
    refused(&["capture", "lo", "--count", "0"], &["--count"]);
    refused(&["capture"], &["INTERFACE"]);
}

/// Root of a namespace has no rights over the networks outside of it.
#[test]
fn without_the_right_it_says_what_to_do() {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--"]);
    if !command
        .arg("true")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return eprintln!("SKIPPED without_the_right: this system has no user namespaces");
    }
    let mut command = Command::new("unshare");
    command.args([
        "--map-root-user",
        "--",
        env!("CARGO_BIN_EXE_pombo"),
        "capture",
        "lo",
    ]);
    let outcome = finish(&mut command);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    for word in ["lo", "sudo", "pombo setup"] {
        assert!(outcome.err.contains(word), "lacks {word}: {outcome:?}");
    }
}
