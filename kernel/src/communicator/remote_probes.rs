//! The questions of probes to senders that hold messages back, and what was answered. It knows no peer: `state` keeps
//! it, `probe` asks by it.

use crate::composition::Config;
use crate::envelope::Envelope;
use crate::frame::Handle;
use crate::header::{Header, Pattern, Peer};
use zerocopy::IntoBytes;

/// Patterns whose questions are out at a time. A further one takes the place of one that was answered "none", or of an
/// answer that nobody has come for in [`MAX_AGE`] probes; else it waits.
pub(super) const MAX_QUERIES: usize = 4;
const MAX_AGE: u32 = 64;

/// Questions of probes.
pub(crate) struct ProbeQueries<H: Header, C: Config> {
    /// Peers that hold messages back for us: whom to ask.
    pub(crate) holders: usize,
    pub(super) places: [Option<ProbeQuery<H, C>>; MAX_QUERIES],
    pub(super) generation: u32,
    /// Probes so far.
    calls: u32,
    /// The first pattern that found no place, and when: the next place is its own, or everybody's after [`MAX_AGE`].
    waiting: Option<(H::Pattern, u32)>,
}

pub(super) struct ProbeQuery<H: Header, C: Config> {
    pattern: H::Pattern,
    pub(super) generation: u32,
    /// The last call that asked for it.
    called: u32,
    /// A matched probe has asked: it wants the answer kept.
    keep: bool,
    pub(super) answer: Answer<Envelope<H, C>>,
}

/// What is known about a question.
#[derive(Clone, Copy)]
pub(super) enum Answer<E> {
    Pending,
    /// There was such a message. It may have been sent since.
    Known(E),
    /// A probe has said so.
    Reported(E),
    /// The sender keeps this message back.
    Kept(E),
    /// And is to be told that it was claimed (`true`), or that it need not.
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

    /// The oldest open question behind that generation that concerns a peer.
    pub(crate) fn after(&self, generation: u32, peer: Peer) -> Option<(u32, H::Pattern)> {
        let open = self.places.iter().flatten().filter(|probe| {
            probe.is_open()
                && is_newer(probe.generation, generation)
                && probe.pattern.source().is_none_or(|source| source == peer)
        });
        open.map(|probe| (probe.generation, probe.pattern))
            .min_by_key(|&(open, _)| open.wrapping_sub(generation))
    }

    /// A sender has a match. Does it keep the message back from now on, or already?
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

    /// Is it kept back for some matched probe?
    fn is_kept(&self, message: &Envelope<H, C>) -> bool {
        self.places
            .iter()
            .flatten()
            .any(|probe| probe.keeps(message))
    }

    /// A message is kept back no longer: a matched probe takes it (`accepted`), or nobody wants it kept. It may just be
    /// on its way as the answer to other questions: those are put again.
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

    /// What a sender is to be told of a message that it keeps back: which one, and whether it was claimed.
    pub(crate) fn pending_release(&self, peer: Peer) -> Option<(u32, Handle, bool)> {
        self.places.iter().flatten().find_map(|probe| {
            let Answer::Released(envelope, accepted) = &probe.answer else {
                return None;
            };
            let sender = envelope.announced().filter(|_| envelope.peer() == peer)?;
            Some((probe.generation, sender.0, *accepted))
        })
    }

    /// Forgets a question and its answer.
    pub(crate) fn drop_question(&mut self, generation: u32) {
        for place in &mut self.places {
            place.take_if(|probe| probe.generation == generation);
        }
    }

    /// A peer is lost.
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

/// What asking the holders has come to.
pub(super) enum AskResult<E> {
    Known(E),
    /// The question is to be put.
    Send,
    /// It will be, when that sender knows that it need not keep a message back any more.
    ReleaseFirst(Peer),
    /// It is out, or there is nobody to ask, or others are first.
    Wait,
}

impl<H: Header, C: Config> ProbeQueries<H, C> {
    /// Finds the answer to a question, or puts it.
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
            // Answered with "none", said once, or not kept: that was then.
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
            // The place is free when the sender knows.
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

    /// May this pattern put a question? Not before one that has waited longer.
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

    /// Where the question of a pattern is.
    pub(super) fn place_of(&self, pattern: &H::Pattern) -> Option<usize> {
        let same = |probe: &ProbeQuery<H, C>| {
            let over = matches!(probe.answer, Answer::Released(..));
            !over && probe.pattern.as_bytes() == pattern.as_bytes()
        };
        let mut places = self.places.iter();
        places.position(|place| place.as_ref().is_some_and(same))
    }

    /// A place for a new question: a free one, or the one that is missed least.
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

/// Generations wrap: which of two is newer is told by their distance.
pub(super) fn is_newer(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) <= u32::MAX / 2
}
