//! Ends the operations that depend on a lost peer. Called when the channel reports the loss.

use super::operation::OpState;
use super::peer_state::{FlowControl, ReceiverHints};
use super::state::State;
use crate::aspect::Maybe;
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::header::{Header, Peer};
use crate::matching::Unexpected;
use crate::slab::{NONE, Queue};

impl<H: Header, C: Config> State<H, C> {
    /// Ends every operation that still needs a frame to the peer, which accepts none any more. Receives, and sends that
    /// wait for an answer, still wait for frames that the peer sent before.
    #[cold]
    pub(crate) fn lose_sends(&mut self, peer: Peer) {
        self.set_holding(peer, false);
        if let Some(probes) = self.probes.get_mut() {
            probes.lose(peer);
        }
        if let Some(state) = self.peer_state(peer) {
            state.send_closed = true;
            state.tx_pending = false;
            state.unsent = Queue::new();
            state.flow = Maybe::new(FlowControl::new);
            state.hints = Maybe::new(ReceiverHints::new);
        }
        let announced =
            |envelope: &Envelope<H, C>| envelope.peer() == peer && envelope.announced().is_some();
        while let Some(place) = self.unexpected.position(announced) {
            self.unexpected.remove(place);
        }
        self.fail(peer, false);
    }

    /// Ends everything that only the lost peer could finish; no frame of it is in flight any more.
    #[cold]
    pub(crate) fn lose(&mut self, peer: Peer) {
        self.lose_sends(peer);
        if let Some(state) = self.peer_state(peer) {
            state.dead = true;
        }
        self.fail(peer, true);
    }

    /// Ends the operations that depend on that peer. Until the peer is `gone`, its last frames may still arrive, and
    /// frames to it that the channel has taken may still need their loans.
    fn fail(&mut self, peer: Peer, gone: bool) {
        for slot in 0..self.operations.end() {
            let Some(operation) = self.operations.get_mut(slot) else {
                continue;
            };
            if operation.peer != peer {
                continue;
            }
            let waited = operation.is_in_flight();
            if gone {
                operation.in_flight = Maybe::new(|| 0);
            }
            match operation.state {
                OpState::Posted { .. } | OpState::Receiving { .. } | OpState::Draining { .. }
                    if !gone => {}
                // The peer may have answered before: a receiver of an empty message sends nothing after its answer.
                OpState::RtsSent | OpState::Cancelling { asked: true } if !gone => {}
                OpState::Offered { cancel: false, .. } if !gone => {
                    operation.state = OpState::RtsSent
                }
                OpState::Probed { place } if place != NONE => {}
                OpState::Done(outcome) if gone && waited => self.complete(slot, outcome),
                OpState::Done(_) => {}
                OpState::Posted { .. } => self.end_unmatched(slot, Error::PeerLost(peer)),
                _ => self.complete(slot, Err(Error::PeerLost(peer))),
            }
        }
    }
}
