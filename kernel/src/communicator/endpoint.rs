//! Ports and what joins them: several protocols over one channel, or one, which is the usual case.
//!
//! The paper's system takes one protocol at a time. An [`Endpoint`] takes several, known when the program is built:
//! each [`Port`] has its own header, queues, pool and credit, so unread traffic of one never stops another. A
//! [`Communicator`] is an endpoint with a single port, and pays nothing for the others.

use super::engine::Engine;
use super::lane::{Alone, Behind, Numbered, Rest, Shared};
use super::loans::{Lender, Loans};
use super::operate::Operate;
use super::state::State;
use crate::aspect::{Counters, Datatypes, Statistics};
use crate::channel::{Channel, Event, MIN_LIMIT};
use crate::config::{Config, Selected};
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::{Handle, LEAD};
use crate::header::{Header, Node};
use crate::matching::{Expected, Unexpected};
use crate::memory::{Bank, Memory, Ticket};

/// One header's queues and loans.
pub struct Port<H: Header, M: Memory, C: Config = Selected> {
    state: State<H, C>,
    loans: Loans<M, C>,
}

/// A channel and the ports over it.
pub struct Endpoint<L: Channel, P> {
    channel: L,
    ports: P,
}

/// An endpoint with one port: the four queues, the loans, and the channel below. What it can do is in [`Operate`].
pub type Communicator<H, L, M, C = Selected> = Endpoint<L, Single<Port<H, M, C>>>;

/// The ports of an endpoint that has one.
pub struct Single<P>(P);

/// Bounds chosen when a program starts, inside what the composition allows. All nodes must choose the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Places in each peer's pool that a node may take: 1 up to pool / nodes, which is the default.
    pub credit: Option<u32>,
    /// The longest payload in bytes that is sent without an announce: at most the composition's.
    pub eager: Option<usize>,
    /// What copies of messages may take in bytes, each with [`COPY_OVERHEAD`](super::COPY_OVERHEAD): in compositions
    /// with buffering, where the default is as many as there are operations. Nodes may choose differently.
    pub copies: Option<usize>,
}

/// How long the queues are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lengths {
    /// Sends and receives that are under way or unclaimed.
    pub operations: usize,
    /// Receives that wait for a message.
    pub expected: usize,
    /// Messages that wait for a receive.
    pub unexpected: usize,
}

impl<H: Header, M: Memory, C: Config> Port<H, M, C> {
    const HEADS_FIT: () = assert!(
        LEAD + 2 * size_of::<Handle>() + size_of::<C::Length>() + size_of::<H>() < MIN_LIMIT
            && LEAD + size_of::<Handle>() + size_of::<C::Length>() + size_of::<H::Pattern>()
                < MIN_LIMIT,
        "the header or its pattern is too large: frames must fit 128 bytes without payload"
    );

    const LEVEL_FITS: () = assert!(
        M::LEVEL as u8 <= <C::Datatypes as Datatypes>::LEVEL as u8,
        "this memory needs a higher level of datatypes than the composition has"
    );

    fn new(channel: &impl Channel, limits: Limits) -> Result<Self, Error> {
        const { Self::HEADS_FIT };
        const { Self::LEVEL_FITS };
        let mut state = State::new(channel.node(), channel.nodes())?;
        if let Some(credit) = limits.credit {
            state.set_credit(credit.clamp(1, state.credit));
        }
        if let Some(eager) = limits.eager {
            state.eager = state.eager.min(eager);
        }
        Ok(Port {
            state,
            loans: Loans::new(limits.copies),
        })
    }

    fn statistics(&self) -> Option<Statistics> {
        self.state.counters.statistics()
    }

    fn lengths(&self) -> Lengths {
        Lengths {
            operations: self.state.operations.len(),
            expected: self.state.expected.len(),
            unexpected: self.state.unexpected.len(),
        }
    }
}

impl<L: Channel, P> Endpoint<L, P> {
    /// This node.
    pub fn node(&self) -> Node {
        self.channel.node()
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.channel.nodes()
    }

    /// The channel below.
    pub fn channel(&self) -> &L {
        &self.channel
    }

    /// The channel below. Sending on it directly breaks the kernel's order.
    pub fn channel_mut(&mut self) -> &mut L {
        &mut self.channel
    }
}

impl<H: Header, L: Channel, M: Memory, C: Config> Communicator<H, L, M, C> {
    /// Over a channel, with the composition's bounds.
    ///
    /// # Errors
    /// [`Error::TooManyNodes`], [`Error::PoolTooSmall`].
    pub fn new(channel: L) -> Result<Self, Error> {
        Self::with_limits(channel, Limits::default())
    }

