//! A stranger who hears everything sends it again, as it was and with one bit changed: no channel hands on anything else
//! than what was sent, and none stops.

use crate::inside::inside;
use crate::segment::{HANG, opened, segment};
use crate::stranger::{Forged, Stranger};
use pombo_kernel::channel::{Arrival, Channel, Cookie, Event};
use pombo_kernel::network::Network;
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::ethernet::Traffic;
use pombo_netdrivers::fault::SeededRng;
use pombo_netdrivers::{Ethernet, HeapStorage};
use pombo_transport::ContiguousFrame;
use pombo_transport::reliable::{Reliable, Window};
use std::time::Instant;

/// A channel of a job.
type Over<N> = Reliable<N, Window<2, 16, 1500>, HeapStorage>;

const ROUNDS: u32 = 500;

/// Copies everything that comes to peer 0 over such networks. `refused` counts what that peer has dropped: how many
/// were changed, and how many came again.
fn copied<N: Network>(over: impl Fn(Ethernet) -> N, refused: impl Fn(&Over<N>) -> (u64, u64)) {
    segment(2, 1500);
    let (opened, addresses) = opened(2, 1, Traffic::Unicast);
    let ranks = opened.into_iter().map(|one| {
        let network = over(one.join(&addresses).expect("the table"));
        Over::new(network, 0x5eed).expect("two places")
    });
    let mut ranks = ranks.collect::<Vec<_>>();
    let (mut one, mut zero) = (ranks.remove(1), ranks.remove(0));
    // A second seat of peer 0 hears what it hears; peers of a job would not do that.
    let frame_address = crate::segment::frame_address(0, Traffic::Unicast);
    let opened = Ethernet::open("host0", frame_address).expect("inside");
    let mut tap = opened.join(&addresses).expect("the table");
    let stranger = Stranger::at("host1");
    let (mut rng, mut got, mut count) = (SeededRng::new(3), 0_u32, 0);
    for round in 0..ROUNDS {
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
                _ => panic!("something else than a frame"),
            })
            .expect("it is up");
        }
        let mut copies = Vec::new();
        let mut copy = |frame: ContiguousFrame<'_>| {
            copies.push(frame.head(frame.len()).unwrap_or(&[]).to_vec());
        };
        while tap.poll(&mut copy).expect("it is up") {}
        let expected = 2 * copies.len();
        for mut bytes in copies {
            let same = Forged::as_peer(1, 0, &addresses, bytes.len());
            stranger.send(&same.with(&bytes));
            let bit = rng.index(8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
            stranger.send(&same.with(&bytes));
            count += 1;
        }
        // The tap hears the copies too.
        let mut heard = 0;
        while heard < expected {
            assert!(start.elapsed() < HANG, "copies are lost");
            tap.poll(|_| heard += 1).expect("it is up");
        }
    }
    while zero.poll(|_| panic!("nobody sent it")).expect("it is up") {}
    assert!(count >= u64::from(ROUNDS), "{count}");
    let (changed, again) = refused(&zero);
    assert_eq!(changed, count);
    assert!(
        again >= u64::from(ROUNDS) && again <= count,
        "{again} of {count}"
    );
}

#[test]
fn a_checksum_tells_changed_frames() {
    inside!(a_checksum_tells_changed_frames, || {
        copied(
            |ethernet| ethernet,
            |rank| (rank.counts().corrupt, rank.counts().duplicates),
        );
    });
}

#[test]
fn a_tag_tells_changed_and_repeated_frames() {
    use pombo_transport::authenticated::{Authenticated, Coverage};
    inside!(a_tag_tells_changed_and_repeated_frames, || {
        copied(
            |ethernet| {
                let under = Some((crate::authenticated::KEY, Coverage::Headers));
                Authenticated::new(ethernet, under).expect("room")
            },
            |rank| {
                let counts = rank.network().counts();
                (counts.forged, counts.replayed)
            },
        );
    });
}
