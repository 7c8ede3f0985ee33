//! Matched probes: a message is taken at once and received later.

use super::loans::BufferAccess;
use super::state::{Envelope, Owner, State, Step};
use crate::protocol::Wanted;
use pombo_kernel::{Error, Ticket};

impl State {
    pub(crate) fn matched_probe(
        &mut self,
        pattern: &Wanted,
    ) -> Result<Option<(Ticket, Envelope)>, Error> {
        if let Some(place) = self.unexpected.find(|arrived| arrived.matches(pattern))
            && let Some(arrived) = self.unexpected.get(place)
        {
            let envelope = arrived.envelope;
            let ticket = self.open(envelope.peer(), Step::Matched { place }, Some(envelope))?;
            if let Some(operation) = self.operation(ticket) {
                operation.owner = Owner::Probe;
            }
            self.unexpected.set_aside(place);
            return Ok(Some((ticket, envelope)));
        }
        self.absent(pattern)?;
        Ok(None)
    }

    pub(crate) fn irecv_matched(&mut self, ticket: Ticket, buffers: &mut impl BufferAccess) {
        let Some(operation) = self.operation(ticket) else {
            return;
        };
        operation.owner = Owner::User;
        let Step::Matched { place } = operation.step else {
            return;
        };
        self.fill(place, ticket, buffers);
        if let Some(arrived) = self.unexpected.drop_aside(place) {
            self.free_place(arrived.envelope.peer());
        }
    }
}