    /// Over a channel, with smaller bounds.
    ///
    /// # Errors
    /// [`Error::TooManyNodes`], [`Error::PoolTooSmall`].
    pub fn with_limits(channel: L, limits: Limits) -> Result<Self, Error> {
        let ports = Single(Port::new(&channel, limits)?);
        Ok(Endpoint { channel, ports })
    }

    /// How long the queues are now.
    pub fn lengths(&self) -> Lengths {
        self.ports.0.lengths()
    }

    /// What was counted so far; `None` if the composition has no observer.
    pub fn statistics(&self) -> Option<Statistics> {
        self.ports.0.statistics()
    }

    /// Frames dropped because no rule of the protocol explains them.
    pub fn rejected(&self) -> u64 {
        self.ports.0.state.rejected
    }

    /// Has that node gone, and has all come that it sent?
    pub fn is_gone(&self, node: Node) -> bool {
        let peers = self.ports.0.state.peers.as_ref();
        peers.get(node.index()).is_some_and(|peer| peer.gone)
    }

    /// What a receive wants that nothing has matched yet; `None` of everything else.
    pub fn wanted(&mut self, ticket: Ticket) -> Option<H::Pattern> {
        self.ports.0.state.wanted(ticket)
    }

    /// Has a probe found such a message, which its sender keeps, and no receive has matched it since? A probe with this
    /// pattern asks the sender anew: it should not say no while [`Endpoint::is_asking`].
    pub fn has_told(&self, pattern: &H::Pattern) -> bool {
        self.ports.0.state.has_told(pattern)
    }

    /// Is the question of a probe with this pattern on its way to senders that keep messages, or its answer?
    pub fn is_asking(&self, pattern: &H::Pattern) -> bool {
        self.ports.0.state.is_asking(pattern)
    }

    /// The header of an operation's message, where one is known.
    pub fn header(&mut self, ticket: Ticket) -> Option<H> {
        let operation = self.ports.0.state.operation(ticket)?;
        operation.envelope.as_ref().map(Envelope::header)
    }

    /// Ends such a receive with [`Error::PeerLost`]: for a caller to whom one from anybody is not worth waiting for,
    /// as that node has gone.
    pub fn give_up(&mut self, ticket: Ticket, node: Node) {
        self.ports.0.state.give_up(ticket, node);
    }

    /// Every frame that was due has been taken by the channel; what is left waits for the peers.
    pub fn is_flushed(&self) -> bool {
        !self.ports.0.state.due
    }
}

impl<H: Header, L: Channel, M: Memory, C: Config> Operate for Communicator<H, L, M, C> {
    type Header = H;
    type Channel = L;
    type Memory = M;
    type Config = C;
    type Lane<'x>
        = Alone
    where
        Self: 'x;

    #[inline]
    fn engine(&mut self) -> Engine<'_, H, L, C, impl Lender<M> + Bank, Alone> {
        Engine {
            state: &mut self.ports.0.state,
            channel: &mut self.channel,
            bank: &mut self.ports.0.loans,
            lane: Alone,
        }
    }
}

/// One port of an endpoint at work, the others making progress beside it.
pub struct View<'a, L: Channel, P, R> {
    channel: &'a mut L,
    number: u8,
    port: &'a mut P,
    rest: R,
}

impl<H: Header, L: Channel, M: Memory, C: Config, R: Rest<L>> View<'_, L, Port<H, M, C>, R> {
    /// How long this port's queues are now.
    pub fn lengths(&self) -> Lengths {
        self.port.lengths()
    }

    /// What this port counted so far; `None` if its composition has no observer.
    pub fn statistics(&self) -> Option<Statistics> {
        self.port.statistics()
    }

    /// Frames of this port dropped because no rule of the protocol explains them.
    pub fn rejected(&self) -> u64 {
        self.port.state.rejected
    }
}

impl<H: Header, L: Channel, M: Memory, C: Config, R: Rest<L>> Operate
    for View<'_, L, Port<H, M, C>, R>
{
    type Header = H;
    type Channel = L;
    type Memory = M;
    type Config = C;
    type Lane<'x>
        = Shared<'x, L>
    where
        Self: 'x;

    fn engine(&mut self) -> Engine<'_, H, L, C, impl Lender<M> + Bank, Shared<'_, L>> {
        Engine {
            state: &mut self.port.state,
            channel: self.channel,
            bank: &mut self.port.loans,
            lane: Shared(self.number, &mut self.rest),
        }
    }
}

/// Another port beside the one at work.
pub struct At<'a, P> {
    number: u8,
    port: &'a mut P,
}

