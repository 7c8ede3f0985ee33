//! The state of a process beside its links, and how it puts out a message. The other files of this folder add one part
//! of the protocol each; none calls another: [`super::Process`] joins them.

use super::link::{EdgeState, EdgeWeight, Fragment, Link};
use super::{AdaptiveError, Kind, Message, Oriented};

/// Where a process stands in the present round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// It has not been started.
    Sleeping,
    /// It waits for the weights of its neighbours, in a build.
    Exchanging,
    /// Fragments join.
    Searching,
    /// It has to answer a wave.
    Wave,
    /// It waits for what its parent sends next.
    Waiting,
    /// The tree stands.
    Idle,
}

/// Which links a round deals with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Those that became worse.
    Failures,
    /// Those that became better.
    Recoveries,
}

/// Numbers of messages and of detected ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counters {
    pub(super) sent: [u32; Kind::ALL.len()],
    /// Messages of a former epoch, round or wave, which were ignored.
    pub stale: u32,
    /// Messages that no correct neighbour sends, which were dropped.
    pub dropped: u32,
    /// How often the process learned that all links that became worse had been seen to.
    pub failures_settled: u32,
    /// How often the process learned that all links that became better had been seen to.
    pub recoveries_settled: u32,
}

impl Counters {
    /// Returns the number of messages of a kind that this process has put out.
    pub fn sent(&self, kind: Kind) -> u32 {
        self.sent[kind as usize]
    }
}

/// A wave that came before this process entered its round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EarlyWave {
    pub(super) link: usize,
    pub(super) round: u32,
    pub(super) tag: u32,
}

/// What a subtree says of the links that became better and have one end in it, as its neighbours need no more: the
/// lightest of them, and whether there are more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Recovered {
    pub(super) lightest: EdgeWeight,
    pub(super) more: bool,
}

impl Recovered {
    pub(super) const NONE: Recovered = Recovered {
        lightest: EdgeWeight::NONE,
        more: false,
    };

    /// Joins what two parts of a subtree say. A link that both name closes its cycle here: nothing above is part of it.
    /// If there are more links, which are not lighter, its weight stands for them, without ends.
    pub(super) fn and(self, other: Recovered) -> Recovered {
        let (one, two) = (self.lightest, other.lightest);
        let more = self.more || other.more;
        if one == EdgeWeight::NONE || two == EdgeWeight::NONE {
            let lightest = one.min(two);
            return Recovered { lightest, more };
        }
        if one == two && one.ends != Fragment::ANY {
            let lightest = EdgeWeight {
                ends: Fragment::ANY,
                ..one
            };
            return if more {
                Recovered { lightest, more }
            } else {
                Recovered::NONE
            };
        }
        Recovered {
            lightest: one.min(two),
            more: true,
        }
    }
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) me: u32,
    /// Number of processes in the tree, or the most that there can be.
    pub(super) processes: u32,
    /// Number of processes in the tree that stands.
    pub(super) members: u32,
    pub(super) epoch: u32,
    /// The present round; 0 in a build.
    pub(super) current: u32,
    /// The number of the last wave in this epoch.
    pub(super) tag: u32,
    /// Rounds that the caller has asked for, and those that are complete.
    pub(super) asked: u32,
    pub(super) done: u32,
    /// Rounds that the caller had asked for when the present build began here.
    pub(super) built: u32,
    pub(super) stage: Stage,
    pub(super) phase: Phase,
    /// The link towards the root of the fragment or of the tree; none at the root.
    pub(super) parent: Option<usize>,
    /// This process is the root and starts the next wave.
    pub(super) leads: bool,
    /// This process is the root of a fragment and starts its search.
    pub(super) begins: bool,
    pub(super) early: Option<EarlyWave>,
    /// The root of coming operations.
    pub(super) oriented: Option<Oriented>,

    // The search.
    pub(super) level: u8,
    pub(super) fragment: Fragment,
    pub(super) finding: bool,
    /// Subtrees that have not reported.
    pub(super) reports: u32,
    pub(super) test_link: Option<usize>,
    pub(super) best: EdgeWeight,
    pub(super) best_link: Option<usize>,
    /// Number of processes in the part of the fragment that has reported here, this one included.
    pub(super) size: u32,

    // The wave: of the subtree, as far as it has answered.
    /// A link of the tree must leave.
    pub(super) dirty: bool,
    /// The links that became better.
    pub(super) recovered: Recovered,
    pub(super) count: u32,
    /// The last round that is complete when the detectors have fired.
    pub(super) latest: u32,

    pub(super) counters: Counters,
}

