//! Interleaves the libraries: in each round of a measurement every library measures for a short time, so that a
//! disturbance of the machine affects all alike. Only `bench` uses it.

use std::time::{Duration, Instant};

use super::bench_process::{LIMIT, Session};
use super::layers;
use super::library::Library;
use super::limited_command::{End, Jobs};
use super::measured_value::{Figure, Key, Spread};
use super::network_namespaces::Hosts;
use super::plan::{self, Effort, LAUNCH, Task};
use super::results::Results;
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

/// The sessions in the order of the libraries; `None` for a library that has failed.
pub(super) type Sessions<'a> = Vec<Option<Session<'a>>>;

impl<'a> Interleaved<'a> {
    /// Returns the figures, and whether our own libraries never failed.
    pub(super) fn into_results(self) -> (Results, bool) {
        let ours = |who: &usize| self.libraries[*who].is_ours();
        let is_whole = !self.failed.iter().any(ours);
        (self.results, is_whole)
    }

    /// Measures messages on this many ranks.
    pub(super) fn messages(&mut self, ranks: u32) {
        let tasks = plan::tasks(ranks, self.only);
        if tasks.is_empty() {
            return;
        }
        let mut sessions = self.sessions(ranks, |_| true);
        for (index, task) in tasks.iter().enumerate() {
            progress(&format!(
                "{ranks} ranks, {} of {}: ",
                index + 1,
                tasks.len()
            ));
            self.results.lines.extend(layers::line(self.cores));
            self.task(task, ranks, &mut sessions);
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
            sessions.push(match Session::start(self.jobs, library, ranks, command) {
                Ok(session) => {
                    self.results.describe(who, &session.version);
                    Some(session)
                }
                Err(end) => {
                    self.fails(who, ranks, &end);
                    None
                }
            });
        }
        sessions
    }

    /// Runs the rounds of one measurement.
    pub(super) fn task(&mut self, task: &Task, ranks: u32, sessions: &mut Sessions<'a>) {
        let does = |one: &Library| one.measures(task.name);
        let mut is_in: Vec<bool> = self.libraries.iter().map(does).collect();
        for round in 0..self.effort.rounds {
            // Every round begins with another library.
            for turn in 0..sessions.len() {
                let who = (turn + round) % sessions.len();
                if !is_in[who] {
                    continue;
                }
                let Some(session) = &mut sessions[who] else {
                    continue;
                };
                let began = Instant::now();
                if let Some(mut figure) = session.measure(task, self.effort.seconds) {
                    task.label.clone_into(&mut figure.key.name);
                    self.results.add(round, who, figure);
                } else if let Some(session) = sessions[who].take() {
                    self.fails(who, ranks, &session.abandon());
                }
                is_in[who] = began.elapsed() < self.effort.patience;
            }
        }
        progress(&self.summary(task, ranks));
    }

    /// Returns the medians of one measurement as a line.
    fn summary(&self, task: &Task, ranks: u32) -> String {
        let rows = &self.results.rows;
        let row = rows.iter().find(|row| {
            row.key.ranks == ranks && row.key.size == task.size && row.key.name == task.label
        });
        let Some(row) = row else {
            return format!("{}: nobody\n", task.label);
        };
        let mut line = row.key.to_string();
        for (who, library) in self.libraries.iter().enumerate() {
            if let Some(spread) = row.spread(who) {
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

    fn start(&mut self, who: usize, ranks: u32, round: usize) -> bool {
        let mut command = self.libraries[who].launch(ranks, self.cores, self.hosts);
        command.arg("start").arg(LIMIT.as_secs().to_string());
        let results = &mut self.results;
        let end = self.jobs.run(&mut command, LIMIT, |line| {
            if let Some(version) = super::measured_value::library(line) {
                results.describe(who, &version);
            }
            if let Some(figure) = Figure::parse(line, ranks) {
                results.add(round, who, figure);
            }
        });
        let End::Done { took } = end else {
            self.fails(who, ranks, &end);
            return false;
        };
        let key = Key {
            name: LAUNCH.to_owned(),
            ranks,
            size: 0,
            unit: "ms".to_owned(),
        };
        let spread = Spread::of(took.as_secs_f64() * 1e3);
        self.results.add(round, who, Figure { key, spread });
        true
    }

    fn fails(&mut self, who: usize, ranks: u32, end: &End) {
        let name = &self.libraries[who].name;
        warn(&format!("no more of {name} on {ranks} ranks: it {end}"));
        self.failed.push(who);
    }
}
