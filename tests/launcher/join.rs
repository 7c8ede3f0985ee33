//! Tests `pombo join`: processes that come while a job runs, and those that must not.

use std::fs;
use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;

use crate::support::{Job, assert_ends_with_launcher, directory, example, finish, pombo, until};

/// Starts a job with so many spare places, and waits until it says that they are free.
fn host(file: &Path, spare: usize) -> Job {
    let mut command = pombo(["run", "-n", "1", "--spare", &spare.to_string()]);
    let mut job = Job::start(command.arg("--job-file").arg(file).arg(example("join")));
    assert_eq!(job.lines(1), [format!("{spare} places are free")]);
    job
}

fn join(file: &Path, program: impl AsRef<std::ffi::OsStr>, argument: &str) -> Command {
    let mut command = pombo(["join"]);
    command.arg(file).arg(program).arg(argument);
    command
}

#[test]
fn processes_join_while_the_job_runs() {
    let file = directory("join").join("job");
    let job = host(&file, 2);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let copy = file.with_file_name("copy");
    fs::copy(&file, &copy).unwrap();
    for name in ["Ada", "Grace"] {
        let guest = finish(&mut join(&file, example("join"), name));
        assert_eq!((guest.code, guest.out), (0, format!("welcome, {name}\n")));
    }
    let job = job.finish();
    assert_eq!((job.code, job.err.as_str()), (0, ""), "{job:?}");
    assert_eq!(
        job.out, "rank 1: Ada\n1 places are free\nrank 2: Grace\n",
        "{job:?}"
    );
    assert!(!file.exists(), "the file goes with its job");
    let late = finish(&mut join(&copy, example("join"), "late"));
    assert_eq!(late.code, 1);
    assert!(late.err.contains("launcher does not answer"), "{late:?}");
}

#[test]
fn nobody_joins_without_the_key_or_a_place() {
    let file = directory("join-refused").join("job");
    let job = host(&file, 1);
    let other = file.with_file_name("other");
    let text = fs::read_to_string(&file).unwrap();
    let (head, key) = text.split_once("key = \"").unwrap();
    let flipped = if key.starts_with('0') { "1" } else { "0" };
    fs::write(&other, format!("{head}key = \"{flipped}{}", &key[1..])).unwrap();
    let (before, boot) = text.split_once("boot = \"").unwrap();
    let elsewhere = format!("{before}boot = \"x{boot}").replace("host = \"", "host = \"not-");
    let (before, rest) = elsewhere.split_once("addresses = ").unwrap();
    let (_, key) = rest.split_once('\n').unwrap();
    let elsewhere = format!("{before}addresses = []\n{key}");
    for (text, why) in [
        (fs::read_to_string(&other).unwrap(), "is not the job's"),
        (elsewhere, "its launcher runs on not-"),
        ("socket = \"pombo-join-x\"\n".into(), "no file of a job"),
        ("\u{0}\u{1}".into(), "no file of a job"),
    ] {
        fs::write(&other, text).unwrap();
        let refused = finish(&mut join(&other, example("join"), "Eve"));
        assert_eq!((refused.code, refused.out.as_str()), (1, ""));
        assert!(refused.err.contains(why), "{refused:?}");
    }
    let mut guest = Job::start(join(&file, "sh", "-c").arg("echo here; exec sleep 1000"));
    assert_eq!(guest.lines(1), ["here"]);
    let full = finish(&mut join(&file, example("join"), "Grace"));
    assert_eq!(full.code, 1);
    assert!(full.err.contains("larger --spare"), "{full:?}");
    guest.signal(Signal::SIGTERM);
    assert_eq!(guest.finish().code, 128 + Signal::SIGTERM as i32);
    let job = job.finish();
    assert_eq!(
        (job.code, job.out.as_str()),
        (0, "rank 1 has died\n"),
        "{job:?}"
    );
    assert!(job.err.contains("rank 1, which had joined"), "{job:?}");
}

#[test]
fn a_place_that_nobody_could_use_is_free_again() {
    let file = directory("join-untaken").join("job");
    let job = host(&file, 1);
    let text = fs::read_to_string(&file).unwrap();
    let value = |name: &str| {
        let (_, rest) = text.split_once(&format!("{name} = \"")).unwrap();
        rest.split_once('"').unwrap().0
    };
    let digits = value("key").as_bytes().chunks(2);
    let byte = |two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap();
    let key: Vec<u8> = digits.map(byte).collect();
    // A process that another test has just begun may hold a connection for a moment after it was dropped here.
    for _ in 0..3 {
        until("the place is free", || {
            let address = SocketAddr::from_abstract_name(value("socket")).unwrap();
            let mut launcher = UnixStream::connect_addr(&address).unwrap();
            launcher.write_all(&key).unwrap();
            let mut answer = [0; 4];
            launcher.read_exact(&mut answer).unwrap();
            answer == *b"1 2 "
        });
    }
    let mut guest = None;
    until("the place is free again", || {
        let outcome = finish(&mut join(&file, example("join"), "Ada"));
        !guest.insert(outcome).err.contains("all its places")
    });
    guest.unwrap().assert_prints("welcome, Ada\n");
    assert_eq!(job.finish().code, 0);
}

