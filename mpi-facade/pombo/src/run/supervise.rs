//! Supervises a running job: forwards, monitors, ends. Only `run` uses it.

use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, raise};

use super::OnDeadlock;
use super::arguments::{self, Request};
use super::foreign;
use super::guard::Guard;
use super::input::Input;
use super::job_segment::Job;
use super::output::{Outputs, Stream};
use super::poll::{Interest, Ready};
use super::rank_process::{End, Rank, State};
use super::signals::{Signals, describe, is_ending};
use super::spawn;
use crate::error::Error;
use crate::explain::{Finding, Watcher};
use crate::join::JoinServer;
use crate::variables::{self, KILL_TIMEOUT};

/// Returns the time-out of `POMBO_KILL_TIMEOUT`.
pub(crate) fn kill_timeout() -> Result<Duration, Error> {
    let said = std::env::var_os(KILL_TIMEOUT.name()).unwrap_or(KILL_TIMEOUT.default.into());
    let kill_timeout = said.to_str().and_then(variables::kill_timeout);
    kill_timeout.ok_or_else(|| Error::Value {
        what: KILL_TIMEOUT.name(),
        given: said.to_string_lossy().into_owned(),
        want: KILL_TIMEOUT.values.must,
    })
}

/// When a job is ended before all its ranks have.
pub(crate) struct Limits {
    /// Time between asking the ranks to end and killing them.
    pub(crate) kill_timeout: Duration,
    /// Time until the job is ended; `None` for no limit.
    pub(crate) timeout: Option<Duration>,
    /// It is not ended because a rank has failed.
    pub(crate) outlives_ranks: bool,
    /// What a deadlock leads to.
    pub(crate) on_deadlock: OnDeadlock,
}

/// Exit code of a job that exceeded its time limit, as `timeout` has it.
pub(super) const TIMED_OUT: u8 = 124;

/// The job while it runs.
pub(crate) struct Supervisor {
    ranks: Vec<Rank>,
    outputs: Outputs,
    input: Input,
    /// The rank that gets the launcher's standard input.
    reader: arguments::Input,
    signals: Signals,
    guard: Guard,
    job: Job,
    /// Gives places to processes that join while the job runs; `None` where nobody can, or the job is ending.
    joins: Option<JoinServer>,
    kill_timeout: Duration,
    /// The deadline of the job, and the limit from which it follows.
    timeout: Option<(Instant, Duration)>,
    /// Whether a rank is expected to call `MPI_Init`.
    uses_mpi: bool,
    /// Whether a rank that has ended had called `MPI_Init`.
    dead_had_joined: bool,
    outlives_ranks: bool,
    on_deadlock: OnDeadlock,
    watcher: Watcher,
    /// Of the first rank that failed where the others go on.
    code: Option<u8>,
    ending: Option<Ending>,
}

/// Longest wait for a killed rank, and the interval of the checks. Other ranks see the connections of a killed rank
/// close before the launcher can wait for it.
const EXIT_POLLS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_millis(1));

fn exit_code(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(1)
}

/// Why and until when.
struct Ending {
    code: u8,
    by_signal: bool,
    /// The rank that ended first, if one has.
    first: Option<usize>,
    /// When the remaining ranks are killed; `None` once that is done.
    deadline: Option<Instant>,
}

impl Supervisor {
    pub(crate) fn new(
        signals: Signals,
        guard: Guard,
        job: Job,
        joins: Option<JoinServer>,
        limits: Limits,
        request: &Request,
    ) -> Result<Supervisor, Error> {
        Ok(Supervisor {
            ranks: Vec::new(),
            outputs: Outputs::new(request.tag)?,
            input: Input::default(),
            reader: request.input,
            signals,
            guard,
            job,
            joins,
            kill_timeout: limits.kill_timeout,
            timeout: limits
                .timeout
                .and_then(|time| Some((Instant::now().checked_add(time)?, time))),
            uses_mpi: false,
            dead_had_joined: false,
            outlives_ranks: limits.outlives_ranks,
            on_deadlock: limits.on_deadlock,
            watcher: Watcher::new(),
            code: None,
            ending: None,
        })
    }