impl<H: Header, L: Channel, M: Memory, C: Config> Rest<L> for At<'_, Port<H, M, C>> {
    fn event(&mut self, port: u8, event: Event<Behind<L::Arrival<'_>>>) {
        if port == self.number {
            self.port.state.event(event, &mut self.port.loans);
        }
    }

    fn has(&self, port: u8) -> bool {
        port == self.number
    }

    fn lose(&mut self, node: Node) {
        self.port.state.lose(node);
    }

    fn flush(&mut self, channel: &mut L) -> Result<bool, Error> {
        let port = self.number;
        let mut outlet = Numbered { channel, port };
        self.port.state.flush(&mut outlet, &mut self.port.loans)
    }
}

impl<L: Channel, A: Rest<L>, B: Rest<L>> Rest<L> for (A, B) {
    fn event(&mut self, port: u8, event: Event<Behind<L::Arrival<'_>>>) {
        if self.0.has(port) {
            self.0.event(port, event)
        } else {
            self.1.event(port, event)
        }
    }

    fn has(&self, port: u8) -> bool {
        self.0.has(port) || self.1.has(port)
    }

    fn lose(&mut self, node: Node) {
        self.0.lose(node);
        self.1.lose(node);
    }

    fn flush(&mut self, channel: &mut L) -> Result<bool, Error> {
        let first = self.0.flush(channel)?;
        Ok(self.1.flush(channel)? || first)
    }
}

/// Port `I` of an endpoint's ports, and the rest.
pub trait Ports<L: Channel, const I: usize> {
    /// The port.
    type Port;
    /// The others.
    type Rest<'a>: Rest<L>
    where
        Self: 'a;

    /// Both.
    fn select(&mut self) -> (&mut Self::Port, Self::Rest<'_>);
}

impl<L: Channel, P> Endpoint<L, P> {
    /// One port at work: `endpoint.port::<1>().send(..)`.
    pub fn port<const I: usize>(
        &mut self,
    ) -> View<'_, L, <P as Ports<L, I>>::Port, <P as Ports<L, I>>::Rest<'_>>
    where
        P: Ports<L, I>,
    {
        let (port, rest) = self.ports.select();
        View {
            channel: &mut self.channel,
            number: I as u8,
            port,
            rest,
        }
    }
}

macro_rules! endpoint_of {
    ($constructor:ident: $($number:tt $h:ident $m:ident $c:ident),+) => {
        impl<L: Channel, $($h: Header, $m: Memory, $c: Config),+>
            Endpoint<L, ($(Port<$h, $m, $c>,)+)>
        {
            /// Over a channel, with the compositions' bounds.
            ///
            /// # Errors
            /// [`Error::TooManyNodes`], [`Error::PoolTooSmall`].
            pub fn $constructor(channel: L) -> Result<Self, Error> {
                let ports = ($(Port::<$h, $m, $c>::new(&channel, Limits::default())?,)+);
                Ok(Endpoint { channel, ports })
            }
        }
    };
}

macro_rules! port_of {
    ($number:tt of $($h:ident $m:ident $c:ident),+: $port:ty, $rest:ty = $others:tt) => {
        impl<L: Channel, $($h: Header, $m: Memory, $c: Config),+> Ports<L, $number>
            for ($(Port<$h, $m, $c>,)+)
        {
            type Port = $port;
            type Rest<'a> = $rest where Self: 'a;

            fn select(&mut self) -> (&mut Self::Port, Self::Rest<'_>) {
                (&mut self.$number, port_of!(@ self $others))
            }
        }
    };
    (@ $ports:ident ($a:tt)) => { At { number: $a, port: &mut $ports.$a } };
    (@ $ports:ident ($a:tt $b:tt)) => {
        (At { number: $a, port: &mut $ports.$a }, At { number: $b, port: &mut $ports.$b })
    };
}

endpoint_of!(two: 0 H0 M0 C0, 1 H1 M1 C1);
port_of!(0 of H0 M0 C0, H1 M1 C1: Port<H0, M0, C0>, At<'a, Port<H1, M1, C1>> = (1));
port_of!(1 of H0 M0 C0, H1 M1 C1: Port<H1, M1, C1>, At<'a, Port<H0, M0, C0>> = (0));

endpoint_of!(three: 0 H0 M0 C0, 1 H1 M1 C1, 2 H2 M2 C2);
port_of!(0 of H0 M0 C0, H1 M1 C1, H2 M2 C2: Port<H0, M0, C0>,
    (At<'a, Port<H1, M1, C1>>, At<'a, Port<H2, M2, C2>>) = (1 2));
port_of!(1 of H0 M0 C0, H1 M1 C1, H2 M2 C2: Port<H1, M1, C1>,
    (At<'a, Port<H0, M0, C0>>, At<'a, Port<H2, M2, C2>>) = (0 2));
port_of!(2 of H0 M0 C0, H1 M1 C1, H2 M2 C2: Port<H2, M2, C2>,
    (At<'a, Port<H0, M0, C0>>, At<'a, Port<H1, M1, C1>>) = (0 1));
