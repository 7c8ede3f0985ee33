//! The IP interfaces of this host: a launcher selects one by name or takes the default.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use super::error::UdpError;
use crate::interfaces::{self, InterfaceAddress, LinkOrIp};
use rustix::fd::AsRawFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// One address of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Interface {
    /// The system's name of the interface.
    pub name: String,
    /// The address; an interface with several addresses occurs several times in the list.
    pub address: IpAddr,
    /// The broadcast address of its network, if it has one.
    pub broadcast: Option<Ipv4Addr>,
    /// The MTU in bytes of IP.
    pub mtu: usize,
    /// Whether the interface is up and has a link.
    pub running: bool,
    /// Whether the interface is a loopback interface.
    pub loopback: bool,
    /// Whether the interface supports multicast.
    pub multicast: bool,
}

/// Returns all addresses of all interfaces, in the system's order.
///
/// # Errors
/// [`UdpError::System`].
pub fn interfaces() -> Result<Vec<Interface>, Box<UdpError>> {
    let all = interfaces::list().map_err(UdpError::failed("getifaddrs"))?;
    let mut found: Vec<_> = all.into_iter().filter_map(read).collect();
    for interface in &mut found {
        interface.mtu = mtu(&interface.name)?;
    }
    Ok(found)
}

fn read(entry: InterfaceAddress) -> Option<Interface> {
    let LinkOrIp::Ip(address) = entry.address else {
        return None;
    };
    let broadcast = match entry.other {
        Some(LinkOrIp::Ip(IpAddr::V4(ip))) if entry.has_flags(libc::IFF_BROADCAST) => Some(ip),
        _ => None,
    };
    Some(Interface {
        running: entry.is_running(),
        loopback: entry.is_loopback(),
        multicast: entry.has_flags(libc::IFF_MULTICAST),
        name: entry.name,
        address,
        broadcast,
        mtu: 0,
    })
}

/// Returns the MTU of an interface.
fn mtu(name: &str) -> Result<usize, Box<UdpError>> {
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None);
    let socket = socket.map_err(UdpError::failed("socket"))?;
    interfaces::mtu(socket.as_raw_fd(), name).map_err(UdpError::failed("ioctl"))
}
