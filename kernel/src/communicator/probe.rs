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
use crate::matching::{Matcher, Unexpected};
use zerocopy::IntoBytes;

/// Patterns whose questions are out at a time. A further one takes the place of one that was answered "none", or of an
/// answer that nobody has come for in [`PATIENCE`] probes; else it waits.
const PLACES: usize = 4;
const PATIENCE: u32 = 64;

/// Questions of probes.
pub(crate) struct Probes<H: Header, C: Config> {
    places: [Option<Probe<H, C>>; PLACES],
    generation: u32,
    /// Probes so far.
    calls: u32,
    /// The first pattern that found no place, and when: the next place is its own, or everybody's after [`PATIENCE`].
    waiting: Option<(H::Pattern, u32)>,
}

struct Probe<H: Header, C: Config> {
    pattern: H::Pattern,
    generation: u32,
    /// The last call that asked for it.
    called: u32,
    answer: Option<Envelope<H, C>>,
    /// A matched probe wants it: the sender keeps the message back for it until it is claimed or declined.
    keep: bool,
}

impl<H: Header, C: Config> Probes<H, C> {
    pub(crate) fn new() -> Self {
        Probes {
            places: [const { None }; PLACES],
            generation: 0,
            calls: 0,
            waiting: None,
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

    /// A sender has a match. Must it keep the message back?
    pub(crate) fn answer(&mut self, generation: u32, envelope: Envelope<H, C>) -> bool {
        let mut probes = self.places.iter_mut().flatten();
        let asked = probes.find(|probe| probe.generation == generation && probe.answer.is_none());
        asked.is_some_and(|probe| {
            probe.answer = Some(envelope);
            probe.keep
        })
    }

    /// Is there an answer to that question, kept for a matched probe?
    pub(crate) fn keeps(&self, generation: u32) -> bool {
        let mut probes = self.places.iter().flatten();
        probes.any(|probe| probe.generation == generation && probe.answer.is_some())
    }

    /// Has nobody come for the answer to that question for a long time?
    pub(crate) fn is_stale(&self, generation: u32) -> bool {
        let mut probes = self.places.iter().flatten();
        let asked = probes.find(|probe| probe.generation == generation);
        asked.is_none_or(|probe| self.calls.wrapping_sub(probe.called) > PATIENCE)
    }

    /// Forgets a question and its answer.
    pub(crate) fn drop_question(&mut self, generation: u32) {
        for place in &mut self.places {
            place.take_if(|probe| probe.generation == generation);
        }
    }

    /// Answers that name this message are no longer true.
    pub(crate) fn forget_message(&mut self, envelope: &Envelope<H, C>) {
        let same = |answer: &Envelope<H, C>| {
            answer.node() == envelope.node() && answer.announced() == envelope.announced()
        };
        for place in &mut self.places {
            place.take_if(|probe| probe.answer.as_ref().is_some_and(same));
        }
    }

    /// A receive was posted: answers that it could take are no longer true. Was one of them kept back by its sender?
    #[inline]
    pub(crate) fn forget(&mut self, pattern: &H::Pattern) -> bool {
        if !<C::Transfer as Transfer>::RENDEZVOUS {
            return false;
        }
        let mut kept = false;
        for place in &mut self.places {
            let taken = |probe: &mut Probe<H, C>| {
                let answer = probe.answer.as_ref();
                answer.is_some_and(|envelope| pattern.matches(envelope.node(), &envelope.header()))
            };
            kept |= place.take_if(taken).is_some_and(|probe| probe.keep);
        }
        kept
    }

    /// Answers that a node gave may no longer be true.
    pub(crate) fn forget_node(&mut self, node: Node) {
        for place in &mut self.places {
            let answer = place.as_ref().and_then(|probe| probe.answer.as_ref());
            if answer.is_some_and(|envelope| envelope.node() == node) {
                *place = None;
            }
        }
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
        self.ask(pattern, false)
    }

    /// The same among the messages that senders hold back; with `keep` the answer stays true until it is forgotten.
    pub(crate) fn ask(
        &mut self,
        pattern: H::Pattern,
        keep: bool,
    ) -> Result<Option<Envelope<H, C>>, Error> {
        let source = pattern.source();
        if let Some(node) = source
            && self.peer(node).ok_or(Error::NoSuchNode(node))?.gone
        {
            return Err(Error::PeerLost(node));
        }
        if !<C::Transfer as Transfer>::RENDEZVOUS || !<C::Matcher as Matcher>::QUEUES {
            return Ok(None);
        }
        self.probes.calls = self.probes.calls.wrapping_add(1);
        if let Some(index) = self.place_of(&pattern)
            && let Some(place) = self.probes.places.get_mut(index)
            && let Some(probe) = place
        {
            probe.called = self.probes.calls;
            match probe.answer {
                Some(envelope) if probe.keep => return Ok(Some(envelope)),
                Some(envelope) => {
                    *place = None;
                    if !keep {
                        return Ok(Some(envelope));
                    }
                    // The sender may have sent it since.
                }
                None => {
                    probe.keep |= keep;
                    let generation = probe.generation;
                    if self.is_out(generation, source) {
                        // An answer that nobody comes for may be in the way.
                        self.wake_holders(source);
                        return Ok(None);
                    }
                    // Answered with "none": that was then.
                    self.probes.places[index] = None;
                }
            }
        }
        if self.holders > 0
            && self.is_first(&pattern)
            && let Some(index) = self.free_probe()
        {
            self.probes.waiting = None;
            self.probes.generation = self.probes.generation.wrapping_add(1);
            self.probes.places[index] = Some(Probe {
                pattern,
                generation: self.probes.generation,
                called: self.probes.calls,
                answer: None,
                keep,
            });
            // To put the question, and to let go of what made room for it.
            self.wake_holders(None);
        }
        Ok(None)
    }

    /// May this pattern put a question? Not before one that has waited longer.
    fn is_first(&mut self, pattern: &H::Pattern) -> bool {
        let calls = self.probes.calls;
        match &self.probes.waiting {
            Some((first, since)) if calls.wrapping_sub(*since) <= PATIENCE => {
                first.as_bytes() == pattern.as_bytes()
            }
            _ => {
                if self.free_probe().is_none() {
                    self.probes.waiting = Some((*pattern, calls));
                }
                true
            }
        }
    }

    /// Where the question of a pattern is.
    fn place_of(&self, pattern: &H::Pattern) -> Option<usize> {
        let same = |probe: &Probe<H, C>| probe.pattern.as_bytes() == pattern.as_bytes();
        let mut places = self.probes.places.iter();
        places.position(|place| place.as_ref().is_some_and(same))
    }

    /// A place for a new question: a free one, or the one that is missed least.
    fn free_probe(&self) -> Option<usize> {
        let places = &self.probes.places;
        places.iter().position(Option::is_none).or_else(|| {
            let age = |probe: &Probe<H, C>| self.probes.calls.wrapping_sub(probe.called);
            let spent = |probe: &Probe<H, C>| match probe.answer {
                Some(_) => age(probe) > PATIENCE,
                None => !self.is_out(probe.generation, probe.pattern.source()),
            };
            let probes = places
                .iter()
                .enumerate()
                .filter_map(|(i, place)| Some((i, place.as_ref()?)));
            let spent = probes.filter(|(_, probe)| spent(probe));
            spent
                .max_by_key(|(_, probe)| age(probe))
                .map(|(index, _)| index)
        })
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
