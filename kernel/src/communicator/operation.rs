//! One send or receive, and where it stands. It knows no queue and no peer: `state` keeps it.

use crate::aspect::{Buffering, Length, Maybe, Transfer};
use crate::composition::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::Handle;
use crate::header::{Header, Peer};
use zerocopy::FromZeros;

/// One send or receive.
pub(crate) struct Operation<H: Header, C: Config> {
    pub(crate) generation: u32,
    pub(crate) owner: Owner,
    /// Frames accepted as [`Sent::Later`](crate::Sent::Later) that still need the loan. Without rendezvous there is at
    /// most one, and then the step is [`OpState::Draining`].
    pub(crate) in_flight: <C::Transfer as Transfer>::Held<u32>,
    /// Where it is headed; for receives, where the matched message came from.
    pub(crate) peer: Peer,
    pub(crate) state: OpState<C::Length>,
    pub(crate) envelope: Option<Envelope<H, C>>,
}

/// Who waits for the end of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The user, who will claim it.
    User,
    /// The same, of a send that is not over before a receive has matched.
    Synchronous,
    /// The user, who will claim it; for him it is over, as the kernel sends a copy.
    Detached,
    /// The user, who has no buffer for it yet: a message taken by a matched probe.
    Probe,
    /// Nobody, for the kernel sends its own copy.
    Kernel,
    /// Nobody, and its loan is dead: it is freed as soon as the peer cannot name it any more.
    Nobody,
}

/// Where an operation stands. Lengths are as wide as in frames, so that rendezvous makes it no longer.
#[derive(Clone, Copy)]
pub(crate) enum OpState<N> {
    /// Send: in [`PeerState::unsent`]. `announce`: by rendezvous, whatever its size.
    Unsent { announce: bool },
    /// Send: in [`PeerState::unsent`] and offered to a pull; waits for request, decline or claim. `cancel`: give up on
    /// decline; `asked`: the peer knows that, if it keeps the offer.
    Offered {
        announce: bool,
        cancel: bool,
        asked: bool,
    },
    /// Send: announced, waits to be asked for.
    RtsSent,
    /// Send: announced, and the peer is (`asked`) or will be asked to forget it.
    Cancelling { asked: bool },
    /// Send: requested; in [`FlowControl::active`] until all `want` bytes have left.
    Streaming { to: Handle, want: N, next: N },
    /// Send: announced, and in [`FlowControl::active`] until all `want` bytes have left for a receive that a hint named.
    /// `cancel`: then ask the peer to forget it.
    StreamingEarly {
        to: Handle,
        want: N,
        next: N,
        cancel: bool,
    },
    /// Send: its loan died before that; in [`FlowControl::active`] until the peer is told.
    AbortingEarly { to: Handle },
    /// Send: all bytes have left, some still need the loan. `again`: the request, for it may be put once more.
    Draining { again: Option<(Handle, N)> },
    /// Send: requested after its loan died; in [`FlowControl::active`] until the peer is told.
    Aborting { to: Handle },
    /// Receive: matched by a probe. The payload is set aside at `place`, or still with the sender ([`NONE`]).
    Probed { place: u32 },
    /// Receive: in the expected queue at `place`.
    Posted { place: u32, room: usize },
    /// Receive: matched with an announce; in [`FlowControl::active`] until the request has left.
    CtsPending { sender: Handle, room: usize },
    /// Receive: data is coming.
    Receiving { want: N, got: N },
    /// Over; waits to be claimed.
    Done(Result<usize, Error>),
}

impl<H: Header, C: Config> Operation<H, C> {
    /// Does a frame still need the loan, beside the one of [`OpState::Draining`]?
    #[inline]
    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight.get().is_some_and(|frames| *frames > 0)
    }

    /// Is it over for its user? Then he may claim it.
    #[inline(always)]
    pub(crate) fn has_ended(&self) -> bool {
        match self.state {
            OpState::Done(_) => !self.is_in_flight() || self.is_detached(),
            _ => self.is_detached(),
        }
    }

    /// Is it over for its user only?
    #[inline(always)]
    pub(crate) fn is_detached(&self) -> bool {
        <C::Buffering as Buffering>::ON && self.owner == Owner::Detached
    }

    /// Ends a receive: `stored` bytes are in its buffer. Is there nobody who will claim it?
    #[inline(always)]
    pub(crate) fn deliver(&mut self, envelope: Envelope<H, C>, stored: usize) -> bool {
        let sent = envelope.len();
        self.peer = envelope.peer();
        self.envelope = Some(envelope);
        if sent > stored {
            return self.finish(Err(Error::Truncated { sent, room: stored }));
        }
        self.finish(Ok(stored))
    }

    /// Ends it. Is there nobody who will claim it?
    #[inline]
    pub(crate) fn finish(&mut self, outcome: Result<usize, Error>) -> bool {
        self.state = OpState::Done(outcome);
        matches!(self.owner, Owner::Kernel | Owner::Nobody) && !self.is_in_flight()
    }
}

/// A length that is known to fit: it came from an envelope.
pub(super) fn length<C: Config>(bytes: usize) -> C::Length {
    C::Length::new(bytes).unwrap_or_else(C::Length::new_zeroed)
}
