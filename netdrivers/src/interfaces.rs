//! The system's list of interfaces, and their MTUs, for the devices of `udp` and `ethernet`: each takes the entries
//! that it needs. With the standard library, `pnet` reads the list.

#[cfg(not(feature = "pnet"))]
mod getifaddrs;
#[cfg(feature = "pnet")]
#[path = "interfaces/pnet.rs"]
mod getifaddrs;

pub(crate) use getifaddrs::list;

use crate::Errno;
use alloc::string::String;
use core::mem::zeroed;
use core::net::IpAddr;
use pnet_base::MacAddr;

/// An entry of the list: an interface and one of its addresses.
pub(crate) struct InterfaceAddress {
    /// The system's name of the interface.
    pub(crate) name: String,
    flags: i32,
    pub(crate) address: LinkOrIp,
    /// The broadcast address, or the address of the other end of a point-to-point link.
    pub(crate) other: Option<LinkOrIp>,
}

/// An address of an interface.
pub(crate) enum LinkOrIp {
    /// The entry of the link, of which every interface has one.
    Link {
        /// The system's index of the interface.
        index: i32,
        /// The MAC address; `None` if the link is not Ethernet.
        mac: Option<MacAddr>,
    },
    /// An IP address, of which an interface may have several.
    Ip(IpAddr),
}

impl InterfaceAddress {
    /// Returns whether the interface has all of these flags.
    pub(crate) fn has_flags(&self, flags: i32) -> bool {
        self.flags & flags == flags
    }

    /// Returns whether the interface is up, with a carrier.
    pub(crate) fn is_running(&self) -> bool {
        self.has_flags(libc::IFF_UP | libc::IFF_RUNNING)
    }

    /// Returns whether this is a loopback interface.
    pub(crate) fn is_loopback(&self) -> bool {
        self.has_flags(libc::IFF_LOOPBACK)
    }
}

/// Returns the present MTU in bytes of the interface of that name. Any socket will do for the call.
///
/// # Errors
/// The error of `ioctl`.
pub(crate) fn mtu(socket: i32, name: &str) -> Result<usize, Errno> {
    // SAFETY: zeros are a valid request.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // The name is truncated to its field, and a zero stays behind it.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: the request is valid for this call, which reads the name and writes the MTU.
    Errno::check(unsafe { libc::ioctl(socket, libc::SIOCGIFMTU as _, &raw mut request) })?;
    // SAFETY: the call has written it, and every value is valid.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    Ok(usize::try_from(mtu).unwrap_or(0))
}
