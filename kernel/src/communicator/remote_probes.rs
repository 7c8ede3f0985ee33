//! The queries of probes to senders that hold messages, and the answers. It is independent of peer states: `state`
//! keeps it, and `probe` uses it.

use crate::config::Config;
use crate::envelope::Envelope;
use crate::frame::Handle;
use crate::header::{Header, Pattern, Peer};
use zerocopy::IntoBytes;

/// Number of patterns whose queries may be open at a time. A further one replaces one that was answered "none", or an
/// answer that no probe has asked for in [`MAX_AGE`] probes; otherwise it waits.
pub(super) const MAX_QUERIES: usize = 4;
const MAX_AGE: u32 = 64;

/// The open queries of probes.
pub(crate) struct ProbeQueries<H: Header, C: Config> {
    /// Number of peers that hold messages for this process, and are to be queried.
    pub(crate) holders: usize,
    pub(super) places: [Option<ProbeQuery<H, C>>; MAX_QUERIES],
    pub(super) generation: u32,
    /// Number of probes so far.
    calls: u32,
    /// The first pattern that found no free entry, and the probe at which it did: the next free entry is reserved for
    /// it, until [`MAX_AGE`] probes have passed.
    waiting: Option<(H::Pattern, u32)>,
}

pub(super) struct ProbeQuery<H: Header, C: Config> {
    pattern: H::Pattern,
    pub(super) generation: u32,
    /// The last call that asked for this pattern.
    called: u32,
    /// A matched probe has asked, so the sender is to keep the message.
    keep: bool,
    pub(super) answer: Answer<Envelope<H, C>>,
}

/// The answer to a query.
#[derive(Clone, Copy)]
pub(super) enum Answer<E> {
    Pending,
    /// There was such a message. Its sender may have sent it since.
    Known(E),
    /// A probe has returned this answer.
    Reported(E),
    /// The sender keeps this message.
    Kept(E),
    /// The sender kept this message and is to be told whether it was accepted (`true`) or released.
    Released(E, bool),
}

impl<H: Header, C: Config> ProbeQuery<H, C> {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.answer, Answer::Pending)
    }

    fn keeps(&self, message: &Envelope<H, C>) -> bool {
        matches!(&self.answer, Answer::Kept(envelope)
            if envelope.peer() == message.peer() && envelope.announced() == message.announced())
    }
}

impl<H: Header, C: Config> ProbeQueries<H, C> {
    pub(crate) fn new() -> Self {
        ProbeQueries {
            holders: 0,
            places: [const { None }; MAX_QUERIES],
            generation: 0,
            calls: 0,
            waiting: None,
        }
    }

    /// Returns whether a peer holds messages, or a query is not over.
    #[inline]
    pub(super) fn is_in_use(&self) -> bool {
        // Without a query so far there is no entry.
        self.holders > 0 || self.generation != 0 && self.places.iter().any(Option::is_some)
    }

    /// Returns the oldest open query after that generation that concerns a peer.
    pub(crate) fn after(&self, generation: u32, peer: Peer) -> Option<(u32, H::Pattern)> {
        let mut oldest: Option<&ProbeQuery<H, C>> = None;
        for probe in self.places.iter().flatten() {
            if probe.is_open()
                && is_newer(probe.generation, generation)
                && probe.pattern.source().is_none_or(|source| source == peer)
                && oldest.is_none_or(|oldest| is_newer(oldest.generation, probe.generation))
            {
                oldest = Some(probe);
            }
        }
        oldest.map(|probe| (probe.generation, probe.pattern))
    }

    /// Records a sender's match. Returns whether the sender keeps the message from now on, or already does.
    pub(crate) fn answer(&mut self, generation: u32, envelope: Envelope<H, C>) -> bool {
        let kept = self.is_kept(&envelope);
        let mut probes = self.places.iter_mut().flatten();
        let asked = probes.find(|probe| probe.generation == generation && probe.is_open());
        let Some(probe) = asked else {
            return kept;
        };
        probe.answer = match probe.keep && !kept {
            true => Answer::Kept(envelope),
            false => Answer::Known(envelope),
        };
        kept || probe.keep
    }

    /// Returns whether the message is kept for a matched probe.
    fn is_kept(&self, message: &Envelope<H, C>) -> bool {
        self.places
            .iter()
            .flatten()
            .any(|probe| probe.keeps(message))
    }

    /// Releases a kept message: a matched probe takes it (`accepted`), or no probe wants it. It may be in flight as the
    /// answer to other queries: those are sent again.
    pub(crate) fn release(&mut self, message: &Envelope<H, C>, accepted: bool) {
        for place in &mut self.places {
            let Some(probe) = place else { continue };
            if probe.keeps(message) {
                probe.answer = Answer::Released(*message, accepted);
            } else if probe.is_open() && probe.pattern.matches(message.peer(), &message.header()) {
                *place = None;
            }
        }
    }

    /// Returns the due notice to a sender about a message that it keeps: which one, and whether it was accepted.
    pub(crate) fn pending_release(&self, peer: Peer) -> Option<(u32, Handle, bool)> {
        self.places.iter().flatten().find_map(|probe| {
            let Answer::Released(envelope, accepted) = &probe.answer else {
                return None;
            };
            let sender = envelope.announced().filter(|_| envelope.peer() == peer)?;
            Some((probe.generation, sender.0, *accepted))
        })
    }

