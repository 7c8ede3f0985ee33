//! The interface list of `pnet`.

use super::{InterfaceAddress, LinkOrIp};
use crate::Errno;
use alloc::vec::Vec;
use pnet_datalink::NetworkInterface;

/// Returns all entries in the system's order: links, then IPv4 addresses, then IPv6 addresses.
///
/// # Errors
/// None: if `pnet` fails it returns an empty list.
pub(crate) fn list() -> Result<Vec<InterfaceAddress>, Errno> {
    let all = pnet_datalink::interfaces();
    let links = all.iter().map(|one| entry(one, link(one), None));
    let version = |v6| {
        let ips = all
            .iter()
            .flat_map(|one| one.ips.iter().map(move |ip| (one, ip)));
        ips.filter(move |(_, ip)| ip.is_ipv6() == v6)
    };
    let ips = version(false).chain(version(true)).map(|(one, ip)| {
        let other = Some(LinkOrIp::Ip(ip.broadcast()));
        entry(one, LinkOrIp::Ip(ip.ip()), other)
    });
    Ok(links.chain(ips).collect())
}

fn entry(one: &NetworkInterface, address: LinkOrIp, other: Option<LinkOrIp>) -> InterfaceAddress {
    InterfaceAddress {
        name: one.name.clone(),
        flags: one.flags as i32,
        address,
        other,
    }
}

/// Converts a link. `pnet` does not tell the type of an interface: those with broadcast count as Ethernet.
fn link(one: &NetworkInterface) -> LinkOrIp {
    let mac = one.mac.filter(|mac| one.is_broadcast() && !mac.is_zero());
    LinkOrIp::Link {
        index: one.index as i32,
        mac,
    }
}
