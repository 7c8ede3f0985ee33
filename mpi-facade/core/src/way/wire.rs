//! What carries frames between hosts: UDP or raw Ethernet, with or without seals. Chosen once, when a rank joins, so that
//! the protocols above exist once. `way` only; the groups of `collective` hold one.

use core::fmt;
use core::net::SocketAddr;
use pombo_kernel::Node;
use pombo_kernel::channel::{Arrival, ChannelError, Wake};
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_netdrivers::ethernet::Ethernet;
use pombo_netdrivers::sealed::{Cover, Key};
use pombo_netdrivers::udp::{Udp, UdpCast};
use pombo_netdrivers::{InPlace, Sealed};

/// A device that is there or another one, `U` being that of UDP.
#[allow(clippy::large_enum_variant, reason = "a rank has two of them")]
pub(crate) enum Line<U> {
    /// Datagrams.
    Udp(U),
    /// Raw frames.
    Ethernet(Ethernet),
}

/// A line as it is, or one whose frames only ranks of the job can write.
#[allow(clippy::large_enum_variant, reason = "a rank has two of them")]
pub(crate) enum Wire<U: Datagrams> {
    /// As it is.
    Plain(Line<U>),
    /// Sealed.
    Sealed(Sealed<Line<U>>),
}

/// A device of UDP.
pub(crate) trait Datagrams: for<'a> Network<Frame<'a> = InPlace<'a>> {
    /// Frames that were not believed.
    fn foreign(&self) -> u64;

    /// To what address this host refused to send, until that was an error.
    fn refused(&self) -> Option<SocketAddr>;
}

impl Datagrams for Udp {
    fn foreign(&self) -> u64 {
        self.counts().foreign
    }

    fn refused(&self) -> Option<SocketAddr> {
        Udp::refused(self)
    }
}

impl Datagrams for UdpCast {
    fn foreign(&self) -> u64 {
        self.counts().foreign
    }

    fn refused(&self) -> Option<SocketAddr> {
        UdpCast::refused(self)
    }
}

/// The same with either.
macro_rules! either {
    ($self:expr, $device:ident => $does:expr) => {
        match $self {
            Line::Udp($device) => $does,
            Line::Ethernet($device) => $does,
        }
    };
}

/// The same with or without seals.
macro_rules! any {
    ($self:expr, $device:ident => $does:expr) => {
        match $self {
            Wire::Plain($device) => $does,
            Wire::Sealed($device) => $does,
        }
    };
}

impl<U: Datagrams> Wire<U> {
    /// With seals if there is a key.
    ///
    /// # Errors
    /// [`ChannelError::TooLong`]: its frames are too short for a seal.
    pub(super) fn new(line: Line<U>, seal: Option<(Key, Cover)>) -> Result<Self, ChannelError> {
        Ok(match seal {
            Some((key, cover)) => Wire::Sealed(Sealed::new(line, key, cover)?),
            None => Wire::Plain(line),
        })
    }

    fn line(&self) -> &Line<U> {
        match self {
            Wire::Plain(line) => line,
            Wire::Sealed(sealed) => sealed.inner(),
        }
    }

    /// The interface of raw Ethernet.
    pub(super) fn interface(&self) -> Option<&str> {
        match self.line() {
            Line::Udp(_) => None,
            Line::Ethernet(device) => Some(device.interface()),
        }
    }

    /// What is known of a failure, behind the system's words for that error number.
    pub(super) fn explain(&self, errno: i32, to: &mut dyn fmt::Write) -> fmt::Result {
        match self.line() {
            Line::Udp(device) => match device.refused() {
                Some(address) => write!(
                    to,
                    ": this host has let no frame out to {address} for as long as POMBO_HOST_TIMEOUT says: \
                     look at its firewall and at its routes"
                ),
                None => Ok(()),
            },
            Line::Ethernet(device) => {
                let name = device.interface();
                match device.shrunk().filter(|_| errno == libc::EMSGSIZE) {
                    Some((then, now)) => write!(
                        to,
                        ": the MTU of {name} went from {then} to {now}: leave it alone while a job runs"
                    ),
                    None => write!(
                        to,
                        ": interface {name} was taken away, or can no longer be used"
                    ),
                }
            }
        }
    }

    /// Frames that were not believed, and those that found no room in this host as far as it tells.
    pub(crate) fn refused(&self) -> (u64, u64) {
        let (foreign, dropped) = match self.line() {
            Line::Udp(device) => (device.foreign(), 0),
            Line::Ethernet(device) => {
                let counts = device.counts();
                (counts.foreign + counts.impossible, counts.dropped)
            }
        };
        let unsealed = match self {
            Wire::Plain(_) => 0,
            Wire::Sealed(sealed) => sealed.counts().forged + sealed.counts().replayed,
        };
        (foreign + unsealed, dropped)
    }
}

impl<U: Datagrams> Line<U> {
    /// What is done with a frame exists once, whatever brings it.
    fn bring(&mut self, hear: &mut dyn FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        either!(self, device => device.poll(hear))
    }
}

impl<U: Datagrams> Network for Line<U> {
    type Frame<'a> = InPlace<'a>;

    fn node(&self) -> Node {
        either!(self, device => device.node())
    }

    fn nodes(&self) -> usize {
        either!(self, device => device.nodes())
    }

    fn mtu(&self) -> usize {
        either!(self, device => device.mtu())
    }

    #[inline]
    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        either!(self, device => device.transmit(to, parts))
    }

    fn gather(&mut self, on: bool) {
        either!(self, device => device.gather(on));
    }

    #[inline]
    fn poll(&mut self, mut f: impl FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        self.bring(&mut f)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        either!(self, device => device.wait(idle, until))
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        either!(self, device => device.wakes_by())
    }

    #[inline]
    fn now(&self) -> u64 {
        either!(self, device => device.now())
    }
}

impl<U: Datagrams + Broadcast> Broadcast for Line<U> {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        either!(self, device => device.broadcast(parts))
    }
}

impl<U: Datagrams> Network for Wire<U> {
    type Frame<'a> = InPlace<'a>;

    #[inline]
    fn is_checked(&self) -> bool {
        any!(self, device => device.is_checked())
    }

    fn node(&self) -> Node {
        any!(self, device => device.node())
    }

    fn nodes(&self) -> usize {
        any!(self, device => device.nodes())
    }

    fn mtu(&self) -> usize {
        any!(self, device => device.mtu())
    }

    #[inline]
    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        any!(self, device => device.transmit(to, parts))
    }

    fn gather(&mut self, on: bool) {
        any!(self, device => device.gather(on));
    }

    #[inline]
    fn poll(&mut self, mut f: impl FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        match self {
            Wire::Plain(line) => line.bring(&mut f),
            Wire::Sealed(sealed) => sealed.poll(|frame| {
                // Below is a frame in one piece.
                let bytes = frame.head(frame.len()).unwrap_or_default();
                f(InPlace::new(frame.from(), bytes));
            }),
        }
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        any!(self, device => device.wait(idle, until))
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        any!(self, device => device.wakes_by())
    }

    #[inline]
    fn now(&self) -> u64 {
        any!(self, device => device.now())
    }
}

impl<U: Datagrams + Broadcast> Broadcast for Wire<U> {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        any!(self, device => device.broadcast(parts))
    }
}
