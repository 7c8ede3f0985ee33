//! Long messages that their receivers read from this rank's memory: the exposed buffers and their acknowledgements.
//! Only `Shm` uses it.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | reads of a rank's memory without an acknowledgement | 64 | copied through the ring |

use alloc::vec::Vec;
use core::cell::OnceCell;

use pombo_kernel::channel::{ChannelError, Cookie, Event, Sent};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;

use super::channel::{Shm, announce};
use super::cma::{self, DESCRIPTOR_LEN};
use super::connection::Connection;
use super::layout::FRAME_LIMIT;
use super::process_token::ProcessToken;
use super::read_acks::ReadAck;
use super::received_frame::EventHandler;
use super::wait_policy;
use crate::tuning::{BOTH_WAYS_SINGLE_COPY, FAST_PATHS};
use crate::wait;

/// The choice of long messages that the receiver reads from the sender's memory, in one copy. All others go through the
/// ring, in two copies that overlap, as do those of a sender whose memory the receiver may not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SingleCopy {
    /// Messages for which it was measured to be faster: of some hundred KiB to some MiB, if ranks share processors; else of
    /// half a MiB or more, if both ranks send at once and their processors are far from each other.
    #[default]
    Auto,
    /// No message.
    Never,
    /// Messages of at least that many bytes. A message that fits into a frame is always copied.
    AtLeast(usize),
}

const MAX_PENDING: usize = 64;

/// The memory that a rank has exposed.
#[derive(Default)]
pub(super) struct PendingReads {
    pub(super) policy: SingleCopy,
    /// The token, created for the first exposure; `None`: this rank cannot create one.
    token: OnceCell<Option<ProcessToken>>,
    /// Exposed buffers without an acknowledgement, in order.
    pending: Vec<PendingRead>,
}

struct PendingRead {
    to: Peer,
    number: u64,
    cookie: Cookie,
}

impl PendingReads {
    /// Returns whether no exposed buffer waits for an acknowledgement.
    #[inline]
    pub(super) fn are_acknowledged(&self) -> bool {
        !FAST_PATHS || self.pending.is_empty()
    }

    /// Disables single copies, and makes outstanding reads of exposed memory fail.
    pub(super) fn disable(&mut self) {
        self.policy = SingleCopy::Never;
        self.token.take();
    }

    /// Drops the exposures to a lost peer, which will not acknowledge them.
    pub(super) fn forget_peer(&mut self, peer: Peer) {
        self.pending.retain(|read| read.to != peer);
    }

    fn token(&self) -> Option<&ProcessToken> {
        self.token.get_or_init(ProcessToken::new).as_ref()
    }
}

impl Shm {
    /// Sets which long messages go in one copy.
    pub fn set_single_copy(&mut self, policy: SingleCopy) {
        self.pending_reads.policy = policy;
    }

    /// Revokes all exposed buffers that are not yet read: the receivers request them again, and single copy is
    /// disabled. It is for a caller that takes memory back that was lent to a send.
    pub fn revoke_single_copy(&mut self) {
        if !self.pending_reads.are_acknowledged() {
            self.pending_reads.disable();
        }
    }

    /// Returns whether a single copy of a message of that length pays.
    pub(super) fn favours_single_copy(&self, to: Peer, len: usize, both_ways: bool) -> bool {
        match self.pending_reads.policy {
            SingleCopy::Auto if both_ways && self.wait_policy.spins() => {
                let connection = self.connections.get(to.index());
                len >= BOTH_WAYS_SINGLE_COPY && connection.is_some_and(Connection::is_far)
            }
            SingleCopy::Auto => wait_policy::favours_single_copy(self.wait_policy, len),
            SingleCopy::Never => false,
            SingleCopy::AtLeast(least) => len >= least,
        }
    }

    /// Returns whether the peer may be able to read a payload of that length in place.
    pub(super) fn can_single_copy(&self, to: Peer, len: usize) -> bool {
        let connection = self.connections.get(to.index());
        FAST_PATHS
            && self.pending_reads.policy != SingleCopy::Never
            && len > FRAME_LIMIT
            && to != self.members.me
            && connection.is_some_and(|connection| !connection.refuses_reads)
            && self.pending_reads.pending.len() < MAX_PENDING
            && self.pending_reads.token().is_some()
    }

    /// Exposes the payload of a frame that is too long to be copied.
    #[cold]
    pub(super) fn expose(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        let refused = ChannelError::TooLong { limit: FRAME_LIMIT };
        let Some((payload, heads)) = parts.split_last() else {
            return Err(refused);
        };
        let len = heads.iter().map(Part::len).sum::<usize>() + DESCRIPTOR_LEN;
        if cookie == Cookie::COPY || len > FRAME_LIMIT || !self.can_single_copy(to, payload.len()) {
            return Err(refused);
        }
        let (Some(bytes), Some(token)) = (payload.fixed(), self.pending_reads.token()) else {
            return Err(refused);
        };
        let descriptor = cma::describe(bytes, payload.len(), token);
        let connection = &mut self.connections[to.index()];
        if connection.closed {
            return Err(ChannelError::PeerLost(to));
        }
        let descriptor = Part::Bytes(&descriptor);
        let exposed = match *heads {
            [head] => connection.expose(len, &[head, descriptor]),
            // The first is the number of the port.
            [port, head] => connection.expose(len, &[port, head, descriptor]),
            _ => return Err(refused),
        };
        let number = match exposed {
            Ok(number) => number,
            Err(error) => return Err(self.ring_failed(to, error)),
        };
        announce(connection, &self.members, to, &self.park);
        self.pending_reads
            .pending
            .push(PendingRead { to, number, cookie });
        Ok(Sent::Later)
    }

    /// Returns whether there is an acknowledgement that was not reported.
    pub(super) fn has_acks(&self) -> bool {
        if self.pending_reads.are_acknowledged() {
            return false;
        }
        let began = wait::now();
        let mut pending = self.pending_reads.pending.iter();
        pending.any(|read| {
            let connection = &self.connections[read.to.index()];
            connection.ack(read.number, began).is_some()
        })
    }

    /// Reports the acknowledgements that have arrived; returns true if there were any.
    #[cold]
    pub(super) fn report_acks(&mut self, handler: &mut dyn EventHandler) -> bool {
        let before = self.pending_reads.pending.len();
        let connections = &mut self.connections;
        let mut began = wait::now();
        self.pending_reads.pending.retain(|read| {
            let connection = &mut connections[read.to.index()];
            let ack = connection.ack(read.number, began);
            connection.learn_from_acks();
            match ack {
                Some(ReadAck::Read) => handler.handle(Event::Completed(read.cookie)),
                Some(ReadAck::Refused) => {
                    connection.refuses_reads = true;
                    handler.handle(Event::Again(read.cookie));
                }
                None => return true,
            }
            began = wait::now();
            false
        });
        self.pending_reads.pending.len() < before
    }
}