    /// Starts the next rank. On an error, dropping `self` ends the ranks started so far.
    pub(crate) fn start(&mut self, plan: &spawn::Rank<'_>) -> Result<(), Error> {
        let failed = |source| Error::Start {
            rank: plan.rank,
            source,
        };
        let mut process = spawn::start(plan, &self.job, self.reader).map_err(failed)?;
        let (input, out, err) = (
            process.stdin.take(),
            process.stdout.take(),
            process.stderr.take(),
        );
        let rank = Rank::new(process, plan.context.program.display().to_string());
        self.guard.add(rank.group);
        self.ranks.push(rank);
        self.uses_mpi |= plan.uses_mpi;
        if let (Some(out), Some(err)) = (out, err) {
            self.outputs.add(plan.rank, Stream::Out, out.into());
            self.outputs.add(plan.rank, Stream::Err, err.into());
        }
        self.input.connect(input).map_err(failed)
    }

    /// Runs the job to its end and returns its exit code.
    pub(crate) fn run(mut self) -> Result<u8, Error> {
        while !self.ranks.iter().all(Rank::is_over) || self.has_joined_processes() {
            self.turn(self.next_deadline())?;
            self.kill_late();
            self.watch();
            if let Some(joins) = &mut self.joins
                && self.ranks.iter().all(Rank::is_over)
            {
                joins.close();
            }
        }
        if self.uses_mpi && self.ending.is_none() && !self.has_anybody_joined() {
            self.outputs.say(foreign::NOBODY_JOINED);
        }
        self.drain()?;
        Ok(match &self.ending {
            Some(ending) => ending.code,
            None => self.code.unwrap_or(self.outputs.has_failed().into()),
        })
    }

    /// Waits once and handles what is ready. Returns whether anything was ready.
    fn turn(&mut self, deadline: Option<Instant>) -> Result<bool, Error> {
        let mut interest = Interest::default();
        interest.readable(self.signals.as_fd(), Ready::Signal);
        self.outputs.interest(&mut interest);
        self.input.interest(&mut interest);
        if let Some(joins) = &self.joins {
            let all = joins.descriptors();
            all.for_each(|descriptor| interest.readable(descriptor, Ready::Join));
        }
        let limit = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let ready = interest.wait(limit)?;
        for ready in &ready {
            match *ready {
                Ready::Signal => self.read_signals(),
                Ready::Source(index) => self.outputs.read(index),
                Ready::Sink(index) => self.outputs.write(index),
                Ready::Terminal => self.input.read(),
                Ready::Input => self.input.write(),
                Ready::Join => {}
            }
        }
        if ready.contains(&Ready::Join) {
            self.serve_joins();
        }
        Ok(!ready.is_empty())
    }

    /// Forwards what is still in the pipes after the end of all ranks, without waiting for more. An interrupted job
    /// waits for a slow reader no longer than the kill time-out.
    fn drain(&mut self) -> Result<(), Error> {
        let begin = Instant::now();
        loop {
            let is_pending = self.outputs.is_pending();
            let is_interrupted = self.ending.as_ref().is_some_and(|ending| ending.by_signal);
            let deadline = match (is_pending, is_interrupted) {
                (false, _) => Some(begin),
                (true, true) => Some(begin + self.kill_timeout),
                (true, false) => None,
            };
            let is_late = is_interrupted && begin.elapsed() >= self.kill_timeout;
            if self.turn(deadline)? && !is_late {
                continue;
            }
            self.outputs.flush();
            if is_late || !self.outputs.is_pending() {
                return Ok(());
            }
        }
    }

