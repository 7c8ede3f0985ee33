//! What a rank keeps about each of its peers. Used by `Shm` only.

use pombo_kernel::channel::Event;
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;

use core::ptr::NonNull;

use super::answers::{Answer, Answers};
use super::bell::Bell;
use super::frame::{Frame, Hand};
use super::lane::Lane;
use super::layout::Control;
use super::remote::Remote;
use super::ring::{Consumer, Producer, RingError};
use super::segment::Segment;

pub(super) struct Peer {
    pub(super) out: Producer<Lane>,
    inbound: Consumer<Lane>,
    control: NonNull<Control>,
    /// What it answers to our offers, and we to its.
    answers: [NonNull<Answers>; 2],
    /// Offers to it so far.
    offered: u64,
    /// It could not read one.
    pub(super) refuses: bool,
    /// It knows that we send to it.
    pub(super) told: bool,
    /// Nothing reaches it any more.
    pub(super) gone: bool,
    /// It sends no more than what is in the ring.
    ending: bool,
    reported: bool,
}

/// What a look at a peer's ring found.
pub(super) struct Served {
    /// Frames taken.
    pub(super) frames: usize,
    /// It was reported lost.
    pub(super) lost: bool,
}

// SAFETY: control block and answers lie in memory that all processes share, and only their atomics are used.
unsafe impl Send for Peer {}

impl Peer {
    /// # Safety
    /// The peer must not outlive the segment, in which the caller has claimed rank `me`, and there must be no second
    /// one for these two.
    pub(super) unsafe fn new(segment: &Segment, me: usize, peer: usize) -> Self {
        // SAFETY: passed on to the caller; a claimed rank alone writes to its peers and reads from them.
        let (out, inbound) = unsafe { (segment.lane(me, peer), segment.lane(peer, me)) };
        Self {
            out: Producer::new(out),
            inbound: Consumer::new(inbound),
            control: NonNull::from(segment.control(peer)),
            answers: [segment.answers(me, peer), segment.answers(peer, me)],
            offered: 0,
            refuses: false,
            told: false,
            gone: false,
            ending: false,
            reported: false,
        }
    }

    /// Its bell.
    #[inline]
    pub(super) fn bell(&self) -> &Bell {
        // SAFETY: it lies in the segment, which outlives the peer (`new`); all its fields are atomics.
        unsafe { &self.control.as_ref().bell.0 }
    }

    /// The peer's, or our own.
    fn answers(&self, own: bool) -> &Answers {
        // SAFETY: as for the bell.
        unsafe { self.answers[usize::from(own)].as_ref() }
    }

    /// Offers something; its number.
    pub(super) fn offer(&mut self, len: usize, parts: &[Part<'_>]) -> Result<u64, RingError> {
        self.out.put_marked(len, parts)?;
        self.offered += 1;
        Ok(self.offered)
    }

    /// Its answer to the offer of that number.
    pub(super) fn answer(&self, number: u64) -> Option<Answer> {
        self.answers(false).to(number)
    }

    /// Nothing goes there any more, and what came is all. False if that was known.
    pub(super) fn end(&mut self) -> bool {
        self.gone = true;
        !core::mem::replace(&mut self.ending, true)
    }

    /// Its loss was reported.
    pub(super) fn is_over(&self) -> bool {
        self.reported
    }

    /// Would a look find anything?
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        (self.ending && !self.reported) || self.inbound.has_next()
    }

    /// Hands out up to `most` frames, and the loss of the peer after its last.
    #[inline(always)]
    pub(super) fn serve(&mut self, node: Node, most: usize, hand: &mut impl Hand) -> Served {
        let mut frames = 0;
        while frames < most {
            // SAFETY: as in `bell` and `answers`.
            let (control, answers) = unsafe { (self.control.as_ref(), self.answers[1].as_ref()) };
            let taken = self.inbound.take(|bytes, marked| {
                if marked {
                    hand_offer(node, bytes, control, answers, hand);
                } else if !hand.take(node, bytes) {
                    hand.give(Event::Arrival(Frame::new(node, bytes, None)));
                }
            });
            match taken {
                Ok(true) => frames += 1,
                Ok(false) if !self.ending => break,
                // The ring is empty for good, or nothing behind this point can be told apart.
                Ok(false) | Err(_) => {
                    self.end();
                    self.reported = true;
                    hand.give(Event::PeerLost(node));
                    return Served { frames, lost: true };
                }
            }
        }
        let lost = false;
        Served { frames, lost }
    }
}

/// Hands out a frame whose payload is still with its sender, and answers it.
#[inline(never)]
fn hand_offer(
    node: Node,
    bytes: &[u8],
    control: &Control,
    answers: &Answers,
    hand: &mut impl Hand,
) {
    let process = control.standing.0.process().filter(|_| !answers.refuse());
    let (head, remote) = Remote::split(bytes, process);
    hand.give(Event::Arrival(Frame::new(node, head, Some(&remote))));
    answers.give(remote.answer());
}
