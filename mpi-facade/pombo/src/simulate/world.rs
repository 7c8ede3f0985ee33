//! Processes, one on each host, and the messages between them, in virtual time. The other files of `simulate` use it.
//!
//! A message of n bytes that a process sends at time t leaves when the sender's earlier sends have, at t', occupies the
//! sender until t' + hold(n), and arrives at t' + latency + n / rate: t_hold and t_end of parameterised multicast trees.
//! Messages on a link arrive in the order in which they were sent. What a process computes takes no time.

use std::collections::BTreeMap;

use crate::sites::{Change, HoldRule, Link, Sites, When};

/// Who sends a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    /// The process, which is occupied by it.
    Process,
    /// A monitor beside the process: its small messages delay no other, and those of a link may overtake each other.
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
    /// Arrivals by their time and the order in which they were sent. Bounded by what the processes have under way.
    arrivals: BTreeMap<(u64, u64), Arrival<M>>,
    sent: u64,
    /// Changes that happen at a time, the last one first.
    changes: Vec<(u64, Vec<(usize, usize)>, Change)>,
}

/// A message for a process, or its own timer, which is `from` itself.
pub(super) struct Arrival<M> {
    pub(super) to: usize,
    pub(super) from: usize,
    pub(super) message: M,
}

impl<M> World<M> {
    /// Creates the world at time 0.
    pub(super) fn new(sites: &Sites, hold: HoldRule) -> World<M> {
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
            hold,
            busy: vec![0; processes],
            last: vec![0; processes * processes],
            arrivals: BTreeMap::new(),
            sent: 0,
            changes,
        }
    }

    /// Returns the time in ns.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn processes(&self) -> usize {
        self.processes
    }

    /// Returns when a process is no longer occupied by its sends.
    pub(super) fn free_at(&self, process: usize) -> u64 {
        self.busy[process].max(self.now)
    }

    /// Changes links from now on; what is under way arrives as before.
    pub(super) fn change(&mut self, pairs: &[(usize, usize)], change: Change) {
        for (a, b) in pairs {
            self.links[a * self.processes + b].change(change);
            self.links[b * self.processes + a].change(change);
        }
    }

    /// Sends a message of `bytes` bytes.
    pub(super) fn send(
        &mut self,
        sender: Sender,
        (from, to): (usize, usize),
        bytes: usize,
        message: M,
    ) {
        self.apply_due_changes();
        let place = from * self.processes + to;
        let link = self.links[place];
        let time = link.latency.saturating_add(link.transmission(bytes));
        let arrives = match sender {
            Sender::Monitor => self.now.saturating_add(time),
            Sender::Process => {
                let start = self.free_at(from);
                self.busy[from] = start.saturating_add(self.hold.of(&link, bytes));
                self.last[place] = self.last[place].max(start.saturating_add(time));
                self.last[place]
            }
        };
        self.enter(arrives, Arrival { to, from, message });
    }

    /// Sets a timer of a process, which has no effect before now.
    pub(super) fn wake(&mut self, process: usize, time: u64, message: M) {
        let arrival = Arrival {
            to: process,
            from: process,
            message,
        };
        self.enter(time.max(self.now), arrival);
    }

    /// Advances the clock to the next arrival. `None` if nothing is under way.
    pub(super) fn next(&mut self) -> Option<Arrival<M>> {
        let ((time, _), arrival) = self.arrivals.pop_first()?;
        self.now = time;
        Some(arrival)
    }

    fn apply_due_changes(&mut self) {
        while self
            .changes
            .last()
            .is_some_and(|(due, ..)| *due <= self.now)
        {
            if let Some((_, pairs, change)) = self.changes.pop() {
                self.change(&pairs, change);
            }
        }
    }

    fn enter(&mut self, time: u64, arrival: Arrival<M>) {
        self.arrivals.insert((time, self.sent), arrival);
        self.sent += 1;
    }
}
