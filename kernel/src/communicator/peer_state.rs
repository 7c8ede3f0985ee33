//! What is known about one peer: credit, what is held for it, what was asked and hinted. It knows no operation: `state`
//! keeps it, and `flow_control`, `receiver_initiated` and what sends or takes frames fill it.

use crate::aspect::{Buffering, Maybe, Representation, Transfer};
use crate::composition::Config;
use crate::frame::{Handle, Kind, PREAMBLE, preamble};
use crate::header::Header;
use crate::memory::Ticket;
use crate::slab::Queue;

/// What is known about one peer.
pub(crate) struct PeerState<H: Header, C: Config> {
    /// Places in its pool that we may still take.
    pub(crate) credit: u32,
    /// Places in our pool that are free again and that it has not been told of.
    pub(crate) credits_to_return: u32,
    /// Sends in order that have not left.
    pub(crate) unsent: Queue,
    pub(crate) flow: <C::Transfer as Transfer>::Held<FlowControl<H>>,
    pub(crate) hints: <C::Transfer as Transfer>::Hinted<ReceiverHints<H>>,
    pub(crate) tx_pending: bool,
    /// Copies of messages to it that have not gone.
    pub(crate) copies: <C::Buffering as Buffering>::Held<u32>,
    /// Places in our pool that it takes.
    pub(crate) pool_used: u32,
    /// Its values have their most significant byte first. Only heterogeneous compositions look at it.
    pub(crate) big_endian: bool,
    /// It takes no frames any more; what it has sent may still be on the way.
    pub(crate) send_closed: bool,
    /// It is gone, and everything that it has sent was here.
    pub(crate) dead: bool,
}

impl<H: Header, C: Config> PeerState<H, C> {
    pub(super) fn new(credit: u32) -> Self {
        PeerState {
            credit,
            credits_to_return: 0,
            unsent: Queue::new(),
            flow: Maybe::new(FlowControl::new),
            hints: Maybe::new(ReceiverHints::new),
            tx_pending: false,
            copies: Maybe::new(|| 0),
            pool_used: 0,
            big_endian: false,
            send_closed: false,
            dead: false,
        }
    }

    /// Is it time to tell the peer of free places? When half of them are, or when it is known to have none left.
    #[inline]
    pub(crate) fn must_return_credit(&self, credit: u32) -> bool {
        self.credits_to_return > 0
            && (self.credits_to_return >= credit.div_ceil(2)
                || self.credits_to_return + self.pool_used >= credit)
    }

    /// The state of held messages, when the composition has it.
    #[inline]
    pub(crate) fn flow(&mut self) -> Option<&mut FlowControl<H>> {
        self.flow.get_mut()
    }

    /// Must the peer be told that messages are held (`true`) or no longer (`false`)?
    pub(crate) fn hold_notice(&self) -> Option<bool> {
        if !<C::Transfer as Transfer>::RENDEZVOUS {
            return None;
        }
        let flow = self.flow.get()?;
        // An answer may have named what was withdrawn before anything was told.
        if flow.withdrawn_since_hold || (flow.hold_sent && self.unsent.is_empty()) {
            return Some(false);
        }
        let blocked = !self.unsent.is_empty() && (self.credit == 0 || flow.open_replies > 0);
        let news = !flow.hold_sent || (flow.answered_none && flow.unsent_since_hold);
        (blocked && news).then_some(true)
    }

    /// The preamble of a frame to it, with the places that it may use again.
    #[inline]
    pub(super) fn preamble(&self, kind: Kind) -> [u8; PREAMBLE] {
        let big_endian =
            sends_byte_order::<C>() && <C::Representation as Representation>::BIG_ENDIAN;
        preamble(kind, self.credits_to_return.min(255) as u8, big_endian)
    }
}

/// What rendezvous remembers about one peer.
pub(crate) struct FlowControl<H: Header> {
    /// Operations with a frame due.
    pub(crate) active: Queue,
    /// An answer to its question whether an announce may be withdrawn.
    pub(crate) cancel_reply: Option<(Handle, bool)>,
    /// It knows that we hold messages.
    pub(crate) hold_sent: bool,
    /// It was answered "none" since it was told.
    pub(crate) answered_none: bool,
    /// A message was held since it was told.
    pub(crate) unsent_since_hold: bool,
    /// A held message was cancelled since it was told: a probe may have told it of that one.
    pub(crate) withdrawn_since_hold: bool,
    /// Its question, until it is answered.
    pub(crate) query: Option<(Handle, H::Pattern)>,
    /// How many are offered to it.
    pub(crate) open_replies: u32,
    /// It holds messages for us.
    pub(crate) peer_holds: bool,
    /// Receives up to this sequence number have been asked for.
    pub(crate) queried: u64,
    /// The probe that was asked for last.
    pub(crate) probed: u32,
    /// A question is on the way.
    pub(crate) query_sent: QuerySent,
    /// Its offer that came too late.
    pub(crate) reject: Option<Handle>,
    /// Something that was offered to it has been cancelled: it may be keeping the offer open.
    pub(crate) recall: bool,
    /// A `Cancel` is on the way to it; the next one waits for the answer.
    pub(crate) cancelling: bool,
}

impl<H: Header> FlowControl<H> {
    /// Nothing held, nothing asked.
    pub(crate) fn new() -> Self {
        FlowControl {
            active: Queue::new(),
            cancel_reply: None,
            hold_sent: false,
            answered_none: false,
            unsent_since_hold: false,
            withdrawn_since_hold: false,
            query: None,
            open_replies: 0,
            peer_holds: false,
            queried: 0,
            probed: 0,
            query_sent: QuerySent::No,
            reject: None,
            recall: false,
            cancelling: false,
        }
    }
}

/// What a question on the way is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuerySent {
    No,
    Receive,
    Probe(u32),
}

/// What hints remember about one peer.
pub(crate) struct ReceiverHints<H: Header> {
    /// The receive that it waits with, and for which message.
    pub(super) wanted: Option<(Handle, H::Pattern, usize)>,
    /// A receive of ours may be worth a hint.
    pub(super) due: bool,
    pub(super) ours: OwnHint,
}

/// Where our hint stands.
#[derive(Clone, Copy)]
pub(super) enum OwnHint {
    No,
    /// The peer knows of this receive.
    Out(Ticket),
    /// And sends its data.
    Streaming(Ticket),
    /// All of it is here; the sender's operation is to be told.
    Whole(Handle),
}

impl<H: Header> ReceiverHints<H> {
    /// Nothing hinted.
    pub(crate) fn new() -> Self {
        ReceiverHints {
            wanted: None,
            due: false,
            ours: OwnHint::No,
        }
    }
}

/// Does every frame tell the byte order of its sender's values?
pub(crate) const fn sends_byte_order<C: Config>() -> bool {
    <C::Representation as Representation>::CONVERTS
        && !<C::Representation as Representation>::CANONICAL
}
