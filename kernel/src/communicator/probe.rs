//! Probes: the first message that a receive would take, without taking it.
//!
//! A probe that no message here answers asks the senders that hold messages back. The question outlives the call:
//! the next probe with the same pattern finds its answer, also when probes with other patterns came in between.

use super::hold::Pulling;
use super::state::State;
use crate::aspect::{HoldState, Transfer};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::header::{Header, Node, Pattern};
use crate::matching::Unexpected;
use zerocopy::IntoBytes;

/// Patterns whose questions are out at a time. A further one waits until one of them has been answered with "none".
const PLACES: usize = 4;

/// Questions of probes.
pub(crate) struct Probes<H: Header, C: Config> {
    places: [Option<Probe<H, C>>; PLACES],
    generation: u32,
    /// A pattern found no place: the next question that ends without an answer leaves its place.
    crowded: bool,
}

struct Probe<H: Header, C: Config> {
    pattern: H::Pattern,
    generation: u32,
    answer: Option<Envelope<H, C>>,
}

impl<H: Header, C: Config> Probes<H, C> {
    pub(crate) fn new() -> Self {
        Probes {
            places: [const { None }; PLACES],
            generation: 0,
            crowded: false,
        }
    }

    /// The oldest open question behind that generation that concerns a node.
    pub(crate) fn after(&self, generation: u32, node: Node) -> Option<(u32, H::Pattern)> {
        let open = self.places.iter().flatten().filter(|probe| {
            probe.answer.is_none()
                && newer(probe.generation, generation)
                && probe.pattern.source().is_none_or(|source| source == node)
        });
        open.map(|probe| (probe.generation, probe.pattern))
            .min_by_key(|&(open, _)| open.wrapping_sub(generation))
    }

    /// A sender has a match.
    pub(crate) fn answer(&mut self, generation: u32, envelope: Envelope<H, C>) {
        for probe in self.places.iter_mut().flatten() {
            if probe.generation == generation && probe.answer.is_none() {
                probe.answer = Some(envelope);
            }
        }
    }

    /// A receive was posted: answers that it could take are no longer true.
    #[inline]
    pub(crate) fn forget(&mut self, pattern: &H::Pattern) {
        if !<C::Transfer as Transfer>::RENDEZVOUS {
            return;
        }
        for place in &mut self.places {
            let taken = |probe: &Probe<H, C>| {
                let answer = probe.answer.as_ref();
                answer.is_some_and(|envelope| pattern.matches(envelope.node(), &envelope.header()))
            };
            if place.as_ref().is_some_and(taken) {
                *place = None;
            }
        }
    }

    /// A node will not send any more: answers that it gave are no longer true.
    pub(crate) fn lose(&mut self, node: Node) {
        for place in &mut self.places {
            let answer = place.as_ref().and_then(|probe| probe.answer.as_ref());
            if answer.is_some_and(|envelope| envelope.node() == node) {
                *place = None;
            }
        }
    }

    /// Puts a new question. False when there is no place for it.
    fn ask(&mut self, pattern: H::Pattern) -> bool {
        let Some(place) = self.places.iter_mut().find(|place| place.is_none()) else {
            self.crowded = true;
            return false;
        };
        self.generation = self.generation.wrapping_add(1);
        *place = Some(Probe {
            pattern,
            generation: self.generation,
            answer: None,
        });
        true
    }
}

impl<H: Header, C: Config> State<H, C> {
    /// The first message that a receive with this pattern would take. `None` says that none is known yet: holders
    /// are asked, so make progress and probe again.
    pub(crate) fn probe(&mut self, pattern: H::Pattern) -> Result<Option<Envelope<H, C>>, Error> {
        let here = self.unexpected.find(&pattern);
        if let Some(arrived) = here.and_then(|place| self.unexpected.get(place)) {
            return Ok(Some(arrived.envelope));
        }
        let source = pattern.source();
        if let Some(node) = source
            && self.peer(node).ok_or(Error::NoSuchNode(node))?.gone
        {
            return Err(Error::PeerLost(node));
        }
        if !<C::Transfer as Transfer>::RENDEZVOUS {
            return Ok(None);
        }
        let same = |probe: &Probe<H, C>| probe.pattern.as_bytes() == pattern.as_bytes();
        let known = self
            .probes
            .places
            .iter()
            .position(|place| place.as_ref().is_some_and(same));
        if let Some(index) = known
            && let Some(place) = self.probes.places.get_mut(index)
        {
            let Some(probe) = place else { return Ok(None) };
            if probe.answer.is_some() {
                return Ok(place.take().and_then(|probe| probe.answer));
            }
            let generation = probe.generation;
            if self.is_out(generation, source) {
                return Ok(None);
            }
            self.probes.places[index] = None;
            if core::mem::take(&mut self.probes.crowded) {
                return Ok(None);
            }
        }
        if self.holders > 0 && self.probes.ask(pattern) {
            self.wake_holders(source);
        }
        Ok(None)
    }

    /// Is a question still to be put to, or to be answered by, a holder?
    fn is_out(&self, generation: u32, source: Option<Node>) -> bool {
        self.peers.as_ref().iter().enumerate().any(|(index, peer)| {
            let concerned = source.is_none_or(|node| node.index() == index);
            concerned
                && peer.hold.get().is_some_and(|hold| {
                    hold.holds
                        && (newer(generation, hold.probed)
                            || hold.pulling == Pulling::Probe(generation))
                })
        })
    }
}

/// Generations wrap: which of two is newer is told by their distance.
fn newer(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) <= u32::MAX / 2
}
