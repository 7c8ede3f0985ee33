//! Lets the libraries take turns: in each round of a measurement everyone measures for an
//! instant, so that what disturbs the machine disturbs all alike. Only `bench` uses it.

use std::time::{Duration, Instant};

use super::bench_process::{LIMIT, Session};
use super::figure::{Figure, Key, Spread};
use super::job::{End, Jobs};
use super::layers;
use super::library::Library;
use super::network_namespaces::Hosts;
use super::plan::{self, Effort, LAUNCH, Task};
use super::results::Results;
use super::table::number;
use crate::console::{progress, warn};

/// Everything that a measurement needs and fills.
pub(super) struct Interleaved<'a> {
    pub(super) libraries: &'a [Library],
    pub(super) effort: &'a Effort,
    pub(super) jobs: &'a Jobs,
    pub(super) cores: usize,
    /// Only what begins with one of these words is measured.
    pub(super) only: &'a [String],
    /// None: this machine is the only one.
    pub(super) hosts: Option<&'a Hosts>,
    pub(super) results: Results,
    /// Who has failed.
    pub(super) failed: Vec<usize>,
}

/// In the libraries' order; none for who has failed.
pub(super) type Sessions<'a> = Vec<Option<Session<'a>>>;

impl<'a> Interleaved<'a> {
    /// The figures, and whether our own libraries never failed.
    pub(super) fn into_results(self) -> (Results, bool) {
        let ours = |who: &usize| self.libraries[*who].is_ours();
        let is_whole = !self.failed.iter().any(ours);
        (self.results, is_whole)
    }

    /// Messages on this many ranks.
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

    /// Lets everyone go; who is still there after that time has failed.
    pub(super) fn end(&mut self, sessions: Sessions<'a>, ranks: u32, limit: Duration) {
        for (who, session) in sessions.into_iter().enumerate() {
            match session.map(|session| session.end(limit)) {
                None | Some(End::Done { .. }) => {}
                Some(end) => self.fails(who, ranks, &end),
            }
        }
    }

    /// Starts everyone who is wanted.
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

    /// Everyone's turns in one measurement.
    pub(super) fn task(&mut self, task: &Task, ranks: u32, sessions: &mut Sessions<'a>) {
        let does = |one: &Library| one.measures(task.name);
        let mut is_in: Vec<bool> = self.libraries.iter().map(does).collect();
        for round in 0..self.effort.rounds {
            // Each time somebody else begins.
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

    /// The medians of one measurement in a line.
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

    /// Starts of programs that do nothing else.
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
            if let Some(version) = super::figure::library(line) {
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
