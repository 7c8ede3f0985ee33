//! Multiplexes the frames of several ports over one channel.
//!
//! A single port adds nothing to a frame. With several ports, every frame begins with one byte, the port number, and a
//! cookie carries it in its upper eight bits: the slot is shifted accordingly, and the number of operations stays below
//! 2^24.

use crate::channel::{
    Arrival, Channel, ChannelError, Cookie, CopyTarget, Event, FrameHandler, Sent,
};
use crate::error::Error;
use crate::header::Peer;
use crate::memory::Part;
use core::marker::PhantomData;

/// The transmit side of one port.
pub trait PortTx {
    /// Returns the length in bytes of the longest frame of this port to that peer.
    fn limit(&self, to: Peer) -> usize;

    /// As [`Channel::supports_single_copy`].
    fn supports_single_copy(&self, to: Peer, len: usize, both_ways: bool) -> bool;

    /// As [`Channel::favours_early_data`].
    fn favours_early_data(&self, to: Peer) -> bool;

    /// Sends as [`Channel::try_send`]; inlined, for eager messages.
    fn try_send_inline(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>; 2],
    ) -> Result<Sent, ChannelError>;

    /// As [`Channel::set_corked`].
    fn set_corked(&mut self, on: bool);

    /// Sends all other frames, not inlined, so that the code exists once.
    #[inline]
    fn try_send(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>; 2],
    ) -> Result<Sent, ChannelError> {
        self.try_send_inline(to, cookie, parts)
    }
}

/// The transmit side of a single port: the channel itself.
pub struct DirectTx<'a, L>(pub(crate) &'a mut L);

impl<L: Channel> PortTx for DirectTx<'_, L> {
    #[inline]
    fn limit(&self, to: Peer) -> usize {
        self.0.limit(to)
    }

    #[inline]
    fn supports_single_copy(&self, to: Peer, len: usize, both_ways: bool) -> bool {
        self.0.supports_single_copy(to, len, both_ways)
    }

    #[inline]
    fn favours_early_data(&self, to: Peer) -> bool {
        self.0.favours_early_data(to)
    }

    #[inline(always)]
    fn try_send_inline(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>; 2],
    ) -> Result<Sent, ChannelError> {
        self.0.try_send(to, cookie, parts)
    }

    #[inline]
    fn set_corked(&mut self, on: bool) {
        self.0.set_corked(on);
    }
}

/// The transmit side of one of several ports.
pub struct NumberedTx<'a, L> {
    pub(crate) channel: &'a mut L,
    pub(crate) port: u8,
}

impl<L: Channel> PortTx for NumberedTx<'_, L> {
    #[inline]
    fn limit(&self, to: Peer) -> usize {
        self.channel.limit(to) - 1
    }

    #[inline]
    fn supports_single_copy(&self, to: Peer, len: usize, both_ways: bool) -> bool {
        self.channel.supports_single_copy(to, len, both_ways)
    }

    #[inline]
    fn favours_early_data(&self, to: Peer) -> bool {
        self.channel.favours_early_data(to)
    }

    #[inline(always)]
    fn try_send_inline(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>; 2],
    ) -> Result<Sent, ChannelError> {
        let port = self.port;
        let cookie = match cookie {
            Cookie::COPY => cookie,
            Cookie(bits) => Cookie(bits.rotate_left(32) | u64::from(port) << PORT_SHIFT),
        };
        let number = [port];
        let number = Part::Bytes(&number);
        let [head, payload] = *parts;
        self.channel.try_send(to, cookie, &[number, head, payload])
    }

    fn set_corked(&mut self, on: bool) {
        self.channel.set_corked(on);
    }
}

const PORT_SHIFT: u32 = 56;

/// Returns the port that has sent a frame with this cookie, and the port's own cookie.
fn of_port(Cookie(bits): Cookie) -> (u8, Cookie) {
    let own = bits & !(0xff << PORT_SHIFT);
    ((bits >> PORT_SHIFT) as u8, Cookie(own.rotate_left(32)))
}

/// A received frame without its port number.
pub struct Demuxed<A>(A);

impl<A: Arrival> Arrival for Demuxed<A> {
    fn from(&self) -> Peer {
        self.0.from()
    }

    fn len(&self) -> usize {
        self.0.len() - 1
    }

    fn head(&self, n: usize) -> Option<&[u8]> {
        self.0.head(n + 1)?.get(1..)
    }

    fn for_each_chunk(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        self.0.for_each_chunk(offset + 1, len, f);
    }

    fn read_into(&self, offset: usize, len: usize, into: &mut impl CopyTarget) -> bool {
        self.0.read_into(offset + 1, len, into)
    }
}

/// The other ports of an endpoint, which make progress in the calls of one port.
pub trait OtherPorts<L: Channel> {
    /// Returns whether the port of that number is among them.
    fn has(&self, port: u8) -> bool;

    /// Passes an event to the port of that number; drops it if there is no such port.
    fn handle<A: Arrival>(&mut self, port: u8, event: Event<Demuxed<A>>);

