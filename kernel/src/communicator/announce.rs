//! Messages that are announced: the payload is still with the sender. Called where an announce comes, in whatever frame,
//! and where a receive meets one.

use super::operation::Step;
use super::state::State;
use crate::aspect::{Counters, Note};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::Handle;
use crate::header::Header;
use crate::matching::{Arrived, Expected, Unexpected};

impl<H: Header, C: Config> State<H, C> {
    /// An announce has come: it meets its receive, or waits for one.
    pub(super) fn announce(&mut self, envelope: Envelope<H, C>) -> Option<()> {
        let from = envelope.node();
        if self.peer(from)?.deaf {
            // Its payload can never be asked for.
            return Some(());
        }
        self.counters.note(Note::Searched);
        match self.expected.take(from, &envelope.header()) {
            Some(slot) => {
                self.owe_place(from);
                self.match_announced(slot, envelope, envelope.announced()?.0);
            }
            None => {
                if !self.take_place(from) {
                    return None;
                }
                self.unexpected.push(Arrived::new(envelope))?;
                self.counters
                    .note(Note::Unexpected(0, self.unexpected.len()));
            }
        }
        Some(())
    }

    /// A receive has matched a message whose payload is still with the sender.
    pub(crate) fn match_announced(&mut self, slot: u32, envelope: Envelope<H, C>, sender: Handle) {
        let from = envelope.node();
        let deaf = self.peer(from).is_none_or(|peer| peer.deaf);
        if let Some(operation) = self.operations.get_mut(slot)
            && let Step::Posted { room, .. } = operation.step
        {
            operation.peer = from;
            operation.envelope = Some(envelope);
            operation.step = Step::Requesting { sender, room };
            if deaf {
                self.complete(slot, Err(Error::PeerLost(from)));
            } else {
                self.activate(from, slot);
            }
        }
    }
}
