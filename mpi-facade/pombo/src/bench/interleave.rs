//! Interleaves the libraries: in each round of a measurement every library measures for a short time, so that a
//! disturbance of the machine affects all alike. Only `bench` uses it.

use std::thread;
use std::time::{Duration, Instant};

use super::bench_process::{LIMIT, Session};
use super::layers;
use super::library::Library;
use super::limited_command::{End, Jobs};
use super::measured_value::{Figure, Key, Spread};
use super::network_namespaces::Hosts;
use super::plan::{self, Effort, LAUNCH, PSS, PSS_RANKS, Task};
use super::results::Results;
use super::state::{Lines, State};
use super::table::number;
use crate::console::{progress, warn};

/// The parameters and results of all measurements.
pub(super) struct Interleaved<'a> {
    pub(super) libraries: &'a [Library],
    pub(super) effort: &'a Effort,
    pub(super) jobs: &'a Jobs,
    pub(super) cores: usize,
    /// Only measurements whose names begin with one of these words run.
    pub(super) only: &'a [String],
    /// The hosts; `None` if this machine is the only one.
    pub(super) hosts: Option<&'a Hosts>,
    pub(super) results: Results,
    /// The libraries that have failed.
    pub(super) failed: Vec<usize>,
}

/// A measurement that may have further rounds.
struct Unfinished<'t> {
    task: &'t Task,
    /// What stands before its figures in a line of progress.
    title: String,
    /// Whether the line between two cores is measured before and after each turn.
    has_line: bool,
    /// The number of the next round.
    round: usize,
    /// The libraries that take part.
    is_in: Vec<bool>,
}

/// The time between two looks at the line, while every measurement waits for its other state.
const RECHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The sessions in the order of the libraries; `None` for a library that has failed.
pub(super) type Sessions<'a> = Vec<Option<Session<'a>>>;

impl<'a> Interleaved<'a> {
    /// Returns the figures, and whether our own libraries never failed.
    pub(super) fn into_results(self) -> (Results, bool) {
        let ours = |who: &usize| self.libraries[*who].is_ours();
        let is_whole = !self.failed.iter().any(ours);
        (self.results, is_whole)
    }

    /// Measures messages on this many ranks. A measurement that has enough turns in the present state of the line gives
    /// way to the next, and comes again for the other state.
    pub(super) fn messages(&mut self, ranks: u32) {
        let tasks = plan::tasks(ranks, self.only);
        if tasks.is_empty() {
            return;
        }
        let mut sessions = self.sessions(ranks, |_| true);
        let is_here = self.hosts.is_none();
        let total = tasks.len();
        let tasks = tasks.iter().enumerate();
        let mut open: Vec<Unfinished<'_>> = tasks
            .map(|(index, task)| Unfinished {
                has_line: is_here && task.depends_on_line(ranks, self.cores),
                ..self.begin(task, &format!("{ranks} ranks, {} of {total}", index + 1))
            })
            .collect();
        let mut waited = Duration::ZERO;
        while !open.is_empty() && waited <= self.effort.wait {
            let mut is_idle = true;
            for task in &mut open {
                is_idle &= !self.rounds(task, ranks, &mut sessions);
            }
            open.retain(|task| !self.is_done(task, ranks, &sessions));
            if is_idle && !open.is_empty() {
                if waited.is_zero() && !self.effort.wait.is_zero() {
                    let count = open.len();
                    progress(&format!("{count} wait for the other state of the line\n"));
                }
                thread::sleep(RECHECK_INTERVAL);
                waited += RECHECK_INTERVAL;
            }
        }
        self.end(sessions, ranks, LIMIT);
    }

    /// Ends all sessions; a library that does not end within `limit` has failed.
    pub(super) fn end(&mut self, sessions: Sessions<'a>, ranks: u32, limit: Duration) {
        for (who, session) in sessions.into_iter().enumerate() {
            match session.map(|session| session.end(limit)) {
                None | Some(End::Done { .. }) => {}
                Some(end) => self.fails(who, ranks, &end),
            }
        }
    }

