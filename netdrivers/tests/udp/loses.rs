//! Traffic with checksums while the network loses frames at every rate.

use crate::conforms::{Rank, run};
use pombo_kernel::Peer;
use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event};
use pombo_kernel::memory::Part;
use pombo_netdrivers::fault::{FaultyNetwork, Rate, SeededRng};
use pombo_netdrivers::udp::Udp;

/// Frames from each rank to each other one.
const FRAMES: u32 = 3000;

type Over = Rank<FaultyNetwork<Udp>>;

fn lossy<const PPM: u32>(udp: Udp) -> FaultyNetwork<Udp> {
    FaultyNetwork::with_loss(udp, Rate::ppm(PPM), 0x5eed)
}

#[test]
fn one_of_ten_thousand_is_lost() {
    run(3, lossy::<100>, exchange::<false>);
}

#[test]
fn one_per_cent_is_lost() {
    run(3, lossy::<10_000>, exchange::<true>);
}

#[test]
fn five_per_cent_are_lost() {
    run(3, lossy::<50_000>, exchange::<true>);
}

#[test]
fn twenty_per_cent_are_lost() {
    run(3, lossy::<200_000>, exchange::<true>);
}

/// Everybody to everybody, in order, each frame with its number and a sum. Some are lost on the way to each, if `OFTEN`.
fn exchange<const OFTEN: bool>(mut rank: Over) {
    let me = rank.me();
    let limit = rank.limit(me);
    let mut rng = SeededRng::stream(9, me.0.into());
    let others: Vec<Peer> = (0..3).map(Peer).filter(|peer| *peer != me).collect();
    let (mut sent, mut got, mut idle) = ([0; 3], [0; 3], 0);
    while others
        .iter()
        .any(|peer| sent[peer.index()] < FRAMES || got[peer.index()] < FRAMES)
    {
        for &to in &others {
            let number = &mut sent[to.index()];
            if *number < FRAMES {
                let len = rng.index(limit - 7);
                let body: Vec<u8> = (0..len).map(|i| (i as u32 * *number) as u8).collect();
                *number += u32::from(send(&mut rank, to, *number, &body));
            }
        }
        let moved = rank.poll(|event| match event {
            Event::Arrival(arrival) => check(&arrival, &mut got),
            Event::PeerLost(gone) => assert_eq!(got[gone.index()], FRAMES, "gone too early"),
            _ => panic!("a copy is never completed later"),
        });
        idle = if moved.expect("it is up") {
            0
        } else {
            idle + 1
        };
        rank.wait(idle).expect("it is up");
    }
    let (lost, counts) = (
        rank.reliable().network().counts().lost,
        rank.reliable().counts(),
    );
    eprintln!(
        "peer {me}: {lost} frames lost here, {} sent again",
        counts.resent
    );
    assert!(lost > 0 || !OFTEN, "nothing was lost on this way");
}

/// False if there is no room.
fn send(rank: &mut Over, to: Peer, number: u32, body: &[u8]) -> bool {
    let parts = [
        Part::Bytes(&number.to_le_bytes()),
        Part::Bytes(&sum(number, body).to_le_bytes()),
        Part::Bytes(body),
    ];
    match rank.try_send(to, Cookie::COPY, &parts) {
        Ok(_) => true,
        Err(ChannelError::Full) => false,
        Err(error) => panic!("{error}"),
    }
}

fn check(arrival: &impl Arrival, got: &mut [u32; 3]) {
    let mut bytes = Vec::new();
    arrival.for_each_chunk(0, arrival.len(), |piece| bytes.extend_from_slice(piece));
    let (number, rest) = bytes.split_first_chunk().expect("a number");
    let (told, body) = rest.split_first_chunk().expect("a sum");
    let (number, told) = (u32::from_le_bytes(*number), u32::from_le_bytes(*told));
    assert_eq!(number, got[arrival.from().index()], "in order, once");
    assert_eq!(told, sum(number, body));
    got[arrival.from().index()] += 1;
}

fn sum(number: u32, body: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    body.iter().fold(number ^ 0x811c_9dc5, step)
}
