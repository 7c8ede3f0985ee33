//! Addresses in the system's form, and which of this host's others can reach. `way` only.

use crate::place::descriptor::{Descriptor, check};
use crate::place::{PlaceError, excerpt};
use core::ffi::c_int;
use core::mem::{size_of, zeroed};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use pombo_netdrivers::udp::{Interface, interfaces};

/// An address in the system's form.
pub(super) struct Raw(libc::sockaddr_storage, libc::socklen_t);

impl Raw {
    /// Room for any.
    pub(super) fn blank() -> Self {
        // SAFETY: zeros are a valid address of no family.
        Raw(
            unsafe { zeroed() },
            size_of::<libc::sockaddr_storage>() as _,
        )
    }

    pub(super) fn of(address: SocketAddr) -> Self {
        let mut raw = Self::blank();
        match address {
            SocketAddr::V4(address) => {
                // SAFETY: the storage has room for any form and is aligned for it.
                let place: &mut libc::sockaddr_in = unsafe { &mut *(&raw mut raw.0).cast() };
                place.sin_family = libc::AF_INET as libc::sa_family_t;
                place.sin_port = address.port().to_be();
                place.sin_addr.s_addr = u32::from(*address.ip()).to_be();
                raw.1 = size_of::<libc::sockaddr_in>() as _;
            }
            SocketAddr::V6(address) => {
                // SAFETY: as above.
                let place: &mut libc::sockaddr_in6 = unsafe { &mut *(&raw mut raw.0).cast() };
                place.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                place.sin6_port = address.port().to_be();
                place.sin6_addr.s6_addr = address.ip().octets();
                place.sin6_scope_id = address.scope_id();
                raw.1 = size_of::<libc::sockaddr_in6>() as _;
            }
        }
        raw
    }

    pub(super) fn family(&self) -> c_int {
        self.0.ss_family.into()
    }

    pub(super) fn raw(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        ((&raw const self.0).cast(), self.1)
    }

    /// Where a socket is bound.
    pub(super) fn of_socket(socket: &Descriptor) -> Result<SocketAddr, PlaceError> {
        const DOING: &str = "ask a socket for its address";
        let mut raw = Self::blank();
        let place = (&raw mut raw.0).cast();
        // SAFETY: the place is valid for the length given, which the call does not exceed.
        let got = unsafe { libc::getsockname(socket.number(), place, &mut raw.1) };
        check(got as isize, DOING)?;
        match raw.family() {
            libc::AF_INET => {
                // SAFETY: an address of that family has this form, all bytes of which are initialised.
                let place: &libc::sockaddr_in = unsafe { &*(&raw const raw.0).cast() };
                let ip = Ipv4Addr::from(u32::from_be(place.sin_addr.s_addr));
                Ok((ip, u16::from_be(place.sin_port)).into())
            }
            _ => {
                // SAFETY: as above.
                let place: &libc::sockaddr_in6 = unsafe { &*(&raw const raw.0).cast() };
                Ok((place.sin6_addr.s6_addr, u16::from_be(place.sin6_port)).into())
            }
        }
    }
}

/// This host's address on the network: the named one, or that of the named interface; else the one that leads out.
pub(super) fn choose(by: Option<&str>, hosts: usize) -> Result<IpAddr, PlaceError> {
    if let Some(address) = by.and_then(|name| name.parse().ok()) {
        return Ok(address);
    }
    let mut all = interfaces()?;
    // Those of version 6 that hold for one segment name it by numbers that other hosts do not know.
    all.retain(|one| !matches!(one.address, IpAddr::V6(ip) if ip.is_unicast_link_local()));
    // Version 4 first: the network's groups have it.
    let first = |fits: &dyn Fn(&Interface) -> bool| {
        let mut fitting = all.iter().filter(|interface| fits(interface));
        let four = fitting
            .clone()
            .find(|interface| interface.address.is_ipv4());
        four.or_else(|| fitting.next())
            .map(|interface| interface.address)
    };
    if let Some(name) = by {
        return first(&|interface| interface.name == name).ok_or_else(|| PlaceError::NoInterface {
            name: excerpt(name),
        });
    }
    let outward = || first(&|interface| interface.running && !interface.loopback);
    let address = way_out().or_else(outward);
    address.ok_or(PlaceError::NoNetwork {
        hosts,
        why: "this one has no interface with an address that is up",
    })
}

/// The address from which frames leave for the world. Nothing is sent to find out.
fn way_out() -> Option<IpAddr> {
    // Of a block that is nobody's.
    let nobody = Raw::of(SocketAddr::from(([198, 51, 100, 1], 9)));
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is passed.
    let socket = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    let socket = Descriptor::returned(socket, "open a socket").ok()?;
    let (raw, len) = nobody.raw();
    // SAFETY: the address is valid for its length.
    if unsafe { libc::connect(socket.number(), raw, len) } != 0 {
        return None;
    }
    let ip = Raw::of_socket(&socket).ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then_some(ip)
}
