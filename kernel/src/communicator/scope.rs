//! Loans with a shorter lifetime than the communicator.
//!
//! A [`Scope`] chains to the outer loans, so progress inside completes outer receives too. When it ends, normally, by
//! `?` or by a panic, every incomplete operation is cancelled: receives are unposted, sends are withdrawn, and a peer
//! that had already matched one gets [`Error::Revoked`], unless all data were under way. Nothing waits for the peer.

use super::completed_operation::Completed;
use super::direct_receive::Received;
use super::engine::Engine;
use super::lent_buffers::{BufferLending, copy_in, fill, part, room};
use super::point_to_point::{PointToPoint, calls};
use super::port_mux::{PortMux, SinglePort};
use super::post::Mode;
use super::state::State;
use crate::channel::Channel;
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::{Error, Refused};
use crate::header::{Header, Peer};
use crate::memory::{BufferAccess, Lent, Loan, Memory, Part, Source, Ticket};

/// The largest number of operations with loans in one scope; beyond it posting fails with [`Error::Full`].
pub const SCOPE_LOANS: usize = 16;

/// Operations with buffers of lifetime `'buf`, which may live shorter than the communicator.
///
/// ```
/// # use pombo_kernel::prelude::*;
/// # header! { struct Topic { number: u8 } }
/// # fn main() -> Result<(), Error> {
/// # let channel = pombo_kernel::channel::SelfChannel::<1024>::new();
/// # let mut comm = Communicator::<Topic, _, Lent<'_>>::new(channel)?;
/// let mut buffer = [0; 5];
/// comm.scope(|scope| {
///     let ticket = scope.irecv(Topic::number(1), &mut buffer)?;
///     scope.send(Peer(0), Topic { number: 1 }, b"hello")?;
///     scope.wait(ticket)?.outcome
/// })?;
/// assert_eq!(&buffer, b"hello");
/// # Ok(()) }
/// ```
/// A buffer that dies before the scope is refused by the compiler:
/// ```compile_fail,E0597
/// # use pombo_kernel::prelude::*;
/// # header! { struct Topic { number: u8 } }
/// # fn main() -> Result<(), Error> {
/// # let channel = pombo_kernel::channel::SelfChannel::<1024>::new();
/// # let mut comm = Communicator::<Topic, _, Lent<'_>>::new(channel)?;
/// comm.scope(|scope| {
///     let mut buffer = [0; 5];
///     let ticket = scope.irecv(Topic::number(1), &mut buffer)?;
///     scope.send(Peer(0), Topic { number: 1 }, b"hello")?;
///     scope.wait(ticket)?.outcome
/// })?;
/// # Ok(()) }
/// ```
pub struct Scope<'a, 'buf, H: Header, L: Channel, C: Config, W: PortMux<L> = SinglePort> {
    pub(super) state: &'a mut State<H, C>,
    pub(super) channel: &'a mut L,
    pub(super) buffers: ScopeBuffers<'a, 'buf>,
    pub(super) mux: W,
}

impl<'a, H: Header, L: Channel, C: Config, W: PortMux<L>> Scope<'a, '_, H, L, C, W> {
    pub(crate) fn new(
        state: &'a mut State<H, C>,
        channel: &'a mut L,
        outer: &'a mut (dyn BufferAccess + 'a),
        mux: W,
    ) -> Self {
        Scope {
            state,
            channel,
            buffers: ScopeBuffers {
                own: heapless::Vec::new(),
                outer,
            },
            mux,
        }
    }
}

impl<H: Header, L: Channel, C: Config, W: PortMux<L>> Drop for Scope<'_, '_, H, L, C, W> {
    fn drop(&mut self) {
        while let Some((ticket, _)) = self.buffers.own.pop() {
            self.state.release(ticket);
        }
        self.engine().flush_lazily();
    }
}

impl<'buf, H: Header, L: Channel, C: Config, W: PortMux<L>> Scope<'_, 'buf, H, L, C, W> {
    pub(super) fn send_before(
        &mut self,
        to: Peer,
        header: H,
        bytes: &'buf [u8],
        deadline: Option<u64>,
    ) -> Result<(), Error> {
        let mut idle = 0;
        if self.engine().try_inject(to, header, &bytes)? {
            return Ok(());
        }
        loop {
            match self.isend(to, header, bytes) {
                Ok(ticket) => {
                    let completed = self.engine().wait(ticket, deadline)?;
                    return completed.ok_or(Error::TimedOut)?.outcome.map(drop);
                }
                Err(Refused {
                    error: Error::NoCredit(_),
                    ..
                }) => {
                    let mut engine = self.engine();
                    if engine.is_over(deadline) {
                        return Err(Error::TimedOut);
                    }
                    let moved = engine.progress()?;
                    engine.pause(moved, &mut idle, deadline)?;
                }
                Err(refused) => return Err(refused.error),
            }
        }
    }

    pub(super) fn recv_before(
        &mut self,
        pattern: H::Pattern,
        bytes: &'buf mut [u8],
        deadline: Option<u64>,
    ) -> Result<Envelope<H, C>, Error> {
        if deadline.is_none() {
            let (into, mut received) = (&mut &mut *bytes, None);
            self.engine()
                .recv_direct(&pattern, into, u32::MAX, &mut received)?;
            if let Some(Received { envelope, outcome }) = received {
                return outcome.map(|_| envelope);
            }
        }
        let ticket = self.irecv(pattern, bytes)?;
        let in_time = self.engine().wait(ticket, deadline)?;
        let completed = match in_time {
            Some(completed) => completed,
            None => {
                self.cancel(ticket)?;
                self.wait(ticket)?
            }
        };
        match completed.outcome {
            Err(Error::Cancelled) => Err(Error::TimedOut),
            Err(error) => Err(error),
            Ok(_) => completed.envelope.ok_or(Error::UnknownTicket),
        }
    }
}

