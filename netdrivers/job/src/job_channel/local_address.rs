//! The addresses of this host's sockets, and the choice of one that others can reach. Only `job_channel` uses it.

use crate::bootstrap::{JobError, excerpt};
use alloc::boxed::Box;
use core::net::{IpAddr, SocketAddr};
use pombo_netdrivers::ip_text::parse_ip;
use pombo_netdrivers::udp::{Interface, interfaces};
use rustix::fd::AsFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, getsockname, socket_with};

/// Returns the address to which a socket is bound.
pub(super) fn of_socket(socket: impl AsFd) -> Result<SocketAddr, Box<JobError>> {
    let address = getsockname(socket).and_then(SocketAddr::try_from);
    address.map_err(JobError::failed("ask a socket for its address"))
}

/// Returns this host's address on the network: the named one, or that of the named interface; otherwise that of the
/// default route.
pub(super) fn choose(by: Option<&str>, hosts: usize) -> Result<IpAddr, Box<JobError>> {
    if let Some(address) = by.and_then(parse_ip) {
        return Ok(address);
    }
    let mut all = interfaces()?;
    // Link-local IPv6 addresses carry scope numbers that other hosts do not know.
    all.retain(|one| !matches!(one.address, IpAddr::V6(ip) if ip.is_unicast_link_local()));
    // IPv4 comes first, as the network's groups use it.
    let first = |fits: &dyn Fn(&Interface) -> bool| {
        let mut fitting = all.iter().filter(|interface| fits(interface));
        let four = fitting
            .clone()
            .find(|interface| interface.address.is_ipv4());
        four.or_else(|| fitting.next())
            .map(|interface| interface.address)
    };
    if let Some(name) = by {
        return first(&|interface| interface.name == name).ok_or_else(|| {
            let name = excerpt(name);
            Box::new(JobError::NoInterface { name })
        });
    }
    let outward = || first(&|interface| interface.running && !interface.loopback);
    let address = way_out().or_else(outward);
    address.ok_or_else(|| {
        Box::new(JobError::NoNetwork {
            hosts,
            why: "this one has no interface with an address that is up",
        })
    })
}

/// Returns the source address of the default route. Nothing is sent for that.
fn way_out() -> Option<IpAddr> {
    // The address is in a block reserved for documentation.
    let nobody = SocketAddr::from(([198, 51, 100, 1], 9));
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None).ok()?;
    connect(&socket, &nobody).ok()?;
    let ip = of_socket(&socket).ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then_some(ip)
}
