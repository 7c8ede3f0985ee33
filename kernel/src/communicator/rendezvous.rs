//! Announced messages, whose payload is still with the sender, if not copies of its beginning. Called when an RTS arrives,
//! in whatever frame, and when a receive matches one.

use super::operation::{OpState, length};
use super::state::State;
use crate::aspect::{Counter, Counters};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::Handle;
use crate::header::Header;
use crate::matching::{Arrived, Expected, Unexpected};

impl<H: Header, C: Config> State<H, C> {
    /// Handles an RTS: it matches a receive, or waits for one.
    pub(super) fn announce(&mut self, envelope: Envelope<H, C>) -> Option<()> {
        let from = envelope.peer();
        if self.peer_state(from)?.send_closed {
            // The payload can never be requested.
            return Some(());
        }
        self.early_data_may_follow(&envelope);
        self.counters.count(Counter::Searched);
        match self.expected.take(from, &envelope.header()) {
            Some(slot) => {
                self.return_credit(from);
                self.match_announced(slot, envelope, envelope.announced()?.0);
            }
            None => {
                if !self.reserve_pool(from) {
                    return None;
                }
                self.unexpected.push(Arrived::new(envelope))?;
                self.queued = self.queued.wrapping_add(1);
                self.counters
                    .count(Counter::Unexpected(0, self.unexpected.len()));
            }
        }
        Some(())
    }

    /// Matches a receive with a message whose payload is still with the sender.
    pub(crate) fn match_announced(&mut self, slot: u32, envelope: Envelope<H, C>, sender: Handle) {
        let from = envelope.peer();
        let send_closed = self.peer_state(from).is_none_or(|state| state.send_closed);
        let takes_early = self.takes_early_data(from, sender, slot);
        if let Some(operation) = self.operations.get_mut(slot)
            && let OpState::Posted { room, .. } = operation.state
        {
            operation.peer = from;
            operation.envelope = Some(envelope);
            operation.state = match takes_early {
                true => OpState::TakingEarly {
                    sender,
                    want: length::<C>(envelope.len().min(room)),
                    got: length::<C>(0),
                },
                false => OpState::CtsPending { sender, room },
            };
            if send_closed {
                self.complete(slot, Err(Error::PeerLost(from)));
            } else {
                self.activate(from, slot);
            }
        }
    }
}
