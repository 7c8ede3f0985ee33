//! The list as `pnet` gives it.

use super::{InterfaceAddress, LinkOrIp};
use crate::Errno;
use alloc::vec::Vec;
use pnet_datalink::NetworkInterface;

/// All entries, in the system's order: links, then addresses of version 4, then of version 6.
///
/// # Errors
/// None: where `pnet` fails it gives an empty list.
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

/// It does not say of which kind an interface is: those that can reach everybody count as Ethernet.
fn link(one: &NetworkInterface) -> LinkOrIp {
    let mac = one.mac.filter(|mac| one.is_broadcast() && !mac.is_zero());
    LinkOrIp::Link {
        index: one.index as i32,
        mac,
    }
}
