//! The state of one send or receive, independent of queues and peers; `state` keeps it.

use crate::aspect::{Buffering, Length, Maybe, Transfer};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::Handle;
use crate::header::{Header, Peer};
use zerocopy::FromZeros;

/// One send or receive.
pub(crate) struct Operation<H: Header, C: Config> {
    pub(crate) generation: u32,
    pub(crate) owner: Owner,
    /// Number of frames accepted as [`Sent::Later`](crate::Sent::Later) that still need the loan. Without rendezvous
    /// there is at most one, and then the state is [`OpState::Draining`].
    pub(crate) in_flight: <C::Transfer as Transfer>::Held<u32>,
    /// The destination of a send; the source of the message that a receive has matched.
    pub(crate) peer: Peer,
    pub(crate) state: OpState<C::Length>,
    pub(crate) envelope: Option<Envelope<H, C>>,
}

/// The party that waits for the end of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The user, who will claim it.
    User,
    /// The user, for a send that completes only after a receive has matched.
    Synchronous,
    /// The user, for whom the send is complete, because the kernel sends a copy.
    Detached,
    /// The user, without a buffer yet: a message taken by a matched probe.
    Probe,
    /// Nobody: the kernel sends its own copy.
    Kernel,
    /// Nobody, and the loan has ended: the operation is freed as soon as the peer cannot name it any more.
    Nobody,
}

/// The state of an operation. Lengths have the width of lengths in frames, so that rendezvous does not enlarge it.
#[derive(Clone, Copy)]
pub(crate) enum OpState<N> {
    /// Send: in `PeerState::unsent`. `announce`: by rendezvous, whatever the size.
    Unsent { announce: bool },
    /// Send: in `PeerState::unsent` and offered to a query; waits for request, rejection or acceptance. `cancel`: the
    /// send ends on rejection; `asked`: the peer, if it keeps the offer, has been told of that.
    Offered {
        announce: bool,
        cancel: bool,
        asked: bool,
    },
    /// Send: announced; waits for the CTS.
    RtsSent,
    /// Send: announced and to be cancelled; `asked`: the Cancel has been sent to the peer.
    Cancelling { asked: bool },
    /// Send: CTS received; in `FlowControl::active` until all `want` bytes have left.
    Streaming { to: Handle, want: N, next: N },
    /// Send: announced, and in `FlowControl::active` until all `want` bytes have left for the receive that a hint
    /// named. `cancel`: then ask the peer to cancel.
    StreamingEarly {
        to: Handle,
        want: N,
        next: N,
        cancel: bool,
    },
    /// Send: the loan ended while data was streaming early; in `FlowControl::active` until the peer is told.
    AbortingEarly { to: Handle },
    /// Send: all bytes have left, and some still need the loan. `again`: the CTS, and where the last frame begins, in case
    /// the channel asks to resend that.
    Draining { again: Option<(Handle, N, N)> },
    /// Send: CTS received after the loan ended; in `FlowControl::active` until the peer is told.
    Aborting { to: Handle },
    /// Receive: matched by a probe. The payload is in the pool at `place`, or still with the sender (`NONE`).
    Probed { place: u32 },
    /// Receive: in the expected queue.
    Posted { room: usize },
    /// Receive: matched with an RTS; in `FlowControl::active` until the CTS has left.
    CtsPending { sender: Handle, room: usize },
    /// Receive: matched with an RTS whose early data it takes, `got` of `want` bytes so far; in `FlowControl::active` until
    /// the CTS has left.
    TakingEarly { sender: Handle, want: N, got: N },
    /// Receive: data is arriving; `got` of `want` bytes are here.
    Receiving { want: N, got: N },
    /// Complete; waits to be claimed.
    Done(Result<usize, Error>),
}

impl<H: Header, C: Config> Operation<H, C> {
    /// Returns whether a frame still needs the loan, apart from that of [`OpState::Draining`].
    #[inline]
    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight.get().is_some_and(|frames| *frames > 0)
    }

    /// Returns whether the operation is complete for its user, who may then claim it.
    #[inline(always)]
    pub(crate) fn has_ended(&self) -> bool {
        match self.state {
            OpState::Done(_) => !self.is_in_flight() || self.is_detached(),
            _ => self.is_detached(),
        }
    }

    /// Returns whether the operation is complete for its user but not for the kernel.
    #[inline(always)]
    pub(crate) fn is_detached(&self) -> bool {
        <C::Buffering as Buffering>::ON && self.owner == Owner::Detached
    }

    /// Completes a receive with `stored` bytes in its buffer. Returns whether nobody will claim it.
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

    /// Completes the operation. Returns whether nobody will claim it.
    #[inline]
    pub(crate) fn finish(&mut self, outcome: Result<usize, Error>) -> bool {
        self.state = OpState::Done(outcome);
        matches!(self.owner, Owner::Kernel | Owner::Nobody) && !self.is_in_flight()
    }
}

/// Converts a length that is known to fit, because it came from an envelope.
pub(super) fn length<C: Config>(bytes: usize) -> C::Length {
    C::Length::new(bytes).unwrap_or_else(C::Length::new_zeroed)
}
