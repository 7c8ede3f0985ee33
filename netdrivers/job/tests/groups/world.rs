//! Simulated processes that agree: links in order that lose what a dead process has sent last, verdicts that come late,
//! processes that are killed in the middle of a step, and cuts.

use crate::directory::{compare, operation};
use crate::model::Model;
use pombo_job::group::{Agreement, Delivery, Entry, GroupError, Message, RESEND, Verdict};
use pombo_kernel::Peer;
use std::collections::{BTreeSet, VecDeque};

/// A small generator (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// What a link carries.
#[derive(Clone)]
enum Frame {
    Agree(Vec<u8>),
    /// A message to a group, in the sender's view, with a number of its own.
    Group {
        id: u32,
        view: u64,
        number: u64,
    },
}

pub(crate) struct Process {
    pub(crate) agreement: Agreement,
    pub(crate) lives: bool,
    /// It has not joined the job yet.
    is_place: bool,
    /// Messages to groups that are of a view to come.
    later: Vec<(u32, u64, u64)>,
    /// When it must have the outcome of its operation.
    deadline: Option<u64>,
}

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) now: u64,
    pub(crate) processes: Vec<Process>,
    links: Vec<Vec<VecDeque<Frame>>>,
    /// Pairs without a link.
    cut: BTreeSet<(usize, usize)>,
    /// Verdicts that have not come yet: who gets it, about whom.
    verdicts: Vec<(usize, usize, Verdict)>,
    /// All entries that any process applied, and the model after each.
    log: Vec<Entry>,
    models: Vec<Model>,
    sent: u64,
    pub(crate) joined: usize,
    pub(crate) admitted: usize,
    delivered: BTreeSet<(usize, u64)>,
    /// How many steps the process with the most to do makes before it is killed, if it is.
    pub(crate) kill_in: Option<usize>,
    pub(crate) loses: bool,
}

/// The most steps that the process with the most to do makes before it is killed.
pub(crate) const MOST_STEPS: usize = 24;

/// The time in ns after which an operation is given up.
const TIMEOUT: u64 = 40 * RESEND;

impl World {
    /// Creates a job of `first` processes, which others can join.
    pub(crate) fn new(first: usize, size: usize, seed: u64) -> Self {
        let process = |me: u16| Process {
            agreement: Agreement::new(Peer(me), first, size).expect("few processes"),
            lives: usize::from(me) < first,
            is_place: usize::from(me) >= first,
            later: Vec::new(),
            deadline: None,
        };
        World {
            random: Random(seed),
            now: 1,
            processes: (0..size as u16).map(process).collect(),
            links: vec![vec![VecDeque::new(); size]; size],
            cut: BTreeSet::new(),
            verdicts: Vec::new(),
            log: Vec::new(),
            models: vec![Model::new(first, size)],
            sent: 0,
            joined: 0,
            admitted: 0,
            delivered: BTreeSet::new(),
            kill_in: None,
            loses: false,
        }
    }

    /// Makes every decision need a majority, as where a process that is out of reach may be alive.
    pub(crate) fn require_majorities(&mut self) {
        for process in self.processes.iter_mut() {
            process.agreement.require_majorities();
        }
    }

    pub(crate) fn living(&self) -> Vec<usize> {
        (0..self.processes.len())
            .filter(|&at| self.processes[at].lives)
            .collect()
    }

    /// Returns the living process with the most to do for the others.
    fn busiest(&self) -> Option<usize> {
        let load = |at: &usize| {
            let agreement = &self.processes[*at].agreement;
            (agreement.load(), agreement.directory().view())
        };
        self.living().into_iter().max_by_key(load)
    }

    /// Lets a process make a step; if its end has come, it ends after some of the messages that the step sends.
    fn step(
        &mut self,
        at: usize,
        f: impl FnOnce(&mut Agreement, u64, &mut dyn FnMut(Peer, Message)),
    ) {
        let mut out = Vec::new();
        let agreement = &self.processes[at].agreement;
        let view = agreement
            .is_admitted()
            .then(|| agreement.directory().view());
        f(
            &mut self.processes[at].agreement,
            self.now,
            &mut |to, message| out.push((to, message)),
        );
        let is_victim = self.holders() > 1 && self.busiest() == Some(at);
        let left = self.kill_in.as_mut().filter(|_| is_victim);
        let mut dies = left.is_some_and(|left| {
            *left = left.saturating_sub(1);
            *left == 0
        });
        // A newcomer ends in the middle of its admission.
        if view.is_none() && self.kill_in.is_some() && (self.holders() > 1 || !self.holds(at)) {
            dies |= self.random.one_in(16);
        }
        if dies {
            let kept = self.random.below(out.len() + 1);
            out.truncate(kept);
        }
        for (to, message) in out {
            let bytes = message.to_bytes();
            assert!(bytes.len() <= pombo_job::group::MESSAGE_LEN);
            self.put(at, to.index(), Frame::Agree(bytes));
        }
        self.check_log(at, view);
        if dies {
            self.kill(at);
        }
    }

