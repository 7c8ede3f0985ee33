//! Frames that leave together arrive each by itself.

use crate::casts::{casts, job};
use crate::network;
use pombo_kernel::channel::Arrival;
use pombo_kernel::network::{Broadcast, Network};
use pombo_kernel::{Part, Peer};
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
            arrival.for_each_chunk(0, arrival.len(), |piece| bytes.extend_from_slice(piece));
            frames.push(bytes);
        });
        polled.expect("it is up");
    }
    frames
}

/// Peer 0 sends frames of these lengths to these peers, all in one go; on this host nothing is lost or overtaken.
fn send(peers: &mut [Udp], plan: &[(u16, usize)]) {
    peers[0].set_corked(true);
    for (number, (to, len)) in plan.iter().enumerate() {
        let bytes = frame(number, *len);
        // In two pieces, as a header and what follows.
        let (head, rest) = bytes.split_at(len / 3);
        let parts = [Part::Bytes(head), Part::Bytes(rest)];
        peers[0].transmit(Peer(*to), &parts).expect("room");
    }
    peers[0].set_corked(false);
    for to in 0..peers.len() as u16 {
        let sent = plan.iter().enumerate().filter(|(_, (peer, _))| *peer == to);
        let expected: Vec<Vec<u8>> = sent.map(|(number, (_, len))| frame(number, *len)).collect();
        let came = take(&mut peers[usize::from(to)], expected.len());
        assert_eq!(came.len(), expected.len(), "none is joined or cut");
        assert!(came == expected, "frames of peer {to} in {plan:?}");
    }
}

#[test]
fn each_arrives_by_itself() {
    let mut peers = network(3);
    send(&mut peers, &[(1, 1472); 50]);
    send(
        &mut peers,
        &[(1, 1472), (1, 1472), (1, 700), (1, 700), (1, 1472)],
    );
    send(
        &mut peers,
        &[(1, 1), (2, 1), (1, 1), (1, 1), (2, 3), (0, 2)],
    );
    // More than leaves at once, by count and by bytes.
    send(&mut peers, &[(2, 40); 150]);
    send(&mut peers, &[(2, 30_000); 5]);
    send(&mut peers, &[(1, 9)]);
    send(&mut peers, &[]);
}

#[test]
fn any_lengths_to_anybody() {
    let (mut peers, mut rng) = (network(3), SeededRng::new(5));
    for _ in 0..300 {
        let lens = [1, 2, 100, 1472, 4000];
        let mut plan = Vec::new();
        while plan.len() < 30 {
            let (to, len) = (rng.index(3) as u16, lens[rng.index(5)]);
            plan.extend(std::iter::repeat_n((to, len), 1 + rng.index(6)));
        }
        send(&mut peers, &plan);
    }
}

#[test]
fn nothing_stays_behind_where_nobody_gathers() {
    let mut peers = network(2);
    peers[0].set_corked(true);
    peers[0].set_corked(false);
    for number in 0..20 {
        let bytes = frame(number, 1000);
        let sent = peers[0].transmit(Peer(1), &[Part::Bytes(&bytes)]);
        sent.expect("room");
        assert!(take(&mut peers[1], 1) == [bytes]);
    }
}

#[test]
fn frames_for_all_leave_together_too() {
    let mut peers = casts(3, multicast_group(job()));
    peers[0].set_corked(true);
    let frames: Vec<Vec<u8>> = (0..70).map(|number| frame(number, 1400)).collect();
    for bytes in &frames {
        peers[0].broadcast(&[Part::Bytes(bytes)]).expect("room");
    }
    peers[0].set_corked(false);
    for peer in &mut peers[1..] {
        assert!(take(peer, frames.len()) == frames);
    }
}
