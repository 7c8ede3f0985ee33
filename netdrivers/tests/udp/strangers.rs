//! Datagrams of others, and of nodes that write what they like.

use crate::{bound, bound_at, network};
use pombo_kernel::Node;
use pombo_kernel::channel::reliable::{Reliable, Window};
use pombo_kernel::channel::{Arrival, Channel, Cookie, Event};
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use pombo_netdrivers::Growing;
use pombo_netdrivers::fault::Dice;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

/// Far above the time that a datagram takes on one host.
const HANG: Duration = Duration::from_secs(60);

/// The next frame that comes to that node.
pub(crate) fn next<N: Network>(network: &mut N) -> (Node, Vec<u8>) {
    let mut frames = Vec::new();
    let start = Instant::now();
    while frames.is_empty() {
        assert!(start.elapsed() < HANG, "nothing comes");
        let polled = network.poll(|frame| {
            let mut bytes = Vec::new();
            frame.pieces(0, frame.len(), |piece| bytes.extend_from_slice(piece));
            frames.push((frame.from(), bytes));
        });
        assert_eq!(polled, Ok(!frames.is_empty()));
    }
    assert_eq!(frames.len(), 1, "one at a time here");
    frames.remove(0)
}

#[test]
fn strangers_are_counted_and_not_heard() {
    let (bounds, addresses) = bound_at(Ipv4Addr::new(127, 0, 0, 2), 2);
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    // Some come before the table is known.
    let send = |count: usize| {
        (0..count).for_each(|_| drop(stranger.send_to(b"I am node 1", addresses[0])));
    };
    send(10);
    let numbered = (0..).map(Node).zip(bounds);
    let mut nodes = numbered.map(|(node, bound)| bound.join(node, addresses.clone()));
    let (mut zero, mut one) = (
        nodes.next().expect("two").expect("the table"),
        nodes.next().expect("two").expect("the table"),
    );
    send(90);
    one.transmit(Node(0), &[Part::Bytes(b"it is me")])
        .expect("room");
    assert_eq!(next(&mut zero), (Node(1), b"it is me".to_vec()));
    // It may have overtaken some.
    let start = Instant::now();
    while zero.counts().foreign < 100 {
        assert!(start.elapsed() < HANG, "{:?}", zero.counts());
        zero.poll(|_| panic!("a stranger is heard"))
            .expect("it is up");
    }
    assert_eq!(zero.counts().foreign, 100);
}

#[test]
fn a_burst_arrives_in_batches_and_in_order() {
    let mut nodes = network(2);
    let (mut one, mut zero) = (nodes.remove(1), nodes.remove(0));
    let longest = zero.mtu();
    for round in 0..50_usize {
        for number in 0..50_u8 {
            let len = 1 + (round * 977 + usize::from(number) * 131) % longest.min(3000);
            let frame = vec![number; len];
            zero.transmit(Node(1), &[Part::Bytes(&frame)])
                .expect("room");
        }
        let mut expected = 0;
        while expected < 50 {
            one.poll(|frame| {
                assert_eq!(frame.head(1), Some(&[expected][..]));
                expected += 1;
            })
            .expect("it is up");
        }
    }
    let frame = vec![9; longest];
    zero.transmit(Node(1), &[Part::Bytes(&frame)])
        .expect("room");
    assert_eq!(next(&mut one), (Node(0), frame));
}

#[test]
fn nobody_there_is_no_error() {
    let (mut bounds, addresses) = bound(2);
    // The second rank has gone: the system says so at every frame, later.
    drop(bounds.remove(1));
    let mut zero = bounds
        .remove(0)
        .join(Node(0), addresses)
        .expect("the table");
    for _ in 0..100 {
        zero.transmit(Node(1), &[Part::Bytes(b"hello")])
            .expect("no error");
        assert_eq!(zero.poll(|_| panic!("from whom")), Ok(false));
    }
}

#[test]
fn what_a_node_forges_is_counted_and_the_channel_goes_on() {
    type Over = Reliable<pombo_netdrivers::Udp, Window<2, 16, 1500>, Growing>;
    let (bounds, addresses) = bound_at(Ipv4Addr::new(127, 0, 0, 3), 2);
    let mut ranks = (0..).map(Node).zip(bounds).map(|(node, bound)| {
        let udp = bound.join(node, addresses.clone()).expect("the table");
        Over::new(udp, 0x5eed).expect("two places")
    });
    let (mut zero, mut one) = (ranks.next().expect("two"), ranks.next().expect("two"));
    // Node 1 writes past its channel, with the descriptor of its own socket.
    let mut dice = Dice::new(3);
    let forged = |fd: i32, bytes: &[u8]| {
        // SAFETY: the descriptor stays open during the call; the bytes are valid, and the socket of the test is
        // not closed by the wrapper, which is forgotten.
        let socket = unsafe { <UdpSocket as std::os::fd::FromRawFd>::from_raw_fd(fd) };
        let sent = socket.send_to(bytes, addresses[0]);
        std::mem::forget(socket);
        sent.expect("room");
    };
    let mut got = 0;
    for round in 0..200_u32 {
        let len = dice.index(80);
        let bytes: Vec<u8> = (0..len).map(|_| dice.below(256) as u8).collect();
        forged(one.network().fd(), &bytes);
        while one
            .try_send(Node(0), Cookie::COPY, &[Part::Bytes(&round.to_le_bytes())])
            .is_err()
        {
            one.poll(|_| ()).expect("it is up");
        }
        let start = Instant::now();
        while got <= round {
            assert!(start.elapsed() < HANG, "nothing comes");
            zero.poll(|event| {
                let Event::Arrival(arrival) = event else {
                    panic!("nobody goes")
                };
                assert_eq!(arrival.head(4), Some(&got.to_le_bytes()[..]));
                got += 1;
            })
            .expect("it is up");
            one.poll(|_| ()).expect("it is up");
        }
    }
    let counts = zero.counts();
    let refused = counts.foreign + counts.corrupt + counts.stale + counts.impossible;
    assert_eq!((refused, counts.received), (200, 200));
}
