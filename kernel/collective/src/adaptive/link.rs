//! What a process knows of one link: the memory that a caller lends.

use super::Message;
use heapless::Deque;

/// Number of messages that can wait for [`super::Process::next_outgoing`] on a link. Correct neighbours never cause
/// more; what others cause beyond it is dropped and counted.
pub const OUTGOING: usize = 8;

/// The two ends of a link, which name the link; or the two ends of the core of a fragment, which name the fragment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Fragment {
    pub(super) low: u32,
    pub(super) high: u32,
}

impl Fragment {
    /// Less than the ends of every link.
    pub(super) const ANY: Fragment = Fragment { low: 0, high: 0 };

    pub(super) fn of(one: u32, other: u32) -> Fragment {
        Fragment {
            low: one.min(other),
            high: one.max(other),
        }
    }
}

/// The weight of a link, distinct from the weight of every other: in ns, then by its ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct EdgeWeight {
    pub(super) weight: u64,
    pub(super) ends: Fragment,
}

impl EdgeWeight {
    /// More than every link.
    pub(super) const NONE: EdgeWeight = EdgeWeight {
        weight: u64::MAX,
        ends: Fragment {
            low: u32::MAX,
            high: u32::MAX,
        },
    };
}

/// What a link is for the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeState {
    /// Not decided.
    Basic,
    /// In the tree.
    Branch,
    /// Not in the tree.
    Rejected,
}

/// One link of a process: its neighbour, its weight, and the messages of the protocol that wait here. The memory of a
/// [`super::Process`] is one of these for each of its links.
#[derive(Clone, Debug)]
pub struct Link {
    pub(super) neighbour: u32,
    /// Measured here, now.
    pub(super) own: u64,
    /// Measured here, as the neighbour was told.
    pub(super) told: u64,
    /// Measured by the neighbour, as it said.
    pub(super) peer: u64,
    /// Agreed by both ends, as the tree uses it.
    pub(super) weight: u64,
    /// Agreed by both ends in the present round.
    pub(super) target: u64,
    pub(super) state: EdgeState,
    pub(super) lost: bool,
    /// The neighbour takes part in this epoch.
    pub(super) heard: bool,
    /// The neighbour has not taken note of the told weight.
    pub(super) unacknowledged: bool,
    /// The subtree over this link has answered the wave.
    pub(super) answered: bool,
    /// A branch that leaves the tree when the cycles are broken.
    pub(super) cut: bool,
    /// The level and the size of a fragment that waits to be joined.
    pub(super) connect: Option<(u8, u32)>,
    /// The level and the identity of a fragment that waits for an answer to its test.
    pub(super) test: Option<(u8, Fragment)>,
    /// What the other end of the core reports while this end still searches, and its number of processes.
    pub(super) report: Option<(EdgeWeight, u32)>,
    pub(super) outgoing: Deque<Message, OUTGOING>,
}

impl Link {
    /// Creates the slot of the link to a neighbour, whose weight is measured here in ns.
    pub const fn new(neighbour: u32, weight: u64) -> Link {
        Link {
            neighbour,
            own: weight,
            told: weight,
            peer: weight,
            weight,
            target: weight,
            state: EdgeState::Basic,
            lost: false,
            heard: false,
            unacknowledged: false,
            answered: false,
            cut: false,
            connect: None,
            test: None,
            report: None,
            outgoing: Deque::new(),
        }
    }

    /// Returns the number of the neighbour.
    pub const fn neighbour(&self) -> u32 {
        self.neighbour
    }

    /// Returns the weight in ns that the tree uses: the larger one of what the two ends have measured.
    pub const fn weight(&self) -> u64 {
        self.weight
    }

    /// Returns what the link is for the tree.
    pub const fn state(&self) -> EdgeState {
        self.state
    }

    /// Returns true if the neighbour is dead, or the link is.
    pub const fn is_lost(&self) -> bool {
        self.lost
    }

    pub(super) fn is_branch(&self) -> bool {
        self.state == EdgeState::Branch
    }

    /// Forgets the tree and all messages, for a new epoch.
    pub(super) fn reset(&mut self) {
        *self = Link {
            lost: self.lost,
            ..Link::new(self.neighbour, self.own)
        };
    }
}