    fn read_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            match signal {
                Signal::SIGCHLD => self.collect(),
                Signal::SIGTSTP => {
                    self.pass_on(Signal::SIGSTOP);
                    let _ = raise(Signal::SIGSTOP);
                }
                Signal::SIGCONT => {
                    self.pass_on(Signal::SIGCONT);
                    self.input.resume();
                }
                Signal::SIGQUIT => self.watcher.ask(self.job.segment()),
                Signal::SIGUSR1 => {
                    self.watcher.ask(self.job.segment());
                    // The others would end by it.
                    let those = self.ranks.iter().filter(|rank| rank.catches(signal));
                    those.for_each(|rank| rank.signal(signal));
                }
                // A write beyond the file-size limit reports its own error.
                Signal::SIGXFSZ => {}
                signal if is_ending(signal) => self.interrupt(signal),
                signal => self.pass_on(signal),
            }
        }
    }

    /// Forwards the first ending signal; the second one kills the ranks at once.
    fn interrupt(&mut self, signal: Signal) {
        if let Some(ending) = &mut self.ending {
            ending.by_signal = true;
            ending.deadline = ending.deadline.and(Some(Instant::now()));
            return;
        }
        let number = signal as i32;
        let others = self.those_running();
        self.outputs
            .say(&format!("got signal {}{others}", describe(number)));
        self.end(signal, 128 + number, None);
    }

    /// Collects the ranks that have left. If several left together, one that was killed by a signal is more likely the
    /// cause than one that noticed a loss and gave up.
    fn collect(&mut self) {
        let mut left = self.ended_ranks();
        let killed = |left: &[(usize, End)]| left.iter().any(|(_, end)| end.is_signal());
        let failed = left.iter().any(|(_, end)| *end != End::Code(0));
        if failed && self.ending.is_none() {
            let (longest, pause) = EXIT_POLLS;
            let end = Instant::now() + longest;
            let leaving = |job: &Self| job.ranks.iter().any(Rank::is_leaving);
            while !killed(&left) && leaving(self) && Instant::now() < end {
                sleep(pause);
                left.extend(self.ended_ranks());
            }
        }
        left.sort_by_key(|(_, end)| !end.is_signal());
        for (index, end) in left {
            if self.reader == arguments::Input::Rank(index) {
                self.input = Input::default();
            }
            self.on_rank_end(index, end);
        }
    }

    /// Returns the ranks that have left since the last call.
    fn ended_ranks(&mut self) -> Vec<(usize, End)> {
        let mut left = Vec::new();
        for (index, rank) in self.ranks.iter_mut().enumerate() {
            let Some(end) = rank.poll_end() else { continue };
            left.push((index, end));
            if rank.is_over() {
                self.guard.remove(rank.group);
            }
        }
        left
    }

    fn on_rank_end(&mut self, index: usize, end: End) {
        let (code, what) = match end {
            End::Code(0) if self.job.has_left(index) => return,
            End::Code(0) if self.job.has_joined(index) => {
                (1, "exited without calling MPI_Finalize".into())
            }
            End::Code(0) if self.has_anybody_joined() => {
                (1, "exited without calling MPI_Init".into())
            }
            // Programs without MPI exit so; a rank that joins later must not wait for this one.
            End::Code(0) => return self.job.mark_dead(index, None),
            End::Code(code) => (code, format!("exited with code {code}")),
            End::Signal(number) => (
                128 + number,
                format!("was killed by signal {}", describe(number)),
            ),
            End::Unknown => (1, "ended in an unknown way".into()),
        };
        let first = self.ending.as_ref().and_then(|ending| ending.first);
        self.dead_had_joined |= self.job.has_joined(index);
        self.job.mark_dead(index, first);
        if self.ending.is_some() {
            return;
        }
        let lost_reader =
            end == End::Signal(Signal::SIGPIPE as i32) && self.outputs.has_lost_reader();
        if !lost_reader {
            self.outputs.finish(index);
            let others = match self.outlives_ranks {
                true => String::new(),
                false => self.those_running(),
            };
            let rank = &self.ranks[index];
            let (group, program) = (rank.group, &rank.program);
            let message = format!("rank {index} (pid {group}, {program}) {what}{others}");
            self.outputs.say(&message);
        }
        match self.outlives_ranks {
            true => self.code = self.code.or(Some(exit_code(code))),
            false => self.end(Signal::SIGTERM, code, Some(index)),
        }
    }

    /// Ends a job that has exceeded its time limit.
    fn time_out(&mut self) {
        let Some((_, time)) = self.timeout.take() else {
            return;
        };
        if self.ending.is_none() {
            let (seconds, others) = (time.as_secs_f64(), self.those_running());
            self.outputs
                .say(&format!("the job took longer than {seconds} s{others}"));
            self.end(Signal::SIGTERM, TIMED_OUT.into(), None);
        }
    }

    /// Asks the ranks at intervals what they wait for, and tells what the user wants to know.
    fn watch(&mut self) {
        if self.ending.is_some() {
            return;
        }
        match self.watcher.turn(self.job.segment()) {
            None => {}
            Some(Finding::Report(text)) => {
                self.outputs
                    .say(&format!("what the ranks wait for:\n{}", text.trim_end()));
            }
            Some(Finding::Deadlock(who)) => {
                let others = match self.on_deadlock {
                    OnDeadlock::Report => "; --on-deadlock abort would end the job".into(),
                    OnDeadlock::Abort => self.those_running(),
                };
                self.outputs.say(&format!("deadlock: {who}{others}"));
                if self.on_deadlock == OnDeadlock::Abort {
                    self.end(Signal::SIGTERM, 1, None);
                }
            }
        }
    }

    /// Returns whether a process that joined while the job ran is still there.
    fn has_joined_processes(&self) -> bool {
        self.joins.as_ref().is_some_and(|joins| !joins.is_empty())
    }

    /// Lets processes join, and tells of those that have ended without leaving: the job goes on without them.
    fn serve_joins(&mut self) {
        let Some(joins) = &mut self.joins else { return };
        for rank in joins.serve(&self.job) {
            let end = "which had joined the running job, has ended without leaving it";
            self.outputs.say(&format!("rank {rank}, {end}"));
        }
    }

    fn has_anybody_joined(&self) -> bool {
        self.dead_had_joined || (0..self.ranks.len()).any(|rank| self.job.has_joined(rank))
    }

    /// Returns, for example, "; ending the other 3 ranks", for a message about a rank that has left.
    fn those_running(&self) -> String {
        let running = self
            .ranks
            .iter()
            .filter(|rank| rank.state == State::Running);
        let has_left = self.ranks.iter().any(|rank| rank.state != State::Running);
        match (running.count(), has_left) {
            (0, _) => String::new(),
            (1, true) => "; ending the other rank".into(),
            (1, false) => "; ending 1 rank".into(),
            (count, true) => format!("; ending the other {count} ranks"),
            (count, false) => format!("; ending {count} ranks"),
        }
    }

    /// Asks all remaining ranks to end because of rank `first`, or because of a signal.
    fn end(&mut self, signal: Signal, code: i32, first: Option<usize>) {
        self.ending = Some(Ending {
            code: exit_code(code),
            by_signal: first.is_none(),
            first,
            deadline: Some(Instant::now() + self.kill_timeout),
        });
        // Whoever has joined sees that its connection ends.
        self.joins = None;
        self.pass_on(signal);
        // A stopped process handles no signal before it continues.
        self.pass_on(Signal::SIGCONT);
    }

    fn pass_on(&self, signal: Signal) {
        self.ranks.iter().for_each(|rank| rank.signal(signal));
    }

    fn next_deadline(&self) -> Option<Instant> {
        let ending = self.ending.as_ref().and_then(|ending| ending.deadline);
        let left = self.ranks.iter().filter_map(|rank| match rank.state {
            State::Left(since) => Some(since + self.kill_timeout),
            _ => None,
        });
        let timeout = self.timeout.map(|(end, _)| end);
        let watch = self.ending.is_none().then(|| self.watcher.deadline());
        left.chain(ending).chain(timeout).chain(watch).min()
    }

    /// Kills what has passed its deadline.
    fn kill_late(&mut self) {
        let now = Instant::now();
        for (index, rank) in self.ranks.iter_mut().enumerate() {
            let State::Left(since) = rank.state else {
                continue;
            };
            if self.outputs.is_closed(index) || since + self.kill_timeout <= now {
                self.guard.remove(rank.group);
                rank.finish();
            }
        }
        if self.timeout.is_some_and(|(end, _)| end <= now) {
            self.time_out();
        }
        let Some(ending) = &mut self.ending else {
            return;
        };
        if ending.deadline.is_some_and(|deadline| deadline <= now) {
            ending.deadline = None;
            self.pass_on(Signal::SIGKILL);
        }
    }
}

impl Drop for Supervisor {
    /// Ends all ranks after an error.
    fn drop(&mut self) {
        for rank in self.ranks.iter_mut().filter(|rank| !rank.is_over()) {
            self.guard.remove(rank.group);
            rank.finish();
        }
    }
}
