//! The kernel under MPI. All of this crate uses it; every operation posted to it has an owner at once.
//!
//! If a call returned without its receive, the kernel would write to a buffer that another function may have reused. So
//! only this folder can call the functions that lend a program's memory, and none of them returns a bare ticket:
//! [`Posted`] belongs to a blocking call or becomes the program's request, [`PostedSet`] belongs to a collective
//! operation. Both withdraw what is not complete when an error drops them.

#[cfg(feature = "hosts")]
mod group_buffers;
mod posted;
mod posted_set;

#[cfg(feature = "hosts")]
pub(crate) use group_buffers::{Destination, GroupBuffers};
pub(crate) use posted::Posted;
pub(crate) use posted_set::PostedSet;

use crate::message_header::{MpiComposition, MpiHeader, MpiPattern, RANKS};
use crate::user_buffer::{Foreign, Region};
use pombo_job::WorldChannel;
#[cfg(feature = "diagnostics")]
use pombo_kernel::facade::{Awaited, Inspect};
use pombo_kernel::facade::{Peeked, PointToPointExt, Received};
use pombo_kernel::{Communicator, Completed, Error, Limits, Loan, Mode, Peer, Ticket};
use pombo_netdrivers::tuning::{RANK_SPINS, SLEEPING_AFTER};

/// The kernel's envelope with MPI's header.
pub(crate) type MpiEnvelope = pombo_kernel::Envelope<MpiHeader, MpiComposition>;

/// The channel to all ranks of a world.
pub(crate) type JobChannel = pombo_job::JobChannel<RANKS, GroupBuffers>;

/// The group buffers of a build without networks: none.
#[cfg(not(feature = "hosts"))]
pub(crate) type GroupBuffers = pombo_transport::multicast::NoBuffers;

/// The kernel with MPI's header, over the channel to all ranks.
pub(crate) struct Kernel(
    Communicator<MpiHeader, JobChannel, Foreign, MpiComposition>,
    DirectPolls,
);

/// The number of polls for which a blocking receive goes without the queues; 0 if never.
type DirectPolls = u32;

/// Bytes that a rank's kernel takes, without tables that grow with use.
pub const KERNEL_BYTES: usize = size_of::<Kernel>();

/// Bytes that a slot of an operation under way takes, and a slot of a message without a receive.
pub const SLOT_BYTES: [usize; 2] = pombo_kernel::facade::slot_bytes::<MpiHeader, MpiComposition>();

impl Kernel {
    /// Creates the kernel over a channel. Blocking receives go without the queues where they can, if `is_direct`.
    #[cold]
    #[inline(never)]
    pub(crate) fn new(channel: JobChannel, limits: Limits, is_direct: bool) -> Result<Self, Error> {
        let polls = if is_direct { RANK_SPINS } else { 0 };
        Ok(Kernel(Communicator::with_limits(channel, limits)?, polls))
    }

    /// Sends a short message if it can leave at once: see [`PointToPointExt::try_inject`].
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn send_now(
        &mut self,
        to: Peer,
        header: MpiHeader,
        message: &Region,
    ) -> Result<bool, Error> {
        self.0.try_inject(to, header, message)
    }

