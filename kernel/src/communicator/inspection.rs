//! What operations wait for and what the queues hold: for a report about a program that does not go on.

use super::engine::Engine;
use super::lent_buffers::BufferLending;
use super::operation::OpState;
use super::point_to_point::PointToPoint;
use crate::envelope::Envelope;
use crate::header::{Header, Peer};
use crate::matching::{Expected, Unexpected};
use crate::memory::{BufferAccess, Ticket};
use core::cell::RefCell;

/// What an operation that is under way waits for.
#[derive(Clone, Copy, Debug)]
pub enum Awaited<H: Header> {
    /// A receive that no message has matched.
    Message(H::Pattern),
    /// A receive whose message from that peer is arriving.
    Data(Peer, H),
    /// A send: that its message to that peer leaves, is received or may be repeated no more.
    Receiver(Peer, H),
}

/// Questions about operations and queues, which change nothing. They visit entries one by one.
pub trait Inspect: PointToPoint {
    /// Returns what an operation waits for; `None` if it is complete, or this level holds no such operation.
    fn awaited(&mut self, ticket: Ticket) -> Option<Awaited<Self::Header>> {
        let Engine { state, buffers, .. } = self.engine();
        if let Some(pattern) = state.posted_pattern(ticket) {
            return Some(Awaited::Message(pattern));
        }
        let received = buffers.holds(ticket) && buffers.room(ticket).is_some();
        let operation = state.operation(ticket)?;
        let header = operation.envelope.as_ref()?.header();
        match operation.state {
            OpState::Done(_) if !operation.is_in_flight() => None,
            _ if received => Some(Awaited::Data(operation.peer, header)),
            _ => Some(Awaited::Receiver(operation.peer, header)),
        }
    }

    /// Calls `f` for every receive that no message has matched, in no order, and returns their number.
    fn for_each_posted(&mut self, mut f: impl FnMut(<Self::Header as Header>::Pattern)) -> usize {
        let state = self.engine().state;
        for index in 0..state.operations.end() {
            if let Some(operation) = state.operations.get(index)
                && let OpState::Posted { .. } = operation.state
                && let Some(pattern) = state.expected.wanted(index)
            {
                f(pattern);
            }
        }
        state.expected.len()
    }

    /// Calls `f` for every message without a receive, in the order of arrival, and returns their number.
    fn for_each_unexpected(
        &mut self,
        f: impl FnMut(&Envelope<Self::Header, Self::Config>),
    ) -> usize {
        let f = RefCell::new(f);
        let unexpected = &self.engine().state.unexpected;
        unexpected.position(|envelope| {
            f.borrow_mut()(envelope);
            false
        });
        unexpected.len()
    }
}

impl<T: PointToPoint> Inspect for T {}
