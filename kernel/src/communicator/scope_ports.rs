//! Another port of an endpoint, used while a scope of the first one is open: for protocols whose control messages have a
//! port of their own, and go on while a long message is under way.

use super::port_mux::{Demuxed, MultiPort, NumberedTx, OtherPorts};
use super::ports::{OtherPort, Port, PortView};
use super::scope::{Scope, ScopeBuffers};
use super::state::State;
use crate::channel::{Arrival, Channel, Event};
use crate::config::Config;
use crate::error::Error;
use crate::header::{Header, Peer};
use crate::memory::Memory;

/// Other ports, of which the first can be used.
pub trait FirstPort<L: Channel>: OtherPorts<L> {
    /// The first of them.
    type Port;
    /// The ports behind the first.
    type Rest<'x>: OtherPorts<L>
    where
        Self: 'x;

    /// Returns the number of the first port, the port, and the others.
    fn first(&mut self) -> (u8, &mut Self::Port, Self::Rest<'_>);
}

impl<H: Header, L: Channel, M: Memory, C: Config> FirstPort<L> for OtherPort<'_, Port<H, M, C>> {
    type Port = Port<H, M, C>;
    type Rest<'x>
        = NoPorts
    where
        Self: 'x;

    fn first(&mut self) -> (u8, &mut Self::Port, NoPorts) {
        (self.number, self.port, NoPorts)
    }
}

impl<H: Header, L: Channel, M: Memory, C: Config, P> FirstPort<L>
    for (OtherPort<'_, P>, OtherPort<'_, Port<H, M, C>>)
where
    Self: OtherPorts<L>,
{
    type Port = P;
    type Rest<'x>
        = OtherPort<'x, Port<H, M, C>>
    where
        Self: 'x;

    fn first(&mut self) -> (u8, &mut P, Self::Rest<'_>) {
        let OtherPort { number, port } = &mut self.1;
        let number = *number;
        (self.0.number, self.0.port, OtherPort { number, port })
    }
}

/// What is behind the last port: it takes no event.
pub struct NoPorts;

impl<L: Channel> OtherPorts<L> for NoPorts {
    fn handle<A: Arrival>(&mut self, _: u8, _: Event<Demuxed<A>>) {}

    fn has(&self, _: u8) -> bool {
        false
    }

    fn lose(&mut self, _: Peer) {}

    fn flush(&mut self, _: &mut L) -> Result<bool, Error> {
        Ok(false)
    }
}

/// The port of a scope, with its loans, during a call of another port.
pub struct ScopedPort<'a, 'outer, 'buf, H: Header, C: Config> {
    number: u8,
    state: &'a mut State<H, C>,
    buffers: &'a mut ScopeBuffers<'outer, 'buf>,
}

impl<H: Header, L: Channel, C: Config> OtherPorts<L> for ScopedPort<'_, '_, '_, H, C> {
    #[inline(never)]
    fn handle<A: Arrival>(&mut self, port: u8, event: Event<Demuxed<A>>) {
        if port == self.number {
            self.state.handle(event, self.buffers);
        }
    }

    fn has(&self, port: u8) -> bool {
        port == self.number
    }

    fn lose(&mut self, peer: Peer) {
        self.state.lose(peer);
    }

    fn flush(&mut self, channel: &mut L) -> Result<bool, Error> {
        let port = self.number;
        self.state
            .flush(&mut NumberedTx { channel, port }, self.buffers)
    }
}

impl<'outer, 'buf, H: Header, L: Channel, C: Config, O: FirstPort<L>>
    Scope<'outer, 'buf, H, L, C, MultiPort<'_, O>>
{
    /// Returns a view of the first other port of the endpoint: port 1 in a scope of port 0.
    pub fn first_other(
        &mut self,
    ) -> PortView<'_, L, O::Port, (ScopedPort<'_, 'outer, 'buf, H, C>, O::Rest<'_>)> {
        let MultiPort(number, others) = &mut self.mux;
        let (first, port, rest) = others.first();
        let own = ScopedPort {
            number: *number,
            state: self.state,
            buffers: &mut self.buffers,
        };
        PortView {
            channel: self.channel,
            number: first,
            port,
            others: (own, rest),
        }
    }
}
