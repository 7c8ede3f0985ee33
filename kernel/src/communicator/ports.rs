//! Ports and endpoints: several protocols over one channel, or one, which is the usual case.
//!
//! The paper's system takes one protocol at a time. An [`Endpoint`] takes several, known when the program is built:
//! each [`Port`] has its own header, queues, pool and credit, so unread traffic of one never stops another. A
//! [`Communicator`] is an endpoint with a single port, and pays nothing for the others.

use super::completed_operation::Completed;
use super::engine::Engine;
use super::lent_buffers::{BufferLending, BufferTable};
use super::point_to_point::{PointToPoint, calls};
use super::port_mux::{Demuxed, MultiPort, NumberedTx, OtherPorts, SinglePort};
use super::post::Mode;
use super::scope::Scope;
use super::state::State;
use crate::aspect::{Counters, Datatypes, Statistics};
use crate::channel::{Arrival, Channel, Event, MIN_LIMIT};
use crate::composition::Selected;
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::{Error, Refused};
use crate::frame::{Handle, PREAMBLE};
use crate::header::{Header, Peer};
use crate::matching::{Expected, Unexpected};
use crate::memory::{Memory, Source, Ticket};

/// The queues and loans of one header type.
pub struct Port<H: Header, M: Memory, C: Config = Selected> {
    state: State<H, C>,
    buffers: BufferTable<M, C>,
}

/// A channel and the ports over it.
pub struct Endpoint<L: Channel, P> {
    channel: L,
    ports: P,
}

/// An endpoint with one port: the four queues, the loans, and the channel below.
pub type Communicator<H, L, M, C = Selected> = Endpoint<L, Single<Port<H, M, C>>>;

/// The port of an endpoint with a single port.
pub struct Single<P>(P);

/// Bounds chosen at start-up, within those of the composition. All peers must choose the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Number of slots that a peer may use in each other peer's pool: 1 to pool / peers, which is the default.
    pub credit: Option<u32>,
    /// The longest payload in bytes that is sent eagerly: at most the composition's.
    pub eager: Option<usize>,
    /// Bytes that copies of messages may occupy, including [`COPY_OVERHEAD`](super::COPY_OVERHEAD) for each: in
    /// compositions with buffering, where the default is one copy per operation. Peers may choose different values.
    pub copies: Option<usize>,
}

/// The lengths of the queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lengths {
    /// Number of sends and receives that are in progress or unclaimed.
    pub operations: usize,
    /// Number of posted receives without a message.
    pub expected: usize,
    /// Number of arrived messages without a receive.
    pub unexpected: usize,
}

