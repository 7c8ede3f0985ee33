//! A blocking receive without an operation, a loan, or an entry in a queue: while the queues are empty the call itself
//! is the only receive, so it compares each frame with its own pattern and copies the first that matches from the
//! channel into the buffer. The first frame that does not match ends that; the caller then posts the receive. A posted
//! receive that no message has matched shows that as well for its own pattern: nothing in the queues matches it. Only
//! [`Engine`](super::engine::Engine) uses this module.

use super::peer_state::sends_byte_order;
use super::receive_path::eager_frame;
use super::state::State;
use crate::aspect::{Counter, Counters, Maybe, Transfer};
use crate::channel::{Arrival, Event, FrameHandler};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::{Kind, Reader};
use crate::header::{Header, Pattern, Peer};
use crate::matching::{Expected, Matcher, Unexpected};
use crate::memory::{BufferAccess, Sink};

/// A message that was received without a ticket.
pub struct Received<H: Header, C: Config> {
    /// The message's envelope.
    pub envelope: Envelope<H, C>,
    /// The number of bytes in the buffer, or [`Error::Truncated`].
    pub outcome: Result<usize, Error>,
}

/// A receive while the channel is polled.
pub(super) struct DirectReceive<'a, H: Header, C: Config, B, S> {
    state: &'a mut State<H, C>,
    buffers: &'a mut B,
    pattern: &'a H::Pattern,
    into: &'a mut S,
    /// Nothing has reached the queues, nor the buffer.
    pub(super) is_open: bool,
    received: &'a mut Option<Received<H, C>>,
}

impl<'a, H: Header, C: Config, B: BufferAccess, S: Sink> DirectReceive<'a, H, C, B, S> {
    #[inline(always)]
    pub(super) fn new(
        state: &'a mut State<H, C>,
        buffers: &'a mut B,
        pattern: &'a H::Pattern,
        into: &'a mut S,
        received: &'a mut Option<Received<H, C>>,
    ) -> Self {
        Self {
            state,
            buffers,
            pattern,
            into,
            is_open: true,
            received,
        }
    }

    /// Returns whether the message goes into the buffer.
    #[inline(always)]
    fn matches(&self, from: Peer, header: &H) -> bool {
        self.is_open && self.pattern.matches(from, header)
    }

    /// Receives a message of `len` bytes. `put` copies as many as the buffer has room for, swapped or not.
    #[inline(always)]
    fn receive(
        &mut self,
        from: Peer,
        header: H,
        len: usize,
        put: impl FnOnce(&mut S, usize, bool),
    ) -> Option<()> {
        let envelope = Envelope::new(header, len, from, None)?;
        self.is_open = false;
        self.state.return_credit(from);
        let room = self.into.len();
        let stored = len.min(room);
        put(self.into, stored, self.state.swapped(from));
        self.state.count_direct(stored);
        let outcome = match len > room {
            true => Err(Error::Truncated { sent: len, room }),
            false => Ok(stored),
        };
        *self.received = Some(Received { envelope, outcome });
        Some(())
    }

    /// Receives a frame in pieces if it is a message that matches; else returns `None` without effect.
    #[inline]
    fn take_arrival<A: Arrival>(&mut self, arrival: &A) -> Option<()> {
        if sends_byte_order::<C>() {
            return None;
        }
        let (kind, credit, _, mut reader) = Reader::new(arrival, false)?;
        let (from, header) = (arrival.from(), reader.take::<H>()?);
        let is_known = self.state.peer_state(from).is_some();
        if kind != Kind::Eager || !is_known || !self.matches(from, &header) {
            return None;
        }
        let (at, len) = reader.payload();
        self.receive(from, header, len, |into, stored, swapped| {
            let mut offset = 0;
            arrival.for_each_chunk(at, stored, |piece| {
                copy(into, offset, piece, swapped);
                offset += piece.len();
            });
        })?;
        self.state.credited(from, credit);
        Some(())
    }
}

impl<H: Header, C: Config, B: BufferAccess, S: Sink> FrameHandler
    for DirectReceive<'_, H, C, B, S>
{
    #[inline]
    fn handle<A: Arrival>(&mut self, event: Event<A>) {
        if self.is_open
            && let Event::Arrival(arrival) = &event
            && self.take_arrival(arrival).is_some()
        {
            return;
        }
        self.is_open = false;
        self.state.handle(event, self.buffers);
    }

    #[inline(always)]
    fn take(&mut self, from: Peer, frame: &[u8]) -> bool {
        if let Some((header, credit, payload)) = eager_frame::<H, C>(frame)
            && self.matches(from, &header)
            && let Some(()) = self.receive(from, header, payload.len(), |into, stored, swapped| {
                copy(into, 0, &payload[..stored], swapped);
            })
        {
            self.state.credited(from, credit);
            return true;
        }
        self.is_open = false;
        self.state.take_eager(from, frame, self.buffers)
    }

    /// What follows the message may belong to the next receive, which takes it directly too; what follows an announcement
    /// may be its data, for the receive that is now posted.
    #[inline(always)]
    fn is_satisfied(&self) -> bool {
        !self.is_open
    }
}

#[inline(always)]
fn copy(into: &mut impl Sink, offset: usize, piece: &[u8], swapped: bool) {
    match swapped {
        true => into.copy_in_swapped(offset, piece),
        false => into.copy_in(offset, piece),
    }
}

impl<H: Header, C: Config> State<H, C> {
    /// Returns whether a receive with this pattern may do without the queues: they are empty, no peer is to learn of the
    /// receive, and the source can still send.
    #[inline]
    pub(super) fn allows_direct_receive(&self, pattern: &H::Pattern) -> bool {
        let can_send = |peer: Peer| {
            let state = self.peer_states.as_ref().get(peer.index());
            state.is_some_and(|state| !state.dead)
        };
        <C::Matcher as Matcher>::QUEUES
            && self.expected.len() == 0
            && self.unexpected.len() == 0
            && pattern.source().is_none_or(can_send)
            && self.knows_all_receives()
    }

    /// Returns whether no peer knows of receives or is asked for messages.
    #[inline]
    pub(super) fn knows_all_receives(&self) -> bool {
        !<C::Transfer as Transfer>::HINTS
            && !self.probes.get().is_some_and(|probes| probes.is_in_use())
    }

    /// Counts what a posted receive would have counted.
    #[inline(always)]
    fn count_direct(&mut self, stored: usize) {
        self.counters
            .count(Counter::Operation(self.operations.len() + 1));
        self.counters.count(Counter::Searched);
        self.counters.count(Counter::Expected(1));
        self.counters.count(Counter::Searched);
        self.counters.count(Counter::Received(stored));
    }
}
