//! One rank of a schedule, of any composition: a communicator, or an endpoint with two ports.

use crate::common::{Bytes, Owned};
use crate::numbered::{Numbered, Select};
use pombo_kernel::facade::Lengths;
use pombo_kernel::{
    Communicator, Completed, Config, Endpoint, Error, Limits, Loan, Mode, Peer, PointToPoint, Port,
    Refused, Ticket,
};
use pombo_netdrivers::Loopback;
use pombo_testing::AdversarialChannel;

pub(crate) type Channel = AdversarialChannel<Loopback>;

/// Sender, header and length of a message.
pub(crate) type Whose = (u16, Numbered, usize);

/// A completed operation.
pub(crate) struct Ended {
    pub(crate) outcome: Result<usize, Error>,
    pub(crate) whose: Option<Whose>,
    pub(crate) bytes: Vec<u8>,
}

/// The calls that schedules make.
pub(crate) trait Rank {
    fn ports(&self) -> usize;
    fn channel(&mut self) -> &mut Channel;
    fn send(
        &mut self,
        port: usize,
        mode: Mode,
        to: Peer,
        header: Numbered,
        bytes: Vec<u8>,
    ) -> Result<Ticket, Refused<Bytes>>;
    fn send_buffered(
        &mut self,
        port: usize,
        to: Peer,
        header: Numbered,
        bytes: &Bytes,
    ) -> Result<(), Error>;
    fn send_within(
        &mut self,
        port: usize,
        to: Peer,
        header: Numbered,
        bytes: &[u8],
        time: u64,
    ) -> Result<(), Error>;
    fn receive(&mut self, port: usize, pattern: Select, room: usize) -> Result<Ticket, Error>;
    fn cancel(&mut self, port: usize, ticket: Ticket) -> Result<(), Error>;
    fn claim(&mut self, port: usize, ticket: Ticket) -> Result<Option<Ended>, Error>;
    fn wait_timeout(
        &mut self,
        port: usize,
        ticket: Ticket,
        time: u64,
    ) -> Result<Option<Ended>, Error>;
    fn probe(&mut self, port: usize, pattern: Select) -> Result<Option<Whose>, Error>;
    fn progress(&mut self, port: usize) -> Result<bool, Error>;
    fn lengths(&mut self, port: usize) -> Lengths;
    fn rejected(&mut self, port: usize) -> u64;
}

/// A rank with one port.
pub(crate) struct Solo<C: Config>(Communicator<Numbered, Channel, Owned, C>);

/// A rank with two ports.
pub(crate) struct Pair<A: Config, B: Config>(
    Endpoint<Channel, (Port<Numbered, Owned, A>, Port<Numbered, Owned, B>)>,
);

impl<C: Config> Solo<C> {
    pub(crate) fn boxed(channel: Channel, limits: Limits) -> Box<dyn Rank> {
        let comm = Communicator::with_limits(channel, limits);
        Box::new(Solo::<C>(comm.expect("it fits")))
    }
}

impl<A: Config, B: Config> Pair<A, B> {
    /// Boxes a rank; the limits of two ports are the default ones.
    pub(crate) fn boxed(channel: Channel, _: Limits) -> Box<dyn Rank> {
        Box::new(Pair::<A, B>(Endpoint::two(channel).expect("it fits")))
    }
}

fn ended<C: Config>(over: Completed<Numbered, Owned, C>) -> Ended {
    let (Loan::Sent(Bytes(bytes)) | Loan::Received(Bytes(bytes))) = over.loan;
    Ended {
        outcome: over.outcome,
        whose: over.envelope.map(|e| (e.peer().0, e.header(), e.len())),
        bytes,
    }
}

fn probe(
    rank: &mut impl PointToPoint<Header = Numbered>,
    pattern: Select,
) -> Result<Option<Whose>, Error> {
    let found = rank.probe(pattern)?;
    Ok(found.map(|e| (e.peer().0, e.header(), e.len())))
}

macro_rules! rank {
    ($ports:expr, $self:ident, $port:ident, $work:ident => $any:ident!) => {
        fn ports(&self) -> usize {
            $ports
        }

        fn channel(&mut self) -> &mut Channel {
            self.0.channel_mut()
        }

        fn send(
            &mut $self,
            $port: usize,
            mode: Mode,
            to: Peer,
            header: Numbered,
            bytes: Vec<u8>,
        ) -> Result<Ticket, Refused<Bytes>> {
            $any!($self, $port, $work => $work.isend_as(mode, to, header, Bytes(bytes)))
        }

        fn send_buffered(
            &mut $self,
            $port: usize,
            to: Peer,
            header: Numbered,
            bytes: &Bytes,
        ) -> Result<(), Error> {
            $any!($self, $port, $work => $work.send_buffered(to, header, bytes))
        }

        fn send_within(
            &mut $self,
            $port: usize,
            to: Peer,
            header: Numbered,
            bytes: &[u8],
            time: u64,
        ) -> Result<(), Error> {
            $any!($self, $port, $work => $work.send_timeout(to, header, bytes, time))
        }

        fn receive(&mut $self, $port: usize, pattern: Select, room: usize) -> Result<Ticket, Error> {
            let into = Bytes(vec![0; room]);
            Ok($any!($self, $port, $work => $work.irecv(pattern, into))?)
        }

        fn cancel(&mut $self, $port: usize, ticket: Ticket) -> Result<(), Error> {
            $any!($self, $port, $work => $work.cancel(ticket))
        }

        fn claim(&mut $self, $port: usize, ticket: Ticket) -> Result<Option<Ended>, Error> {
            $any!($self, $port, $work => Ok($work.claim(ticket)?.map(ended)))
        }

        fn wait_timeout(
            &mut $self,
            $port: usize,
            ticket: Ticket,
            time: u64,
        ) -> Result<Option<Ended>, Error> {
            $any!($self, $port, $work => Ok($work.wait_timeout(ticket, time)?.map(ended)))
        }

        fn probe(&mut $self, $port: usize, pattern: Select) -> Result<Option<Whose>, Error> {
            $any!($self, $port, $work => probe($work, pattern))
        }

        fn progress(&mut $self, $port: usize) -> Result<bool, Error> {
            $any!($self, $port, $work => $work.check_messages())
        }

        fn lengths(&mut $self, $port: usize) -> Lengths {
            $any!($self, $port, $work => $work.lengths())
        }

        fn rejected(&mut $self, $port: usize) -> u64 {
            $any!($self, $port, $work => $work.rejected())
        }
    };
}

macro_rules! only {
    ($self:ident, $port:ident, $work:ident => $call:expr) => {{
        assert_eq!($port, 0);
        let $work = &mut $self.0;
        $call
    }};
}

macro_rules! either {
    ($self:ident, $port:ident, $work:ident => $call:expr) => {
        if $port == 0 {
            let $work = &mut $self.0.port::<0>();
            $call
        } else {
            let $work = &mut $self.0.port::<1>();
            $call
        }
    };
}

impl<C: Config> Rank for Solo<C> {
    rank!(1, self, port, work => only!);
}

impl<A: Config, B: Config> Rank for Pair<A, B> {
    rank!(2, self, port, work => either!);
}