impl<H: Header, M: Memory, C: Config> Port<H, M, C> {
    const HEADS_FIT: () = assert!(
        PREAMBLE + 2 * size_of::<Handle>() + size_of::<C::Length>() + size_of::<H>() < MIN_LIMIT
            && PREAMBLE + size_of::<Handle>() + size_of::<C::Length>() + size_of::<H::Pattern>()
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
        let mut state = State::new(channel.me(), channel.peers())?;
        if let Some(credit) = limits.credit {
            state.set_credit(credit.clamp(1, state.credit));
        }
        if let Some(eager) = limits.eager {
            state.eager = state.eager.min(eager);
        }
        Ok(Port {
            state,
            buffers: BufferTable::new(limits.copies),
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
    /// Returns the number of this peer.
    pub fn me(&self) -> Peer {
        self.channel.me()
    }

    /// Returns the number of peers.
    pub fn peers(&self) -> usize {
        self.channel.peers()
    }

    /// Returns the channel below.
    pub fn channel(&self) -> &L {
        &self.channel
    }

    /// Returns the channel below. Sending on it directly breaks the kernel's order.
    pub fn channel_mut(&mut self) -> &mut L {
        &mut self.channel
    }
}

impl<H: Header, L: Channel, M: Memory, C: Config> Communicator<H, L, M, C> {
    /// Creates a communicator over a channel, with the composition's bounds.
    ///
    /// # Errors
    /// [`Error::TooManyPeers`], [`Error::PoolTooSmall`].
    pub fn new(channel: L) -> Result<Self, Error> {
        Self::with_limits(channel, Limits::default())
    }

    /// Creates a communicator over a channel, with smaller bounds.
    ///
    /// # Errors
    /// [`Error::TooManyPeers`], [`Error::PoolTooSmall`].
    pub fn with_limits(channel: L, limits: Limits) -> Result<Self, Error> {
        let ports = Single(Port::new(&channel, limits)?);
        Ok(Endpoint { channel, ports })
    }

    /// Returns the present lengths of the queues.
    pub fn lengths(&self) -> Lengths {
        self.ports.0.lengths()
    }

    /// Returns the counters; `None` if the composition has no observer.
    pub fn statistics(&self) -> Option<Statistics> {
        self.ports.0.statistics()
    }

    /// Returns the number of frames dropped because they violate the protocol.
    pub fn rejected(&self) -> u64 {
        self.ports.0.state.rejected
    }

    /// Returns whether that peer is lost and every frame that it sent has arrived.
    pub fn is_dead(&self, peer: Peer) -> bool {
        self.ports.0.state.is_dead(peer)
    }

    /// Returns whether the channel has taken every frame that was due; all else waits for the peers.
    pub fn is_flushed(&self) -> bool {
        !self.ports.0.state.tx_pending
    }
}

/// Sends, receives and their completion. Only the calls whose names say so (`wait`, `send`, `recv`, `wait_probe`)
/// block; progress happens inside calls.
impl<H: Header, L: Channel, M: Memory, C: Config> Communicator<H, L, M, C> {
    calls!(pub H, L, M, C, SinglePort);
}

impl<H: Header, L: Channel, M: Memory, C: Config> PointToPoint for Communicator<H, L, M, C> {
    type Header = H;
    type Channel = L;
    type Memory = M;
    type Config = C;
    type PortMux<'x>
        = SinglePort
    where
        Self: 'x;

    #[inline]
    fn engine(&mut self) -> Engine<'_, H, L, C, impl BufferLending<Memory = M>, SinglePort> {
        Engine {
            state: &mut self.ports.0.state,
            channel: &mut self.channel,
            buffers: &mut self.ports.0.buffers,
            mux: SinglePort,
        }
    }
}

/// One port of an endpoint during a call; the other ports make progress too.
pub struct PortView<'a, L: Channel, P, R> {
    pub(super) channel: &'a mut L,
    pub(super) number: u8,
    pub(super) port: &'a mut P,
    pub(super) others: R,
}

impl<H: Header, L: Channel, M: Memory, C: Config, R: OtherPorts<L>>
    PortView<'_, L, Port<H, M, C>, R>
{
    /// Returns the present lengths of this port's queues.
    pub fn lengths(&self) -> Lengths {
        self.port.lengths()
    }

    /// Returns how many messages have found no receive so far, modulo 2^32: it differs whenever more have.
    pub fn queued(&self) -> u32 {
        self.port.state.queued
    }

    /// Returns this port's counters; `None` if its composition has no observer.
    pub fn statistics(&self) -> Option<Statistics> {
        self.port.statistics()
    }

    /// Returns the number of frames of this port dropped because they violate the protocol.
    pub fn rejected(&self) -> u64 {
        self.port.state.rejected
    }

    /// Returns whether the channel has taken every frame of this port that was due; all else waits for the peers.
    pub fn is_flushed(&self) -> bool {
        !self.port.state.tx_pending
    }
}

/// The methods of a [`Communicator`], for one port of an endpoint.
impl<H: Header, L: Channel, M: Memory, C: Config, O: OtherPorts<L>>
    PortView<'_, L, Port<H, M, C>, O>
{
    calls!(pub H, L, M, C, MultiPort<'s, O>);
}

impl<H: Header, L: Channel, M: Memory, C: Config, R: OtherPorts<L>> PointToPoint
    for PortView<'_, L, Port<H, M, C>, R>
{
    type Header = H;
    type Channel = L;
    type Memory = M;
    type Config = C;
    type PortMux<'x>
        = MultiPort<'x, R>
    where
        Self: 'x;

    #[inline]
    fn engine(&mut self) -> Engine<'_, H, L, C, impl BufferLending<Memory = M>, MultiPort<'_, R>> {
        Engine {
            state: &mut self.port.state,
            channel: self.channel,
            buffers: &mut self.port.buffers,
            mux: MultiPort(self.number, &mut self.others),
        }
    }
}

/// A port other than that of the current call.
pub struct OtherPort<'a, P> {
    pub(super) number: u8,
    pub(super) port: &'a mut P,
}

impl<H: Header, L: Channel, M: Memory, C: Config> OtherPorts<L> for OtherPort<'_, Port<H, M, C>> {
    // Not inlined, to keep the path of the other port short.
    #[inline(never)]
    fn handle<A: Arrival>(&mut self, port: u8, event: Event<Demuxed<A>>) {
        if port == self.number {
            self.port.state.handle(event, &mut self.port.buffers);
        }
    }

