//! Runs one command to its end, or to a time limit: it, and all that it started, is gone then.
//! Only `bench` uses it. The other libraries' launchers are not ours to trust.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::error::Error;
use crate::run::guard::Guard;

/// Output of a command beyond this is not read: writing more of it ends the writer.
const MOST_OUTPUT: u64 = 4 << 20;
/// Lines on the way from the readers to `run`; a reader waits while it is full.
const LINES: usize = 64;
/// Last lines of a failed command that are shown.
const LAST_WORDS: usize = 6;
/// Between asking a command to stop and killing it.
const GRACE: Duration = Duration::from_secs(3);
/// Between two looks whether a silent command has ended.
const LOOK: Duration = Duration::from_millis(100);

/// Runs commands, one at a time.
pub(super) struct Jobs {
    /// Ends the command if this process is killed.
    guard: Option<Guard>,
}

/// How a command ended; reads as the end of a sentence that begins with its name.
#[derive(Debug)]
pub(super) enum End {
    Done,
    NotStarted(io::Error),
    Failed { status: ExitStatus, said: String },
    TimedOut { limit: Duration, said: String },
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match self {
            End::Done => return f.write_str("succeeded"),
            End::NotStarted(error) => return write!(f, "cannot be started: {error}"),
            End::Failed { status, said } => {
                write!(f, "failed ({status})")?;
                said
            }
            End::TimedOut { limit, said } => {
                write!(f, "took longer than {} s and was ended", limit.as_secs())?;
                said
            }
        };
        match &**said {
            "" => Ok(()),
            said => write!(f, "; it said:\n{said}"),
        }
    }
}

/// A line of a command's output.
enum Line {
    Out(String),
    Err(String),
}

impl Jobs {
    pub(super) fn start() -> Result<Jobs, Error> {
        let guard = Some(Guard::start()?);
        Ok(Jobs { guard })
    }

    /// Runs it in a process group of its own, without input; `line` gets each line of its
    /// standard output.
    pub(super) fn run(
        &mut self,
        command: &mut Command,
        limit: Duration,
        line: impl FnMut(&str),
    ) -> End {
        let command = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = match command.spawn() {
            Ok(process) => process,
            Err(error) => return End::NotStarted(error),
        };
        let group = Pid::from_raw(process.id().cast_signed());
        if let Some(guard) = &mut self.guard {
            guard.add(group);
        }
        let lines = lines_of(&mut process);
        let mut last = VecDeque::new();
        let is_in_time = follow(group, &lines, Instant::now() + limit, line, &mut last);
        if !is_in_time {
            ask(group);
        }
        // The leader is not reaped yet, so this number is still its group's.
        let _ = killpg(group, Signal::SIGKILL);
        if let Some(guard) = &mut self.guard {
            guard.remove(group);
        }
        let said = Vec::from(last).join("\n");
        match process.wait() {
            Err(error) => End::NotStarted(error),
            Ok(_) if !is_in_time => End::TimedOut { limit, said },
            Ok(status) if status.success() => End::Done,
            Ok(status) => End::Failed { status, said },
        }
    }
}

fn lines_of(process: &mut Child) -> Receiver<Line> {
    let (sender, receiver) = sync_channel(LINES);
    if let Some(out) = process.stdout.take() {
        forward(out, sender.clone(), Line::Out);
    }
    if let Some(err) = process.stderr.take() {
        forward(err, sender, Line::Err);
    }
    receiver
}

/// A thread that ends with the output, or when nobody listens any more.
fn forward(source: impl Read + Send + 'static, to: SyncSender<Line>, make: fn(String) -> Line) {
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

/// Hands lines on until the group's leader has left; false if it is too late for that.
fn follow(
    group: Pid,
    lines: &Receiver<Line>,
    deadline: Instant,
    mut line: impl FnMut(&str),
    last: &mut VecDeque<String>,
) -> bool {
    while Instant::now() < deadline {
        let said = match lines.recv_timeout(LOOK) {
            Ok(Line::Out(text)) => {
                line(&text);
                text
            }
            Ok(Line::Err(text)) => text,
            Err(_) if has_left(group) => return true,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(LOOK / 10);
                continue;
            }
        };
        if !said.trim().is_empty() {
            last.push_back(said);
        }
        if last.len() > LAST_WORDS {
            last.pop_front();
        }
    }
    false
}

/// Asks all of the group to stop and gives them time: a launcher then ends its ranks, which may
/// be in groups of their own.
fn ask(group: Pid) {
    let deadline = Instant::now() + GRACE;
    let _ = killpg(group, Signal::SIGTERM);
    while Instant::now() < deadline && !has_left(group) {
        thread::sleep(LOOK);
    }
}

/// Whether the leader has ended; it is not reaped by the question.
fn has_left(leader: Pid) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    !matches!(
        waitid(Id::Pid(leader), flags),
        Ok(WaitStatus::StillAlive) | Err(nix::errno::Errno::EINTR)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Far more than any command here takes.
    const HANG: Duration = Duration::from_secs(60);

    fn run(script: &str, limit: Duration) -> (End, Vec<String>) {
        let mut lines = Vec::new();
        let mut jobs = Jobs { guard: None };
        let mut command = Command::new("sh");
        let end = jobs.run(command.arg("-c").arg(script), limit, |line| {
            lines.push(line.to_owned());
        });
        (end, lines)
    }

    #[test]
    fn every_line_arrives() {
        let (end, lines) = run("seq 1000; echo noise >&2", HANG);
        assert!(matches!(end, End::Done), "{end}");
        let expected: Vec<String> = (1..=1000).map(|number| number.to_string()).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_failure_tells_its_last_words() {
        let (end, _) = run("seq 100 >&2; echo because >&2; exit 3", HANG);
        let text = end.to_string();
        assert!(text.contains("exit status: 3"), "{text}");
        assert!(text.ends_with("100\nbecause"), "{text}");
        assert_eq!(text.lines().count(), 1 + LAST_WORDS);
    }

    #[test]
    fn a_command_that_is_not_there() {
        let mut command = Command::new("/nowhere/at/all");
        let end = Jobs { guard: None }.run(&mut command, HANG, |_| {});
        assert!(matches!(end, End::NotStarted(_)), "{end}");
    }

    #[test]
    fn too_late_ends_all_of_it() {
        // The inner shell does not listen; its number is printed so that we can look.
        let script =
            "sh -c 'trap \"\" TERM; echo $$; sleep 600 & wait; sleep 600' & wait; sleep 600";
        let (end, lines) = run(script, Duration::from_secs(1));
        assert!(matches!(end, End::TimedOut { .. }), "{end}");
        let inner: i32 = lines[0].parse().unwrap();
        let began = Instant::now();
        // Dead at once, but somebody else reaps it.
        while is_alive(inner) {
            assert!(began.elapsed() < HANG, "process {inner} is still there");
            thread::sleep(LOOK / 10);
        }
    }

    fn is_alive(process: i32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{process}/stat"));
        let state = status.map(|text| text.rsplit(") ").next().map(|rest| rest.starts_with('Z')));
        state.is_ok_and(|is_zombie| is_zombie == Some(false))
    }

    #[test]
    fn what_holds_the_output_open_is_not_waited_for() {
        let (end, lines) = run("sleep 600 & echo started", HANG);
        assert!(matches!(end, End::Done), "{end}");
        assert_eq!(lines, ["started"]);
    }
}
