//! Frames of others, forged, replayed, damaged, too many.

use crate::inside::inside;
use crate::segment::{HANG, network, opened, segment};
use crate::stranger::{Forged, Stranger};
use pombo_kernel::channel::{Arrival, Channel, Cookie, Event};
use pombo_kernel::network::Network;
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::ethernet::{BoundEthernet, Traffic};
use pombo_netdrivers::fault::SeededRng;
use pombo_netdrivers::{Ethernet, HeapStorage};
use pombo_transport::reliable::{Reliable, Window};
use std::time::Instant;

/// The next frame that comes to that peer, alone.
pub(crate) fn next<N: Network>(network: &mut N) -> (Peer, Vec<u8>) {
    next_few(network, 1).remove(0)
}

/// The next frames that come to that peer, so many and no more.
pub(crate) fn next_few<N: Network>(network: &mut N, count: usize) -> Vec<(Peer, Vec<u8>)> {
    let mut frames = Vec::new();
    let start = Instant::now();
    while frames.len() < count {
        assert!(start.elapsed() < HANG, "nothing comes");
        let before = frames.len();
        let polled = network.poll(|frame| {
            let mut bytes = Vec::new();
            frame.for_each_chunk(0, frame.len(), |piece| bytes.extend_from_slice(piece));
            frames.push((frame.from(), bytes));
        });
        assert_eq!(polled, Ok(frames.len() > before));
    }
    assert_eq!(frames.len(), count, "no more here");
    frames
}

#[test]
fn strangers_are_counted_and_not_heard() {
    inside!(strangers_are_counted_and_not_heard, || {
        segment(2, 1500);
        let (opened, addresses) = opened(2, 1, Traffic::Unicast);
        let mut peers = opened
            .into_iter()
            .map(|one: BoundEthernet| one.join(&addresses));
        let mut peer = || peers.next().expect("two").expect("the table");
        let (mut zero, mut one) = (peer(), peer());
        let stranger = Stranger::at("stranger");
        let honest = Forged::as_peer(1, 0, &addresses, 5);
        let send = |forged: Forged| assert!(stranger.send(&forged.with(b"I am 1")));
        // The system's filter drops these.
        let other = |change: fn(&mut Forged)| {
            let mut forged = honest;
            change(&mut forged);
            send(forged);
        };
        other(|forged| forged.kind[0] = 0x12);
        other(|forged| forged.kind[0] = 0x21);
        other(|forged| forged.job += 1);
        other(|forged| forged.destination = 1);
        // This driver drops these.
        other(|forged| forged.from = [2, 0, 0, 0, 0, 1]);
        other(|forged| forged.source = 0);
        other(|forged| forged.source = 2);
        other(|forged| forged.source = u16::MAX);
        other(|forged| forged.kind[1] = 1);
        other(|forged| forged.len = 1000);
        other(|forged| forged.len = 7);
        assert!(stranger.send(&honest.with(&[])));
        one.transmit(Peer(0), &[Part::Bytes(b"it is me")])
            .expect("room");
        assert_eq!(next(&mut zero), (Peer(1), b"it is me".to_vec()));
        // It may have overtaken some.
        let start = Instant::now();
        while zero.counts().foreign + zero.counts().truncated < 8 {
            assert!(start.elapsed() < HANG, "{:?}", zero.counts());
            zero.poll(|_| panic!("a stranger is heard"))
                .expect("it is up");
        }
        let counts = zero.counts();
        assert_eq!((counts.foreign, counts.truncated), (5, 3));
    });
}

#[test]
fn short_frames_that_were_filled_up_are_as_they_were() {
    inside!(short_frames_that_were_filled_up_are_as_they_were, || {
        segment(2, 1500);
        let (opened, addresses) = opened(1, 1, Traffic::Unicast);
        let other = crate::segment::frame_address(1, Traffic::Unicast);
        let other = Ethernet::open("stranger", other).expect("inside");
        let table = [addresses[0], other.address()];
        let mut zero = opened
            .into_iter()
            .next()
            .expect("one")
            .join(&table)
            .expect("table");
        let filled = Forged::as_peer(1, 0, &table, 3).with(&[b"abc", &[0xff; 33][..]].concat());
        assert!(Stranger::at("stranger").send(&filled));
        assert_eq!(next(&mut zero), (Peer(1), b"abc".to_vec()));
    });
}

