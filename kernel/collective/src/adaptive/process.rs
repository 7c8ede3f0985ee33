//! One process: its calls, and how the parts of the protocol follow each other.

use super::exchange::weight_of;
use super::link::Link;
use super::machine::{Counters, Machine, Phase, Stage, State};
use super::{AdaptiveError, AdaptiveTree, Kind, Message, Oriented};
use core::cmp::Ordering;

/// What a process does, in the words of the published algorithms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessState {
    /// It has not been started.
    Sleeping,
    /// Its fragment searches for its least outgoing edge.
    Find,
    /// It has reported its least outgoing edge, or the tree stands.
    Found,
    /// A link of its fragment became worse: it waits for the identity of what is left.
    Reiden,
    /// A link became better: it waits for the identity of what is left after the cycle was broken.
    Recover,
}

/// One process of a minimum spanning tree: a state machine without input and output of its own. It knows its own links
/// and nothing else of the graph.
///
/// Links deliver each message once and in order; a link is named by its index in the memory that the caller lends,
/// [`Link`]s in an array, a slice or a vector. Of what arrives early each link keeps at most one Connect, one Test, one
/// Report and one weight, the process one wave, and [`super::OUTGOING`] messages can wait on a link to be sent; correct
/// neighbours need no more.
///
/// Processes settle if every one of them is started, asks for rounds as often as the others, and goes on passing
/// messages in both directions, also when it is settled itself.
#[derive(Debug)]
pub struct Process<L> {
    links: L,
    state: State,
}

impl<L: AsRef<[Link]> + AsMut<[Link]>> Process<L> {
    /// Creates process `me` with its links. `processes` is the number of processes, the same at all of them, or
    /// `u32::MAX` if it is not known: then the build ends with a search that finds nothing.
    ///
    /// # Errors
    /// `DuplicateNeighbour` if two links lead to one neighbour, or one to the process itself.
    pub fn new(me: u32, processes: u32, mut links: L) -> Result<Self, AdaptiveError> {
        let slots = links.as_mut();
        for index in 0..slots.len() {
            let neighbour = slots[index].neighbour;
            let before = slots[..index].iter().map(|link| link.neighbour);
            if neighbour == me || before.into_iter().any(|other| other == neighbour) {
                return Err(AdaptiveError::DuplicateNeighbour(neighbour));
            }
            slots[index].own = weight_of(slots[index].own);
        }
        let state = State::new(me, processes);
        Ok(Process { links, state })
    }

    /// Begins to take part in the build of the tree.
    pub fn start(&mut self) {
        self.machine().wake();
        self.settle();
    }

    /// Sets what is measured for a link, in ns. It counts from the next start or round on.
    ///
    /// # Errors
    /// `NoSuchLink`.
    pub fn set_weight(&mut self, link: usize, weight: u64) -> Result<(), AdaptiveError> {
        self.live(link)?;
        self.links.as_mut()[link].own = weight_of(weight);
        Ok(())
    }

    /// Asks for the next round: the tree is adapted to the weights that are set when the round begins, which is now if
    /// the process is settled. All processes ask equally often. Returns the number of the round, from 1 on.
    pub fn adapt(&mut self) -> u32 {
        self.state.asked = self.state.asked.saturating_add(1);
        self.settle();
        self.state.asked
    }

    /// Takes note that a neighbour is dead. All who had a link to it are told so, in any order, whatever they do; they
    /// then build a tree of those that are left, in a new epoch. The build completes every round that one of them had
    /// asked for when it joined the build; weights that another one sets for such a round after that count from the next
    /// one on. If the graph falls apart each part gets a tree, which [`Process::members`] tells.
    ///
    /// # Errors
    /// `NoSuchLink`, also if the link was lost before.
    pub fn link_lost(&mut self, link: usize) -> Result<(), AdaptiveError> {
        self.live(link)?;
        self.machine().lose(link);
        self.settle();
        Ok(())
    }

    /// Takes a message that came by a link.
    ///
    /// # Errors
    /// `NoSuchLink`, `Malformed` or `Unexpected`: the message is dropped and counted.
    pub fn receive(&mut self, link: usize, message: &Message) -> Result<(), AdaptiveError> {
        let taken = self.live(link);
        let taken = taken.and_then(|()| self.machine().dispatch(link, message));
        if taken.is_err() {
            let dropped = &mut self.state.counters.dropped;
            *dropped = dropped.saturating_add(1);
        }
        self.settle();
        taken
    }

    /// Returns the next message to be sent and the link to send it on. Messages of one link must stay in order.
    pub fn next_outgoing(&mut self) -> Option<(usize, Message)> {
        let mut links = self.links.as_mut().iter_mut().enumerate();
        links.find_map(|(index, link)| Some((index, link.outgoing.pop_front()?)))
    }

    /// Returns true if the tree stands and every round that was asked for is complete.
    pub fn is_settled(&self) -> bool {
        self.state.stage == Stage::Idle && self.state.asked <= self.state.done
    }

    /// Returns the number of complete rounds; 0 after the build.
    pub fn round(&self) -> u32 {
        self.state.done
    }

    /// Returns the number of the present tree's build; the first one is 0.
    pub fn epoch(&self) -> u32 {
        self.state.epoch
    }