    /// Sends a copy of a short message that would have to wait behind other copies. Returns `false` if it would not
    /// wait, is too long for a copy, or there is no room for one.
    #[cold]
    pub(crate) fn send_copy_behind(
        &mut self,
        to: Peer,
        header: MpiHeader,
        message: &Region,
    ) -> Result<bool, Error> {
        if !self.0.has_unsent_copies(to) {
            return Ok(false);
        }
        match self.0.send_buffered(to, header, message) {
            Ok(()) => Ok(true),
            Err(Error::Full | Error::TooLong { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Copies a short send that waits for its receive or for credit: see [`PointToPointExt::detach`].
    pub(crate) fn detach(&mut self, ticket: Ticket) -> Result<bool, Error> {
        self.0.detach(ticket)
    }

    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn send(
        &mut self,
        mode: Mode,
        to: Peer,
        header: MpiHeader,
        message: Region,
    ) -> Result<Ticket, Error> {
        Ok(self.0.isend_as(mode, to, header, message)?)
    }

    /// Receives a short message that arrives soon: see [`PointToPointExt::recv_direct`]. It does not sleep: who sleeps
    /// looks for ranks that have ended first.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn receive_now(
        &mut self,
        pattern: &MpiPattern,
        into: &mut Region,
        received: &mut Option<Received<MpiHeader, MpiComposition>>,
    ) -> Result<(), Error> {
        if cfg!(not(feature = "fast-paths")) {
            return Ok(());
        }
        let polls = self.0.channel_mut().memory().polls_before_sleep();
        self.0
            .recv_direct(pattern, into, polls.min(self.1), received)
    }

    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn receive(&mut self, pattern: MpiPattern, into: Region) -> Result<Ticket, Error> {
        Ok(self.0.irecv_inline(pattern, into)?)
    }

    fn receive_matched(&mut self, message: Ticket, into: Region) -> Result<(), Error> {
        Ok(self.0.irecv_matched(message, into)?)
    }

    /// Takes back an operation whose memory goes away: see [`PointToPointExt::release`]. Returns its context.
    #[cold]
    fn release(&mut self, ticket: Ticket) -> Option<u32> {
        let pattern = self
            .0
            .posted_pattern(ticket)
            .map(|pattern| pattern.context());
        let header = self.0.envelope(ticket).map(|it| it.header().context.get());
        if let Some(Loan::Sent(_)) = self.0.release(ticket) {
            // The receiver may be about to read the send buffer by single copy.
            self.0.channel_mut().memory().revoke_single_copy();
        }
        pattern.or(header)
    }

    #[inline]
    pub(crate) fn check_messages(&mut self) -> Result<bool, Error> {
        self.0.check_messages()
    }

    /// Makes progress, or waits. Where the next wait may be a sleep, `idle` is at least [`SLEEPING_AFTER`] before it.
    #[inline]
    pub(crate) fn advance(&mut self, idle: &mut u32) -> Result<(), Error> {
        self.0.progress_or_wait(idle)?;
        if *idle >= self.0.channel_mut().memory().polls_before_sleep() {
            *idle = SLEEPING_AFTER.max(*idle);
        }
        Ok(())
    }

    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn look(
        &mut self,
        ticket: Ticket,
    ) -> Result<Option<Peeked<'_, MpiHeader, MpiComposition>>, Error> {
        self.0.peek(ticket)
    }

    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn claim(
        &mut self,
        ticket: Ticket,
    ) -> Result<Option<Completed<MpiHeader, Foreign, MpiComposition>>, Error> {
        self.0.claim(ticket)
    }

    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn take_completed(&mut self, ticket: Ticket) -> Option<MpiHeader> {
        self.0.claim_header(ticket)
    }

    pub(crate) fn cancel(&mut self, ticket: Ticket) -> Result<(), Error> {
        self.0.cancel(ticket)
    }

    pub(crate) fn probe(&mut self, pattern: MpiPattern) -> Result<Option<MpiEnvelope>, Error> {
        self.0.probe(pattern)
    }

    /// Takes a message for a matched receive; none of the program's memory is lent yet.
    pub(crate) fn matched_probe(
        &mut self,
        pattern: MpiPattern,
    ) -> Result<Option<(Ticket, MpiEnvelope)>, Error> {
        self.0.matched_probe(pattern)
    }

    /// Returns whether a probe has found a message for the pattern that is not yet received.
    pub(crate) fn has_answer(&mut self, pattern: &MpiPattern) -> bool {
        self.0.has_answer(pattern)
    }

    /// Returns whether the answer to the question for such a message is still outstanding.
    pub(crate) fn is_asking(&mut self, pattern: &MpiPattern) -> bool {
        self.0.is_querying(pattern)
    }

    /// Returns the pattern of an unmatched receive.
    pub(crate) fn pattern(&mut self, ticket: Ticket) -> Option<MpiPattern> {
        self.0.posted_pattern(ticket)
    }

    /// Fails an unmatched receive, as that rank has ended.
    pub(crate) fn give_up(&mut self, ticket: Ticket, peer: Peer) {
        self.0.fail_receive(ticket, peer);
    }

    #[cfg(feature = "diagnostics")]
    /// Returns what an operation waits for.
    pub(crate) fn awaited(&mut self, ticket: Ticket) -> Option<Awaited<MpiHeader>> {
        self.0.awaited(ticket)
    }

    #[cfg(feature = "diagnostics")]
    /// Visits the receives that no message has matched, and returns their number.
    pub(crate) fn for_each_posted(&mut self, visit: impl FnMut(MpiPattern)) -> usize {
        self.0.for_each_posted(visit)
    }

    #[cfg(feature = "diagnostics")]
    /// Visits the messages without a receive, and returns their number.
    pub(crate) fn for_each_unexpected(&mut self, visit: impl FnMut(&MpiEnvelope)) -> usize {
        self.0.for_each_unexpected(visit)
    }

    pub(crate) fn is_gone(&self, peer: Peer) -> bool {
        self.0.is_dead(peer)
    }

    pub(crate) fn is_flushed(&self) -> bool {
        self.0.is_flushed()
    }

    #[cfg(feature = "diagnostics")]
    pub(crate) fn rejected(&self) -> u64 {
        self.0.rejected()
    }

    #[inline]
    pub(crate) fn me(&self) -> Peer {
        self.0.me()
    }

    #[inline]
    pub(crate) fn peers(&self) -> usize {
        self.0.peers()
    }

    pub(crate) fn channel(&self) -> &JobChannel {
        self.0.channel()
    }

    #[inline]
    pub(crate) fn channel_mut(&mut self) -> &mut JobChannel {
        self.0.channel_mut()
    }
}
