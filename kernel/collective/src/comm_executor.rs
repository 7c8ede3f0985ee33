//! Collective operations over a communicator, with a header of any protocol.

use super::{Execution, Executor, OperationBuffers, Operator, Piece, SharedMemory, Step};
use heapless::Deque;
use pombo_kernel::{Error, Header, Peer, PointToPoint, Refused, Ticket};

/// The header of an operation's messages in a protocol, and the peers of its ranks. Operations that are under way at
/// the same time between the same ranks need different headers.
pub trait Protocol<H: Header> {
    /// Returns the header of every message.
    fn header(&self) -> H;

    /// Returns the pattern that selects a message of this operation from a peer.
    fn pattern(&self, from: Peer) -> H::Pattern;

    /// Returns the peer of a rank.
    fn peer(&self, rank: usize) -> Peer {
        Peer(rank as u16)
    }
}

/// Largest number of messages that one operation has under way on a communicator; further ones wait.
pub const UNDER_WAY: usize = 16;

/// A collective operation on a communicator whose memory is [`SharedMemory`]. The operation needs the communicator only
/// during a poll, so any number of operations can be under way.
pub struct CommCall<'buf, S, P, R> {
    running: Execution<S>,
    setup: Setup<'buf, P, R>,
    begun: Begun,
}

type Begun = Deque<Ticket, UNDER_WAY>;

struct Setup<'buf, P, R> {
    protocol: P,
    parts: OperationBuffers<'buf>,
    operator: R,
}

impl<'buf, S: Iterator<Item = Step>, P, R: Operator> CommCall<'buf, S, P, R> {
    /// Creates an operation of these steps over these buffers. It begins nothing before the first poll.
    pub fn new(steps: S, protocol: P, parts: OperationBuffers<'buf>, operator: R) -> Self {
        CommCall {
            running: Execution::new(steps),
            setup: Setup {
                protocol,
                parts,
                operator,
            },
            begun: Deque::new(),
        }
    }

    /// Makes progress and carries out as many steps as possible. Returns true when the operation is complete.
    ///
    /// # Errors
    /// The communicator's error for a message. The operation then ends on this rank and cancels its messages; the other
    /// ranks are not notified.
    pub fn poll<O>(&mut self, comm: &mut O) -> Result<bool, Error>
    where
        O: PointToPoint<Memory = SharedMemory<'buf>>,
        P: Protocol<O::Header>,
    {
        comm.check_messages()?;
        let mut over = CommExecutor {
            comm,
            setup: &self.setup,
            begun: &mut self.begun,
        };
        let polled = self.running.poll(&mut over);
        if polled.is_err() {
            self.abandon(comm);
        }
        polled
    }

    /// Polls the operation until it is complete; the channel waits while there is no progress.
    ///
    /// # Errors
    /// As for [`CommCall::poll`].
    pub fn wait<O>(&mut self, comm: &mut O) -> Result<(), Error>
    where
        O: PointToPoint<Memory = SharedMemory<'buf>>,
        P: Protocol<O::Header>,
    {
        let mut idle = 0;
        while !self.poll(comm)? {
            comm.progress_or_wait(&mut idle)?;
        }
        Ok(())
    }

    /// Cancels the messages that are under way.
    pub fn abandon<O: PointToPoint<Memory = SharedMemory<'buf>>>(&mut self, comm: &mut O) {
        while let Some(ticket) = self.begun.pop_front() {
            // A complete message need not be cancelled, and a message that cannot be cancelled keeps its ticket.
            let _ = comm.cancel(ticket);
            let _ = comm.claim(ticket);
        }
    }
}

/// The executor of an operation's steps over a communicator.
struct CommExecutor<'a, 'buf, O, P, R> {
    comm: &'a mut O,
    setup: &'a Setup<'buf, P, R>,
    begun: &'a mut Begun,
}

impl<'buf, O, P, R> CommExecutor<'_, 'buf, O, P, R>
where
    O: PointToPoint<Memory = SharedMemory<'buf>>,
{
    /// Returns whether one more message fits.
    fn has_room(&mut self) -> Result<bool, Error> {
        self.claim(UNDER_WAY - 1)
    }

    /// Claims complete messages from the oldest on. Returns whether at most `open` are left.
    fn claim(&mut self, open: usize) -> Result<bool, Error> {
        while self.begun.len() > open {
            let Some(&oldest) = self.begun.front() else {
                break;
            };
            let Some(completed) = self.comm.claim(oldest)? else {
                return Ok(false);
            };
            self.begun.pop_front();
            completed.outcome?;
        }
        Ok(true)
    }

    /// Records the ticket of a message that has begun. Returns false if the communicator had no room for the message.
    fn note<T>(&mut self, begun: Result<Ticket, Refused<T>>) -> Result<bool, Error> {
        match begun {
            // The caller has checked by `has_room` that there is room.
            Ok(ticket) => Ok(self.begun.push_back(ticket).is_ok()),
            Err(refused) if matches!(refused.error, Error::Full | Error::NoCredit(_)) => {
                self.claim(0)?;
                Ok(false)
            }
            Err(refused) => Err(refused.error),
        }
    }
}

impl<'buf, O, P, R> Executor for CommExecutor<'_, 'buf, O, P, R>
where
    O: PointToPoint<Memory = SharedMemory<'buf>>,
    P: Protocol<O::Header>,
    R: Operator,
{
    type Error = Error;

    fn send(&mut self, to: usize, piece: Piece) -> Result<bool, Error> {
        if !self.has_room()? {
            return Ok(false);
        }
        let (peer, header) = (self.setup.protocol.peer(to), self.setup.protocol.header());
        let sent = self.comm.isend(peer, header, self.setup.parts.piece(piece));
        self.note(sent)
    }

    fn receive(&mut self, from: usize, piece: Piece) -> Result<bool, Error> {
        if !self.has_room()? {
            return Ok(false);
        }
        let pattern = self.setup.protocol.pattern(self.setup.protocol.peer(from));
        let posted = self.comm.irecv(pattern, self.setup.parts.piece(piece));
        self.note(posted)
    }

    fn are_complete(&mut self, open: usize) -> Result<bool, Error> {
        self.claim(open)
    }

    fn combine(&mut self, left: Piece, right: Piece) {
        let parts = &self.setup.parts;
        let operator = &self.setup.operator;
        operator.combine(parts.piece(left), parts.piece(right));
    }

    fn copy(&mut self, from: Piece, into: Piece) {
        let parts = &self.setup.parts;
        parts.piece(from).copy_to(parts.piece(into));
    }
}
