//! The system's list of interfaces, and what each of them carries. For the devices of `udp` and `ethernet`: each takes
//! the entries that it needs. Where the standard library is, `pnet` reads the list.

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
    /// As the system names it.
    pub(crate) name: String,
    flags: i32,
    pub(crate) address: LinkOrIp,
    /// What reaches everybody on its segment, or the other end.
    pub(crate) other: Option<LinkOrIp>,
}

/// An address of an interface.
pub(crate) enum LinkOrIp {
    /// Every interface has one such entry.
    Link {
        /// As the system counts it.
        index: i32,
        /// `None` where it is not one of Ethernet.
        mac: Option<MacAddr>,
    },
    /// It may have several of these.
    Ip(IpAddr),
}

impl InterfaceAddress {
    /// Has it all of these flags?
    pub(crate) fn has_flags(&self, flags: i32) -> bool {
        self.flags & flags == flags
    }

    /// Is it up, with a link?
    pub(crate) fn is_running(&self) -> bool {
        self.has_flags(libc::IFF_UP | libc::IFF_RUNNING)
    }

    /// Does it lead to this host alone?
    pub(crate) fn is_loopback(&self) -> bool {
        self.has_flags(libc::IFF_LOOPBACK)
    }
}

/// Bytes that the interface of that name carries in one piece now. Any socket may ask.
///
/// # Errors
/// That of `ioctl`.
pub(crate) fn mtu(socket: i32, name: &str) -> Result<usize, Errno> {
    // SAFETY: zeros are a valid request.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // The name is cut to its room, and a zero stays behind it.
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
