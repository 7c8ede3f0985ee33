//! Processes joined by links that deliver in order after a random delay.

use crate::graph::{Graph, Pair, Random, pair};
use pombo_collective::adaptive::{EdgeState, Kind, Link, Message, Process};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub struct Network {
    pub processes: BTreeMap<u32, Process<Vec<Link>>>,
    /// Messages under way from the first to the second.
    pub under_way: BTreeMap<(u32, u32), VecDeque<Message>>,
    /// The pairs with messages under way.
    active: Vec<(u32, u32)>,
    /// How often a transport takes what a process puts out, in per cent of its calls.
    eagerness: usize,
    /// What is delivered, with its sender and receiver, if somebody wants to know.
    pub record: Option<VecDeque<(u32, u32, Message)>>,
    pub longest_queue: usize,
}

impl Network {
    pub fn new(graph: &Graph, announced: u32) -> Network {
        let processes = graph.processes.iter().map(|&me| {
            let links: Vec<Link> = graph
                .neighbours(me)
                .map(|other| Link::new(other, graph.measured(me, other)))
                .collect();
            (
                me,
                Process::new(me, announced, links).expect("distinct neighbours"),
            )
        });
        Network {
            processes: processes.collect(),
            under_way: BTreeMap::new(),
            active: Vec::new(),
            eagerness: [3, 30, 100][graph.links.len() % 3],
            record: None,
            longest_queue: 0,
        }
    }

    pub fn process(&mut self, number: u32) -> &mut Process<Vec<Link>> {
        self.processes.get_mut(&number).expect("a process")
    }

    /// Takes what a process puts out.
    pub fn collect(&mut self, number: u32) {
        let Some(process) = self.processes.get_mut(&number) else {
            return;
        };
        let mut waiting: BTreeMap<usize, usize> = BTreeMap::new();
        while let Some((link, message)) = process.next_outgoing() {
            let to = process.links()[link].neighbour();
            let messages = self.under_way.entry((number, to)).or_default();
            if messages.is_empty() {
                self.active.push((number, to));
            }
            messages.push_back(message);
            *waiting.entry(link).or_default() += 1;
        }
        let longest = waiting.values().copied().max().unwrap_or(0);
        self.longest_queue = self.longest_queue.max(longest);
    }

    /// Delivers the first message of a random link. Returns false if there is none.
    pub fn step(&mut self, random: &mut Random) -> bool {
        if self.active.is_empty() {
            return false;
        }
        let chosen = random.below(self.active.len());
        let (from, to) = self.active[chosen];
        let messages = self.under_way.get_mut(&(from, to)).expect("a link");
        let message = messages.pop_front().expect("a message");
        if messages.is_empty() {
            self.active.swap_remove(chosen);
        }
        if let Some(process) = self.processes.get_mut(&to) {
            let link = process.link_to(from).expect("a neighbour");
            if !process.links()[link].is_lost() {
                let taken = process.receive(link, &message);
                taken.unwrap_or_else(|error| panic!("{from} -> {to}: {message:?}: {error}"));
            }
            // A transport may be slow to take messages.
            if random.chance(self.eagerness) {
                self.collect(to);
            }
        }
        if let Some(record) = &mut self.record {
            record.push_back((from, to, message));
        }
        true
    }

    /// Delivers until nothing is under way and nothing waits. The limit is a hang's.
    pub fn run(&mut self, random: &mut Random) {
        for _ in 0..1_000_000 {
            if !self.step(random) {
                let all: Vec<u32> = self.processes.keys().copied().collect();
                all.into_iter().for_each(|number| self.collect(number));
                if self.active.is_empty() {
                    return;
                }
            }
        }
        panic!("messages without end");
    }

    /// The links of the tree; both ends must agree.
    pub fn tree(&self) -> BTreeSet<Pair> {
        let mut ends: BTreeMap<Pair, usize> = BTreeMap::new();
        for (&number, process) in &self.processes {
            assert!(process.is_settled(), "{number} is not settled: {process:?}");
            for link in process.links() {
                if link.state() == EdgeState::Branch {
                    *ends.entry(pair(number, link.neighbour())).or_default() += 1;
                }
            }
        }
        assert!(
            ends.values().all(|&ends| ends == 2),
            "ends disagree: {ends:?}"
        );
        ends.into_keys().collect()
    }

    /// The graph with the weights that the ends have agreed on.
    pub fn agreed(&self) -> Graph {
        let mut links: BTreeMap<Pair, (u64, u64)> = BTreeMap::new();
        for (&number, process) in &self.processes {
            for link in process.links().iter().filter(|link| !link.is_lost()) {
                let weights = links.entry(pair(number, link.neighbour())).or_default();
                let (low, high) = weights;
                *(if number < link.neighbour() { low } else { high }) = link.weight();
            }
        }
        assert!(
            links.values().all(|(low, high)| low == high),
            "ends disagree: {links:?}"
        );
        let processes = self.processes.keys().copied().collect();
        Graph { processes, links }
    }

    pub fn sent(&self, kind: Kind) -> u32 {
        let counters = self.processes.values().map(|process| process.counters());
        counters.map(|counters| counters.sent(kind)).sum()
    }

    pub fn start_all(&mut self, random: &mut Random) {
        self.all_in_any_order(random, |process| process.start());
    }

    /// Calls every process once, at random moments of the traffic.
    pub fn all_in_any_order(
        &mut self,
        random: &mut Random,
        call: impl Fn(&mut Process<Vec<Link>>),
    ) {
        let mut left: Vec<u32> = self.processes.keys().copied().collect();
        while !left.is_empty() {
            let number = left.swap_remove(random.below(left.len()));
            call(self.process(number));
            self.collect(number);
            for _ in 0..random.below(6) {
                self.step(random);
            }
        }
    }
}
