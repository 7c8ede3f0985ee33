//! Two channels as one: ranks of a host over threads, hosts over the simulated network.
#![cfg(all(feature = "shm", target_os = "linux"))]

#[path = "composite/forwards.rs"]
mod forwards;
#[cfg(all(feature = "shm", feature = "udp", target_os = "linux"))]
#[path = "composite/sleeps.rs"]
mod sleeps;
#[path = "composite/world.rs"]
mod world;

use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event};
use pombo_kernel::{Error, Part, Peer};
use pombo_netdrivers::Loopback;
use pombo_netdrivers::fault::{Faults, Rate};
use pombo_testing::conformance::{Harness, threads};
use pombo_transport::Composite;

type Pair = Composite<Loopback, Loopback>;

/// All ranks on one host: the composite is its near channel.
struct OneHost;

impl Harness for OneHost {
    type Channel = Pair;

    fn run(_test: &str, peers: u16, body: fn(Pair)) {
        threads(
            Loopback::world(peers)
                .into_iter()
                .map(Pair::local_only)
                .collect(),
            body,
        );
    }
}

mod one_host {
    pombo_testing::conformance!(super::OneHost);
}

macro_rules! hosts {
    ($name:ident, $hosts:expr, $faults:expr) => {
        mod $name {
            use super::*;

            struct World;

            impl Harness for World {
                type Channel = world::Rank;

                fn run(_test: &str, peers: u16, body: fn(world::Rank)) {
                    world::run(peers, $hosts, $faults, body);
                }
            }

            pombo_testing::conformance!(World);
        }
    };
}

hosts!(two_hosts, 2, Faults::NONE);
hosts!(
    three_hosts_that_lose,
    3,
    Faults::NONE.loss(Rate::percent(5))
);
hosts!(every_rank_a_host, u16::MAX, Faults::NONE);

/// Peer 3 of four: peer 1 shares its host, 0 and 2 are elsewhere.
fn peer_3() -> (Pair, Loopback, Vec<Loopback>) {
    let (mut host, mut all) = (Loopback::world(2), Loopback::world(4));
    let near = host.remove(1);
    let far = all.remove(3);
    let pair = Pair::new(near, far, &[Peer(1), Peer(3)]).expect("they fit");
    (pair, host.remove(0), all)
}

#[test]
fn members_that_do_not_fit_are_refused() {
    let make = |members: &[Peer]| {
        let near = Loopback::world(2).remove(1);
        let far = Loopback::world(4).remove(3);
        Pair::new(near, far, members).err()
    };
    assert_eq!(make(&[Peer(1), Peer(3)]), None);
    // Not this peer, too few, not there, twice.
    assert_eq!(make(&[Peer(3), Peer(1)]), Some(Error::NoSuchPeer(Peer(3))));
    assert_eq!(make(&[Peer(3)]), Some(Error::NoSuchPeer(Peer(3))));
    assert_eq!(make(&[Peer(4), Peer(3)]), Some(Error::NoSuchPeer(Peer(4))));
    assert_eq!(make(&[Peer(3), Peer(3)]), Some(Error::NoSuchPeer(Peer(3))));
    let many = Pair::new(
        Loopback::world(1).remove(0),
        Loopback::world(9).remove(0),
        &[Peer(0)],
    );
    let refused = Error::TooManyPeers { peers: 9, bound: 8 };
    assert_eq!(many.err(), Some(refused));
}

#[test]
fn everything_speaks_of_nodes_by_their_common_number() {
    let (mut pair, mut near, mut far) = peer_3();
    let bytes = |text: &'static [u8]| [Part::Bytes(text)];
    near.try_send(Peer(1), Cookie::COPY, &bytes(b"near"))
        .expect("room");
    far[2]
        .try_send(Peer(3), Cookie::COPY, &bytes(b"far"))
        .expect("room");
    pair.try_send(Peer(3), Cookie::COPY, &bytes(b"own"))
        .expect("room");
    pair.try_send(Peer(1), Cookie::COPY, &bytes(b"to 1"))
        .expect("room");
    pair.try_send(Peer(0), Cookie::COPY, &bytes(b"to 0"))
        .expect("room");
    let nobody = pair.try_send(Peer(4), Cookie::COPY, &bytes(b"nobody"));
    assert_eq!(nobody, Err(ChannelError::NoSuchPeer(Peer(4))));
    assert_eq!(
        frames(&mut pair),
        [(1, "near".into()), (2, "far".into()), (3, "own".into())]
    );
    assert_eq!(frames(&mut near), [(1, "to 1".into())]);
    assert_eq!(frames(&mut far[0]), [(3, "to 0".into())]);
}

#[test]
fn the_channel_of_a_node_tells_of_its_loss() {
    let (mut pair, near, mut far) = peer_3();
    // What the far channel says of a near peer does not count.
    drop(far.remove(1));
    assert_eq!(losses(&mut pair), []);
    drop(far.remove(0));
    assert_eq!(losses(&mut pair), [Peer(0)]);
    drop(near);
    assert_eq!(losses(&mut pair), [Peer(1)]);
    for gone in [Peer(0), Peer(1)] {
        let sent = pair.try_send(gone, Cookie::COPY, &[Part::Bytes(b"too late")]);
        assert_eq!(sent, Err(ChannelError::PeerLost(gone)));
    }
}

/// Of a few polls, in order of the senders.
fn frames(channel: &mut impl Channel) -> Vec<(u16, String)> {
    use pombo_kernel::Arrival;
    let mut frames = Vec::new();
    for _ in 0..20 {
        let polled = channel.poll(|event| {
            if let Event::Arrival(frame) = event {
                let text = frame.head(frame.len()).expect("short");
                frames.push((frame.from().0, String::from_utf8_lossy(text).into_owned()));
            }
        });
        polled.expect("it is up");
    }
    frames.sort();
    frames
}

fn losses(channel: &mut impl Channel) -> Vec<Peer> {
    let mut losses = Vec::new();
    for _ in 0..20 {
        let mut any = false;
        let polled = channel.poll(|event| {
            any = true;
            if let Event::PeerLost(peer) = event {
                losses.push(peer);
            }
        });
        assert_eq!(polled, Ok(any));
    }
    losses
}
