//! Runs commands to their end or to a time limit, after which neither the command nor its descendants are left. `bench`
//! and `measure` use it, because the launchers of other libraries cannot be trusted to clean up.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::error::Error;
use crate::run::guard::Guard;

/// Bytes of output of a command that are read; a write beyond them ends the writer.
const MOST_OUTPUT: u64 = 4 << 20;
/// Number of lines between the readers and a [`Job`]; a reader waits while the queue is full.
const LINES: usize = 64;
/// Number of last lines of a failed command that are shown.
const LAST_LINES: usize = 6;
/// Time between asking a command to stop and killing it.
const KILL_TIMEOUT: Duration = Duration::from_secs(3);
/// Silence after which the output of a command that has left counts as complete, although a descendant holds it open.
/// It is long enough to read the output even on a loaded machine.
const SILENCE: Duration = Duration::from_secs(1);

/// Starts commands.
pub(crate) struct Jobs {
    /// Ends the commands if this process is killed.
    guard: Option<RefCell<Guard>>,
}

/// A running command, in a process group of its own. Dropping it kills the group.
pub(super) struct Job<'a> {
    jobs: &'a Jobs,
    process: Child,
    group: Pid,
    lines: Receiver<OutputLine>,
    last_lines: VecDeque<String>,
    began: Instant,
    /// The time at which the group's leader left.
    left: Option<Instant>,
    is_reaped: bool,
}

/// The end of a command; it displays as the rest of a sentence that begins with the command's name.
#[derive(Debug)]
pub(crate) enum End {
    Done { took: Duration },
    NotStarted(io::Error),
    Failed { status: ExitStatus, said: String },
    TooLate { said: String },
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match self {
            End::Done { .. } => return f.write_str("ended by itself"),
            End::NotStarted(error) => return write!(f, "cannot be started: {error}"),
            End::Failed { status, said } => {
                write!(f, "failed ({status})")?;
                said
            }
            End::TooLate { said } => {
                f.write_str("took too long and was ended")?;
                said
            }
        };
        match &**said {
            "" => Ok(()),
            said => write!(f, "; it said:\n{said}"),
        }
    }
}

/// An event of a command.
enum OutputLine {
    Out(String),
    Err(String),
    Left(Instant),
}

impl Jobs {
    pub(crate) fn new() -> Result<Jobs, Error> {
        let guard = Some(RefCell::new(Guard::start()?));
        Ok(Jobs { guard })
    }

    /// Starts a command without input.
    pub(super) fn start(&self, command: &mut Command) -> io::Result<Job<'_>> {
        let command = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let began = Instant::now();
        let mut process = command.spawn()?;
        let group = Pid::from_raw(process.id().cast_signed());
        if let Some(guard) = &self.guard {
            guard.borrow_mut().add(group);
        }
        Ok(Job {
            lines: lines_of(&mut process, group),
            jobs: self,
            process,
            group,
            last_lines: VecDeque::new(),
            began,
            left: None,
            is_reaped: false,
        })
    }

    /// Runs a command to its end; `line` gets each line of its standard output.
    pub(crate) fn run(
        &self,
        command: &mut Command,
        limit: Duration,
        mut line: impl FnMut(&str),
    ) -> End {
        let mut job = match self.start(command) {
            Ok(job) => job,
            Err(error) => return End::NotStarted(error),
        };
        let deadline = Instant::now() + limit;
        while let Some(text) = job.line(deadline) {
            line(&text);
        }
        job.end(deadline)
    }
}

impl Job<'_> {
    /// Returns the next line of standard output; `None` if the command has left, or after the deadline.
    pub(super) fn line(&mut self, deadline: Instant) -> Option<String> {
        loop {
            // Output may still be in transit when the command has left.
            let patience = match self.left {
                Some(_) => SILENCE,
                None => deadline.saturating_duration_since(Instant::now()),
            };
            match self.lines.recv_timeout(patience).ok()? {
                OutputLine::Left(at) => self.left = Some(at),
                OutputLine::Err(text) => self.remember(&text),
                OutputLine::Out(text) => {
                    self.remember(&text);
                    return Some(text);
                }
            }
        }
    }

    /// Waits for the end of the command, and kills it after the deadline.
    pub(super) fn end(mut self, deadline: Instant) -> End {
        while self.line(deadline).is_some() {}
        let Some(left) = self.left else {
            self.ask();
            return End::TooLate { said: self.said() };
        };
        let took = left - self.began;
        match self.reap() {
            Err(error) => End::NotStarted(error),
            Ok(status) if status.success() => End::Done { took },
            Ok(status) => End::Failed {
                status,
                said: self.said(),
            },
        }
    }

    /// Asks the whole group to stop and gives it time: a launcher then ends its ranks, which may be in groups of their
    /// own.
    fn ask(&mut self) {
        let deadline = Instant::now() + KILL_TIMEOUT;
        let _ = killpg(self.group, Signal::SIGTERM);
        while self.left.is_none() && Instant::now() < deadline {
            self.line(deadline);
        }
    }

    /// Kills what is left of the group and reaps the leader.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        if !self.is_reaped {
            self.is_reaped = true;
            // The group is killed before the leader is reaped, because only until then the number belongs to the group.
            let _ = killpg(self.group, Signal::SIGKILL);
            if let Some(guard) = &self.jobs.guard {
                guard.borrow_mut().remove(self.group);
            }
        }
        self.process.wait()
    }

    fn remember(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.last_lines.push_back(text.to_owned());
        if self.last_lines.len() > LAST_LINES {
            self.last_lines.pop_front();
        }
    }

    fn said(&mut self) -> String {
        self.last_lines.make_contiguous().join("\n")
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        let _ = self.reap();
    }
}

