//! The state of one peer: credit, held messages, queries and hints. It is independent of operations: `state` keeps it,
//! and `flow_control`, `receiver_initiated` and the send and receive paths update it.

use super::early_state::EarlyState;
use crate::aspect::{Buffering, Maybe, Representation, Transfer};
use crate::config::Config;
use crate::frame::{Handle, Kind, PREAMBLE, preamble};
use crate::header::Header;
use crate::memory::Ticket;
use crate::slab::Queue;

/// The state of one peer.
pub(crate) struct PeerState<H: Header, C: Config> {
    /// Number of slots in the peer's pool that this process may still use.
    pub(crate) credit: u32,
    /// Number of free slots in our pool that have not been returned to the peer as credit.
    pub(crate) credits_to_return: u32,
    /// Sends that have not left, in order.
    pub(crate) unsent: Queue,
    pub(crate) flow: <C::Transfer as Transfer>::Held<FlowControl<H>>,
    pub(crate) hints: <C::Transfer as Transfer>::Hinted<ReceiverHints<H>>,
    pub(crate) early: <C::Transfer as Transfer>::Early<EarlyState>,
    pub(crate) tx_pending: bool,
    /// Number of copies of messages to the peer that have not left.
    pub(crate) copies: <C::Buffering as Buffering>::Held<u32>,
    /// Number of slots in our pool that messages of the peer occupy.
    pub(crate) pool_used: u32,
    /// Whether the peer's values are big-endian. Only heterogeneous compositions use it.
    pub(crate) big_endian: bool,
    /// The peer accepts no frames any more; frames that it has sent may still be in flight.
    pub(crate) send_closed: bool,
    /// The peer is lost, and every frame that it sent has arrived.
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
            early: Maybe::new(EarlyState::default),
            tx_pending: false,
            copies: Maybe::new(|| 0),
            pool_used: 0,
            big_endian: false,
            send_closed: false,
            dead: false,
        }
    }

    /// Returns whether credit must be returned to the peer: when half of its slots are free, or when it is known to
    /// have no credit left.
    #[inline]
    pub(crate) fn must_return_credit(&self, credit: u32) -> bool {
        self.credits_to_return > 0
            && (self.credits_to_return >= credit.div_ceil(2)
                || self.credits_to_return + self.pool_used >= credit)
    }

    /// Returns the state of held messages, if the composition has it.
    #[inline]
    pub(crate) fn flow(&mut self) -> Option<&mut FlowControl<H>> {
        self.flow.get_mut()
    }

    /// Returns the Hold notice that is due: `true` if messages are held, `false` if none are any more.
    pub(crate) fn hold_notice(&self) -> Option<bool> {
        if !<C::Transfer as Transfer>::RENDEZVOUS {
            return None;
        }
        let flow = self.flow.get()?;
        // A reply may have named a withdrawn message before any Hold notice was sent.
        if flow.withdrawn_since_hold || (flow.hold_sent && self.unsent.is_empty()) {
            return Some(false);
        }
        let blocked = !self.unsent.is_empty() && (self.credit == 0 || flow.open_replies > 0);
        let news = !flow.hold_sent || (flow.answered_none && flow.unsent_since_hold);
        (blocked && news).then_some(true)
    }

    /// Returns the preamble of a frame to the peer, which carries the returned credit.
    #[inline]
    pub(super) fn preamble(&self, kind: Kind) -> [u8; PREAMBLE] {
        let big_endian =
            sends_byte_order::<C>() && <C::Representation as Representation>::BIG_ENDIAN;
        preamble(kind, self.credits_to_return.min(255) as u8, big_endian)
    }
}

/// The rendezvous and flow-control state of one peer.
pub(crate) struct FlowControl<H: Header> {
    /// Operations with a frame due to the peer.
    pub(crate) active: Queue,
    /// The due reply to a Cancel of the peer: whether the announced message may be withdrawn.
    pub(crate) cancel_reply: Option<(Handle, bool)>,
    /// The peer has been told that messages are held.
    pub(crate) hold_sent: bool,
    /// The peer has got the reply "none" since the last Hold notice.
    pub(crate) answered_none: bool,
    /// A message has been held since the last Hold notice.
    pub(crate) unsent_since_hold: bool,
    /// A held message has been cancelled since the last Hold notice: a probe reply may have named it.
    pub(crate) withdrawn_since_hold: bool,
    /// The peer's query, until it is answered.
    pub(crate) query: Option<(Handle, H::Pattern)>,
    /// Number of messages that are offered to the peer.
    pub(crate) open_replies: u32,
    /// The peer holds messages for this process.
    pub(crate) peer_holds: bool,
    /// The highest sequence number of a receive that has been queried for.
    pub(crate) queried: u64,
    /// The generation of the probe that was queried for last.
    pub(crate) probed: u32,
    /// The query that is in flight.
    pub(crate) query_sent: QuerySent,
    /// The offer of the peer that arrived too late and is to be rejected.
    pub(crate) reject: Option<Handle>,
    /// An offered message has been cancelled: the peer may be keeping the offer open.
    pub(crate) recall: bool,
    /// A `Cancel` to the peer is in flight; the next one waits for its reply.
    pub(crate) cancelling: bool,
}

impl<H: Header> FlowControl<H> {
    /// Creates the state without held messages or queries.
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

/// The subject of the query in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuerySent {
    No,
    Receive,
    Probe(u32),
}

/// The receive-hint state of one peer.
pub(crate) struct ReceiverHints<H: Header> {
    /// The receive that the peer has hinted, its pattern, and its room in bytes.
    pub(super) wanted: Option<(Handle, H::Pattern, usize)>,
    /// A receive of this process may be worth a hint.
    pub(super) due: bool,
    pub(super) ours: OwnHint,
}

/// The state of our hint.
#[derive(Clone, Copy)]
pub(super) enum OwnHint {
    No,
    /// The peer has been told of this receive.
    Out(Ticket),
    /// The peer is sending data for this receive.
    Streaming(Ticket),
    /// All data is here; the Fin to the sender's operation is due.
    Whole(Handle),
}

impl<H: Header> ReceiverHints<H> {
    /// Creates the state without hints.
    pub(crate) fn new() -> Self {
        ReceiverHints {
            wanted: None,
            due: false,
            ours: OwnHint::No,
        }
    }
}

/// Returns whether every frame carries the byte order of its sender's values.
pub(crate) const fn sends_byte_order<C: Config>() -> bool {
    <C::Representation as Representation>::CONVERTS
        && !<C::Representation as Representation>::CANONICAL
}
