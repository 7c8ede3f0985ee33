//! The ports of an endpoint that groups use: messages to members have one, the agreement has another, so members that
//! leave their messages unread do not hold it up. Only `service` uses what a scope of them can do.

#[cfg(feature = "hosts")]
use super::cast_channel::CastChannel;
use super::frame::{AgreementComposition, AgreementHeader, GroupHeader};
use super::verdicts::Verdicts;
use super::{RESEND, Verdict};
use pombo_kernel::facade::{FirstPort, Inspect, MultiPort, PointToPointExt};
use pombo_kernel::{
    Config, Endpoint, Error, Exact, Header, Lent, Memory, Peer, PointToPoint, Port, Scope, Select,
    Ticket,
};

/// The agreement's port.
pub type AgreementPort = Port<AgreementHeader, Lent<'static>, AgreementComposition>;

/// An endpoint with groups: port 0 is that of messages to members and of collective operations on frozen groups.
/// `Endpoint::two` creates it; with `Endpoint::three` another protocol has port 2.
pub type GroupEndpoint<L, C, M = Lent<'static>> =
    Endpoint<L, (Port<GroupHeader, M, C>, AgreementPort)>;

/// An endpoint whose first two ports are those of groups.
pub trait GroupPorts {
    /// The channel below.
    type Channel: Verdicts;

    /// Returns the channel below.
    fn channel_of_groups(&self) -> &Self::Channel;

    /// Runs `f` with both ports.
    #[doc(hidden)]
    fn scope<'buf, R>(&mut self, f: impl FnOnce(&mut (dyn ScopedPorts<'buf> + '_)) -> R) -> R;
}

impl<L: Verdicts, M: Memory, C: Config> GroupPorts for GroupEndpoint<L, C, M> {
    type Channel = L;

    fn channel_of_groups(&self) -> &L {
        self.channel()
    }

    fn scope<'buf, R>(&mut self, f: impl FnOnce(&mut (dyn ScopedPorts<'buf> + '_)) -> R) -> R {
        self.port::<0>().scope(|scope| f(scope))
    }
}

impl<L: Verdicts, M: Memory, C: Config, H: Header, N: Memory, D: Config> GroupPorts
    for Endpoint<L, (Port<GroupHeader, M, C>, AgreementPort, Port<H, N, D>)>
{
    type Channel = L;

    fn channel_of_groups(&self) -> &L {
        self.channel()
    }

    fn scope<'buf, R>(&mut self, f: impl FnOnce(&mut (dyn ScopedPorts<'buf> + '_)) -> R) -> R {
        self.port::<0>().scope(|scope| f(scope))
    }
}

/// Both ports, while buffers of that lifetime may be lent to the first.
pub trait ScopedPorts<'buf> {
    /// Takes the next message with that header on the agreement's port: its sender and its length.
    fn next_of_agreement(
        &mut self,
        header: AgreementHeader,
        into: &mut [u8],
    ) -> Result<Option<(Peer, usize)>, Error>;

    /// Sends a message on the agreement's port now or not at all; returns whether it has left.
    fn try_inject(&mut self, to: Peer, header: AgreementHeader, bytes: &[u8]) -> bool;

    /// Sends a message of the agreement now or not at all.
    fn inject(&mut self, to: Peer, bytes: &[u8]) {
        self.try_inject(to, AgreementHeader::new(), bytes);
    }

    /// Returns the part of the channel on which one frame reaches several hosts.
    #[cfg(feature = "hosts")]
    fn cast_channel(&mut self) -> Option<&mut dyn CastChannel>;

    /// Returns what is known of a peer from which nothing will come any more.
    fn lost(&mut self, peer: Peer) -> Option<Verdict>;

    /// Makes progress, or waits for a moment.
    fn progress_or_wait(&mut self, idle: &mut u32, nanoseconds: u64) -> Result<(), Error>;

    /// Handles what has arrived.
    fn progress(&mut self) -> Result<(), Error>;

    /// Returns the first message that matches, and its sender.
    fn probe(&mut self, pattern: Select<GroupHeader>)
    -> Result<Option<(GroupHeader, Peer)>, Error>;

    /// Shows all messages to groups that have arrived.
    fn for_each_message(&mut self, f: &mut dyn FnMut(GroupHeader, Peer));

    /// Drops the first message that matches; its sender goes on.
    fn drop_message(&mut self, pattern: Select<GroupHeader>) -> Result<(), Error>;

    /// Begins to send a message to a member.
    fn isend(&mut self, to: Peer, header: GroupHeader, bytes: &'buf [u8]) -> Result<Ticket, Error>;

    /// Begins to receive a message.
    fn irecv(
        &mut self,
        pattern: Select<GroupHeader>,
        into: &'buf mut [u8],
    ) -> Result<Ticket, Error>;

    /// Returns the outcome of an operation that is complete: the number of bytes.
    fn claim(&mut self, ticket: Ticket) -> Result<Option<Result<usize, Error>>, Error>;
}

