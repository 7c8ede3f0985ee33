//! What one node's faults are and do, whatever network is below. `FaultyNetwork` alone uses it; it exists once, so that
//! a library with two such networks carries it once.

use super::fate::Lane;
use super::flight::Flights;
use super::{CRASHED, Counts, Faults, Rate};
use crate::InPlace;
use alloc::vec::Vec;
use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::header::Node;

/// Late frames that one node keeps; beyond it they are lost.
pub const LATE_FRAMES: usize = 4096;

/// What a poll has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// Frames pass as they come.
    Nothing,
    /// They pass as they come, or not at all.
    Losses,
    /// They are copied, and may wait.
    Everything,
}

pub(super) struct Injector {
    node: Node,
    nodes: usize,
    seed: u64,
    /// When it was made.
    begin: u64,
    faults: Faults,
    pub(super) work: Work,
    /// The first plan changes none.
    pub(super) keeps_bytes: bool,
    pub(super) counts: Counts,
    /// By sender; none before a plan has something to do.
    lanes: Vec<Lane>,
    /// At most [`LATE_FRAMES`].
    late: Flights,
}

impl Injector {
    pub(super) fn new(node: Node, nodes: usize, begin: u64, faults: Faults, seed: u64) -> Self {
        let mut injector = Injector {
            node,
            nodes,
            seed,
            begin,
            faults: Faults::NONE,
            work: Work::Nothing,
            keeps_bytes: faults.keep_bytes(),
            counts: Counts::default(),
            lanes: Vec::new(),
            late: Flights::default(),
        };
        injector.set_faults(faults);
        injector
    }

    pub(super) fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
        self.choose_work();
        if self.work != Work::Nothing && self.lanes.is_empty() {
            let (nodes, node) = (self.nodes as u64, u64::from(self.node.0));
            let lane = |from| Lane::new(self.seed, from * nodes + node);
            self.lanes = (0..nodes).map(lane).collect();
        }
    }

    /// Frames that are late already keep every poll at work, until they have arrived.
    fn choose_work(&mut self) {
        self.work = match (self.late.next(), self.faults.only_lose()) {
            (None, true) if self.faults.lose == Rate::NEVER => Work::Nothing,
            (None, true) => Work::Losses,
            _ => Work::Everything,
        };
    }

    /// So many frames went by.
    #[inline]
    pub(super) fn passed(&mut self, frames: u64) {
        self.counts.sent += frames;
        self.counts.delivered += frames;
    }

    /// Does a frame of that sender arrive, where nothing else can become of it?
    pub(super) fn passes(&mut self, from: Node) -> bool {
        let Some(lane) = self.lanes.get_mut(from.index()) else {
            return false;
        };
        self.counts.sent += 1;
        let passes = !lane.loses(&self.faults, &mut self.counts);
        self.counts.delivered += u64::from(passes);
        passes
    }

    /// Decides over a frame that arrives now.
    pub(super) fn strike(&mut self, frame: InPlace<'_>, time: u64) {
        let Injector {
            node,
            faults,
            counts,
            lanes,
            late,
            ..
        } = self;
        let from = frame.from();
        let Some(lane) = lanes.get_mut(from.index()) else {
            return;
        };
        counts.sent += 1;
        if faults.is_cut(from, *node, time) {
            counts.cut += 1;
            return;
        }
        let mut overflowed = 0;
        // It lies in one piece.
        let bytes = frame.head(frame.len()).unwrap_or_default();
        lane.strike(faults, counts, time, bytes, |at, frame| {
            if late.len() < LATE_FRAMES {
                late.push(at, from, *node, frame);
            } else {
                overflowed += 1;
            }
        });
        counts.overflowed += overflowed;
    }

    /// Those that have arrived by then. Returns whether there were any.
    pub(super) fn hand_out(&mut self, time: u64, f: &mut dyn FnMut(InPlace<'_>)) -> bool {
        let mut any = false;
        while let Some(flight) = self.late.pop(time) {
            any = true;
            self.counts.delivered += 1;
            f(InPlace::new(flight.from, &flight.frame));
        }
        self.choose_work();
        any
    }

    /// Nanoseconds since it was made, if this node has not crashed by then.
    pub(super) fn check(&self, now: u64) -> Result<u64, ChannelError> {
        let time = now.saturating_sub(self.begin);
        match self.faults.has_crashed(self.node, time) {
            true => Err(ChannelError::Device(CRASHED)),
            false => Ok(time),
        }
    }

    /// Is a frame to that node lost on the way?
    pub(super) fn cuts_off(&mut self, to: Node, time: u64) -> bool {
        let cut = self.faults.is_cut(self.node, to, time);
        self.counts.sent += u64::from(cut);
        self.counts.cut += u64::from(cut);
        cut
    }

    /// When the next late frame arrives, on the clock of the network below; `u64::MAX`: there is none.
    pub(super) fn wakes_at(&self) -> u64 {
        let next = self.late.next().unwrap_or(u64::MAX);
        next.saturating_add(self.begin)
    }
}
