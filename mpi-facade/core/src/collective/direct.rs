//! Operations between two ranks of a host that take one message of each: it goes without a schedule, and as a rule
//! without a request. `flat_movement`, `flat_reductions` and `data_movement` call it.
//!
//! Such an operation has a number among those over shared memory, and a rank skips it there when it has sent what it has
//! to send. So a rank that waits for a message in vain learns that the other one has refused its call or expects another
//! length, and one that waits over shared memory, for the same reason, learns that the other one does not come.

use super::Algorithm;
use super::layout::Layout;
use super::operation::{Operation, PreparedOperation};
use super::other_rank::OtherRank;
use super::prepare::{Call, CallError};
use super::schedule::Position;
use crate::error::Error;
use crate::message_header::{MpiHeader, MpiPattern};
use crate::runtime::world::CommError;
use crate::user_buffer::Region;
use alloc::boxed::Box;
use pombo_kernel::{Peer, Sink, Source};

impl Call<'_> {
    /// Sends this rank's message of the operation, which has a region of shared memory, to the other rank.
    #[inline]
    pub(super) fn send_directly(&mut self, area: u8, message: Region) -> Result<(), CallError> {
        let (peer, header) = self.other_rank()?;
        let sent = self.world.kernel.send_now(peer, header, &message);
        match sent.map_err(|error| self.failure(error))? {
            true => self.world.count(Source::len(&message)),
            false => self.run_single(self.position.rank, message, None)?,
        }
        self.leave_directly(area);
        Ok(())
    }

    /// Sends this rank's message and receives the other rank's. Returns whether that is as long as expected. As a rule
    /// `meanwhile` is called while the messages are on their way.
    #[inline]
    pub(super) fn exchange_directly(
        &mut self,
        area: u8,
        message: Region,
        into: Region,
        meanwhile: impl FnOnce(),
    ) -> Result<bool, CallError> {
        let (peer, header) = self.other_rank()?;
        let sent = self.world.kernel.send_now(peer, header, &message);
        let is_sent = sent.map_err(|error| self.failure(error))?;
        meanwhile();
        if !is_sent {
            return self.exchange_with_requests(area, message, into);
        }
        self.world.count(Source::len(&message));
        self.receive_directly(area, into)
    }

    /// Receives the other rank's message, where this rank has sent what it has to send. Returns whether it is as long as
    /// expected.
    #[inline]
    pub(super) fn receive_directly(
        &mut self,
        area: u8,
        mut into: Region,
    ) -> Result<bool, CallError> {
        let (peer, MpiHeader { context, tag }) = self.other_rank()?;
        let (rank, number) = (1 - self.position.rank, self.number);
        self.leave_directly(area);
        let pattern = MpiPattern::new(context.get(), Some(peer), Some(tag.get()));
        if !self.world.makes_progress_outside() {
            let mut received = None;
            let polled = self
                .world
                .kernel
                .receive_now(&pattern, &mut into, &mut received);
            polled.map_err(|error| self.failure(error))?;
            if let Some(received) = received {
                let (sent, room) = (received.envelope.len(), Sink::len(&into));
                if sent != room {
                    self.note_unequal(sent, room, peer);
                }
                return Ok(sent == room);
            }
        }
        let other = OtherRank { area, rank, number };
        let unequal = self.disagreement_in(|call| call.run_single(rank, into, Some(other)))?;
        if let Some(error) = unequal {
            self.note(error);
        }
        Ok(unequal.is_none())
    }

    /// Drops the message that the other of two ranks may have sent while this one, which expects another length, waited
    /// over shared memory. It was sent before the wait ended, so it is there or does not come.
    #[cold]
    pub(super) fn drop_message(&mut self) -> Result<(), CallError> {
        if self.position.ranks != 2 {
            return Ok(());
        }
        let mut operation = self.single(1 - self.position.rank, Region::nothing())?;
        loop {
            match operation.poll(self.world) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(failure) if failure.error.is_unequal() => return Ok(()),
                Err(failure) => return Err(CallError::Failed(failure)),
            }
            let moved = self.world.kernel.check_messages();
            if !moved.map_err(|error| self.failure(error))? {
                operation.abandon(self.world, Error::unequal(0, 0));
                return Ok(());
            }
        }
    }

    /// Exchanges messages where the other rank takes none yet: the receive is posted first, as the other rank may wait for
    /// that before its own message goes.
    #[cold]
    fn exchange_with_requests(
        &mut self,
        area: u8,
        message: Region,
        into: Region,
    ) -> Result<bool, CallError> {
        let (rank, number) = (1 - self.position.rank, self.number);
        let mut receive = self.single(rank, into)?;
        receive.poll(self.world).map_err(CallError::Failed)?;
        let send = self.single(self.position.rank, message)?;
        if let Err(failure) = send.run(self.world) {
            receive.abandon(self.world, failure.error);
            return Err(CallError::Failed(failure));
        }
        self.leave_directly(area);
        receive.watch(OtherRank { area, rank, number });
        let unequal = self.disagreement_in(|call| call.finish(receive))?;
        if let Some(error) = unequal {
            self.note(error);
        }
        Ok(unequal.is_none())
    }

    /// Returns the other rank's peer and the header of both ranks' messages.
    #[inline]
    fn other_rank(&mut self) -> Result<(Peer, MpiHeader), Error> {
        Ok((self.peer(1 - self.position.rank)?, self.header()?))
    }

    /// Ends this rank's part of the operation over shared memory, when it has sent what it has to send.
    #[inline]
    fn leave_directly(&mut self, area: u8) {
        if let Some(mut group) = self.world.shm().group(area.into()) {
            group.skip(self.number);
        }
        self.number += 1;
    }

    /// Sends or receives the message as an operation.
    #[inline(never)]
    fn run_single(
        &mut self,
        root: usize,
        message: Region,
        sender: Option<OtherRank>,
    ) -> Result<(), CallError> {
        let mut operation = self.single(root, message)?;
        if let Some(sender) = sender {
            operation.watch(sender);
        }
        self.finish(operation)
    }

    fn single(&mut self, root: usize, message: Region) -> Result<Box<Operation>, CallError> {
        let position = Position {
            root,
            ..self.position
        };
        let steps = position.broadcast(Algorithm::Linear, 1);
        let message = Layout::vector(message);
        let ready = PreparedOperation::plain(steps, Layout::nothing(), message);
        self.begin(ready).map_err(CallError::Failed)
    }

    #[cold]
    fn note_unequal(&mut self, sent: usize, room: usize, peer: Peer) {
        let error = Error::unequal(sent as u64, room as u64);
        let comms = &mut self.world.objects.comms;
        let error = comms.with_sender(self.index, error, Some(peer));
        self.note(error);
    }

    fn failure(&self, error: pombo_kernel::Error) -> CallError {
        CallError::Failed(CommError::new(error, self.comm))
    }
}