    /// Lets a process join the job, if there is a place.
    pub(crate) fn join(&mut self) {
        let Some(at) = self.processes.iter().position(|process| process.is_place) else {
            return;
        };
        let process = &mut self.processes[at];
        (process.lives, process.is_place) = (true, false);
        self.joined += 1;
        for (other, process) in self.processes.iter().enumerate() {
            if self.cut.contains(&(at, other)) {
                self.verdicts.push((at, other, Verdict::Unreachable));
            } else if !process.lives && !process.is_place {
                self.verdicts.push((at, other, Verdict::Dead));
            }
        }
    }

    fn holds(&self, at: usize) -> bool {
        self.processes[at].agreement.is_admitted()
    }

    /// Returns the number of living processes that have a directory.
    fn holders(&self) -> usize {
        self.living()
            .into_iter()
            .filter(|&at| self.holds(at))
            .count()
    }

    fn put(&mut self, from: usize, to: usize, frame: Frame) {
        let is_lost = self.loses && matches!(frame, Frame::Agree(_)) && self.random.one_in(8);
        if !is_lost && !self.cut.contains(&(from, to)) && self.processes[to].lives {
            self.links[from][to].push_back(frame);
        }
    }

    /// Checks that the process went on to the views that all others have or will have, and hands out messages.
    fn check_log(&mut self, at: usize, view: Option<u64>) {
        let agreement = &self.processes[at].agreement;
        let reached = agreement.directory().view();
        if !agreement.is_admitted() {
            return;
        }
        // A newcomer begins with the view that it was given, which others have.
        let view = view.unwrap_or_else(|| {
            assert!(reached as usize <= self.log.len(), "a view of nobody");
            self.admitted += 1;
            reached - 1
        });
        for number in view + 1..=reached {
            let entry = agreement.entry(number).expect("an entry of late");
            if number as usize > self.log.len() {
                let mut model = self.models[self.log.len()].clone();
                model.apply(entry);
                self.models.push(model);
                self.log.push(entry.clone());
            }
            assert_eq!(
                entry,
                &self.log[number as usize - 1],
                "process {at} has another entry {number}"
            );
        }
        if reached > view {
            compare(agreement.directory(), &self.models[reached as usize]);
            for (id, view, number) in std::mem::take(&mut self.processes[at].later) {
                self.deliver(at, id, view, number);
            }
        }
    }

    pub(crate) fn kill(&mut self, at: usize) {
        self.processes[at].lives = false;
        for other in 0..self.processes.len() {
            self.links[other][at].clear();
            let sent = &mut self.links[at][other];
            let kept = self.random.below(sent.len() + 1);
            sent.truncate(kept);
            if other != at && !self.cut.contains(&(at, other)) {
                self.verdicts.push((other, at, Verdict::Dead));
            }
        }
        self.kill_in = self.kill_in.map(|_| 1 + self.random.below(MOST_STEPS));
    }

    /// Lets a process leave in good order: all that it has sent arrives.
    pub(crate) fn leave(&mut self, at: usize) {
        self.processes[at].lives = false;
        for other in 0..self.processes.len() {
            self.links[other][at].clear();
            if other != at && !self.cut.contains(&(at, other)) {
                self.verdicts.push((other, at, Verdict::Left));
            }
        }
    }

    /// Cuts the link between two processes for ever.
    pub(crate) fn cut(&mut self, one: usize, other: usize) {
        for (from, to) in [(one, other), (other, one)] {
            if self.cut.insert((from, to)) {
                self.links[from][to].clear();
                self.verdicts.push((from, to, Verdict::Unreachable));
            }
        }
    }

    fn deliver(&mut self, at: usize, id: u32, view: u64, number: u64) {
        let directory = self.processes[at].agreement.directory();
        match directory.delivery(Peer(at as u16), id, view) {
            Delivery::Later => self.processes[at].later.push((id, view, number)),
            Delivery::Drop => {}
            Delivery::Deliver => {
                assert!(
                    self.delivered.insert((at, number)),
                    "message {number} came twice to {at}"
                );
                // A member in the sender's view, and ever since.
                for model in &self.models[view as usize..=directory.view() as usize] {
                    assert_eq!(model.delivery(at as u16, id, view), Delivery::Deliver);
                }
            }
        }
    }

    /// Begins a random operation, or sends to a group.
    fn act(&mut self, at: usize) {
        let agreement = &self.processes[at].agreement;
        if self.random.one_in(3) {
            let groups: Vec<_> = agreement.directory().groups().collect();
            if groups.is_empty() {
                return;
            }
            let (_, group) = groups[self.random.below(groups.len())];
            let (id, view) = (group.id(), agreement.directory().view());
            let members: Vec<usize> = group.members().map(|member| member.peer.index()).collect();
            self.sent += 1;
            for to in members.into_iter().filter(|to| *to != at) {
                self.put(
                    at,
                    to,
                    Frame::Group {
                        id,
                        view,
                        number: self.sent,
                    },
                );
            }
        } else if self.processes[at].deadline.is_none() {
            let random = self.random.next();
            let operation = operation(random as u8, (random >> 8) as u8, (random >> 16) as u16 % 4);
            self.processes[at].deadline = Some(self.now + TIMEOUT);
            self.step(at, |agreement, now, out| {
                agreement.begin(now, operation, out)
            });
        }
    }

