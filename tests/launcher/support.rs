//! Starts a launcher, waits for it with a hang limit, and finds processes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The hang limit; every launcher here takes a few seconds on an idle machine.
pub(crate) const HANG: Duration = Duration::from_secs(600);

/// The result of a job: its exit code (128+N if a signal ended the launcher itself) and outputs.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Outcome {
    /// Checks that it has ended well and without a word of error.
    pub(crate) fn assert_quiet(&self) {
        assert_eq!((self.code, &*self.err), (0, ""), "{self:?}");
    }

    /// Checks that it has ended well and printed that.
    pub(crate) fn assert_prints(&self, out: &str) {
        assert_eq!((self.code, &*self.out), (0, out), "{self:?}");
    }

    /// Returns the lines of standard output in alphabetical order.
    pub(crate) fn sorted(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.out.lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// Returns the launcher with these arguments and the suite's settings.
pub(crate) fn pombo(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pombo"));
    command.args(arguments);
    with_suite_settings(&mut command);
    command
}

/// Removes what the library would read from a command's environment, as the tests may run inside a job, and adds the
/// settings in `POMBO_TEST_WITH` (`NAME=value`, separated by spaces), with which a suite runs without a fast path.
pub(crate) fn with_suite_settings(command: &mut Command) {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("POMBO_")) {
        command.env_remove(name);
    }
    let settings = std::env::var("POMBO_TEST_WITH").unwrap_or_default();
    for setting in settings.split_whitespace() {
        let (name, value) = setting.split_once('=').expect("NAME=value");
        command.env(name, value);
    }
}

/// Returns `pombo run` of a shell script on some ranks.
pub(crate) fn script(ranks: usize, script: &str) -> Command {
    pombo(["run", "-n", &ranks.to_string(), "sh", "-c", script])
}

/// Runs a command to its end with nothing on standard input.
pub(crate) fn finish(command: &mut Command) -> Outcome {
    finish_with(command, b"")
}

/// Runs a command to its end with this standard input.
pub(crate) fn finish_with(command: &mut Command, input: &[u8]) -> Outcome {
    let mut job = Job::start(command);
    let mut stdin = job.child.stdin.take().unwrap();
    // A job that does not read closes the pipe early.
    let _ = stdin.write_all(input);
    drop(stdin);
    job.finish()
}

/// A running launcher. Dropping it kills the launcher.
pub(crate) struct Job {
    pub(crate) child: Child,
    lines: BufReader<ChildStdout>,
}

impl Job {
    pub(crate) fn start(command: &mut Command) -> Job {
        Job::start_with(Stdio::piped(), command)
    }

    pub(crate) fn start_with(input: Stdio, command: &mut Command) -> Job {
        let mut child = command
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Job { child, lines }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// Returns the next lines of output, without their newlines.
    pub(crate) fn lines(&mut self, count: usize) -> Vec<String> {
        let watch = Watch::start(self.pid());
        let lines = (&mut self.lines).lines().take(count);
        let lines: Vec<String> = lines.map(Result::unwrap).collect();
        watch.stop();
        assert_eq!(lines.len(), count, "the output ended early: {lines:?}");
        lines
    }

    pub(crate) fn finish(self) -> Outcome {
        self.finish_after(Duration::ZERO)
    }

    /// Waits for a job that is to run for this time: the hang limit begins afterwards.
    pub(crate) fn finish_after(mut self, time: Duration) -> Outcome {
        let watch = Watch::start_after(time, self.pid());
        let mut stderr = self.child.stderr.take().unwrap();
        let errors = thread::spawn(move || text_of(&mut stderr));
        let out = text_of(&mut self.lines);
        let err = errors.join().unwrap();
        let status = self.child.wait().unwrap();
        watch.stop();
        let code = status.code().or(status.signal().map(|signal| 128 + signal));
        Outcome {
            code: code.unwrap(),
            out,
            err,
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text_of(from: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Kills a process that exceeds the hang limit, so that the test ends (and fails).
struct Watch(mpsc::Sender<()>, thread::JoinHandle<bool>);

impl Watch {
    fn start(pid: Pid) -> Watch {
        Watch::start_after(Duration::ZERO, pid)
    }

    fn start_after(time: Duration, pid: Pid) -> Watch {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::spawn(move || {
            let hangs = stopped.recv_timeout(time + HANG).is_err();
            if hangs {
                let _ = kill(pid, Signal::SIGKILL);
            }
            hangs
        });
        Watch(stop, thread)
    }

    fn stop(self) {
        let _ = self.0.send(());
        assert!(!self.1.join().unwrap(), "the launcher hung");
    }
}

/// Waits for an event that must occur.
pub(crate) fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !happened() {
        assert!(begin.elapsed() < HANG, "it hangs until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until none of these processes runs (a zombie does not run).
pub(crate) fn assert_gone(pids: &[i32]) {
    assert!(!pids.is_empty());
    for &pid in pids {
        until(&format!("process {pid} is gone"), || !is_running(pid));
    }
}

fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    let state = stat.ok().and_then(|stat| {
        let (_, rest) = stat.rsplit_once(')')?;
        rest.trim_start().chars().next()
    });
    !matches!(state, None | Some('Z' | 'X'))
}

/// Returns the numbers in the lines, as process ids.
pub(crate) fn pids(lines: &[String]) -> Vec<i32> {
    let words = lines.iter().flat_map(|line| line.split_whitespace());
    words.map(|word| word.parse().unwrap()).collect()
}

/// Builds an example, which cargo does by itself only for those who run all tests, and returns its path.
pub(crate) fn example(name: &str) -> PathBuf {
    static BUILT: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if !built.contains(name) {
        // With the features of the whole workspace, or another C library would take the place of the one under test.
        cargo_build(|cargo| cargo.args(["--workspace", "--example", name]));
        built.insert(name.to_owned());
    }
    let launcher = Path::new(env!("CARGO_BIN_EXE_pombo"));
    launcher.with_file_name("examples").join(name)
}

/// Builds what the words of `what` name, as the tests are built.
pub(crate) fn cargo_build(what: impl FnOnce(&mut Command) -> &mut Command) {
    let mut cargo = Command::new(env!("CARGO"));
    what(cargo.args(["build", "--quiet", "--locked"]));
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status();
    assert!(built.expect("cargo").success());
}

/// Creates a new directory for one test.
pub(crate) fn directory(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("launcher-{name}"));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// Kills the launcher of a job, with which a process that has joined it ends.
pub(crate) fn assert_ends_with_launcher(job: Job, guest: Job) {
    job.signal(Signal::SIGKILL);
    let guest = guest.finish();
    assert_eq!(guest.code, 128 + Signal::SIGTERM as i32, "{guest:?}");
    assert!(guest.err.contains("the job has ended"), "{guest:?}");
    let _ = job.finish();
}
