//! Probes: return the first message that a receive would match, without taking it.
//!
//! A probe that finds no message here queries the senders that hold messages. The query outlives the call: the next
//! probe with the same pattern finds its reply, also if probes with other patterns came in between. A message offered
//! to a matched probe stays with its sender until a matched probe takes it, a matching receive is posted, or no probe
//! asks for it and its entry is needed.

use super::peer_state::{PeerState, QuerySent};
use super::remote_probes::{Answer, AskResult, MAX_QUERIES, ProbeQuery, is_newer};
use super::state::State;
use crate::aspect::Maybe;
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::header::{Header, Pattern, Peer};
use crate::matching::{Matcher, Unexpected};

impl<H: Header, C: Config> State<H, C> {
    /// Returns the first message that a receive with this pattern would match. Returns `None` if none is known yet:
    /// holders are queried, so make progress and probe again.
    pub(crate) fn probe(&mut self, pattern: H::Pattern) -> Result<Option<Envelope<H, C>>, Error> {
        let here = self.unexpected.find(&pattern);
        if let Some(arrived) = here.and_then(|place| self.unexpected.get(place)) {
            return Ok(Some(arrived.envelope));
        }
        self.ask(pattern, false)
    }

    /// Looks for a match among the messages that senders hold; with `keep` the answer stays valid until it is dropped.
    pub(crate) fn ask(
        &mut self,
        pattern: H::Pattern,
        keep: bool,
    ) -> Result<Option<Envelope<H, C>>, Error> {
        let source = pattern.source();
        if let Some(peer) = source
            && self.peer_state(peer).ok_or(Error::NoSuchPeer(peer))?.dead
        {
            return Err(Error::PeerLost(peer));
        }
        let State {
            probes,
            peer_states,
            ..
        } = self;
        let Some(probes) = probes.get_mut().filter(|_| <C::Matcher as Matcher>::QUEUES) else {
            return Ok(None);
        };
        let is_out = |generation, source| is_out(peer_states.as_ref(), generation, source);
        match probes.ask(pattern, keep, is_out) {
            AskResult::Known(envelope) => return Ok(Some(envelope)),
            AskResult::Send => self.mark_holders(source),
            AskResult::ReleaseFirst(peer) => self.mark_pending(peer),
            AskResult::Wait => {}
        }
        Ok(None)
    }

    /// Returns whether a probe has found a matching message, which its sender keeps, and no receive has matched it
    /// since.
    pub(crate) fn has_answer(&self, pattern: &H::Pattern) -> bool {
        let told = |probe: &ProbeQuery<H, C>| match &probe.answer {
            Answer::Reported(envelope) => pattern.matches(envelope.peer(), &envelope.header()),
            _ => false,
        };
        let probes = self.probes.get();
        probes.is_some_and(|probes| probes.places.iter().flatten().any(told))
    }

    /// Returns whether the query of a probe with this pattern is in flight.
    pub(crate) fn is_querying(&self, pattern: &H::Pattern) -> bool {
        let asking = |probe: &ProbeQuery<H, C>| {
            probe.is_open()
                && is_out(
                    self.peer_states.as_ref(),
                    probe.generation,
                    pattern.source(),
                )
        };
        let probes = self.probes.get();
        let query = probes.and_then(|it| it.places[it.place_of(pattern)?].as_ref());
        query.is_some_and(asking)
    }

    /// Drops the answers for which `untrue` holds (its second argument says that the sender keeps the message and is to
    /// be told).
    #[inline]
    pub(crate) fn forget(&mut self, untrue: impl Fn(&Envelope<H, C>, bool) -> bool) {
        // Without a query so far there is nothing to drop.
        if self.has_queried() {
            self.forget_answers(&untrue);
        }
    }

    /// Returns whether a probe has ever queried a peer.
    #[inline]
    pub(crate) fn has_queried(&self) -> bool {
        self.probes.get().is_some_and(|it| it.generation != 0)
    }

    #[inline(never)]
    fn forget_answers(&mut self, untrue: &dyn Fn(&Envelope<H, C>, bool) -> bool) {
        for index in 0..MAX_QUERIES {
            let Some(probes) = self.probes.get_mut() else {
                return;
            };
            let Some(probe) = &probes.places[index] else {
                continue;
            };
            match probe.answer {
                Answer::Known(envelope) | Answer::Reported(envelope)
                    if untrue(&envelope, false) =>
                {
                    probes.places[index] = None;
                }
                Answer::Kept(envelope) if untrue(&envelope, true) => {
                    probes.release(&envelope, false);
                    self.mark_pending(envelope.peer());
                }
                _ => {}
            }
        }
    }
}

/// Returns whether a query is still to be sent to a holder, or to be answered by one.
fn is_out<H: Header, C: Config>(
    peer_states: &[PeerState<H, C>],
    generation: u32,
    source: Option<Peer>,
) -> bool {
    peer_states.iter().enumerate().any(|(index, state)| {
        let concerned = source.is_none_or(|peer| peer.index() == index);
        concerned
            && state.flow.get().is_some_and(|flow| {
                flow.peer_holds
                    && (is_newer(generation, flow.probed)
                        || flow.query_sent == QuerySent::Probe(generation))
            })
    })
}