    /// Takes an outcome; gives up what is over time, as the service does.
    fn collect(&mut self, at: usize) {
        let now = self.now;
        let process = &mut self.processes[at];
        let Some(deadline) = process.deadline else {
            return;
        };
        if let Some(outcome) = process.agreement.outcome() {
            process.deadline = None;
            assert!(outcome != Err(GroupError::Minority) || process.agreement.is_minority());
        } else if now > deadline {
            process.deadline = None;
            self.step(at, |agreement, now, out| agreement.give_up(now, out));
        }
    }

    /// Does one random thing; returns false if nothing lives.
    pub(crate) fn go_on(&mut self, acts: bool) {
        if acts && self.random.one_in(40) {
            self.join();
        }
        let living = self.living();
        let at = living[self.random.below(living.len())];
        match self.random.below(if acts { 12 } else { 10 }) {
            0 => {
                self.now += self.random.next() % (RESEND / 4);
                self.step(at, |agreement, now, out| agreement.on_time(now, out));
            }
            1 if !self.verdicts.is_empty() => {
                let which = self.random.below(self.verdicts.len());
                self.give_verdict(which);
            }
            10.. => self.act(at),
            _ => {
                let from = self.random.below(self.processes.len());
                self.receive(from, at);
            }
        }
        for at in self.living() {
            self.collect(at);
        }
    }

    fn give_verdict(&mut self, which: usize) {
        let (at, about, verdict) = self.verdicts.swap_remove(which);
        // A death is known after the last frame.
        while verdict != Verdict::Unreachable
            && !self.links[about][at].is_empty()
            && self.processes[at].lives
        {
            self.receive(about, at);
        }
        if self.processes[at].lives {
            self.links[about][at].clear();
            self.step(at, |agreement, now, out| {
                agreement.on_lost(now, Peer(about as u16), verdict, out)
            });
        }
    }

    fn receive(&mut self, from: usize, at: usize) {
        match self.links[from][at].pop_front() {
            Some(Frame::Agree(bytes)) => {
                let message = Message::from_bytes(&bytes).expect("a message");
                assert_eq!(message.to_bytes(), bytes);
                self.step(at, |agreement, now, out| {
                    agreement.on_message(now, Peer(from as u16), message, out)
                });
            }
            Some(Frame::Group { id, view, number }) => self.deliver(at, id, view, number),
            None => {}
        }
    }

    /// Lets everything come to rest without further faults: every process hears of all that have ended, and all
    /// messages arrive.
    pub(crate) fn rest(&mut self) {
        (self.kill_in, self.loses) = (None, false);
        for _ in 0..200 {
            while !self.verdicts.is_empty() {
                self.give_verdict(0);
            }
            for _ in 0..200 {
                let mut moved = false;
                for from in 0..self.processes.len() {
                    for at in self.living() {
                        moved |= !self.links[from][at].is_empty();
                        self.receive(from, at);
                    }
                }
                if !moved {
                    break;
                }
            }
            self.now += RESEND;
            for at in self.living() {
                self.step(at, |agreement, now, out| agreement.on_time(now, out));
                self.collect(at);
            }
        }
    }

    /// Checks, at rest, that all processes that are no minority are in the same view of just these processes, and that
    /// none of their operations is under way. Returns their number.
    pub(crate) fn check_rest(&self) -> usize {
        let living = self.living().into_iter();
        let whole: Vec<usize> = living
            .filter(|&at| !self.processes[at].agreement.is_minority() && self.holds(at))
            .collect();
        for &at in &whole {
            let directory = self.processes[at].agreement.directory();
            let processes: Vec<usize> = directory.processes().iter().map(Peer::index).collect();
            assert_eq!(
                processes,
                whole,
                "process {at} of view {}",
                directory.view()
            );
            assert_eq!(directory, self.processes[whole[0]].agreement.directory());
            assert!(
                !self.processes[at].agreement.is_busy(),
                "an operation of {at} hangs"
            );
        }
        assert!(whole.iter().all(|&at| self.processes[at].later.is_empty()));
        whole.len()
    }

    /// Returns whether all processes that are no minority are in the same view of just these.
    pub(crate) fn is_in_one_view(&self) -> bool {
        let living = self.living().into_iter();
        let agreements = living.map(|at| &self.processes[at].agreement);
        let whole: Vec<_> = agreements
            .filter(|agreement| !agreement.is_minority() && agreement.is_admitted())
            .collect();
        let all = whole.iter().map(|agreement| agreement.me()).collect();
        whole
            .iter()
            .all(|agreement| agreement.directory().processes() == all)
    }

    pub(crate) fn views(&self) -> usize {
        self.log.len()
    }

    pub(crate) fn deliveries(&self) -> usize {
        self.delivered.len()
    }
}
