//! The Ethernet interfaces of this host: a launcher selects one by name or takes the one with a link.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::EthernetError;
use crate::interfaces::{self, InterfaceAddress, LinkOrIp};
use pnet_base::MacAddr;

/// One interface.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Interface {
    /// The system's name of the interface.
    pub name: String,
    /// The system's index of the interface.
    pub index: i32,
    /// The MAC address; `None` if it is not an Ethernet interface.
    pub mac: Option<MacAddr>,
    /// Whether the interface is up and has a link.
    pub running: bool,
    /// Whether the interface is a loopback interface.
    pub loopback: bool,
}

/// Returns all interfaces, in the system's order.
///
/// # Errors
/// [`EthernetError::System`].
pub fn interfaces() -> Result<Vec<Interface>, Box<EthernetError>> {
    let all = interfaces::list().map_err(EthernetError::failed("getifaddrs"))?;
    Ok(all.into_iter().filter_map(read).collect())
}

/// Returns the interface of that name, or with "" the only one with a link.
pub(super) fn find(name: &str) -> Result<Interface, Box<EthernetError>> {
    let mut all = interfaces()?.into_iter();
    if name.is_empty() {
        return choose(all.collect());
    }
    let missing = || EthernetError::NoSuchInterface { name: name.into() };
    let found = all.find(|one| one.name == name).ok_or_else(missing)?;
    match found.mac {
        Some(_) => Ok(found),
        None => Err(Box::new(EthernetError::NotEthernet {
            interface: found.name,
        })),
    }
}

fn choose(mut all: Vec<Interface>) -> Result<Interface, Box<EthernetError>> {
    all.retain(|one| one.running && !one.loopback && one.mac.is_some());
    match all.len() {
        0 => Err(Box::new(EthernetError::NoLink)),
        1 => Ok(all.remove(0)),
        _ => {
            let mut names = String::new();
            for (number, one) in all.iter().enumerate() {
                names.push_str(if number > 0 { ", " } else { "" });
                names.push_str(&one.name);
            }
            Err(Box::new(EthernetError::AmbiguousInterface { names }))
        }
    }
}

/// Returns the index of the loopback interface, and whether it is up.
pub(super) fn loopback() -> Result<(i32, bool), Box<EthernetError>> {
    let own = interfaces()?.into_iter().find(|one| one.loopback);
    let own = own.ok_or_else(|| Box::new(EthernetError::LoopbackDown))?;
    Ok((own.index, own.running))
}

/// Returns the present MTU of the interface of that name. Any socket may be used.
pub(super) fn mtu(socket: i32, name: &str) -> Result<usize, Box<EthernetError>> {
    interfaces::mtu(socket, name).map_err(EthernetError::failed("ioctl"))
}

/// Returns the speed of the interface of that name in megabits per second, if the system tells it.
pub(super) fn speed(socket: i32, name: &str) -> Option<u32> {
    interfaces::speed(socket, name)
}

fn read(entry: InterfaceAddress) -> Option<Interface> {
    let LinkOrIp::Link { index, mac } = entry.address else {
        return None;
    };
    Some(Interface {
        running: entry.is_running(),
        loopback: entry.is_loopback(),
        name: entry.name,
        index,
        mac,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, running: bool, loopback: bool, ethernet: bool) -> Interface {
        Interface {
            name: name.into(),
            index: 1,
            mac: ethernet.then_some(MacAddr(2, 2, 2, 2, 2, 2)),
            running,
            loopback,
        }
    }

    #[test]
    fn the_one_with_a_link_is_chosen() {
        let (lo, down) = (
            interface("lo", true, true, false),
            interface("a", false, false, true),
        );
        let (b, c) = (
            interface("b", true, false, true),
            interface("c", true, false, true),
        );
        let tunnel = interface("t", true, false, false);
        let choose = |list: &[&Interface]| choose(list.iter().copied().cloned().collect());
        assert_eq!(choose(&[&lo, &down, &b, &tunnel]), Ok(b.clone()));
        assert_eq!(
            choose(&[&lo, &down, &tunnel]),
            Err(Box::new(EthernetError::NoLink))
        );
        let names = "b, c".into();
        assert_eq!(
            choose(&[&b, &lo, &c]),
            Err(Box::new(EthernetError::AmbiguousInterface { names }))
        );
    }

    #[test]
    fn every_host_has_a_loopback_interface() {
        let all = interfaces().expect("a list");
        assert!(all.iter().any(|one| one.loopback && one.mac.is_none()));
        let name = "no-such-one";
        assert_eq!(
            find(name),
            Err(Box::new(EthernetError::NoSuchInterface {
                name: name.into()
            }))
        );
        let interface = "lo".into();
        assert_eq!(
            find("lo"),
            Err(Box::new(EthernetError::NotEthernet { interface }))
        );
    }
}