    fn has(&self, port: u8) -> bool {
        port == self.number
    }

    fn lose(&mut self, peer: Peer) {
        self.port.state.lose(peer);
    }

    #[inline]
    fn flush(&mut self, channel: &mut L) -> Result<bool, Error> {
        let port = self.number;
        let mut tx = NumberedTx { channel, port };
        self.port.state.flush(&mut tx, &mut self.port.buffers)
    }
}

impl<L: Channel, P: OtherPorts<L>, Q: OtherPorts<L>> OtherPorts<L> for (P, Q) {
    fn handle<A: Arrival>(&mut self, port: u8, event: Event<Demuxed<A>>) {
        if self.0.has(port) {
            self.0.handle(port, event)
        } else {
            self.1.handle(port, event)
        }
    }

    fn has(&self, port: u8) -> bool {
        self.0.has(port) || self.1.has(port)
    }

    fn lose(&mut self, peer: Peer) {
        self.0.lose(peer);
        self.1.lose(peer);
    }

    fn flush(&mut self, channel: &mut L) -> Result<bool, Error> {
        let first = self.0.flush(channel)?;
        Ok(self.1.flush(channel)? || first)
    }
}

/// Access to port `I` and to the remaining ports.
pub trait Ports<L: Channel, const I: usize> {
    /// The type of the port.
    type Port;
    /// The remaining ports.
    type OtherPorts<'a>: OtherPorts<L>
    where
        Self: 'a;

    /// Returns the port and the remaining ports.
    fn select(&mut self) -> (&mut Self::Port, Self::OtherPorts<'_>);
}

impl<L: Channel, P> Endpoint<L, P> {
    /// Returns a view of one port: `endpoint.port::<1>().isend(..)`.
    #[inline]
    pub fn port<const I: usize>(
        &mut self,
    ) -> PortView<'_, L, <P as Ports<L, I>>::Port, <P as Ports<L, I>>::OtherPorts<'_>>
    where
        P: Ports<L, I>,
    {
        let (port, others) = self.ports.select();
        PortView {
            channel: &mut self.channel,
            number: I as u8,
            port,
            others,
        }
    }
}

macro_rules! endpoint_of {
    ($constructor:ident: $($number:tt $h:ident $m:ident $c:ident),+) => {
        impl<L: Channel, $($h: Header, $m: Memory, $c: Config),+>
            Endpoint<L, ($(Port<$h, $m, $c>,)+)>
        {
            /// Creates an endpoint over a channel, with the compositions' bounds.
            ///
            /// # Errors
            /// [`Error::TooManyPeers`], [`Error::PoolTooSmall`].
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
            type OtherPorts<'a> = $rest where Self: 'a;

            #[inline]
            fn select(&mut self) -> (&mut Self::Port, Self::OtherPorts<'_>) {
                (&mut self.$number, port_of!(@ self $others))
            }
        }
    };
    (@ $ports:ident ($a:tt)) => { OtherPort { number: $a, port: &mut $ports.$a } };
    (@ $ports:ident ($a:tt $b:tt)) => {
        (OtherPort { number: $a, port: &mut $ports.$a }, OtherPort { number: $b, port: &mut $ports.$b })
    };
}

endpoint_of!(two: 0 H0 M0 C0, 1 H1 M1 C1);
port_of!(0 of H0 M0 C0, H1 M1 C1: Port<H0, M0, C0>, OtherPort<'a, Port<H1, M1, C1>> = (1));
port_of!(1 of H0 M0 C0, H1 M1 C1: Port<H1, M1, C1>, OtherPort<'a, Port<H0, M0, C0>> = (0));

endpoint_of!(three: 0 H0 M0 C0, 1 H1 M1 C1, 2 H2 M2 C2);
port_of!(0 of H0 M0 C0, H1 M1 C1, H2 M2 C2: Port<H0, M0, C0>,
    (OtherPort<'a, Port<H1, M1, C1>>, OtherPort<'a, Port<H2, M2, C2>>) = (1 2));
port_of!(1 of H0 M0 C0, H1 M1 C1, H2 M2 C2: Port<H1, M1, C1>,
    (OtherPort<'a, Port<H0, M0, C0>>, OtherPort<'a, Port<H2, M2, C2>>) = (0 2));
port_of!(2 of H0 M0 C0, H1 M1 C1, H2 M2 C2: Port<H2, M2, C2>,
    (OtherPort<'a, Port<H0, M0, C0>>, OtherPort<'a, Port<H1, M1, C1>>) = (0 1));
