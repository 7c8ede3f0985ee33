//! Processes, one on each host, and the messages between them, in virtual time. The other files of `simulate` use it.
//!
//! A message of n bytes that a process sends at time t leaves when the sender's earlier sends have, at t', occupies the
//! sender until t' + hold(n), and arrives at t' + latency + n / rate: t_hold and t_end of parameterised multicast trees.
//! Messages on a link arrive in the order in which they were sent. What a process computes takes no time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::sites::{Change, HoldRule, Link, Sites, When};

/// What happens to a process.
pub(super) enum Happening<M> {
    /// A message arrives over the link from this process.
    Arrival { from: usize, message: M },
    /// The time that [`World::wake`] was asked for has come.
    Timer,
}

/// Whether a message is one of the application, or of the monitor beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    /// Occupies its process.
    Application,
    /// A monitor: a small message of another program, which delays no send and may overtake.
    Monitor,
}

/// The processes, what is under way, and the clock.
pub(super) struct World<M> {
    now: u64,
    processes: usize,
    links: Vec<Link>,
    hold: HoldRule,
    /// Until when each process is occupied by its sends.
    busy: Vec<u64>,
    /// The last arrival on each link.
    last: Vec<u64>,
    agenda: BinaryHeap<Reverse<Entry>>,
    /// What the entries of the agenda mean; an entry holds its place here.
    contents: Vec<Option<(usize, Happening<M>)>>,
    free: Vec<usize>,
    /// Changes that happen at a time, the last one first.
    changes: Vec<(u64, Vec<(usize, usize)>, Change)>,
    entries: u64,
}

/// A time, then the order in which entries were made, then the place of the content.
type Entry = (u64, u64, usize);

impl<M> World<M> {
    /// Creates the world at time 0.
    pub(super) fn new(sites: &Sites) -> World<M> {
        let processes = sites.hosts();
        let pairs = (0..processes).flat_map(|a| (0..processes).map(move |b| (a, b)));
        let timed = sites.events().iter().filter_map(|event| match event.when {
            When::Time(time) => Some((time, event.pairs.clone(), event.change)),
            When::Broadcast(_) => None,
        });
        let mut changes: Vec<_> = timed.collect();
        // Stable: of changes at one time the one that stands first in the file comes first.
        changes.sort_by_key(|(time, ..)| *time);
        changes.reverse();
        World {
            now: 0,
            processes,
            links: pairs.map(|(a, b)| sites.link(a, b)).collect(),
            hold: sites.hold(),
            busy: vec![0; processes],
            last: vec![0; processes * processes],
            agenda: BinaryHeap::new(),
            contents: Vec::new(),
            free: Vec::new(),
            changes,
            entries: 0,
        }
    }

    /// Returns the time in ns.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn processes(&self) -> usize {
        self.processes
    }

    /// Changes links from now on; what is under way arrives as before.
    pub(super) fn change(&mut self, pairs: &[(usize, usize)], change: Change) {
        for (a, b) in pairs {
            self.links[a * self.processes + b].change(change);
            self.links[b * self.processes + a].change(change);
        }
    }

    /// Sends a message of `bytes` bytes.
    pub(super) fn send(&mut self, sender: Sender, from: usize, to: usize, bytes: usize, message: M) {
        self.pass_changes(self.now);
        let place = from * self.processes + to;
        let link = self.links[place];
        let time = link.latency.saturating_add(link.transmission(bytes));
        let arrives = match sender {
            Sender::Monitor => self.now.saturating_add(time),
            Sender::Application => {
                let start = self.busy[from].max(self.now);
                self.busy[from] = start.saturating_add(self.hold.of(&link, bytes));
                self.last[place] = self.last[place].max(start.saturating_add(time));
                self.last[place]
            }
        };
        self.enter(arrives, to, Happening::Arrival { from, message });
    }

    /// Wakes a process at a time.
    pub(super) fn wake(&mut self, process: usize, time: u64) {
        self.enter(time, process, Happening::Timer);
    }

    /// Advances the clock to the next thing that happens to a process. `None` if nothing is left.
    pub(super) fn next(&mut self) -> Option<(usize, Happening<M>)> {
        let Reverse((time, _, place)) = self.agenda.pop()?;
        self.now = time;
        self.free.push(place);
        self.contents[place].take()
    }

    /// Returns when a process has begun all its sends and may begin another.
    pub(super) fn free_at(&self, process: usize) -> u64 {
        self.busy[process].max(self.now)
    }

    /// Applies the changes that were due.
    fn pass_changes(&mut self, time: u64) {
        while self.changes.last().is_some_and(|(due, ..)| *due <= time) {
            if let Some((_, pairs, change)) = self.changes.pop() {
                self.change(&pairs, change);
            }
        }
    }

    fn enter(&mut self, time: u64, process: usize, happening: Happening<M>) {
        let content = Some((process, happening));
        let place = match self.free.pop() {
            Some(place) => {
                self.contents[place] = content;
                place
            }
            None => {
                self.contents.push(content);
                self.contents.len() - 1
            }
        };
        self.agenda.push(Reverse((time, self.entries, place)));
        self.entries += 1;
    }
}
