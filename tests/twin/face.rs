//! The common interface of kernel and twin, so that the same tests and measurements run on both.

use crate::hand::{self, Twin};
use crate::protocol::{Off, Tagged, Wanted};
use pombo_kernel::facade::{Lengths, PointToPointExt};
use pombo_kernel::{
    Channel, Communicator, Completed, Envelope, Error, Lent, Limits, Loan, Peer, Refused, Ticket,
};

/// The kernel, with every aspect off.
pub(crate) type Kernel<'buf, L> = Communicator<Tagged, L, Lent<'buf>, Off>;

/// A complete operation, in plain values.
pub(crate) struct Over<'buf> {
    pub(crate) loan: Loan<Lent<'buf>>,
    pub(crate) envelope: Option<Label>,
    pub(crate) outcome: Result<usize, Error>,
}

/// An envelope in plain values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label(pub(crate) Tagged, pub(crate) usize, pub(crate) Peer);

pub(crate) trait Face<'buf, L: Channel>: Sized {
    type Completed;
    type Envelope: Copy;

    fn over(channel: L, limits: Limits) -> Result<Self, Error>;
    fn isend(
        &mut self,
        to: Peer,
        header: Tagged,
        out: &'buf [u8],
    ) -> Result<Ticket, Refused<&'buf [u8]>>;
    fn try_inject(&mut self, to: Peer, header: Tagged, message: &[u8]) -> Result<bool, Error>;
    fn irecv(
        &mut self,
        pattern: Wanted,
        into: &'buf mut [u8],
    ) -> Result<Ticket, Refused<&'buf mut [u8]>>;
    fn check_messages(&mut self) -> Result<bool, Error>;
    fn claim(&mut self, ticket: Ticket) -> Result<Option<Self::Completed>, Error>;
    fn cancel(&mut self, ticket: Ticket) -> Result<(), Error>;
    fn probe(&mut self, pattern: Wanted) -> Result<Option<Self::Envelope>, Error>;
    fn matched_probe(&mut self, pattern: Wanted)
    -> Result<Option<(Ticket, Self::Envelope)>, Error>;
    fn irecv_matched(
        &mut self,
        ticket: Ticket,
        into: &'buf mut [u8],
    ) -> Result<(), Refused<&'buf mut [u8]>>;
    fn send(&mut self, to: Peer, header: Tagged, bytes: &[u8]) -> Result<(), Error>;
    fn recv(&mut self, pattern: Wanted, bytes: &mut [u8]) -> Result<Self::Envelope, Error>;
    /// Runs a receive and a send in nested scopes, which end after a number of polls and claims.
    fn in_scopes(
        &mut self,
        pattern: Wanted,
        into: &mut [u8],
        isend: (Peer, Tagged, &[u8]),
        polls: usize,
    ) -> (Result<bool, Error>, Result<bool, Error>);

    fn tell(completed: Self::Completed) -> Over<'buf>;
    fn label(envelope: Self::Envelope) -> Label;
    fn lengths(&self) -> Lengths;
    fn rejected(&self) -> u64;
    fn is_flushed(&self) -> bool;
    fn channel_mut(&mut self) -> &mut L;
}

