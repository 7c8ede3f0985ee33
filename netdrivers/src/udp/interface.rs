//! The IP interfaces of this host: a launcher selects one by name or takes the default.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use super::address::SockAddr;
use super::error::UdpError;
use crate::interfaces::{self, InterfaceAddress};

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
pub fn interfaces() -> Result<Vec<Interface>, UdpError> {
    let listed = interfaces::list(read);
    let mut found = listed.map_err(|errno| UdpError::system("getifaddrs", errno))?;
    for interface in &mut found {
        interface.mtu = mtu(&interface.name)?;
    }
    Ok(found)
}

fn read(entry: &InterfaceAddress<'_>) -> Option<Interface> {
    // SAFETY: both are null or valid for the forms of their families, as long as the entry.
    let (address, other) = unsafe {
        (
            address(entry.address())?,
            address(entry.broadcast_or_peer()),
        )
    };
    let broadcast = match other {
        Some(IpAddr::V4(ip)) if entry.has_flags(libc::IFF_BROADCAST) => Some(ip),
        _ => None,
    };
    Some(Interface {
        name: entry.name()?.into(),
        address,
        broadcast,
        mtu: 0,
        running: entry.is_running(),
        loopback: entry.is_loopback(),
        multicast: entry.has_flags(libc::IFF_MULTICAST),
    })
}

/// # Safety
/// The pointer is null, or valid for the form of its family.
unsafe fn address(at: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the caller promises a valid pointer.
    let family = i32::from(unsafe { at.as_ref() }?.sa_family);
    let size = match family {
        libc::AF_INET => size_of::<libc::sockaddr_in>(),
        libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
        _ => return None,
    };
    let mut sock_addr = SockAddr::zeroed_address();
    // SAFETY: the address is valid for the size of its form, and the destination has space for either form.
    unsafe { core::ptr::copy_nonoverlapping(at.cast::<u8>(), (&raw mut sock_addr).cast(), size) };
    sock_addr.address().map(|address| address.ip())
}

/// Returns the MTU of an interface.
fn mtu(name: &str) -> Result<usize, UdpError> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is passed.
    let socket = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    let socket = UdpError::check(socket, "socket")?;
    let asked = interfaces::mtu(socket, name);
    // SAFETY: the socket was opened here, and no one else has it.
    unsafe { libc::close(socket) };
    asked.map_err(|errno| UdpError::system("ioctl", errno))
}
