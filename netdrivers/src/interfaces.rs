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
    #[cfg_attr(
        not(feature = "ethernet"),
        expect(dead_code, reason = "only raw Ethernet needs them")
    )]
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
    let mut request = request(name);
    // SAFETY: the request is valid for this call, which reads the name and writes the MTU.
    Errno::check(unsafe { libc::ioctl(socket, libc::SIOCGIFMTU as _, &raw mut request) })?;
    // SAFETY: the call has written it, and every value is valid.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    Ok(usize::try_from(mtu).unwrap_or(0))
}

/// Returns the speed of the interface of that name in megabits per second; `None` if the system does not tell it. Any
/// socket will do for the call.
#[cfg(feature = "ethernet")]
pub(crate) fn speed(socket: i32, name: &str) -> Option<u32> {
    let (mut request, mut link) = (request(name), LinkSettings::default());
    link.0[0] = ETHTOOL_GSET;
    request.ifr_ifru.ifru_data = (&raw mut link).cast();
    // SAFETY: the request is valid for this call and points to a structure that the call fills and does not keep.
    let told = unsafe { libc::ioctl(socket, libc::SIOCETHTOOL as _, &raw mut request) };
    Errno::check(told).ok()?;
    let [low, high] = [link.0[3], link.0[7]];
    #[cfg(target_endian = "little")]
    let speed = low & 0xffff | high << 16;
    #[cfg(target_endian = "big")]
    let speed = low >> 16 | high & 0xffff_0000;
    (speed != 0 && speed != u32::MAX).then_some(speed)
}

/// The system's structure of 44 bytes (`ethtool_cmd`), in words. The lower half of the speed in Mb/s is the first half
/// of word 3, the upper half is the first half of word 7.
#[cfg(feature = "ethernet")]
#[derive(Default)]
#[repr(C)]
struct LinkSettings([u32; 11]);

#[cfg(feature = "ethernet")]
const ETHTOOL_GSET: u32 = 1;

fn request(name: &str) -> libc::ifreq {
    // SAFETY: zeros are a valid request.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // The name is truncated to its field, and a zero stays behind it.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}
