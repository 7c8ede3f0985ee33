//! Frames that leave together arrive each by itself.

use crate::casts::{casts, job};
use crate::network;
use pombo_kernel::channel::Arrival;
use pombo_kernel::network::{Broadcast, Network};
use pombo_kernel::{Node, Part};
use pombo_netdrivers::fault::SeededRng;
use pombo_netdrivers::udp::{Udp, multicast_group};
use pombo_testing::conformance::HANG;
use std::time::Instant;

/// Bytes that tell the frame.
fn frame(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (number * 31 + i * 7) as u8).collect()
}

/// Takes so many frames.
fn take(network: &mut impl Network, count: usize) -> Vec<Vec<u8>> {
    let (mut frames, start) = (Vec::new(), Instant::now());
    while frames.len() < count {
        assert!(start.elapsed() < HANG, "{} of {count}", frames.len());
        let polled = network.poll(|arrival| {
            let mut bytes = Vec::new();
            arrival.pieces(0, arrival.len(), |piece| bytes.extend_from_slice(piece));
            frames.push(bytes);
        });
        polled.expect("it is up");
    }
    frames
}

/// Node 0 sends frames of these lengths to these nodes, all in one go; on this host nothing is lost or overtaken.
fn send(nodes: &mut [Udp], plan: &[(u16, usize)]) {
    nodes[0].gather(true);
    for (number, (to, len)) in plan.iter().enumerate() {
        let bytes = frame(number, *len);
        // In two pieces, as a header and what follows.
        let (head, rest) = bytes.split_at(len / 3);
        let parts = [Part::Bytes(head), Part::Bytes(rest)];
        nodes[0].transmit(Node(*to), &parts).expect("room");
    }
    nodes[0].gather(false);
    for to in 0..nodes.len() as u16 {
        let sent = plan.iter().enumerate().filter(|(_, (node, _))| *node == to);
        let expected: Vec<Vec<u8>> = sent.map(|(number, (_, len))| frame(number, *len)).collect();
        let came = take(&mut nodes[usize::from(to)], expected.len());
        assert_eq!(came.len(), expected.len(), "none is joined or cut");
        assert!(came == expected, "frames of node {to} in {plan:?}");
    }
}

#[test]
fn each_arrives_by_itself() {
    let mut nodes = network(3);
    send(&mut nodes, &[(1, 1472); 50]);
    send(
        &mut nodes,
        &[(1, 1472), (1, 1472), (1, 700), (1, 700), (1, 1472)],
    );
    send(
        &mut nodes,
        &[(1, 1), (2, 1), (1, 1), (1, 1), (2, 3), (0, 2)],
    );
    // More than leaves at once, by count and by bytes.
    send(&mut nodes, &[(2, 40); 150]);
    send(&mut nodes, &[(2, 30_000); 5]);
    send(&mut nodes, &[(1, 9)]);
    send(&mut nodes, &[]);
}

#[test]
fn any_lengths_to_anybody() {
    let (mut nodes, mut rng) = (network(3), SeededRng::new(5));
    for _ in 0..300 {
        let lens = [1, 2, 100, 1472, 4000];
        let mut plan = Vec::new();
        while plan.len() < 30 {
            let (to, len) = (rng.index(3) as u16, lens[rng.index(5)]);
            plan.extend(std::iter::repeat_n((to, len), 1 + rng.index(6)));
        }
        send(&mut nodes, &plan);
    }
}

#[test]
fn nothing_stays_behind_where_nobody_gathers() {
    let mut nodes = network(2);
    nodes[0].gather(true);
    nodes[0].gather(false);
    for number in 0..20 {
        let bytes = frame(number, 1000);
        let sent = nodes[0].transmit(Node(1), &[Part::Bytes(&bytes)]);
        sent.expect("room");
        assert!(take(&mut nodes[1], 1) == [bytes]);
    }
}

#[test]
fn frames_for_all_leave_together_too() {
    let mut nodes = casts(3, multicast_group(job()));
    nodes[0].gather(true);
    let frames: Vec<Vec<u8>> = (0..70).map(|number| frame(number, 1400)).collect();
    for bytes in &frames {
        nodes[0].broadcast(&[Part::Bytes(bytes)]).expect("room");
    }
    nodes[0].gather(false);
    for node in &mut nodes[1..] {
        assert!(take(node, frames.len()) == frames);
    }
}
