//! What becomes of the frames that arrive at one node. `FaultyNetwork` alone uses it, without knowing which it has: so
//! who loses frames does not carry the code of what else can go wrong, whatever network is below.

use super::{Counts, Faults, InFlight, LinkFaults, Rate};
use crate::InPlace;
use alloc::vec::Vec;
use pombo_kernel::channel::Arrival;
use pombo_kernel::header::Node;

/// Late frames that one node keeps; beyond it they are lost.
pub const LATE_FRAMES: usize = 4096;

/// Times are in nanoseconds since the network was decorated.
pub(super) trait Injector: Send {
    /// A frame arrives now: it goes on to `f`, is kept, or is lost.
    fn take(
        &mut self,
        frame: InPlace<'_>,
        time: u64,
        counts: &mut Counts,
        f: &mut dyn FnMut(InPlace<'_>),
    );

    /// Those that were kept and have arrived by now go on.
    fn hand_out(&mut self, time: u64, counts: &mut Counts, f: &mut dyn FnMut(InPlace<'_>)) {
        let _ = (time, counts, f);
    }

    /// When the next of those that were kept arrives.
    fn next(&self) -> Option<u64> {
        None
    }

    /// Has this node stopped?
    fn has_crashed(&self, time: u64) -> bool {
        let _ = time;
        false
    }

    /// Is the link to that node cut?
    fn cuts_off(&self, to: Node, time: u64) -> bool {
        let _ = (to, time);
        false
    }
}

/// By sender: what becomes of its frames to this node.
fn links(node: Node, nodes: usize, seed: u64) -> Vec<LinkFaults> {
    let (nodes, node) = (nodes as u64, u64::from(node.0));
    let link = |from| LinkFaults::new(seed, from * nodes + node);
    (0..nodes).map(link).collect()
}

/// Frames arrive as they came, or not at all.
pub(super) struct Losses {
    rate: Rate,
    links: Vec<LinkFaults>,
}

impl Losses {
    #[inline(never)]
    pub(super) fn new(node: Node, nodes: usize, rate: Rate, seed: u64) -> Self {
        let links = links(node, nodes, seed);
        Losses { rate, links }
    }
}

impl Injector for Losses {
    fn take(
        &mut self,
        frame: InPlace<'_>,
        _: u64,
        counts: &mut Counts,
        f: &mut dyn FnMut(InPlace<'_>),
    ) {
        let Some(link) = self.links.get_mut(frame.from().index()) else {
            return;
        };
        counts.sent += 1;
        if !link.loses(self.rate, counts) {
            counts.delivered += 1;
            f(frame);
        }
    }
}

/// Frames are copied and may wait.
pub(super) struct Everything {
    node: Node,
    faults: Faults,
    links: Vec<LinkFaults>,
    /// At most [`LATE_FRAMES`].
    late: InFlight,
}

impl Everything {
    pub(super) fn new(node: Node, nodes: usize, faults: Faults, seed: u64) -> Self {
        Everything {
            node,
            faults,
            links: links(node, nodes, seed),
            late: InFlight::default(),
        }
    }
}

impl Injector for Everything {
    fn take(
        &mut self,
        frame: InPlace<'_>,
        time: u64,
        counts: &mut Counts,
        _: &mut dyn FnMut(InPlace<'_>),
    ) {
        let Everything {
            node,
            faults,
            links,
            late,
        } = self;
        let from = frame.from();
        let Some(link) = links.get_mut(from.index()) else {
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
        link.strike(faults, counts, time, bytes, |at, frame| {
            if late.len() < LATE_FRAMES {
                late.push(at, from, *node, frame);
            } else {
                overflowed += 1;
            }
        });
        counts.overflowed += overflowed;
    }

    fn hand_out(&mut self, time: u64, counts: &mut Counts, f: &mut dyn FnMut(InPlace<'_>)) {
        while let Some(flight) = self.late.pop(time) {
            counts.delivered += 1;
            f(InPlace::new(flight.from, &flight.frame));
        }
    }

    fn next(&self) -> Option<u64> {
        self.late.next()
    }

    fn has_crashed(&self, time: u64) -> bool {
        self.faults.has_crashed(self.node, time)
    }

    fn cuts_off(&self, to: Node, time: u64) -> bool {
        self.faults.is_cut(self.node, to, time)
    }
}