    /// Starts a session of every library that is measured.
    pub(super) fn sessions(
        &mut self,
        ranks: u32,
        is_wanted: impl Fn(&Library) -> bool,
    ) -> Sessions<'a> {
        progress(&format!("starting {ranks} ranks of each\n"));
        let mut sessions = Vec::new();
        for (who, library) in self.libraries.iter().enumerate() {
            if !is_wanted(library) {
                sessions.push(None);
                continue;
            }
            let command = library.launch(ranks, self.cores, self.hosts);
            sessions.push(
                match Session::start(self.jobs, library.program(), ranks, command) {
                    Ok(session) => {
                        self.results.describe(who, &session.version);
                        Some(session)
                    }
                    Err(end) => {
                        self.fails(who, ranks, &end);
                        None
                    }
                },
            );
        }
        sessions
    }

    /// Runs all rounds of one measurement between hosts.
    pub(super) fn task(
        &mut self,
        task: &Task,
        ranks: u32,
        title: &str,
        sessions: &mut Sessions<'a>,
    ) {
        let mut task = self.begin(task, title);
        self.rounds(&mut task, ranks, sessions);
    }

    fn begin<'t>(&self, task: &'t Task, title: &str) -> Unfinished<'t> {
        let does = |one: &Library| one.measures(task.name);
        Unfinished {
            task,
            title: title.to_owned(),
            has_line: false,
            round: 0,
            is_in: self.libraries.iter().map(does).collect(),
        }
    }

    /// Runs rounds until every library has enough turns in the state that the line has now, or until it changes. Returns
    /// whether there was anything to do.
    fn rounds(
        &mut self,
        task: &mut Unfinished<'_>,
        ranks: u32,
        sessions: &mut Sessions<'a>,
    ) -> bool {
        let mut line = self.line(task);
        let state = State::of_line(line);
        let before = task.round;
        while State::of_line(line) == state
            && task.round < self.most_rounds()
            && !self.has_enough(task, ranks, sessions, state)
        {
            line = self.round(task, ranks, sessions, line);
        }
        let did = task.round > before;
        if did && self.has_enough(task, ranks, sessions, state) {
            let summary = self.summary(task, ranks, state);
            progress(&format!("{}: {summary}", task.title));
        }
        did
    }

    /// Returns the nanoseconds of the line, where it is measured.
    fn line(&self, task: &Unfinished<'_>) -> Option<f64> {
        task.has_line.then(|| layers::line(self.cores)).flatten()
    }

    /// Returns how many rounds a measurement has at most, with those in which the state changed.
    fn most_rounds(&self) -> usize {
        self.effort.rounds * 5 / 2
    }

    fn is_done(&self, task: &Unfinished<'_>, ranks: u32, sessions: &Sessions<'a>) -> bool {
        let states: &[State] = match task.has_line {
            true => &[State::Near, State::Far],
            false => &[State::Shared],
        };
        let has_all = |state: &State| self.has_enough(task, ranks, sessions, *state);
        task.round >= self.most_rounds() || states.iter().all(has_all)
    }

    fn has_enough(
        &self,
        task: &Unfinished<'_>,
        ranks: u32,
        sessions: &Sessions<'a>,
        state: State,
    ) -> bool {
        let row = self.results.row(task.task.label, task.task.size, ranks);
        let turns = |who| row.map_or(0, |row| row.count(who, state));
        (0..sessions.len())
            .filter(|&who| task.is_in[who] && sessions[who].is_some())
            .all(|who| turns(who) >= self.effort.rounds)
    }

    /// Lets every library measure once, and measures the line after each. Takes and returns what the line took last.
    fn round(
        &mut self,
        task: &mut Unfinished<'_>,
        ranks: u32,
        sessions: &mut Sessions<'a>,
        mut line: Option<f64>,
    ) -> Option<f64> {
        // Every round begins with another library.
        for turn in 0..sessions.len() {
            let who = (turn + task.round) % sessions.len();
            if !task.is_in[who] {
                continue;
            }
            let Some(session) = &mut sessions[who] else {
                continue;
            };
            let began = Instant::now();
            let figure = session.measure(task.task, self.effort.seconds);
            task.is_in[who] = began.elapsed() < self.effort.patience;
            let after = self.line(task);
            let lines: Lines = line.zip(after).map(<[f64; 2]>::from);
            line = after;
            if let Some(mut figure) = figure {
                task.task.label.clone_into(&mut figure.key.name);
                self.results.add(task.round, who, figure, lines);
            } else if let Some(session) = sessions[who].take() {
                self.fails(who, ranks, &session.abandon());
            }
        }
        task.round += 1;
        line
    }

    /// Returns the medians of one measurement in this state as a line.
    fn summary(&self, task: &Unfinished<'_>, ranks: u32, state: State) -> String {
        let Some(row) = self.results.row(task.task.label, task.task.size, ranks) else {
            return format!("{}: nobody\n", task.task.label);
        };
        let mut line = row.key.to_string();
        if task.has_line {
            line += &format!(" {}", state.name());
        }
        for (who, library) in self.libraries.iter().enumerate() {
            if let Some(spread) = row.spread(who, state) {
                line += &format!("  {} {}", library.name, number(spread.median));
            }
        }
        format!("{line} {}\n", row.key.unit)
    }

    /// Measures starts of programs that do nothing else.
    pub(super) fn starts(&mut self, ranks: u32) {
        let count = self.libraries.len();
        let mut is_in = vec![true; count];
        for round in 0..self.effort.starts {
            let starts = self.effort.starts;
            progress(&format!("{ranks} ranks, start {} of {starts}\n", round + 1));
            for turn in 0..count {
                let who = (turn + round) % count;
                is_in[who] = is_in[who] && self.start(who, ranks, round);
            }
        }
    }

    /// Measures once what memory each library needs: it does not depend on the time or on other load.
    pub(super) fn memory(&mut self) {
        for who in 0..self.libraries.len() {
            let name = &self.libraries[who].name;
            progress(&format!("{PSS_RANKS} ranks, memory of {name}\n"));
            self.run(who, PSS_RANKS, 0, PSS);
        }
    }

    fn start(&mut self, who: usize, ranks: u32, round: usize) -> bool {
        let Some(took) = self.run(who, ranks, round, "start") else {
            return false;
        };
        let key = Key {
            name: LAUNCH.to_owned(),
            ranks,
            size: 0,
            unit: "ms".to_owned(),
        };
        let spread = Spread::of(took.as_secs_f64() * 1e3);
        let figure = Figure { key, spread };
        self.results.add(round, who, figure, None);
        true
    }

    /// Runs this form of the program, which takes nothing but a limit, and returns how long that took.
    fn run(&mut self, who: usize, ranks: u32, round: usize, form: &str) -> Option<Duration> {
        let mut command = self.libraries[who].launch(ranks, self.cores, self.hosts);
        command.arg(form).arg(LIMIT.as_secs().to_string());
        let results = &mut self.results;
        let end = self.jobs.run(&mut command, LIMIT, |line| {
            if let Some(version) = super::measured_value::library(line) {
                results.describe(who, &version);
            }
            if let Some(figure) = Figure::parse(line, ranks) {
                results.add(round, who, figure, None);
            }
        });
        let End::Done { took } = end else {
            self.fails(who, ranks, &end);
            return None;
        };
        Some(took)
    }

    fn fails(&mut self, who: usize, ranks: u32, end: &End) {
        let name = &self.libraries[who].name;
        warn(&format!("no more of {name} on {ranks} ranks: it {end}"));
        self.failed.push(who);
    }
}