/// The methods of a [`Communicator`](crate::Communicator), inside a scope.
impl<'b, H: Header, L: Channel, C: Config, W: PortMux<L>> Scope<'_, 'b, H, L, C, W> {
    calls!(pub H, L, Lent<'b>, C, W::Reborrowed<'s>);
}

impl<'buf, H: Header, L: Channel, C: Config, W: PortMux<L>> PointToPoint
    for Scope<'_, 'buf, H, L, C, W>
{
    type Header = H;
    type Channel = L;
    type Memory = Lent<'buf>;
    type Config = C;

    type PortMux<'x>
        = W::Reborrowed<'x>
    where
        Self: 'x;

    #[inline]
    fn engine(
        &mut self,
    ) -> Engine<'_, H, L, C, impl BufferLending<Memory = Lent<'buf>>, W::Reborrowed<'_>> {
        Engine {
            state: self.state,
            channel: self.channel,
            buffers: &mut self.buffers,
            mux: self.mux.reborrow(),
        }
    }
}

/// The loans of a scope, chained to the outer ones.
pub(super) struct ScopeBuffers<'a, 'buf> {
    own: heapless::Vec<(Ticket, Loan<Lent<'buf>>), SCOPE_LOANS>,
    outer: &'a mut (dyn BufferAccess + 'a),
}

impl<'buf> ScopeBuffers<'_, 'buf> {
    fn loan(&self, ticket: Ticket) -> Option<&Loan<Lent<'buf>>> {
        let (_, loan) = self.own.iter().find(|(own, _)| *own == ticket)?;
        Some(loan)
    }
}

impl<'buf> BufferLending for ScopeBuffers<'_, 'buf> {
    type Memory = Lent<'buf>;

    fn lend_send(&mut self, ticket: Ticket, out: &'buf [u8]) -> Result<(), &'buf [u8]> {
        let pushed = self.own.push((ticket, Loan::Sent(out)));
        pushed.map_err(|_| out)
    }

    fn lend_recv(&mut self, ticket: Ticket, into: &'buf mut [u8]) -> Result<(), &'buf mut [u8]> {
        if self.own.is_full() {
            return Err(into);
        }
        // There is room, so `push` cannot fail.
        let _ = self.own.push((ticket, Loan::Received(into)));
        Ok(())
    }

    fn holds(&self, ticket: Ticket) -> bool {
        self.loan(ticket).is_some()
    }

    fn give_back(&mut self, ticket: Ticket) -> Option<Loan<Lent<'buf>>> {
        let at = self.own.iter().position(|(own, _)| *own == ticket)?;
        Some(self.own.swap_remove(at).1)
    }

    fn copy_loan(&mut self, ticket: Ticket) -> bool {
        match self.own.iter().find(|(own, _)| *own == ticket) {
            // The copy may outlive this scope.
            Some((_, Loan::Sent(source))) => self.outer.copy(ticket, source),
            _ => false,
        }
    }
}

impl BufferAccess for ScopeBuffers<'_, '_> {
    fn room(&self, ticket: Ticket) -> Option<usize> {
        match self.loan(ticket) {
            Some(loan) => room(loan),
            None => self.outer.room(ticket),
        }
    }

    // A scope lends bytes, which have no byte order.
    fn fill(&mut self, ticket: Ticket, from: &[u8], swapped: bool) -> usize {
        match self.own.iter_mut().find(|(own, _)| *own == ticket) {
            Some((_, loan)) => fill(loan, from, false),
            None => self.outer.fill(ticket, from, swapped),
        }
    }

    fn copy_in(&mut self, ticket: Ticket, offset: usize, from: &[u8], swapped: bool) -> bool {
        match self.own.iter_mut().find(|(own, _)| *own == ticket) {
            Some((_, loan)) => copy_in(loan, offset, from, false),
            None => self.outer.copy_in(ticket, offset, from, swapped),
        }
    }

    fn copy(&mut self, ticket: Ticket, source: &dyn Source) -> bool {
        // The copy may outlive this scope.
        self.outer.copy(ticket, source)
    }

    fn drop_copy(&mut self, ticket: Ticket) -> bool {
        self.outer.drop_copy(ticket)
    }

    fn part(&self, ticket: Ticket, offset: usize, len: usize) -> Option<Part<'_>> {
        match self.loan(ticket) {
            // Bytes have no byte order.
            Some(loan) => part(loan, offset, len, false),
            None => self.outer.part(ticket, offset, len),
        }
    }
}