    /// Reports the loss of a peer to all ports.
    fn lose(&mut self, peer: Peer);

    /// Sends what is due; returns true if anything left.
    ///
    /// # Errors
    /// [`Error::Channel`].
    fn flush(&mut self, channel: &mut L) -> Result<bool, Error>;
}

/// Access of a port's calls to the channel.
pub trait PortMux<L: Channel> {
    /// The transmit side.
    type PortTx<'x>: PortTx
    where
        L: 'x;

    /// The multiplexer reborrowed for a scope.
    type Reborrowed<'x>: PortMux<L>
    where
        Self: 'x;

    /// Returns the transmit side.
    fn tx<'x>(&self, channel: &'x mut L) -> Self::PortTx<'x>;

    /// Polls the channel: `handler` gets the events of this port.
    ///
    /// # Errors
    /// [`Error::Channel`].
    fn poll(&mut self, channel: &mut L, handler: &mut impl FrameHandler) -> Result<bool, Error>;

    /// Sends what is due at the other ports.
    ///
    /// # Errors
    /// [`Error::Channel`].
    fn flush_others(&mut self, channel: &mut L) -> Result<bool, Error>;

    /// Reborrows the multiplexer for a scope.
    fn reborrow(&mut self) -> Self::Reborrowed<'_>;
}

/// The multiplexer of a single port.
pub struct SinglePort;

impl<L: Channel> PortMux<L> for SinglePort {
    type PortTx<'x> = DirectTx<'x, L>;
    type Reborrowed<'x> = SinglePort;

    #[inline]
    fn tx<'x>(&self, channel: &'x mut L) -> DirectTx<'x, L> {
        DirectTx(channel)
    }

    #[inline]
    fn poll(&mut self, channel: &mut L, handler: &mut impl FrameHandler) -> Result<bool, Error> {
        Ok(channel.poll_with(handler)?)
    }

    #[inline]
    fn flush_others(&mut self, _: &mut L) -> Result<bool, Error> {
        Ok(false)
    }

    #[inline]
    fn reborrow(&mut self) -> SinglePort {
        SinglePort
    }
}

/// The multiplexer of one of several ports: its number, and the other ports.
pub struct MultiPort<'a, O>(pub(crate) u8, pub(crate) &'a mut O);

impl<L: Channel, O: OtherPorts<L>> PortMux<L> for MultiPort<'_, O> {
    type PortTx<'x>
        = NumberedTx<'x, L>
    where
        L: 'x;
    type Reborrowed<'x>
        = MultiPort<'x, O>
    where
        Self: 'x;

    #[inline]
    fn tx<'x>(&self, channel: &'x mut L) -> NumberedTx<'x, L> {
        NumberedTx {
            channel,
            port: self.0,
        }
    }

    #[inline]
    fn poll(&mut self, channel: &mut L, handler: &mut impl FrameHandler) -> Result<bool, Error> {
        let MultiPort(port, others) = self;
        Ok(channel.poll_with(&mut Demux {
            port: *port,
            handler,
            others: *others,
            channel: PhantomData,
        })?)
    }

    #[inline]
    fn flush_others(&mut self, channel: &mut L) -> Result<bool, Error> {
        self.1.flush(channel)
    }

    #[inline]
    fn reborrow(&mut self) -> MultiPort<'_, O> {
        MultiPort(self.0, &mut *self.1)
    }
}

/// Passes each event to the port of its number.
struct Demux<'a, L, H, O> {
    port: u8,
    handler: &'a mut H,
    others: &'a mut O,
    channel: PhantomData<fn(&mut L)>,
}

impl<L: Channel, H: FrameHandler, O: OtherPorts<L>> FrameHandler for Demux<'_, L, H, O> {
    #[inline]
    fn handle<A: Arrival>(&mut self, event: Event<A>) {
        let (to, event) = match event {
            Event::Arrival(arrival) => {
                let Some(&[to]) = arrival.head(1) else { return };
                (to, Event::Arrival(Demuxed(arrival)))
            }
            Event::Completed(cookie) => {
                let (to, own) = of_port(cookie);
                (to, Event::Completed(own))
            }
            Event::Again(cookie) => {
                let (to, own) = of_port(cookie);
                (to, Event::Again(own))
            }
            Event::PeerLost(peer) => {
                self.others.lose(peer);
                return self.handler.handle::<A>(Event::PeerLost(peer));
            }
        };
        match to == self.port {
            true => self.handler.handle(event),
            false => self.others.handle(to, event),
        }
    }

    #[inline(always)]
    fn take(&mut self, from: Peer, frame: &[u8]) -> bool {
        // Frames of other ports come as events.
        match frame.split_first() {
            Some((to, frame)) if *to == self.port => self.handler.take(from, frame),
            _ => false,
        }
    }

    #[inline(always)]
    fn is_satisfied(&self) -> bool {
        self.handler.is_satisfied()
    }
}
