//! Ranks over UDP: as threads on this host's own interface.
#![cfg(all(feature = "udp", target_os = "linux"))]

#[path = "udp/casts.rs"]
mod casts;
#[path = "udp/conforms.rs"]
mod conforms;
#[path = "udp/gathers.rs"]
mod gathers;
#[path = "ethernet/inside.rs"]
mod inside;
#[path = "udp/joins.rs"]
mod joins;
#[path = "udp/loses.rs"]
mod loses;
#[path = "udp/refused.rs"]
mod refused;
#[path = "udp/strangers.rs"]
mod strangers;

use pombo_kernel::Peer;
use pombo_netdrivers::udp::{BoundUdp, Udp};
use std::net::{Ipv4Addr, SocketAddr};

/// That many ranks on the loopback interface, and where they are.
fn bound(peers: u16) -> (Vec<BoundUdp>, Vec<SocketAddr>) {
    bound_at(Ipv4Addr::LOCALHOST, peers)
}

/// The same at another address of that interface: what is sent to ranks that have gone may come to another test's, as
/// ports are given out again.
fn bound_at(address: Ipv4Addr, peers: u16) -> (Vec<BoundUdp>, Vec<SocketAddr>) {
    let bind = |_| Udp::bind(address).expect("this host has it");
    let bounds: Vec<BoundUdp> = (0..peers).map(bind).collect();
    let addresses = bounds.iter().map(BoundUdp::address).collect();
    (bounds, addresses)
}

/// A network of that many peers.
fn network(peers: u16) -> Vec<Udp> {
    let (bounds, addresses) = bound(peers);
    let numbered = (0..).map(Peer).zip(bounds);
    let join = |(peer, bound): (Peer, BoundUdp)| bound.join(peer, addresses.clone());
    numbered.map(|one| join(one).expect("the table")).collect()
}