fn lines_of(process: &mut Child, group: Pid) -> Receiver<OutputLine> {
    let (sender, receiver) = sync_channel(LINES);
    if let Some(out) = process.stdout.take() {
        forward(out, sender.clone(), OutputLine::Out);
    }
    if let Some(err) = process.stderr.take() {
        forward(err, sender.clone(), OutputLine::Err);
    }
    thread::spawn(move || sender.send(OutputLine::Left(leaving(group))));
    receiver
}

/// Starts a thread that forwards output until the output ends or the receiver has gone.
fn forward(
    source: impl Read + Send + 'static,
    to: SyncSender<OutputLine>,
    make: fn(String) -> OutputLine,
) {
    let lines = BufReader::new(source.take(MOST_OUTPUT)).split(b'\n');
    thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let text = String::from_utf8_lossy(&line).into_owned();
            if to.send(make(text)).is_err() {
                break;
            }
        }
    });
}

/// Waits until the leader has left, without reaping it, so that its number stays the group's.
fn leaving(leader: Pid) -> Instant {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(leader), flags) == Err(Errno::EINTR) {}
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hang limit, far more than any command here takes.
    const HANG: Duration = Duration::from_secs(60);

    fn run(script: &str, limit: Duration) -> (End, Vec<String>) {
        let mut lines = Vec::new();
        let jobs = Jobs { guard: None };
        let mut command = Command::new("sh");
        let end = jobs.run(command.arg("-c").arg(script), limit, |line| {
            lines.push(line.to_owned());
        });
        (end, lines)
    }

    #[test]
    fn every_line_arrives() {
        let (end, lines) = run("seq 1000; echo noise >&2", HANG);
        assert!(matches!(end, End::Done { .. }), "{end}");
        let expected: Vec<String> = (1..=1000).map(|number| number.to_string()).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_failure_tells_its_last_words() {
        let (end, _) = run("seq 100 >&2; echo because >&2; exit 3", HANG);
        let text = end.to_string();
        assert!(text.contains("exit status: 3"), "{text}");
        assert!(text.ends_with("100\nbecause"), "{text}");
        assert_eq!(text.lines().count(), 1 + LAST_LINES);
    }

    #[test]
    fn a_command_that_is_not_there() {
        let mut command = Command::new("/nowhere/at/all");
        let end = Jobs { guard: None }.run(&mut command, HANG, |_| {});
        assert!(matches!(end, End::NotStarted(_)), "{end}");
    }

    #[test]
    fn too_late_ends_all_of_it() {
        // The inner shell ignores the signal; it prints its number so that the test can check it.
        let script =
            "sh -c 'trap \"\" TERM; echo $$; sleep 600 & wait; sleep 600' & wait; sleep 600";
        let jobs = Jobs { guard: None };
        let mut command = Command::new("sh");
        let mut job = jobs.start(command.arg("-c").arg(script)).unwrap();
        let inner = job.line(Instant::now() + HANG).unwrap();
        let inner: i32 = inner.parse().unwrap();
        let end = job.end(Instant::now());
        assert!(matches!(end, End::TooLate { .. }), "{end}");
        let began = Instant::now();
        // The inner shell is dead at once, but another process reaps it.
        while is_alive(inner) {
            assert!(began.elapsed() < HANG, "process {inner} is still there");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn is_alive(process: i32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{process}/stat"));
        let state = status.map(|text| text.rsplit(") ").next().map(|rest| rest.starts_with('Z')));
        state.is_ok_and(|is_zombie| is_zombie == Some(false))
    }

    #[test]
    fn the_time_is_that_of_the_command_alone() {
        let (end, _) = run("sleep 600 & sleep 0.2", HANG);
        // The process that holds the output open is killed after that, and the wait for silence does not count.
        assert!(matches!(end, End::Done { took } if took >= Duration::from_millis(200)));
    }

    #[test]
    fn what_holds_the_output_open_is_not_waited_for() {
        let (end, lines) = run("sleep 600 & echo started", HANG);
        assert!(matches!(end, End::Done { .. }), "{end}");
        assert_eq!(lines, ["started"]);
    }
}
