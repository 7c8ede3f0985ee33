//! Long messages that their receivers read from this rank's memory: what is offered, and what became of it. Used by
//! `Shm` only.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | offers of a rank without an answer | 64 | copied through the ring |

use alloc::vec::Vec;
use core::cell::OnceCell;

use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event, Sent};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;

use super::answers::Answer;
use super::bell::Until;
use super::device::{Shm, tell};
use super::frame::Hand;
use super::layout::FRAME_LIMIT;
use super::remote::{self, NOTE};
use super::witness::Witness;

/// Which long messages their receiver reads from the sender's memory, in one copy. All others go through the ring, in
/// two that overlap; so do those of a sender whose memory the receiver may not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OneCopy {
    /// Those for which it was found to be faster: of some hundred KiB to some MiB, where ranks share processors.
    #[default]
    Auto,
    /// None.
    Never,
    /// Those of so many bytes or more. What fits into a frame is always copied.
    From(usize),
}

const MOST: usize = 64;

/// What a rank has offered.
#[derive(Default)]
pub(super) struct Offers {
    pub(super) policy: OneCopy,
    /// Made for the first offer. None: this rank cannot make any.
    witness: OnceCell<Option<Witness>>,
    /// Those without an answer, in order.
    open: Vec<Offer>,
}

struct Offer {
    to: Node,
    number: u64,
    cookie: Cookie,
}

impl Offers {
    /// None is without an answer.
    #[inline]
    pub(super) fn are_answered(&self) -> bool {
        self.open.is_empty()
    }

    /// Nobody reads here any more.
    pub(super) fn end(&mut self) {
        self.policy = OneCopy::Never;
        self.witness.take();
    }

    /// A peer is gone: it answers nothing.
    pub(super) fn lose(&mut self, node: Node) {
        self.open.retain(|offer| offer.to != node);
    }

    fn witness(&self) -> Option<&Witness> {
        self.witness.get_or_init(Witness::new).as_ref()
    }
}

impl Shm {
    /// Chooses which long messages go in one copy.
    pub fn set_one_copy(&mut self, policy: OneCopy) {
        self.offers.policy = policy;
    }

    /// Nobody reads what was offered and is not yet read: it is asked for again, and nothing more goes in one copy. For
    /// who takes memory back that was lent to a send.
    pub fn withdraw_offers(&mut self) {
        if !self.offers.are_answered() {
            self.offers.end();
        }
    }

    /// What [`Channel::offers`] says.
    pub(super) fn would_offer(&self, to: Node, len: usize) -> bool {
        let wanted = match self.offers.policy {
            OneCopy::Auto => self.patience.favours_one_copy(len),
            OneCopy::Never => false,
            OneCopy::From(least) => len >= least,
        };
        let peer = self.peers.get(to.index());
        wanted
            && len > FRAME_LIMIT
            && to != self.node
            && peer.is_some_and(|peer| !peer.refuses)
            && self.offers.open.len() < MOST
            && self.offers.witness().is_some()
    }

    /// A frame that is too long to be copied.
    #[cold]
    pub(super) fn offer(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        let refused = ChannelError::TooLong { limit: FRAME_LIMIT };
        let [head, payload] = parts else {
            return Err(refused);
        };
        let len = head.len() + NOTE;
        if cookie == Cookie::COPY || len > FRAME_LIMIT || !self.offers(to, payload.len()) {
            return Err(refused);
        }
        let (Some(bytes), Some(witness)) = (payload.fixed(), self.offers.witness()) else {
            return Err(refused);
        };
        let note = remote::note(bytes, payload.len(), witness);
        let peer = &mut self.peers[to.index()];
        if peer.gone {
            return Err(ChannelError::PeerLost(to));
        }
        let number = match peer.offer(len, &[*head, Part::Bytes(&note)]) {
            Ok(number) => number,
            Err(error) => return Err(self.refuse(to, error)),
        };
        if !peer.told {
            tell(&self.segment, self.node, to.index());
            peer.told = true;
        }
        peer.bell().ring(Until::Frame, &self.park);
        self.offers.open.push(Offer { to, number, cookie });
        Ok(Sent::Later)
    }

    /// Is there an answer that was not reported?
    pub(super) fn has_answers(&self) -> bool {
        let mut open = self.offers.open.iter();
        open.any(|offer| self.peers[offer.to.index()].answer(offer.number).is_some())
    }

    /// Reports the answers that have come; true if there were any.
    #[cold]
    pub(super) fn report_answers(&mut self, hand: &mut impl Hand) -> bool {
        let before = self.offers.open.len();
        let peers = &mut self.peers;
        self.offers.open.retain(|offer| {
            let peer = &mut peers[offer.to.index()];
            let answer = peer.answer(offer.number);
            match answer {
                Some(Answer::Read) => hand.give(Event::Completed(offer.cookie)),
                Some(Answer::Refused) => {
                    peer.refuses = true;
                    hand.give(Event::Again(offer.cookie));
                }
                None => {}
            }
            answer.is_none()
        });
        self.offers.open.len() < before
    }
}
