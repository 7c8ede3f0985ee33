//! Replies and notices that are due to a peer, one after another: the head of each, and what to record once it has left.
//! The send path sends them.

use super::flow_control::MatchQuery;
use super::operation::{OpState, length};
use super::peer_state::QuerySent;
use super::state::State;
use crate::aspect::{Counter, Counters, Maybe, Transfer};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::frame::{Handle, Kind, Writer};
use crate::header::{Header, Peer};
use crate::memory::Ticket;

/// A frame that is due, with what its record needs.
pub(super) enum Due {
    /// The notice that messages are held, or that none are any more.
    Hold(bool),
    Fin,
    CancelReply,
    /// The release of the message of a matched probe, by the probe's generation.
    Release(u32),
    Reject,
    Recall(Ticket),
    /// The offer of the held send in that slot.
    MatchReply(u32),
    NoMatch,
    /// The query for a receive, by its sequence number.
    ReceiveQuery(u64),
    /// The query for a probe, by its generation.
    ProbeQuery(u32),
    Credit,
}

impl<H: Header, C: Config> State<H, C> {
    /// Writes the head of the next reply to a peer.
    pub(super) fn due_reply(&mut self, peer: Peer, head: &mut Writer) -> Option<Due> {
        if <C::Transfer as Transfer>::HINTS
            && let Some(sender) = self.due_fin(peer)
        {
            head.begin(Kind::Fin).put(&sender);
            return Some(Due::Fin);
        }
        if let Some((sender, yes)) = self.flow(peer)?.cancel_reply {
            head.begin(Kind::CancelReply)
                .put(&sender)
                .put(&u8::from(yes));
            return Some(Due::CancelReply);
        }
        // An acceptance goes before the rejection of an offer that crossed it.
        if let Some(probes) = self.probes.get()
            && let Some((generation, sender, accepted)) = probes.pending_release(peer)
        {
            let kind = if accepted { Kind::Accept } else { Kind::Reject };
            head.begin(kind).put(&sender);
            return Some(Due::Release(generation));
        }
        if let Some(sender) = self.flow(peer)?.reject {
            head.begin(Kind::Reject).put(&sender);
            return Some(Due::Reject);
        }
        // An offered message that was cancelled is recalled, as the peer may be keeping the offer open.
        let flow = self.flow(peer)?;
        if flow.recall && !flow.cancelling {
            flow.recall = false;
            if let Some(me) = self.to_recall(peer) {
                self.flow(peer)?.recall = true;
                head.begin(Kind::Cancel).put(&me.handle());
                return Some(Due::Recall(me));
            }
        }
        self.due_match_reply(peer, head)
    }

    /// Writes the reply to the peer's query. A message that a matched probe keeps may be offered to another probe.
    fn due_match_reply(&mut self, peer: Peer, head: &mut Writer) -> Option<Due> {
        let (asker, pattern) = self.flow(peer)?.query?;
        let found = self.first_unsent(peer, &pattern);
        match found.and_then(|slot| Some((slot, self.held_envelope(slot)?))) {
            Some((slot, (sender, envelope))) => {
                head.begin(Kind::MatchReply).put(&asker).put(&sender);
                head.put(&length::<C>(envelope.len()))
                    .put(&envelope.header());
                Some(Due::MatchReply(slot))
            }
            None => {
                head.begin(Kind::NoMatch).put(&asker);
                Some(Due::NoMatch)
            }
        }
    }

    /// Returns the envelope of a held send; `None` if it was cancelled after it was offered.
    fn held_envelope(&self, slot: u32) -> Option<(Handle, Envelope<H, C>)> {
        let operation = self.operations.get(slot)?;
        if matches!(operation.state, OpState::Offered { cancel: true, .. }) {
            return None;
        }
        let generation = operation.generation;
        Some((Ticket::new(slot, generation).handle(), operation.envelope?))
    }

    /// Writes the Hold notice that is due. After "none" the notice "some" may be due again.
    pub(super) fn due_hold(&mut self, peer: Peer, head: &mut Writer) -> Option<Due> {
        let holds = self.peer_state(peer)?.hold_notice()?;
        head.begin(Kind::Hold).put(&u8::from(holds));
        Some(Due::Hold(holds))
    }

    /// Writes the head of the next notice to a peer: of held messages, a query if it holds some, and of credit that no
    /// other frame has carried.
    pub(super) fn due_notice(&mut self, peer: Peer, head: &mut Writer) -> Option<Due> {
        if let Some(due) = self.due_hold(peer, head) {
            return Some(due);
        }
        if let Some(query) = self.due_query(peer) {
            let (handle, pattern, due) = match query {
                MatchQuery::Receive(handle, pattern, sequence) => {
                    (handle, pattern, Due::ReceiveQuery(sequence))
                }
                MatchQuery::Probe(handle, pattern, generation) => {
                    (handle, pattern, Due::ProbeQuery(generation))
                }
            };
            head.begin(Kind::MatchQuery).put(&handle).put(&pattern);
            return Some(due);
        }
        let credit = self.credit;
        if !self.peer_state(peer)?.must_return_credit(credit) {
            return None;
        }
        head.begin(Kind::Credit);
        Some(Due::Credit)
    }

    /// Records that the frame has left.
    pub(super) fn left(&mut self, peer: Peer, due: Due) {
        match due {
            Due::Credit => return,
            Due::Fin => return self.fin_sent(peer),
            Due::Release(generation) => {
                if let Some(probes) = self.probes.get_mut() {
                    probes.drop_question(generation);
                }
                return;
            }
            Due::Hold(true) => self.counters.count(Counter::Held),
            Due::MatchReply(slot) => self.replied(peer, slot),
            Due::ReceiveQuery(_) | Due::ProbeQuery(_) => self.counters.count(Counter::Pulled),
            Due::Recall(me) => {
                if let Some(operation) = self.operations.get_mut(me.slot())
                    && let OpState::Offered { asked, .. } = &mut operation.state
                {
                    *asked = true;
                }
            }
            _ => {}
        }
        let Some(flow) = self.flow(peer) else {
            return;
        };
        match due {
            Due::Hold(holds) => {
                flow.hold_sent = holds;
                flow.answered_none = false;
                flow.unsent_since_hold = false;
                flow.withdrawn_since_hold = false;
            }
            Due::CancelReply => flow.cancel_reply = None,
            Due::Reject => flow.reject = None,
            Due::Recall(_) => flow.cancelling = true,
            Due::MatchReply(_) => flow.query = None,
            Due::NoMatch => {
                flow.answered_none = true;
                flow.query = None;
            }
            Due::ReceiveQuery(sequence) => {
                flow.query_sent = QuerySent::Receive;
                flow.queried = sequence;
            }
            Due::ProbeQuery(generation) => {
                flow.query_sent = QuerySent::Probe(generation);
                flow.probed = generation;
            }
            Due::Fin | Due::Release(_) | Due::Credit => {}
        }
    }
}