impl State {
    pub(super) fn new(me: u32, processes: u32) -> State {
        State {
            me,
            processes,
            members: 1,
            epoch: 0,
            current: 0,
            tag: 0,
            asked: 0,
            done: 0,
            built: 0,
            stage: Stage::Sleeping,
            phase: Phase::Failures,
            parent: None,
            leads: false,
            begins: false,
            early: None,
            oriented: None,
            level: 0,
            fragment: Fragment::of(me, me),
            finding: false,
            reports: 0,
            test_link: None,
            best: EdgeWeight::NONE,
            best_link: None,
            size: 1,
            dirty: false,
            recovered: Recovered::NONE,
            count: 1,
            latest: 0,
            counters: Counters {
                sent: [0; Kind::ALL.len()],
                stale: 0,
                dropped: 0,
                failures_settled: 0,
                recoveries_settled: 0,
            },
        }
    }
}

/// A process for the time of one call.
pub(super) struct Machine<'a> {
    pub(super) state: &'a mut State,
    pub(super) links: &'a mut [Link],
}

impl Machine<'_> {
    /// Puts out a message. A full queue means that a neighbour does not keep to the protocol: the message is dropped.
    pub(super) fn post(&mut self, link: usize, message: Message) {
        let message = Message {
            epoch: self.state.epoch.into(),
            round: self.state.current.into(),
            tag: self.state.tag.into(),
            ..message
        };
        let counters = &mut self.state.counters;
        match (self.links[link].outgoing.push_back(message), message.kind()) {
            (Ok(()), Ok(kind)) => counters.sent[kind as usize] += 1,
            _ => counters.dropped += 1,
        }
    }

    /// Puts out the same message on all branches but one; returns their number.
    pub(super) fn post_to_branches(&mut self, except: Option<usize>, message: Message) -> u32 {
        let mut number = 0;
        for link in 0..self.links.len() {
            if self.links[link].is_branch() && Some(link) != except {
                self.post(link, message);
                number += 1;
            }
        }
        number
    }

    pub(super) fn ends(&self, link: usize) -> Fragment {
        Fragment::of(self.state.me, self.links[link].neighbour)
    }

    pub(super) fn edge_weight(&self, link: usize) -> EdgeWeight {
        let (weight, ends) = (self.links[link].weight, self.ends(link));
        EdgeWeight { weight, ends }
    }

    /// Returns the weight that a link has at the end of the round.
    pub(super) fn target_weight(&self, link: usize) -> EdgeWeight {
        let (weight, ends) = (self.links[link].target, self.ends(link));
        EdgeWeight { weight, ends }
    }

    /// Returns the lightest link that is not decided.
    pub(super) fn lightest_basic(&self) -> Option<usize> {
        let basic = (0..self.links.len()).filter(|&link| {
            let link = &self.links[link];
            link.state == EdgeState::Basic && !link.lost
        });
        basic.min_by_key(|&link| self.edge_weight(link))
    }
}

/// Fails with `Unexpected` if the condition does not hold.
pub(super) fn expect(holds: bool) -> Result<(), AdaptiveError> {
    if holds {
        Ok(())
    } else {
        Err(AdaptiveError::Unexpected)
    }
}