    /// Returns the number of processes in the last tree that stood. Fewer than are alive means that the graph fell apart.
    pub fn members(&self) -> u32 {
        self.state.members
    }

    /// Returns the links.
    pub fn links(&self) -> &[Link] {
        self.links.as_ref()
    }

    /// Returns the index of the link to a neighbour.
    pub fn link_to(&self, neighbour: u32) -> Option<usize> {
        let mut links = self.links().iter();
        links.position(|link| link.neighbour == neighbour)
    }

    /// Returns what the process does.
    pub fn state(&self) -> ProcessState {
        let waits = self.state.stage == Stage::Searching && self.state.level == 0;
        match (self.state.stage, self.state.phase) {
            (Stage::Sleeping, _) => ProcessState::Sleeping,
            (Stage::Searching, _) if self.state.finding => ProcessState::Find,
            (_, Phase::Failures) if waits && self.state.current > 0 => ProcessState::Reiden,
            (_, Phase::Recoveries) if waits => ProcessState::Recover,
            _ => ProcessState::Found,
        }
    }

    /// Returns what the process has counted.
    pub fn counters(&self) -> &Counters {
        &self.state.counters
    }

    /// Returns the tree for a root in the direction of link `parent`, or with this process as the root. It is complete
    /// while the process is settled.
    pub fn tree(&self, parent: Option<usize>) -> AdaptiveTree<'_> {
        AdaptiveTree::new(self.links(), parent)
    }

    /// Tells all processes that this one is the root of coming operations.
    ///
    /// # Errors
    /// `Unsettled`.
    pub fn claim_root(&mut self) -> Result<(), AdaptiveError> {
        if !self.is_settled() {
            return Err(AdaptiveError::Unsettled);
        }
        self.machine().claim_root();
        Ok(())
    }

    /// Returns who has claimed to be the root since the tree changed, and where it is.
    pub fn oriented(&self) -> Option<Oriented> {
        self.state.oriented
    }

    fn machine(&mut self) -> Machine<'_> {
        Machine {
            state: &mut self.state,
            links: self.links.as_mut(),
        }
    }

    fn live(&self, link: usize) -> Result<(), AdaptiveError> {
        let live = self.links().get(link).is_some_and(|link| !link.lost);
        live.then_some(()).ok_or(AdaptiveError::NoSuchLink(link))
    }

    /// Does what follows from a call.
    fn settle(&mut self) {
        let mut machine = self.machine();
        while machine.go_on() {}
    }
}

impl Machine<'_> {
    /// Does the next thing that can be done. Returns false if there is none.
    fn go_on(&mut self) -> bool {
        if self.knows_weights() {
            self.begin_build();
        } else if self.state.begins {
            self.begin_search();
        } else if self.state.leads {
            self.begin_wave();
        } else if self.is_answered() {
            self.complete_wave();
        } else if self.state.stage == Stage::Idle && self.state.asked > self.state.done {
            self.enter_round();
            self.join_early_wave();
        } else {
            return self.answer_deferred();
        }
        true
    }

    fn dispatch(&mut self, link: usize, message: &Message) -> Result<(), AdaptiveError> {
        let kind = message.kind()?;
        let epoch = message.epoch.get();
        if epoch > self.state.epoch && kind == Kind::Weight && message.round.get() == 0 {
            self.enter_epoch(epoch);
        }
        // Weights are of a round, the root's claim of a tree that stands, all others of a wave.
        let said = (epoch, message.round.get(), message.tag.get());
        let present = (self.state.epoch, self.state.current, self.state.tag);
        let order = match kind {
            Kind::Weight | Kind::WeightAck | Kind::Root => said.0.cmp(&present.0),
            // A wave is one ahead, in this round or the next.
            Kind::NotFail | Kind::NotRec if said > present && said.0 == present.0 => {
                Ordering::Equal
            }
            Kind::NotFail | Kind::NotRec if said == present => Ordering::Less,
            _ => said.cmp(&present),
        };
        match order {
            Ordering::Less => {
                let stale = &mut self.state.counters.stale;
                *stale = stale.saturating_add(1);
                return Ok(());
            }
            Ordering::Equal => {}
            Ordering::Greater => return Err(AdaptiveError::Unexpected),
        }
        match kind {
            Kind::Weight => self.on_weight(link, message),
            Kind::WeightAck => self.on_weight_ack(link, message),
            Kind::Connect => self.on_connect(link, message),
            Kind::Initiate => self.on_initiate(link, message),
            Kind::Test => self.on_test(link, message),
            Kind::Accept => self.on_accept(link),
            Kind::Reject => self.on_reject(link),
            Kind::Report => self.on_report(link, message),
            Kind::ChangeRoot => self.on_change_root(link, message),
            Kind::NotFail => self.on_wave(link, message, Phase::Failures),
            Kind::NotRec => self.on_wave(link, message, Phase::Recoveries),
            Kind::NotFailAck => self.on_answer(link, message, Phase::Failures),
            Kind::NotRecAck => self.on_answer(link, message, Phase::Recoveries),
            Kind::GoSleepFail | Kind::GoSleepRec | Kind::Reiden | Kind::Recover => {
                self.on_decision(link, message, kind)
            }
            Kind::Root => self.on_root(link, message),
        }
    }
}
