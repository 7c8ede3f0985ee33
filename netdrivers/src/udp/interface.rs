//! The interfaces of this host: a launcher chooses one by name or takes its default.

use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::mem::zeroed;
use core::net::{IpAddr, Ipv4Addr};
use core::ptr::null_mut;

use super::address::Raw;
use super::error::UdpError;

/// One address of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Interface {
    /// As the system names it.
    pub name: String,
    /// One with several addresses stands several times in the list.
    pub address: IpAddr,
    /// What reaches everybody on its segment, if it knows such an address.
    pub broadcast: Option<Ipv4Addr>,
    /// Bytes of IP that it carries in one piece.
    pub mtu: usize,
    /// It is up and has a link.
    pub running: bool,
    /// It leads to this host alone.
    pub loopback: bool,
    /// It carries multicast, as it says.
    pub multicast: bool,
}

/// All addresses of all interfaces, in the system's order.
///
/// # Errors
/// [`UdpError::System`].
pub fn interfaces() -> Result<Vec<Interface>, UdpError> {
    let mut list = null_mut();
    // SAFETY: the place is valid.
    let got = unsafe { libc::getifaddrs(&mut list) };
    UdpError::check(got, "getifaddrs")?;
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: the list is valid until it is freed below; it ends with a null pointer.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: the pointers of an entry are null or valid as long as the list.
        found.extend(unsafe { read(entry) });
        next = entry.ifa_next;
    }
    // SAFETY: the list came from the system, and nothing points into it any more.
    unsafe { libc::freeifaddrs(list) };
    for interface in &mut found {
        interface.mtu = mtu(&interface.name)?;
    }
    Ok(found)
}

/// # Safety
/// The pointers of the entry are null or valid.
unsafe fn read(entry: &libc::ifaddrs) -> Option<Interface> {
    // SAFETY: the caller vouches for the pointers; names are C strings.
    let (address, other, name) = unsafe {
        let address = self::address(entry.ifa_addr)?;
        let other = self::address(entry.ifa_ifu);
        (address, other, CStr::from_ptr(entry.ifa_name))
    };
    let flags = entry.ifa_flags as i32;
    let has = |flag: i32| flags & flag == flag;
    let broadcast = match other {
        Some(IpAddr::V4(ip)) if has(libc::IFF_BROADCAST) => Some(ip),
        _ => None,
    };
    Some(Interface {
        name: name.to_str().ok()?.into(),
        address,
        broadcast,
        mtu: 0,
        running: has(libc::IFF_UP | libc::IFF_RUNNING),
        loopback: has(libc::IFF_LOOPBACK),
        multicast: has(libc::IFF_MULTICAST),
    })
}

/// # Safety
/// The pointer is null, or valid for the form that its family says.
unsafe fn address(at: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the caller vouches for the pointer.
    let family = i32::from(unsafe { at.as_ref() }?.sa_family);
    let size = match family {
        libc::AF_INET => size_of::<libc::sockaddr_in>(),
        libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
        _ => return None,
    };
    let mut raw = Raw::blank();
    // SAFETY: the address is valid for the size of its form, and so is the room for either.
    unsafe { core::ptr::copy_nonoverlapping(at.cast::<u8>(), (&raw mut raw).cast(), size) };
    raw.address().map(|address| address.ip())
}

/// What the interface carries.
fn mtu(name: &str) -> Result<usize, UdpError> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: zeros are a valid request; the name fits as the system gave it, and ends with a zero.
    unsafe {
        let mut request: libc::ifreq = zeroed();
        let room = request.ifr_name.len() - 1;
        for (to, from) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        let fd = UdpError::check(libc::socket(libc::AF_INET, kind, 0), "socket")?;
        let asked = libc::ioctl(fd, libc::SIOCGIFMTU as _, &raw mut request);
        let asked = UdpError::check(asked, "ioctl");
        libc::close(fd);
        asked?;
        Ok(usize::try_from(request.ifr_ifru.ifru_mtu).unwrap_or(0))
    }
}