impl<'buf, L: Verdicts, C: Config, O: FirstPort<L, Port = AgreementPort>> ScopedPorts<'buf>
    for Scope<'_, 'buf, GroupHeader, L, C, MultiPort<'_, O>>
{
    fn next_of_agreement(
        &mut self,
        header: AgreementHeader,
        into: &mut [u8],
    ) -> Result<Option<(Peer, usize)>, Error> {
        let mut port = self.first_other();
        while let Some(envelope) = port.probe(Exact(header).into())? {
            let from = envelope.peer();
            let pattern = Select::from(Exact(header)).from_peer(from);
            // It has arrived as a whole: such messages are never announced.
            match port.recv_timeout(pattern, &mut *into, RESEND) {
                Ok(envelope) => return Ok(Some((from, envelope.len()))),
                Err(Error::Channel(error)) => return Err(Error::Channel(error)),
                Err(_) => {}
            }
        }
        Ok(None)
    }

    fn try_inject(&mut self, to: Peer, header: AgreementHeader, bytes: &[u8]) -> bool {
        // What waits for a process that has not joined yet is old when it comes. A lost peer is found by its verdict, a
        // broken channel by the next poll.
        self.channel_below().has_started(to)
            && matches!(self.first_other().try_inject(to, header, &bytes), Ok(true))
    }

    #[cfg(feature = "hosts")]
    fn cast_channel(&mut self) -> Option<&mut dyn CastChannel> {
        self.channel_below().cast_channel()
    }

    fn lost(&mut self, peer: Peer) -> Option<Verdict> {
        let is_lost = self.first_other().is_lost(peer);
        is_lost.then(|| self.channel_below().verdict(peer))
    }

    fn progress_or_wait(&mut self, idle: &mut u32, nanoseconds: u64) -> Result<(), Error> {
        self.progress_or_wait_timeout(idle, nanoseconds)
    }

    fn progress(&mut self) -> Result<(), Error> {
        self.check_messages().map(drop)
    }

    fn probe(
        &mut self,
        pattern: Select<GroupHeader>,
    ) -> Result<Option<(GroupHeader, Peer)>, Error> {
        let found = PointToPoint::probe(self, pattern)?;
        Ok(found.map(|envelope| (envelope.header(), envelope.peer())))
    }

    fn for_each_message(&mut self, f: &mut dyn FnMut(GroupHeader, Peer)) {
        self.for_each_unexpected(|envelope| f(envelope.header(), envelope.peer()));
    }

    fn drop_message(&mut self, pattern: Select<GroupHeader>) -> Result<(), Error> {
        // At the end of the inner scope the kernel drops what is still arriving.
        PointToPoint::scope(self, |scope| {
            let ticket = scope.irecv(pattern, &mut []);
            let ticket = ticket.map_err(|refused| refused.error)?;
            scope.check_messages()?;
            scope.claim(ticket)?;
            Ok(())
        })
    }

    fn isend(&mut self, to: Peer, header: GroupHeader, bytes: &'buf [u8]) -> Result<Ticket, Error> {
        PointToPoint::isend(self, to, header, bytes).map_err(|refused| refused.error)
    }

    fn irecv(
        &mut self,
        pattern: Select<GroupHeader>,
        into: &'buf mut [u8],
    ) -> Result<Ticket, Error> {
        PointToPoint::irecv(self, pattern, into).map_err(|refused| refused.error)
    }

    fn claim(&mut self, ticket: Ticket) -> Result<Option<Result<usize, Error>>, Error> {
        let completed = PointToPoint::claim(self, ticket)?;
        Ok(completed.map(|completed| completed.outcome))
    }
}
