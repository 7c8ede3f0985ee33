//! The interface list of the C library.

use super::{InterfaceAddress, LinkOrIp};
use crate::Errno;
use crate::udp::SockAddr;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::ptr::null_mut;
use pnet_base::MacAddr;

/// Returns all entries in the system's order.
///
/// # Errors
/// The error of `getifaddrs`.
pub(crate) fn list() -> Result<Vec<InterfaceAddress>, Errno> {
    let mut list = null_mut();
    // SAFETY: the place is valid.
    Errno::check(unsafe { libc::getifaddrs(&mut list) })?;
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: the list is valid until it is freed below; it ends with a null pointer.
    while let Some(entry) = unsafe { next.as_ref() } {
        let (name, at, other) = (entry.ifa_name, entry.ifa_addr, entry.ifa_ifu);
        // SAFETY: the name is a C string, and the addresses are null or valid for the forms of their families.
        let (name, at, other) = unsafe { (CStr::from_ptr(name), read(at), read(other)) };
        let named = name.to_str().ok().zip(at);
        found.extend(named.map(|(name, address)| InterfaceAddress {
            name: name.into(),
            flags: entry.ifa_flags as i32,
            address,
            other,
        }));
        next = entry.ifa_next;
    }
    // SAFETY: the list came from the system, and nothing points into it any more: the values read do not borrow it.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}

/// Reads an address of a link or of IP.
///
/// # Safety
/// The pointer must be null, or valid for the type of address that its family says.
unsafe fn read(at: *const libc::sockaddr) -> Option<LinkOrIp> {
    // SAFETY: the caller guarantees that the pointer is valid.
    let size = match i32::from(unsafe { at.as_ref() }?.sa_family) {
        libc::AF_INET => size_of::<libc::sockaddr_in>(),
        libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
        libc::AF_PACKET => {
            // SAFETY: the address has the type of its family; it may be unaligned.
            let link = unsafe { at.cast::<libc::sockaddr_ll>().read_unaligned() };
            let [a, b, c, d, e, f, ..] = link.sll_addr;
            let ethernet = link.sll_hatype == libc::ARPHRD_ETHER && link.sll_halen == 6;
            let mac = ethernet.then_some(MacAddr(a, b, c, d, e, f));
            let index = link.sll_ifindex;
            return Some(LinkOrIp::Link { index, mac });
        }
        _ => return None,
    };
    let mut sock_addr = SockAddr::zeroed_address();
    // SAFETY: the address is valid for the size of its form, and so is the room for either.
    unsafe { core::ptr::copy_nonoverlapping(at.cast::<u8>(), (&raw mut sock_addr).cast(), size) };
    sock_addr.address().map(|at| LinkOrIp::Ip(at.ip()))
}
