//! Matched probes: take the first message that a receive would match, to be received later.
//! Source: MPI 5.0, section 3.8.2.

use super::operation::{OpState, Owner};
use super::state::State;
use crate::aspect::{Maybe, Transfer};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::header::Header;
use crate::matching::Unexpected;
use crate::memory::{BufferAccess, Ticket};
use crate::slab::NONE;

impl<H: Header, C: Config> State<H, C> {
    /// Takes the first message that a receive with this pattern would match. Returns `None` if none is known yet:
    /// holders are queried and keep their match, so make progress and probe again.
    pub(crate) fn matched_probe(
        &mut self,
        pattern: H::Pattern,
    ) -> Result<Option<(Ticket, Envelope<H, C>)>, Error> {
        if let Some(place) = self.unexpected.find(&pattern)
            && let Some(arrived) = self.unexpected.get(place)
        {
            let envelope = arrived.envelope;
            return self.set_aside(place, envelope).map(Some);
        }
        let Some(envelope) = self.ask(pattern, true)? else {
            return Ok(None);
        };
        let ticket = self.open_matched(NONE, envelope)?;
        if let Some(probes) = self.probes.get_mut() {
            probes.release(&envelope, true);
        }
        self.taken(&envelope);
        Ok(Some((ticket, envelope)))
    }

    /// Hides a taken message from later probes. It may have been offered before it arrived, so answers with the same
    /// header are dropped.
    fn taken(&mut self, message: &Envelope<H, C>) {
        if !<C::Transfer as Transfer>::RENDEZVOUS {
            return;
        }
        self.mark_pending(message.peer());
        self.forget(|envelope, _| {
            envelope.peer() == message.peer()
                && envelope.header().as_bytes() == message.header().as_bytes()
        });
    }

    fn open_matched(&mut self, place: u32, envelope: Envelope<H, C>) -> Result<Ticket, Error> {
        let ticket = self.open(envelope.peer(), OpState::Probed { place }, Some(envelope))?;
        if let Some(operation) = self.operation(ticket) {
            operation.owner = Owner::Probe;
        }
        Ok(ticket)
    }

    /// Removes the message from the unexpected queue: an announced message frees its pool slot at once, an eager one
    /// when it is received.
    fn set_aside(
        &mut self,
        place: u32,
        envelope: Envelope<H, C>,
    ) -> Result<(Ticket, Envelope<H, C>), Error> {
        let ticket;
        if envelope.announced().is_some() {
            ticket = self.open_matched(NONE, envelope)?;
            self.unexpected.remove(place);
            self.free_pool(envelope.peer());
        } else {
            ticket = self.open_matched(place, envelope)?;
            self.unexpected.set_aside(place);
        }
        self.taken(&envelope);
        Ok((ticket, envelope))
    }

    /// Returns whether the ticket names a message that a matched probe has taken and that is not yet received.
    pub(crate) fn is_matched(&mut self, ticket: Ticket) -> bool {
        let operation = self.operation(ticket);
        operation.is_some_and(|operation| operation.owner == Owner::Probe)
    }

    /// Receives a message that a matched probe has taken; the buffer is already in the buffer table.
    pub(crate) fn irecv_matched(&mut self, ticket: Ticket, buffers: &mut impl BufferAccess) {
        let Some(operation) = self.operation(ticket) else {
            return;
        };
        operation.owner = Owner::User;
        let (OpState::Probed { place }, Some(envelope)) = (operation.state, operation.envelope)
        else {
            // The sender was lost.
            return;
        };
        match envelope.announced() {
            Some(sender) => {
                let room = buffers.room(ticket).unwrap_or(0);
                operation.state = OpState::Posted { room };
                self.match_announced(ticket.slot(), envelope, sender.0);
            }
            None => {
                self.fill(place, ticket, buffers);
                self.unexpected.drop_aside(place);
                self.free_pool(envelope.peer());
            }
        }
    }
}
