//! The operations that a collective operation has posted.

use super::Kernel;
use crate::message_header::{MpiHeader, MpiPattern};
use crate::user_buffer::Region;
use alloc::collections::VecDeque;
use pombo_kernel::{Error, Loan, Mode, Peer, Sink, Source, Ticket};

/// An operation's sends and receives, oldest first.
#[derive(Default)]
pub(crate) struct PostedSet(VecDeque<Ticket>);

impl PostedSet {
    pub(crate) fn send(
        &mut self,
        kernel: &mut Kernel,
        to: Peer,
        header: MpiHeader,
        message: Region,
    ) -> Result<(), Error> {
        let ticket = kernel.send(Mode::Standard, to, header, message)?;
        self.0.push_back(ticket);
        Ok(())
    }

    pub(crate) fn receive(
        &mut self,
        kernel: &mut Kernel,
        pattern: MpiPattern,
        into: Region,
    ) -> Result<(), Error> {
        let ticket = kernel.receive(pattern, into)?;
        self.0.push_back(ticket);
        Ok(())
    }

    /// Claims the oldest until at most `open` are left; returns false when one of those is not complete. Calls
    /// `unequal` for messages whose lengths differ from those of their receives, with their senders.
    pub(crate) fn settle(
        &mut self,
        kernel: &mut Kernel,
        open: usize,
        mut unequal: impl FnMut(crate::error::Error, Option<Peer>),
    ) -> Result<bool, Error> {
        while self.0.len() > open {
            let Some(&oldest) = self.0.front() else {
                break;
            };
            let Some(completed) = kernel.claim(oldest)? else {
                return Ok(false);
            };
            self.0.pop_front();
            let expected = match &completed.loan {
                Loan::Received(region) => Sink::len(region),
                Loan::Sent(region) => Source::len(region),
            };
            let source = completed.envelope.map(|envelope| envelope.peer());
            match completed.outcome {
                Ok(len) if len == expected => {}
                Ok(len) => unequal(
                    crate::error::Error::unequal(len as u64, expected as u64),
                    source,
                ),
                Err(error @ Error::Truncated { .. }) => unequal(error.into(), source),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Cancels all of them.
    pub(crate) fn cancel(&self, kernel: &mut Kernel) {
        for &ticket in &self.0 {
            // A completed operation need not be cancelled; claiming them reports a broken channel.
            let _ = kernel.cancel(ticket);
        }
    }

    /// Takes back all that are not complete: afterwards none of them refers to memory.
    pub(crate) fn release(&mut self, kernel: &mut Kernel) {
        while let Some(ticket) = self.0.pop_front() {
            kernel.release(ticket);
        }
    }
}