/// Where the system does not tell a launcher which boot this is, processes join its job all the same.
#[test]
fn the_boot_may_be_hidden() {
    let hide = |command: &Command| {
        let mut hidden = Command::new("unshare");
        let script = "mount -t tmpfs none /proc/sys/kernel/random && exec \"$@\"";
        hidden.args(["-Urm", "sh", "-c", script, "hidden"]);
        hidden.arg(command.get_program()).args(command.get_args());
        hidden
    };
    if finish(&mut hide(&Command::new("true"))).code != 0 {
        return eprintln!(
            "SKIPPED the_boot_may_be_hidden: this system mounts nothing without root"
        );
    }
    let file = directory("join-hidden").join("job");
    let mut command = pombo(["run", "-n", "1", "--spare", "1", "--job-file"]);
    command.arg(&file).arg(example("join"));
    let mut job = Job::start(&mut hide(&command));
    assert_eq!(job.lines(1), ["1 places are free"]);
    finish(&mut join(&file, example("join"), "Ada")).assert_prints("welcome, Ada\n");
    job.finish().assert_quiet();
}

#[test]
fn a_killed_guest_ends_alone() {
    let file = directory("join-killed").join("job");
    let job = host(&file, 1);
    let mut guest = Job::start(join(&file, "sh", "-c").arg("echo $$; exec sleep 1000"));
    let program = guest.lines(1)[0].parse().unwrap();
    guest.signal(Signal::SIGKILL);
    crate::support::assert_gone(&[program]);
    let job = job.finish();
    assert_eq!(job.code, 0, "{job:?}");
    assert!(job.out.contains("rank 1 has died"), "{job:?}");
}

#[test]
fn guests_end_with_the_job() {
    let file = directory("join-ends").join("job");
    let job = host(&file, 1);
    let mut guest = Job::start(join(&file, "sh", "-c").arg("echo here; exec sleep 1000"));
    assert_eq!(guest.lines(1), ["here"]);
    assert_ends_with_launcher(job, guest);
}

#[test]
fn workers_join_a_group_of_the_running_job() {
    let file = directory("join-pool").join("job");
    let mut command = pombo(["run", "-n", "1", "--spare", "3", "--job-file"]);
    let mut job = Job::start(command.arg(&file).arg(example("pool")).args(["20000", "3"]));
    until("the job has its file", || file.exists());
    let worker = || Job::start(pombo(["join"]).arg(&file).arg(example("pool")));
    let [mut first, mut second, mut third] = [worker(), worker(), worker()];
    for worker in [&mut first, &mut second, &mut third] {
        assert!(worker.lines(1)[0].contains(" is worker "));
    }
    // Else it would wait for a third one after the first has died.
    assert_eq!(job.lines(1), ["begins with 3 workers or more"]);
    // The number that it has goes to another.
    first.signal(Signal::SIGKILL);
    let _ = first.finish();
    for worker in [second, third] {
        let worker = worker.finish();
        assert_eq!(worker.code, 0, "{worker:?}");
        assert!(worker.out.ends_with(" squares\n"), "{worker:?}");
    }
    let job = job.finish();
    assert_eq!(job.code, 0, "{job:?}");
    assert_eq!(
        job.out, "the sum of 20000 squares is 2666866670000\n",
        "{job:?}"
    );
}

#[test]
fn processes_with_mailboxes_join() {
    let file = directory("join-mailboxes").join("job");
    let mut command = pombo(["run", "-n", "2", "--spare", "2", "--job-file"]);
    let job = Job::start(command.arg(&file).arg(example("mailboxes")));
    until("the job has its file", || file.exists());
    let guests = [(); 2].map(|()| Job::start(pombo(["join"]).arg(&file).arg(example("mailboxes"))));
    for guest in guests {
        let guest = guest.finish();
        assert_eq!((guest.code, &*guest.out), (0, ""), "{guest:?}");
    }
    let job = job.finish();
    assert_eq!(job.code, 0, "{job:?}");
    assert!(job.out.starts_with("pi is 3.14159"), "{job:?}");
}

#[test]
fn an_mpi_program_has_no_spare_places() {
    let directory = directory("join-mpi");
    let (source, program) = (directory.join("one.c"), directory.join("one"));
    let text = "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n";
    fs::write(&source, text).unwrap();
    let compiled = finish(pombo(["mpicc"]).arg(&source).arg("-o").arg(&program));
    assert_eq!(compiled.code, 0, "{compiled:?}");
    let mut command = pombo(["run", "-n", "2", "--spare", "1", "--job-file"]);
    let outcome = finish(command.arg(directory.join("job")).arg(&program));
    assert_ne!(outcome.code, 0);
    assert!(outcome.err.contains("without --spare"), "{outcome:?}");
    until("the file is gone", || !directory.join("job").exists());
}
