//! What a rank says before it is on the network.

use crate::bound;
use pombo_kernel::Peer;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use pombo_netdrivers::udp::{Udp, UdpError, interfaces, multicast_group};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

#[test]
fn an_address_must_be_this_hosts() {
    let refused = |ip: &str| {
        let ip: IpAddr = ip.parse().expect("an address");
        *Udp::bind(ip).err().expect("it cannot be bound")
    };
    for anywhere in ["0.0.0.0", "::", "255.255.255.255", "239.1.2.3"] {
        assert_eq!(refused(anywhere), UdpError::UnspecifiedAddress);
    }
    // A network for documentation: nobody has it.
    let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    assert_eq!(refused("192.0.2.1"), UdpError::NotLocal { address });
    assert!(refused("192.0.2.1").to_string().contains("192.0.2.1"));
}

#[test]
fn the_loopback_interface_is_found() {
    let found = interfaces().expect("a list");
    let own = found.iter().find(|one| one.loopback).expect("every host");
    assert!(own.address.is_loopback() && own.mtu >= 1500);
    let bound = Udp::bind(Ipv4Addr::new(127, 1, 2, 3)).expect("all of 127 is this host");
    assert!(bound.interface().loopback && bound.mtu() > 1000);
    let (receive, send) = bound.buffers().expect("sizes");
    assert!(receive >= 100_000 && send >= 100_000, "{receive} {send}");
}

#[test]
fn a_table_that_cannot_be_is_refused() {
    let (other, me) = (bound(1).1[0], || bound(1).0.remove(0));
    let refused = |peer, table: &dyn Fn(SocketAddr) -> Vec<SocketAddr>| {
        let me = me();
        let at = me.address();
        (*me.join(Peer(peer), table(at)).err().expect("refused"), at)
    };
    assert_eq!(refused(0, &|_| vec![]).0, UdpError::Peers { peers: 0 });
    let many = refused(0, &|at| vec![at; 65_536]).0;
    assert_eq!(many, UdpError::Peers { peers: 65_536 });
    let missing = UdpError::NoSuchPeer { peer: 2, peers: 2 };
    assert_eq!(refused(2, &|at| vec![at, other]).0, missing);
    let (error, bound) = refused(1, &|at| vec![at, other]);
    let listed = other;
    let peer = 1;
    assert_eq!(
        error,
        UdpError::AddressMismatch {
            peer,
            listed,
            bound
        }
    );
    let (error, address) = refused(0, &|at| vec![at, other, at]);
    assert_eq!(error, UdpError::DuplicateAddress { address });
    let address = SocketAddr::from((Ipv6Addr::LOCALHOST, 9));
    assert_eq!(
        refused(0, &|at| vec![at, address]).0,
        UdpError::MixedFamilies { address }
    );
}

#[test]
fn both_versions_of_ip_carry_frames() {
    for ip in [
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ] {
        let bounds = [Udp::bind(ip), Udp::bind(ip)].map(|bound| match bound {
            Err(error) if ip.is_ipv6() => {
                eprintln!("SKIPPED: this system has no IPv6: {error}");
                None
            }
            bound => Some(bound.expect("this host")),
        });
        let [Some(zero), Some(one)] = bounds else {
            continue;
        };
        let table = vec![zero.address(), one.address()];
        let mut zero = zero.join(Peer(0), table.clone()).expect("the table");
        let mut one = one.join(Peer(1), table).expect("the table");
        zero.transmit(Peer(1), &[Part::Bytes(b"to one")])
            .expect("room");
        zero.transmit(Peer(0), &[Part::Bytes(b"to itself")])
            .expect("room");
        assert_eq!(
            crate::strangers::next(&mut one),
            (Peer(0), b"to one".to_vec())
        );
        assert_eq!(
            crate::strangers::next(&mut zero),
            (Peer(0), b"to itself".to_vec())
        );
        assert_eq!(
            zero.transmit(Peer(2), &[Part::Bytes(b"to nobody")]),
            Err(ChannelError::NoSuchPeer(Peer(2)))
        );
    }
}

#[test]
fn groups_of_jobs_differ_and_stay_inside() {
    let groups: std::collections::BTreeSet<_> = (0..1000).map(multicast_group).collect();
    assert!(groups.len() > 990);
    for group in groups {
        let [a, b, ..] = group.ip().octets();
        assert!(a == 239 && (192..196).contains(&b) && group.port() >= 20_000);
    }
}