    /// Drops a query and its answer.
    pub(crate) fn drop_question(&mut self, generation: u32) {
        for place in &mut self.places {
            place.take_if(|probe| probe.generation == generation);
        }
    }

    /// Drops the answers of a lost peer.
    pub(crate) fn lose(&mut self, peer: Peer) {
        for place in &mut self.places {
            place.take_if(|probe| match &probe.answer {
                Answer::Pending => false,
                Answer::Known(envelope)
                | Answer::Reported(envelope)
                | Answer::Kept(envelope)
                | Answer::Released(envelope, _) => envelope.peer() == peer,
            });
        }
    }
}

/// The result of a look-up among the holders.
pub(super) enum AskResult<E> {
    Known(E),
    /// The query is to be sent.
    Send,
    /// The query must wait until that sender knows that it need not keep a message any more.
    ReleaseFirst(Peer),
    /// The query is in flight, there is no holder, or other patterns have precedence.
    Wait,
}

impl<H: Header, C: Config> ProbeQueries<H, C> {
    /// Finds the answer to a query, or decides whether to send it.
    pub(super) fn ask(
        &mut self,
        pattern: H::Pattern,
        keep: bool,
        is_out: impl Fn(u32, Option<Peer>) -> bool,
    ) -> AskResult<Envelope<H, C>> {
        self.calls = self.calls.wrapping_add(1);
        if let Some(index) = self.place_of(&pattern)
            && let Some(probe) = &mut self.places[index]
        {
            probe.called = self.calls;
            probe.keep |= keep;
            let (answer, generation) = (probe.answer, probe.generation);
            match answer {
                Answer::Kept(envelope) => return AskResult::Known(envelope),
                Answer::Known(envelope) if !keep => {
                    probe.answer = Answer::Reported(envelope);
                    return AskResult::Known(envelope);
                }
                Answer::Known(envelope) if self.is_kept(&envelope) => {
                    self.places[index] = None;
                    return AskResult::Known(envelope);
                }
                Answer::Pending if is_out(generation, pattern.source()) => return AskResult::Wait,
                _ => {}
            }
            // The answer was "none", has been reported once, or is not kept: it may be outdated.
            self.places[index] = None;
        }
        if self.holders == 0 || !self.is_first(&pattern, &is_out) {
            return AskResult::Wait;
        }
        let Some(index) = self.free(&is_out) else {
            return AskResult::Wait;
        };
        if let Some(probe) = &self.places[index]
            && let Answer::Kept(envelope) = probe.answer
        {
            // The entry becomes free when the sender has been told.
            self.release(&envelope, false);
            self.waiting = Some((pattern, self.calls));
            return AskResult::ReleaseFirst(envelope.peer());
        }
        self.waiting = None;
        self.generation = self.generation.wrapping_add(1).max(1);
        self.places[index] = Some(ProbeQuery {
            pattern,
            generation: self.generation,
            called: self.calls,
            keep,
            answer: Answer::Pending,
        });
        AskResult::Send
    }

    /// Returns whether this pattern may open a query, which it may not before one that has waited longer.
    fn is_first(
        &mut self,
        pattern: &H::Pattern,
        is_out: impl Fn(u32, Option<Peer>) -> bool,
    ) -> bool {
        match &self.waiting {
            Some((first, since)) if self.calls.wrapping_sub(*since) <= MAX_AGE => {
                first.as_bytes() == pattern.as_bytes()
            }
            _ => {
                if self.free(is_out).is_none() {
                    self.waiting = Some((*pattern, self.calls));
                }
                true
            }
        }
    }

    /// Returns the index of the query of a pattern.
    pub(super) fn place_of(&self, pattern: &H::Pattern) -> Option<usize> {
        let same = |probe: &ProbeQuery<H, C>| {
            let over = matches!(probe.answer, Answer::Released(..));
            !over && probe.pattern.as_bytes() == pattern.as_bytes()
        };
        let mut places = self.places.iter();
        places.position(|place| place.as_ref().is_some_and(same))
    }

    /// Returns an entry for a new query: a free one, or the least needed one.
    fn free(&self, is_out: impl Fn(u32, Option<Peer>) -> bool) -> Option<usize> {
        self.places.iter().position(Option::is_none).or_else(|| {
            let age = |probe: &ProbeQuery<H, C>| self.calls.wrapping_sub(probe.called);
            let spent = |probe: &ProbeQuery<H, C>| match probe.answer {
                Answer::Pending => !is_out(probe.generation, probe.pattern.source()),
                Answer::Reported(_) => true,
                Answer::Known(_) | Answer::Kept(_) => age(probe) > MAX_AGE,
                Answer::Released(..) => false,
            };
            let probes = self.places.iter().enumerate();
            let probes = probes.filter_map(|(i, place)| Some((i, place.as_ref()?)));
            let spent = probes.filter(|(_, probe)| spent(probe));
            spent
                .max_by_key(|(_, probe)| (!matches!(probe.answer, Answer::Kept(_)), age(probe)))
                .map(|(index, _)| index)
        })
    }
}

/// Compares generations by their distance, as they wrap around.
pub(super) fn is_newer(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) <= u32::MAX / 2
}
