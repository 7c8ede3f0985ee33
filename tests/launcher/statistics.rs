//! Tests `--stats` and `POMBO_STATS_FILE` with a predictable file name, a full disk, and a limit on file sizes.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::compiled::compile;
use crate::support::{Outcome, directory, finish, pombo};

/// Runs a job of two ranks that write their statistics there.
fn written_to(file: &Path, program: &Path) -> Outcome {
    finish(
        pombo(["run", "-n", "2"])
            .arg(program)
            .env("POMBO_STATS_FILE", file),
    )
}

#[test]
fn what_others_put_in_the_way_is_left_alone() {
    let program = compile("stats-way", "mpicc", &[]);
    let place = directory("stats-in-the-way");
    let victim = place.join("victim");
    fs::write(&victim, "mine\n").unwrap();
    let (link, name, pipe) = (place.join("link"), place.join("name"), place.join("pipe"));
    symlink(&victim, &link).unwrap();
    fs::hard_link(&victim, &name).unwrap();
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let dangling = place.join("dangling");
    symlink(place.join("made"), &dangling).unwrap();
    // The pipe has no reader: a launcher that waited for one would wait for ever.
    for file in [&link, &name, &pipe, &dangling] {
        let outcome = written_to(file, &program);
        assert_eq!(outcome.code, 0, "{file:?}: {outcome:?}");
        assert!(
            outcome.err.contains("POMBO_STATS_FILE"),
            "{file:?}: {outcome:?}"
        );
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine\n");
    assert!(!place.join("made").exists());
    let plain = place.join("plain");
    assert_eq!(written_to(&plain, &program).err, "");
    assert_eq!(fs::read_to_string(&plain).unwrap().lines().count(), 2);
}

#[test]
fn the_table_leaves_nothing_behind() {
    let program = compile("stats-table", "mpicc", &[]);
    let place = directory("stats-place");
    let mut command = pombo(["run", "--stats", "-n", "2"]);
    let outcome = finish(command.arg(program).env("TMPDIR", &place));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(!outcome.err.contains("did not finish"), "{outcome:?}");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
}

/// With --net udp every rank of one machine is a host of its own, which the table does not call one.
#[test]
fn hosts_that_are_one_machine_are_called_so() {
    let program = compile("stats-machine", "mpicc", &[]);
    let mut command = pombo(["run", "--net", "udp", "--stats", "-n", "3"]);
    let outcome = finish(command.arg(program));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let said = "3 ranks on one machine, as if on 3 hosts, between these UDP at 127.0.0.1";
    assert!(outcome.err.contains(said), "{outcome:?}");
}

/// The library of these tests has no pnet.
#[test]
fn a_way_for_frames_that_the_library_has_not_is_named() {
    let program = compile("stats-pnet", "mpicc", &[]);
    let mut command = pombo(["run", "-n", "2"]);
    let outcome = finish(command.arg(program).env("POMBO_ETHERNET_IO", "pnet"));
    assert_eq!(
        (outcome.code, outcome.err.lines().count()),
        (0, 1),
        "{outcome:?}"
    );
    assert!(outcome.err.contains("POMBO_ETHERNET_IO") && outcome.err.contains("feature pnet"));
}

/// The file system has one page, which is in use.
#[test]
fn a_full_disk_is_named() {
    let program = compile("stats-full", "mpicc", &[]);
    let place = directory("stats-full-disk");
    let script =
        "mount -t tmpfs -o size=4k none \"$1\" && head -c 4096 /dev/zero >\"$1/full\" || exit 99
        TMPDIR=\"$1\" exec \"$0\" run --stats -n 2 \"$2\"";
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", script, env!("CARGO_BIN_EXE_pombo")]);
    let Ok(output) = command
        .arg(&place)
        .arg(&program)
        .stdin(Stdio::null())
        .output()
    else {
        return eprintln!("SKIPPED: there is no unshare");
    };
    let err = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(99) || err.starts_with("unshare:") {
        return eprintln!("SKIPPED: this system mounts nothing without root: {err}");
    }
    assert!(output.status.success(), "{err}");
    for rank in ["rank 0", "rank 1"] {
        let said = format!(
            "{rank} cannot write the file that POMBO_STATS_FILE names: No space left on device"
        );
        assert!(err.contains(&said), "{err}");
    }
    assert!(
        err.contains("2 of 2 ranks did not finish, or could not write"),
        "{err}"
    );
}

#[test]
fn a_limit_on_the_size_of_files_is_told() {
    let place = directory("file-limit");
    // The limits are in blocks of a shell's size: one applies to the launcher's output, but not to the pipe from its
    // rank; the other is exceeded even by the memory of the job.
    for (blocks, message) in [
        ("100000", "cannot write the ranks' output: File too large"),
        ("1", "ulimit -f"),
    ] {
        let log = File::create(place.join("log")).unwrap();
        let script = "ulimit -f $1; exec \"$0\" run -n 1 sh -c 'seq 20000000'";
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_pombo"), blocks]);
        let output = command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(err.contains(message), "{err}");
        assert!(
            output.status.code().is_some_and(|code| code != 0),
            "{output:?}"
        );
    }
}
