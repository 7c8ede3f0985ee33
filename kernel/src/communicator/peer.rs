//! What is known about one node: credit, what is held for it, what was asked and hinted. It knows no operation: `state`
//! keeps it, and `hold`, `hint` and what sends or takes frames fill it.

use crate::aspect::{Buffering, Maybe, Representation, Transfer};
use crate::config::Config;
use crate::frame::{Handle, Kind, LEAD, lead};
use crate::header::Header;
use crate::memory::Ticket;
use crate::slab::Queue;

/// What is known about one node.
pub(crate) struct Peer<H: Header, C: Config> {
    /// Places in its pool that we may still take.
    pub(crate) credit: u32,
    /// Places in our pool that are free again and that it has not been told of.
    pub(crate) owed: u32,
    /// Sends in order that have not left.
    pub(crate) held: Queue,
    pub(crate) hold: <C::Transfer as Transfer>::Held<Hold<H>>,
    pub(crate) hints: <C::Transfer as Transfer>::Hinted<Hints<H>>,
    pub(crate) due: bool,
    /// Copies of messages to it that have not gone.
    pub(crate) copies: <C::Buffering as Buffering>::Held<u32>,
    /// Places in our pool that it takes.
    pub(crate) kept: u32,
    /// Its values have their most significant byte first. Only heterogeneous compositions look at it.
    pub(crate) big_endian: bool,
    /// It takes no frames any more; what it has sent may still be on the way.
    pub(crate) deaf: bool,
    /// It is gone, and everything that it has sent was here.
    pub(crate) gone: bool,
}

impl<H: Header, C: Config> Peer<H, C> {
    pub(super) fn new(credit: u32) -> Self {
        Peer {
            credit,
            owed: 0,
            held: Queue::new(),
            hold: Maybe::new(Hold::new),
            hints: Maybe::new(Hints::new),
            due: false,
            copies: Maybe::new(|| 0),
            kept: 0,
            big_endian: false,
            deaf: false,
            gone: false,
        }
    }

    /// Is it time to tell the peer of free places? When half of them are, or when it is known to have none left.
    #[inline]
    pub(crate) fn owes_credit(&self, credit: u32) -> bool {
        self.owed > 0 && (self.owed >= credit.div_ceil(2) || self.owed + self.kept >= credit)
    }

    /// The state of held messages, when the composition has it.
    #[inline]
    pub(crate) fn hold(&mut self) -> Option<&mut Hold<H>> {
        self.hold.get_mut()
    }

    /// Must the peer be told that messages are held (`true`) or no longer (`false`)?
    pub(crate) fn hold_notice(&self) -> Option<bool> {
        if !<C::Transfer as Transfer>::RENDEZVOUS {
            return None;
        }
        let hold = self.hold.get()?;
        // An answer may have named what was withdrawn before anything was told.
        if hold.withdrawn || (hold.told && self.held.is_empty()) {
            return Some(false);
        }
        let blocked = !self.held.is_empty() && (self.credit == 0 || hold.offers > 0);
        let news = !hold.told || (hold.silent && hold.fresh);
        (blocked && news).then_some(true)
    }

    /// The lead of a frame to it, with the places that it may use again.
    #[inline]
    pub(super) fn lead(&self, kind: Kind) -> [u8; LEAD] {
        let big_endian = says_order::<C>() && <C::Representation as Representation>::BIG_ENDIAN;
        lead(kind, self.owed.min(255) as u8, big_endian)
    }
}

/// What rendezvous remembers about one peer.
pub struct Hold<H: Header> {
    /// Operations with a frame due.
    pub(crate) active: Queue,
    /// An answer to its question whether an announce may be withdrawn.
    pub(crate) revoked: Option<(Handle, bool)>,
    /// It knows that we hold messages.
    pub(crate) told: bool,
    /// It was answered "none" since it was told.
    pub(crate) silent: bool,
    /// A message was held since it was told.
    pub(crate) fresh: bool,
    /// A held message was cancelled since it was told: a probe may have told it of that one.
    pub(crate) withdrawn: bool,
    /// Its question, until it is answered.
    pub(crate) asked: Option<(Handle, H::Pattern)>,
    /// How many are offered to it.
    pub(crate) offers: u32,
    /// It holds messages for us.
    pub(crate) holds: bool,
    /// Receives up to this sequence number have been asked for.
    pub(crate) pulled: u64,
    /// The probe that was asked for last.
    pub(crate) probed: u32,
    /// A question is on the way.
    pub(crate) pulling: Pulling,
    /// Its offer that came too late.
    pub(crate) decline: Option<Handle>,
    /// Something that was offered to it has been cancelled: it may be keeping the offer open.
    pub(crate) recall: bool,
    /// A Revoke is on the way to it; the next one waits for the answer.
    pub(crate) revoking: bool,
}

impl<H: Header> Hold<H> {
    /// Nothing held, nothing asked.
    pub(crate) fn new() -> Self {
        Hold {
            active: Queue::new(),
            revoked: None,
            told: false,
            silent: false,
            fresh: false,
            withdrawn: false,
            asked: None,
            offers: 0,
            holds: false,
            pulled: 0,
            probed: 0,
            pulling: Pulling::No,
            decline: None,
            recall: false,
            revoking: false,
        }
    }
}

/// What a question on the way is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pulling {
    No,
    Receive,
    Probe(u32),
}

/// What hints remember about one peer.
pub struct Hints<H: Header> {
    /// The receive that it waits with, and for which message.
    pub(super) wanted: Option<(Handle, H::Pattern, usize)>,
    /// A receive of ours may be worth a hint.
    pub(super) due: bool,
    pub(super) ours: Ours,
}

/// Where our hint stands.
#[derive(Clone, Copy)]
pub(super) enum Ours {
    No,
    /// The peer knows of this receive.
    Out(Ticket),
    /// And sends its data.
    Streaming(Ticket),
    /// All of it is here; the sender's operation is to be told.
    Whole(Handle),
}

impl<H: Header> Hints<H> {
    /// Nothing hinted.
    pub(crate) fn new() -> Self {
        Hints {
            wanted: None,
            due: false,
            ours: Ours::No,
        }
    }
}

/// Does every frame tell the byte order of its sender's values?
pub(crate) const fn says_order<C: Config>() -> bool {
    <C::Representation as Representation>::CONVERTS
        && !<C::Representation as Representation>::CANONICAL
}