/// Both have the same calls.
macro_rules! face {
    ($rank:ty, $calls:ident, $completed:ty, $envelope:ty, $label:expr, $now:expr) => {
        impl<'buf, L: Channel> Face<'buf, L> for $rank {
            type Completed = $completed;
            type Envelope = $envelope;

            fn over(channel: L, limits: Limits) -> Result<Self, Error> {
                Self::with_limits(channel, limits)
            }

            #[inline]
            fn isend(
                &mut self,
                to: Peer,
                header: Tagged,
                out: &'buf [u8],
            ) -> Result<Ticket, Refused<&'buf [u8]>> {
                $calls::isend(self, to, header, out)
            }

            #[inline]
            fn try_inject(
                &mut self,
                to: Peer,
                header: Tagged,
                message: &[u8],
            ) -> Result<bool, Error> {
                $now(self, to, header, message)
            }

            #[inline]
            fn irecv(
                &mut self,
                pattern: Wanted,
                into: &'buf mut [u8],
            ) -> Result<Ticket, Refused<&'buf mut [u8]>> {
                $calls::irecv(self, pattern, into)
            }

            #[inline]
            fn check_messages(&mut self) -> Result<bool, Error> {
                $calls::check_messages(self)
            }

            #[inline]
            fn claim(&mut self, ticket: Ticket) -> Result<Option<Self::Completed>, Error> {
                $calls::claim(self, ticket)
            }

            #[inline]
            fn cancel(&mut self, ticket: Ticket) -> Result<(), Error> {
                $calls::cancel(self, ticket)
            }

            #[inline]
            fn probe(&mut self, pattern: Wanted) -> Result<Option<Self::Envelope>, Error> {
                $calls::probe(self, pattern)
            }

            #[inline]
            fn matched_probe(
                &mut self,
                pattern: Wanted,
            ) -> Result<Option<(Ticket, Self::Envelope)>, Error> {
                $calls::matched_probe(self, pattern)
            }

            #[inline]
            fn irecv_matched(
                &mut self,
                ticket: Ticket,
                into: &'buf mut [u8],
            ) -> Result<(), Refused<&'buf mut [u8]>> {
                $calls::irecv_matched(self, ticket, into)
            }

            #[inline]
            fn send(&mut self, to: Peer, header: Tagged, bytes: &[u8]) -> Result<(), Error> {
                $calls::send(self, to, header, bytes)
            }

            #[inline]
            fn recv(&mut self, pattern: Wanted, bytes: &mut [u8]) -> Result<Self::Envelope, Error> {
                $calls::recv(self, pattern, bytes)
            }

            fn in_scopes(
                &mut self,
                pattern: Wanted,
                into: &mut [u8],
                (to, header, bytes): (Peer, Tagged, &[u8]),
                polls: usize,
            ) -> (Result<bool, Error>, Result<bool, Error>) {
                $calls::scope(self, |outer| {
                    let posted = outer.irecv(pattern, into).map_err(Error::from);
                    let sent = outer.scope(|inner| {
                        let ticket = inner.isend(to, header, bytes)?;
                        for _ in 0..polls {
                            inner.check_messages()?;
                        }
                        Ok(inner.claim(ticket)?.is_some())
                    });
                    let got = posted.and_then(|ticket| Ok(outer.claim(ticket)?.is_some()));
                    (got, sent)
                })
            }

            fn tell(completed: Self::Completed) -> Over<'buf> {
                Over {
                    loan: completed.loan,
                    envelope: completed.envelope.map(<Self as Face<'buf, L>>::label),
                    outcome: completed.outcome,
                }
            }

            fn label(envelope: Self::Envelope) -> Label {
                $label(envelope)
            }

            fn lengths(&self) -> Lengths {
                self.lengths()
            }

            fn rejected(&self) -> u64 {
                self.rejected()
            }

            fn is_flushed(&self) -> bool {
                self.is_flushed()
            }

            fn channel_mut(&mut self) -> &mut L {
                self.channel_mut()
            }
        }
    };
}

face!(
    Kernel<'buf, L>,
    Kernel,
    Completed<Tagged, Lent<'buf>, Off>,
    Envelope<Tagged, Off>,
    |envelope: Envelope<Tagged, Off>| Label(envelope.header(), envelope.len(), envelope.peer()),
    |rank: &mut _, to, header, message: &[u8]| PointToPointExt::try_inject(rank, to, header, &message)
);
face!(
    Twin<'buf, L>,
    Twin,
    hand::Completed<'buf>,
    hand::Envelope,
    |envelope: hand::Envelope| Label(envelope.header, envelope.len(), envelope.peer()),
    |rank: &mut _, to, header, message: &[u8]| Twin::try_inject(rank, to, header, message)
);
