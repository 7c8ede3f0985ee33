//! The device for frames between hosts: UDP or raw Ethernet, authenticated or not. It is chosen once, when a rank
//! joins, so that the code of the protocols above exists once. Only `job_channel` uses it.

use alloc::boxed::Box;
use core::net::SocketAddr;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_kernel::text::{WriteText, fill};
use pombo_netdrivers::ethernet::{Ethernet, EthernetAndUdp};
use pombo_netdrivers::ip_text::SocketText;
use pombo_netdrivers::udp::{Udp, UdpMulticast};
use pombo_transport::{Authenticated, ContiguousFrame};

/// A device whose frames only ranks of the job can produce, if there is a key.
pub(super) type Link<U> = Authenticated<Device<U>>;

/// Either of two devices; `U` is that of UDP.
#[allow(clippy::large_enum_variant, reason = "a rank has two of them")]
pub enum Device<U> {
    /// The device sends UDP datagrams.
    Udp(U),
    /// The device sends raw Ethernet frames.
    Ethernet(Ethernet),
    /// The device sends raw Ethernet frames, and long messages as UDP datagrams.
    Both(Box<EthernetAndUdp>),
}

/// Returns the number of frames rejected as foreign or forged, and that of frames dropped in this host, as far as
/// known.
pub(super) fn refused<U: Datagrams>(link: &Link<U>) -> (u64, u64) {
    let (foreign, dropped) = match link.inner() {
        Device::Udp(device) => (device.foreign(), 0),
        Device::Ethernet(device) => refused_by(device),
        Device::Both(device) => {
            let (foreign, dropped) = refused_by(device.raw());
            (foreign + device.udp().foreign(), dropped)
        }
    };
    let counts = link.counts();
    (foreign + counts.forged + counts.replayed, dropped)
}

fn refused_by(device: &Ethernet) -> (u64, u64) {
    let counts = device.counts();
    (counts.foreign + counts.truncated, counts.dropped)
}

/// A UDP device.
pub trait Datagrams: for<'a> Network<Frame<'a> = ContiguousFrame<'a>> {
    /// Returns the number of frames rejected as foreign.
    fn foreign(&self) -> u64;

    /// Returns the address to which this host refused to send, which led to an error.
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

impl Datagrams for UdpMulticast {
    fn foreign(&self) -> u64 {
        self.counts().foreign
    }

    fn refused(&self) -> Option<SocketAddr> {
        UdpMulticast::refused(self)
    }
}

/// Evaluates an expression with either device.
macro_rules! either {
    ($self:expr, $device:ident => $does:expr) => {
        match $self {
            Device::Udp($device) => $does,
            Device::Ethernet($device) => $does,
            Device::Both($device) => $does,
        }
    };
}

impl<U: Datagrams> Device<U> {
    fn raw(&self) -> Option<&Ethernet> {
        match self {
            Device::Udp(_) => None,
            Device::Ethernet(device) => Some(device),
            Device::Both(device) => Some(device.raw()),
        }
    }

    /// Returns the address to which this host refused to send, which led to an error.
    fn refused_address(&self) -> Option<SocketAddr> {
        match self {
            Device::Udp(device) => device.refused(),
            Device::Ethernet(_) => None,
            Device::Both(device) => device.udp().refused(),
        }
    }

    /// Returns the interface of raw Ethernet.
    pub(super) fn interface(&self) -> Option<&str> {
        self.raw().map(Ethernet::interface)
    }

    /// Checks that the interface still carries frames of the length that the job agreed on. The system fragments
    /// datagrams.
    ///
    /// # Errors
    /// EMSGSIZE if it does not.
    pub(super) fn check(&self) -> Result<(), ChannelError> {
        self.raw().map_or(Ok(()), Ethernet::check_mtu)
    }

    /// Writes what is known of a failure, after the system's text for that error number.
    pub(super) fn explain(&self, errno: i32, to: &mut dyn WriteText) {
        if let Some(address) = self.refused_address() {
            return fill!(
                to,
                ": this host has let no frame out to {} for as long as POMBO_HOST_TIMEOUT says: \
                 look at its firewall and at its routes",
                SocketText(address)
            );
        }
        let Some(device) = self.raw() else {
            return;
        };
        let name = device.interface();
        match device.reduced_mtu().filter(|_| errno == libc::EMSGSIZE) {
            Some((then, now)) => fill!(
                to,
                ": the MTU of {} went from {} to {}: leave it alone while a job runs",
                name,
                then,
                now
            ),
            None => fill!(
                to,
                ": interface {} was taken away, or can no longer be used",
                name
            ),
        }
    }
}

impl<U: Datagrams> Network for Device<U> {
    type Frame<'a> = ContiguousFrame<'a>;

    pombo_kernel::network_defaults! { is_checked }
    pombo_kernel::forward_network! {
        (Device::Udp | Device::Ethernet | Device::Both): me, peers, mtu, #[inline] transmit, set_corked, wait, wait_sources,
        #[inline] now
    }

    #[inline]
    fn poll(&mut self, mut f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        // The closure is passed as an object, so that the handling of a frame is compiled once.
        let f: &mut dyn FnMut(ContiguousFrame<'_>) = &mut f;
        either!(self, device => device.poll(f))
    }
}

impl<U: Datagrams + Broadcast> Broadcast for Device<U> {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        either!(self, device => device.broadcast(parts))
    }
}
