//! What ends when a peer is lost. Whoever hears of it from the channel calls.

use super::operation::Step;
use super::peer::{Hints, Hold};
use super::state::State;
use crate::aspect::Maybe;
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::header::{Header, Node};
use crate::matching::Unexpected;
use crate::slab::{NONE, Queue};

impl<H: Header, C: Config> State<H, C> {
    /// The peer takes no frames any more: whatever still needed one ends. Receives wait for what it has sent before.
    #[cold]
    pub(crate) fn lose_sends(&mut self, node: Node) {
        self.set_holding(node, false);
        if let Some(probes) = self.probes.get_mut() {
            probes.lose(node);
        }
        if let Some(peer) = self.peer(node) {
            peer.deaf = true;
            peer.due = false;
            peer.held = Queue::new();
            peer.hold = Maybe::new(Hold::new);
            peer.hints = Maybe::new(Hints::new);
        }
        let announced =
            |envelope: &Envelope<H, C>| envelope.node() == node && envelope.announced().is_some();
        while let Some(place) = self.unexpected.position(announced) {
            self.unexpected.remove(place);
        }
        self.fail(node, false);
    }

    /// The peer is gone and nothing of it is on the way: everything that only it could finish ends.
    #[cold]
    pub(crate) fn lose(&mut self, node: Node) {
        self.lose_sends(node);
        if let Some(peer) = self.peer(node) {
            peer.gone = true;
        }
        self.fail(node, true);
    }

    /// Ends what that peer will not finish. Before it is `gone` its last frames may still come, and frames to it that
    /// the channel has taken may still need their loans.
    fn fail(&mut self, node: Node, gone: bool) {
        for slot in 0..self.operations.end() {
            let Some(operation) = self.operations.get_mut(slot) else {
                continue;
            };
            if operation.peer != node {
                continue;
            }
            let waited = operation.is_in_flight();
            if gone {
                operation.in_flight = Maybe::new(|| 0);
            }
            match operation.step {
                Step::Posted { .. } | Step::Receiving { .. } | Step::Leaving { .. } if !gone => {}
                Step::Matched { place } if place != NONE => {}
                Step::Done(outcome) if gone && waited => self.complete(slot, outcome),
                Step::Done(_) => {}
                Step::Posted { place, .. } => {
                    self.end_unmatched(slot, place, Error::PeerLost(node));
                }
                _ => self.complete(slot, Err(Error::PeerLost(node))),
            }
        }
    }
}