#[test]
fn a_burst_arrives_in_batches_and_in_order() {
    inside!(a_burst_arrives_in_batches_and_in_order, || {
        segment(1, 1500);
        let mut peers = network(2, 2, Traffic::Unicast);
        let (mut one, mut zero) = (peers.remove(1), peers.remove(0));
        for round in 0..50_usize {
            for number in 0..50_u8 {
                let frame =
                    vec![number; 1 + (round * 977 + usize::from(number) * 131) % zero.mtu()];
                zero.transmit(Peer(1), &[Part::Bytes(&frame)])
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
    });
}

#[test]
fn what_nobody_polls_is_lost_and_counted() {
    inside!(what_nobody_polls_is_lost_and_counted, || {
        segment(2, 1500);
        let mut peers = network(2, 1, Traffic::Unicast);
        let (mut one, mut zero) = (peers.remove(1), peers.remove(0));
        let frame = vec![1; zero.mtu()];
        let (mut sent, mut got) = (0, 0);
        while one.counts().dropped == 0 {
            sent += u64::from(zero.transmit(Peer(1), &[Part::Bytes(&frame)]).is_ok());
            assert!(sent < 1_000_000, "where do they wait?");
        }
        let start = Instant::now();
        while got + one.counts().dropped < sent {
            assert!(
                start.elapsed() < HANG,
                "{got} of {sent}: {:?}",
                one.counts()
            );
            one.poll(|_| got += 1).expect("it is up");
        }
        assert_eq!(got + one.counts().dropped, sent);
        zero.transmit(Peer(1), &[Part::Bytes(b"again")])
            .expect("room");
        assert_eq!(next(&mut one), (Peer(0), b"again".to_vec()));
    });
}

#[test]
fn what_is_forged_in_a_nodes_name_is_counted_and_the_channel_goes_on() {
    inside!(
        what_is_forged_in_a_nodes_name_is_counted_and_the_channel_goes_on,
        || {
            type Over = Reliable<Ethernet, Window<2, 16, 1500>, HeapStorage>;
            segment(2, 1500);
            let (opened, addresses) = opened(2, 1, Traffic::Unicast);
            let mut ranks = opened.into_iter().map(|one: BoundEthernet| {
                Over::new(one.join(&addresses).expect("the table"), 0x5eed).expect("two places")
            });
            let (mut zero, mut one) = (ranks.next().expect("two"), ranks.next().expect("two"));
            // With the MAC address of peer 1, at its interface: nothing below the channel can tell.
            let stranger = Stranger::at("host1");
            let mut rng = SeededRng::new(3);
            let mut got = 0;
            for round in 0..2000_u32 {
                let bytes: Vec<u8> = (0..rng.index(80)).map(|_| rng.below(256) as u8).collect();
                stranger.send(&Forged::as_peer(1, 0, &addresses, bytes.len()).with(&bytes));
                let parts = [Part::Bytes(&round.to_le_bytes())];
                one.try_send(Peer(0), Cookie::COPY, &parts).expect("room");
                let start = Instant::now();
                while got <= round {
                    assert!(start.elapsed() < HANG, "the channel has stopped");
                    one.poll(|_| panic!("nobody sent it")).expect("it is up");
                    zero.poll(|event| match event {
                        Event::Arrival(frame) => {
                            assert_eq!(frame.head(4), Some(&got.to_le_bytes()[..]));
                            got += 1;
                        }
                        event => panic!("{:?}", event_name(&event)),
                    })
                    .expect("it is up");
                }
            }
            let counts = zero.counts();
            let refused = counts.foreign + counts.stale + counts.corrupt + counts.impossible;
            assert_eq!(refused, 2000);
        }
    );
}

fn event_name<A>(event: &Event<A>) -> &'static str {
    match event {
        Event::PeerLost(_) => "a peer was lost",
        _ => "something",
    }
}
