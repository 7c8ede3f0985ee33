//! The questions of probes to senders that hold messages back, and what was answered. It knows no peer: `state` keeps
//! it, `probe` asks by it.

use crate::config::Config;
use crate::envelope::Envelope;
use crate::frame::Handle;
use crate::header::{Header, Node, Pattern};
use zerocopy::IntoBytes;

/// Patterns whose questions are out at a time. A further one takes the place of one that was answered "none", or of an
/// answer that nobody has come for in [`PATIENCE`] probes; else it waits.
pub(super) const PLACES: usize = 4;
const PATIENCE: u32 = 64;

/// Questions of probes.
pub(crate) struct Probes<H: Header, C: Config> {
    /// Peers that hold messages back for us: whom to ask.
    pub(crate) holders: usize,
    pub(super) places: [Option<Probe<H, C>>; PLACES],
    pub(super) generation: u32,
    /// Probes so far.
    calls: u32,
    /// The first pattern that found no place, and when: the next place is its own, or everybody's after [`PATIENCE`].
    waiting: Option<(H::Pattern, u32)>,
}

pub(super) struct Probe<H: Header, C: Config> {
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
    Nothing,
    /// There was such a message. It may have been sent since.
    Known(E),
    /// A probe has said so.
    Told(E),
    /// The sender keeps this message back.
    Kept(E),
    /// And is to be told that it was claimed (`true`), or that it need not.
    Over(E, bool),
}

impl<H: Header, C: Config> Probe<H, C> {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.answer, Answer::Nothing)
    }

    fn keeps(&self, message: &Envelope<H, C>) -> bool {
        matches!(&self.answer, Answer::Kept(envelope)
            if envelope.node() == message.node() && envelope.announced() == message.announced())
    }
}

impl<H: Header, C: Config> Probes<H, C> {
    pub(crate) fn new() -> Self {
        Probes {
            holders: 0,
            places: [const { None }; PLACES],
            generation: 0,
            calls: 0,
            waiting: None,
        }
    }

    /// The oldest open question behind that generation that concerns a node.
    pub(crate) fn after(&self, generation: u32, node: Node) -> Option<(u32, H::Pattern)> {
        let open = self.places.iter().flatten().filter(|probe| {
            probe.is_open()
                && newer(probe.generation, generation)
                && probe.pattern.source().is_none_or(|source| source == node)
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

    /// A message is kept back no longer: a matched probe takes it (`claimed`), or nobody wants it kept. It may just be
    /// on its way as the answer to other questions: those are put again.
    pub(crate) fn release(&mut self, message: &Envelope<H, C>, claimed: bool) {
        for place in &mut self.places {
            let Some(probe) = place else { continue };
            if probe.keeps(message) {
                probe.answer = Answer::Over(*message, claimed);
            } else if probe.is_open() && probe.pattern.matches(message.node(), &message.header()) {
                *place = None;
            }
        }
    }

    /// What a sender is to be told of a message that it keeps back: which one, and whether it was claimed.
    pub(crate) fn verdict(&self, node: Node) -> Option<(u32, Handle, bool)> {
        self.places.iter().flatten().find_map(|probe| {
            let Answer::Over(envelope, claimed) = &probe.answer else {
                return None;
            };
            let sender = envelope.announced().filter(|_| envelope.node() == node)?;
            Some((probe.generation, sender.0, *claimed))
        })
    }

    /// Forgets a question and its answer.
    pub(crate) fn drop_question(&mut self, generation: u32) {
        for place in &mut self.places {
            place.take_if(|probe| probe.generation == generation);
        }
    }

    /// A node is lost.
    pub(crate) fn lose(&mut self, node: Node) {
        for place in &mut self.places {
            place.take_if(|probe| match &probe.answer {
                Answer::Nothing => false,
                Answer::Known(envelope)
                | Answer::Told(envelope)
                | Answer::Kept(envelope)
                | Answer::Over(envelope, _) => envelope.node() == node,
            });
        }
    }
}

/// What asking the holders has come to.
pub(super) enum Asked<E> {
    Known(E),
    /// The question is to be put.
    Now,
    /// It will be, when that sender knows that it need not keep a message back any more.
    InsteadOf(Node),
    /// It is out, or there is nobody to ask, or others are first.
    Later,
}

impl<H: Header, C: Config> Probes<H, C> {
    /// Finds the answer to a question, or puts it.
    pub(super) fn ask(
        &mut self,
        pattern: H::Pattern,
        keep: bool,
        is_out: impl Fn(u32, Option<Node>) -> bool,
    ) -> Asked<Envelope<H, C>> {
        self.calls = self.calls.wrapping_add(1);
        if let Some(index) = self.place_of(&pattern)
            && let Some(probe) = &mut self.places[index]
        {
            probe.called = self.calls;
            probe.keep |= keep;
            let (answer, generation) = (probe.answer, probe.generation);
            match answer {
                Answer::Kept(envelope) => return Asked::Known(envelope),
                Answer::Known(envelope) if !keep => {
                    probe.answer = Answer::Told(envelope);
                    return Asked::Known(envelope);
                }
                Answer::Known(envelope) if self.is_kept(&envelope) => {
                    self.places[index] = None;
                    return Asked::Known(envelope);
                }
                Answer::Nothing if is_out(generation, pattern.source()) => return Asked::Later,
                _ => {}
            }
            // Answered with "none", said once, or not kept: that was then.
            self.places[index] = None;
        }
        if self.holders == 0 || !self.is_first(&pattern, &is_out) {
            return Asked::Later;
        }
        let Some(index) = self.free(&is_out) else {
            return Asked::Later;
        };
        if let Some(probe) = &self.places[index]
            && let Answer::Kept(envelope) = probe.answer
        {
            // The place is free when the sender knows.
            self.release(&envelope, false);
            self.waiting = Some((pattern, self.calls));
            return Asked::InsteadOf(envelope.node());
        }
        self.waiting = None;
        self.generation = self.generation.wrapping_add(1).max(1);
        self.places[index] = Some(Probe {
            pattern,
            generation: self.generation,
            called: self.calls,
            keep,
            answer: Answer::Nothing,
        });
        Asked::Now
    }

    /// May this pattern put a question? Not before one that has waited longer.
    fn is_first(
        &mut self,
        pattern: &H::Pattern,
        is_out: impl Fn(u32, Option<Node>) -> bool,
    ) -> bool {
        match &self.waiting {
            Some((first, since)) if self.calls.wrapping_sub(*since) <= PATIENCE => {
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
        let same = |probe: &Probe<H, C>| {
            let over = matches!(probe.answer, Answer::Over(..));
            !over && probe.pattern.as_bytes() == pattern.as_bytes()
        };
        let mut places = self.places.iter();
        places.position(|place| place.as_ref().is_some_and(same))
    }

    /// A place for a new question: a free one, or the one that is missed least.
    fn free(&self, is_out: impl Fn(u32, Option<Node>) -> bool) -> Option<usize> {
        self.places.iter().position(Option::is_none).or_else(|| {
            let age = |probe: &Probe<H, C>| self.calls.wrapping_sub(probe.called);
            let spent = |probe: &Probe<H, C>| match probe.answer {
                Answer::Nothing => !is_out(probe.generation, probe.pattern.source()),
                Answer::Told(_) => true,
                Answer::Known(_) | Answer::Kept(_) => age(probe) > PATIENCE,
                Answer::Over(..) => false,
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
pub(super) fn newer(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) <= u32::MAX / 2
}
