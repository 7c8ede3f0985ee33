//! How one port's frames share a channel with those of other ports.
//!
//! With one port nothing is added. With several, every frame begins with one byte, the number of its port, and a
//! cookie carries it in its upper eight bits: the slot is moved there, and operations stay below 2^24.

use crate::channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent, Taker};
use crate::error::Error;
use crate::header::Node;
use crate::memory::Part;

/// The way out for one port.
pub trait Outlet {
    /// The longest frame of this port to that node.
    fn limit(&self, to: Node) -> usize;

    /// As [`Channel::offers`]. Never among several ports.
    fn offers(&self, _to: Node, _len: usize) -> bool {
        false
    }

    /// As [`Channel::try_send`], for whole messages: in line.
    fn try_send_here(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>; 2],
    ) -> Result<Sent, ChannelError>;

    /// As [`Channel::gather`].
    fn gather(&mut self, on: bool);

    /// The same for all others: there may be one of it.
    #[inline]
    fn try_send(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>; 2],
    ) -> Result<Sent, ChannelError> {
        self.try_send_here(to, cookie, parts)
    }
}

/// The only port: the channel itself.
pub struct Plain<'a, L>(pub(crate) &'a mut L);

impl<L: Channel> Outlet for Plain<'_, L> {
    #[inline]
    fn limit(&self, to: Node) -> usize {
        self.0.limit(to)
    }

    #[inline]
    fn offers(&self, to: Node, len: usize) -> bool {
        self.0.offers(to, len)
    }

    #[inline(always)]
    fn try_send_here(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>; 2],
    ) -> Result<Sent, ChannelError> {
        self.0.try_send(to, cookie, parts)
    }

    #[inline]
    fn gather(&mut self, on: bool) {
        self.0.gather(on);
    }
}

/// One of several ports.
pub struct Numbered<'a, L> {
    pub(crate) channel: &'a mut L,
    pub(crate) port: u8,
}

impl<L: Channel> Outlet for Numbered<'_, L> {
    fn limit(&self, to: Node) -> usize {
        self.channel.limit(to) - 1
    }

    fn try_send_here(
        &mut self,
        to: Node,
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

    fn gather(&mut self, on: bool) {
        self.channel.gather(on);
    }
}

const PORT_SHIFT: u32 = 56;

/// A frame behind its port's number.
pub struct Behind<A>(A);

impl<A: Arrival> Arrival for Behind<A> {
    fn from(&self) -> Node {
        self.0.from()
    }

    fn len(&self) -> usize {
        self.0.len() - 1
    }

    fn head(&self, n: usize) -> Option<&[u8]> {
        self.0.head(n + 1)?.get(1..)
    }

    fn pieces(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        self.0.pieces(offset + 1, len, f);
    }
}

/// The other ports of an endpoint, as one port's calls see them: they make progress too.
pub trait Rest<L: Channel> {
    /// Is the port of that number among them?
    fn has(&self, port: u8) -> bool;

    /// Something for the port of that number; dropped if there is none.
    fn event(&mut self, port: u8, event: Event<Behind<L::Arrival<'_>>>);

    /// A peer is gone.
    fn lose(&mut self, node: Node);

    /// Sends what is due; true if anything left.
    ///
    /// # Errors
    /// [`Error::Channel`].
    fn flush(&mut self, channel: &mut L) -> Result<bool, Error>;
}

/// How a port's calls reach the channel.
pub trait Lane<L: Channel> {
    /// The way out.
    type Outlet<'x>: Outlet
    where
        L: 'x;

    /// The same lane, for a scope.
    type Again<'x>: Lane<L>
    where
        Self: 'x;

    /// The way out.
    fn outlet<'x>(&self, channel: &'x mut L) -> Self::Outlet<'x>;

    /// Takes what has happened: `own` gets what is for this port.
    ///
    /// # Errors
    /// [`Error::Channel`].
    fn poll(&mut self, channel: &mut L, own: &mut impl Taker) -> Result<bool, Error>;

    /// Sends what is due at the other ports.
    ///
    /// # Errors
    /// [`Error::Channel`].
    fn flush_rest(&mut self, channel: &mut L) -> Result<bool, Error>;

    /// The same lane, for a scope.
    fn again(&mut self) -> Self::Again<'_>;
}

/// The only port.
pub struct Alone;

impl<L: Channel> Lane<L> for Alone {
    type Outlet<'x> = Plain<'x, L>;
    type Again<'x> = Alone;

    #[inline]
    fn outlet<'x>(&self, channel: &'x mut L) -> Plain<'x, L> {
        Plain(channel)
    }

    #[inline]
    fn poll(&mut self, channel: &mut L, own: &mut impl Taker) -> Result<bool, Error> {
        Ok(channel.poll_for(own)?)
    }

    #[inline]
    fn flush_rest(&mut self, _: &mut L) -> Result<bool, Error> {
        Ok(false)
    }

    #[inline]
    fn again(&mut self) -> Alone {
        Alone
    }
}

/// The number of this port, and the others.
pub struct Shared<'a, L>(pub(crate) u8, pub(crate) &'a mut dyn Rest<L>);

impl<L: Channel> Lane<L> for Shared<'_, L> {
    type Outlet<'x> = Numbered<'x, L>;
    type Again<'x>
        = Shared<'x, L>
    where
        Self: 'x;

    fn outlet<'x>(&self, channel: &'x mut L) -> Numbered<'x, L> {
        Numbered {
            channel,
            port: self.0,
        }
    }

    fn poll(&mut self, channel: &mut L, own: &mut impl Taker) -> Result<bool, Error> {
        let Shared(port, rest) = self;
        let moved = channel.poll(|event| match event {
            Event::Arrival(arrival) => {
                let Some(&[to]) = arrival.head(1) else { return };
                let behind = Event::Arrival(Behind(arrival));
                if to == *port {
                    own.event(behind);
                } else {
                    rest.event(to, behind);
                }
            }
            Event::Completed(Cookie(bits)) => {
                let to = (bits >> PORT_SHIFT) as u8;
                let bits = bits & !(0xff << PORT_SHIFT);
                let landed = Event::Completed(Cookie(bits.rotate_left(32)));
                if to == *port {
                    own.event::<Behind<L::Arrival<'_>>>(landed);
                } else {
                    rest.event(to, landed);
                }
            }
            // Nothing was offered.
            Event::Again(_) => {}
            Event::PeerLost(node) => {
                own.event::<Behind<L::Arrival<'_>>>(Event::PeerLost(node));
                rest.lose(node);
            }
        })?;
        Ok(moved)
    }

    fn flush_rest(&mut self, channel: &mut L) -> Result<bool, Error> {
        self.1.flush(channel)
    }

    fn again(&mut self) -> Shared<'_, L> {
        Shared(self.0, &mut *self.1)
    }
}
