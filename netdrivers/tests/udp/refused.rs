//! Frames that this host does not let out: a route that forbids them gives the same errors as a firewall.

use crate::inside::inside;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::network::Network;
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::udp::Udp;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

const HERE: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
const FORBIDDEN: &str = "route add prohibit 10.78.0.2/32";
const ALLOWED: &str = "route del prohibit 10.78.0.2/32";

fn ip(command: &str) {
    let status = Command::new("ip").args(command.split(' ')).status();
    assert!(status.expect("ip").success(), "{command}");
}

/// A peer that has another one at an address where nobody listens.
fn peer() -> (Udp, SocketAddr) {
    for command in [
        "link set lo up",
        "link add host0 type veth peer name port0",
        "addr add 10.78.0.1/24 dev host0",
        "link set host0 up",
        "link set port0 up",
    ] {
        ip(command);
    }
    let bound = Udp::bind(HERE).expect("this host has it now");
    let there = SocketAddr::from((THERE, 9));
    let addresses = vec![bound.address(), there];
    (bound.join(Peer(0), addresses).expect("the table"), there)
}

fn send(peer: &mut Udp) -> Result<(), ChannelError> {
    peer.transmit(Peer(1), &[Part::Bytes(b"frame")])
}

#[test]
fn what_is_forbidden_for_a_moment_is_lost() {
    inside!(what_is_forbidden_for_a_moment_is_lost, || {
        let (mut peer, _) = peer();
        assert_eq!((send(&mut peer), peer.counts().unsent), (Ok(()), 0));
        ip(FORBIDDEN);
        assert_eq!((send(&mut peer), peer.counts().unsent), (Ok(()), 1));
        // So are frames that leave together.
        peer.set_corked(true);
        assert_eq!((send(&mut peer), send(&mut peer)), (Ok(()), Ok(())));
        peer.set_corked(false);
        assert_eq!(peer.poll(|_| ()), Ok(false));
        assert_eq!(peer.counts().unsent, 3);
        ip(ALLOWED);
        assert_eq!((send(&mut peer), peer.counts().unsent), (Ok(()), 3));
        assert_eq!(peer.refused(), None);
    });
}

#[test]
fn what_is_forbidden_for_long_is_an_error_and_named() {
    inside!(what_is_forbidden_for_long_is_an_error_and_named, || {
        let (mut peer, there) = peer();
        peer.set_refused_limit(0);
        ip(FORBIDDEN);
        assert_eq!(send(&mut peer), Ok(()));
        assert_eq!(send(&mut peer), Err(ChannelError::Device(libc::EACCES)));
        assert_eq!(peer.refused(), Some(there));
    });
}
