//! The system's list of interfaces, and what each of them carries. For the devices of `udp` and `ethernet`: each reads
//! of an entry what it needs.

use crate::Errno;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::mem::zeroed;
use core::ptr::null_mut;

/// An entry of the list: an interface and one of its addresses.
pub(crate) struct InterfaceAddress<'a>(&'a libc::ifaddrs);

impl<'a> InterfaceAddress<'a> {
    /// As the system names it; `None` where that is no text.
    pub(crate) fn name(&self) -> Option<&'a str> {
        // SAFETY: the name is a C string as long as the list, which this entry borrows.
        unsafe { CStr::from_ptr(self.0.ifa_name) }.to_str().ok()
    }

    /// The address: null, or valid as long as this entry for the form that its family says.
    pub(crate) fn address(&self) -> *const libc::sockaddr {
        self.0.ifa_addr
    }

    /// What reaches everybody, or the other end: as [`InterfaceAddress::address`].
    pub(crate) fn broadcast_or_peer(&self) -> *const libc::sockaddr {
        self.0.ifa_ifu
    }

    /// Has it all of these flags?
    pub(crate) fn has_flags(&self, flags: i32) -> bool {
        self.0.ifa_flags as i32 & flags == flags
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

/// What is read of the entries, in the system's order.
///
/// # Errors
/// That of `getifaddrs`.
pub(crate) fn list<T>(read: fn(&InterfaceAddress<'_>) -> Option<T>) -> Result<Vec<T>, Errno> {
    let mut list = null_mut();
    // SAFETY: the place is valid.
    Errno::check(unsafe { libc::getifaddrs(&mut list) })?;
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: the list is valid until it is freed below; it ends with a null pointer.
    while let Some(entry) = unsafe { next.as_ref() } {
        found.extend(read(&InterfaceAddress(entry)));
        next = entry.ifa_next;
    }
    // SAFETY: the list came from the system, and nothing points into it any more: what was read does not borrow it.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
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
