//! Frames that nobody sent, and peers that are silent: nothing is believed, nothing is given up.

use crate::trusted::{Trusted, frames};
use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event};
use pombo_kernel::network::Network;
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::fault::{Faults, Rate, SeededRng};
use pombo_testing::{Sim, SimNetwork};
use pombo_transport::reliable::{Reliable, Window};

type Sizes = Window<4, 8, 1500>;
type Channels<N> = Reliable<N, Sizes, HeapStorage>;

const KIND: usize = 0;
const EPOCH: usize = 8;
const NUMBER: usize = 12;
const EXPECTED: usize = 20;
const ECHO: usize = 24;

fn send<N: Network>(channel: &mut Channels<N>, bytes: &[u8]) -> Result<(), ChannelError> {
    let parts = [Part::Bytes(bytes)];
    channel.try_send(Peer(1), Cookie(0), &parts).map(|_| ())
}

/// How many frames it hands out.
fn poll<N: Network>(channel: &mut Channels<N>) -> usize {
    let mut arrivals = 0;
    channel
        .poll(|event| arrivals += usize::from(matches!(event, Event::Arrival(_))))
        .expect("it is up");
    arrivals
}

/// A channel at peer 0, and the bare device of peer 1 who is to deceive it.
fn pair() -> (Sim, Channels<Trusted>, SimNetwork) {
    let (sim, mut networks) = Sim::new(2, Faults::NONE, 1);
    let (stranger, own) = (networks.remove(1), networks.remove(0));
    let channel = Reliable::new(Trusted(own), 77).expect("places for four");
    (sim, channel, stranger)
}

/// A frame that a peer would send: it waits for frame 0, and this is its frame 0.
fn genuine() -> Vec<u8> {
    let (sim, mut channel, mut device) = pair();
    send(&mut channel, b"hello").expect("room");
    frames(&sim, &mut device).remove(0)
}

fn inject(sim: &Sim, device: &mut SimNetwork, bytes: &[u8]) {
    device
        .transmit(Peer(0), &[Part::Bytes(bytes)])
        .expect("room");
    sim.advance(1_000_000);
}

fn with(frame: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    frame
}

#[test]
fn what_cannot_be_is_counted_and_dropped() {
    let frame = genuine();
    let stamp = |n: u32| n.to_le_bytes();
    let forged = [
        (with(&frame, EPOCH, &stamp(78)), "stale"),
        (with(&frame, KIND, &[0x21]), "foreign"),
        (with(&frame, KIND, &[0x17]), "foreign"),
        (frame[..31].to_vec(), "foreign"),
        (frame[..36].to_vec(), "foreign"),
        (with(&frame, EXPECTED, &stamp(3)), "impossible"),
        (with(&frame, ECHO, &stamp(9)), "impossible"),
        (with(&frame, NUMBER, &stamp(8)), "beyond"),
        (with(&frame, NUMBER, &stamp(u32::MAX)), "again"),
        (with(&frame, NUMBER, &stamp(7)), "kept"),
    ];
    for (bytes, what) in forged {
        let (sim, mut channel, mut device) = pair();
        // Two frames are under way: nothing forged may free them.
        send(&mut channel, b"one").expect("room");
        send(&mut channel, b"two").expect("room");
        inject(&sim, &mut device, &bytes);
        assert_eq!(poll(&mut channel), 0, "{what}");
        let counts = channel.counts();
        let seen = [
            (counts.stale, "stale"),
            (counts.foreign, "foreign"),
            (counts.impossible, "impossible"),
            (counts.beyond, "beyond"),
            (counts.duplicates, "again"),
            (counts.kept, "kept"),
        ];
        for (count, name) in seen {
            assert_eq!(count, u64::from(name == what), "{name} at {what}");
        }
        assert!(!channel.is_settled());
        inject(&sim, &mut device, &frame);
        assert_eq!(poll(&mut channel), 1, "the genuine one after {what}");
    }
}

/// Every damage of a frame with a sum shows, and so does that it came another way than it was sent.
#[test]
fn damage_is_noticed() {
    let channel = |network| -> Channels<SimNetwork> { Reliable::new(network, 77).expect("fits") };
    let (sim, mut networks) = Sim::new(2, Faults::NONE, 1);
    let mut peer = channel(networks.remove(1));
    let to = [Part::Bytes(&[5; 100])];
    peer.try_send(Peer(0), Cookie(0), &to).expect("room");
    let frame = frames(&sim, &mut networks[0]).remove(0);

    let (sim, mut networks) = Sim::new(3, Faults::NONE, 1);
    let (mut other, mut device) = (networks.remove(2), networks.remove(1));
    let mut channel = channel(networks.remove(0));
    let mut damaged = vec![];
    for bit in 0..frame.len() * 8 {
        damaged.push(with(&frame, bit / 8, &[frame[bit / 8] ^ (1 << (bit % 8))]));
    }
    damaged.extend((0..frame.len()).map(|len| frame[..len].to_vec()));
    for (count, bytes) in damaged.iter().enumerate() {
        inject(&sim, &mut device, bytes);
        assert_eq!(poll(&mut channel), 0, "damage {count}");
        let counts = channel.counts();
        assert_eq!(counts.corrupt + counts.foreign, 1 + count as u64);
    }
    inject(&sim, &mut other, &frame);
    assert_eq!(poll(&mut channel), 0);
    // A device may fill frames up.
    let mut filled = frame.clone();
    filled.resize(200, 0);
    inject(&sim, &mut device, &filled);
    assert_eq!(poll(&mut channel), 1);
}

/// Whatever comes, it goes on: bytes of all kinds, where frames are believed.
#[test]
fn any_bytes_are_harmless() {
    let frame = genuine();
    let mut rng = SeededRng::new(3);
    for _ in 0..300 {
        let (sim, mut channel, mut device) = pair();
        for _ in 0..40 {
            let _ = send(&mut channel, b"more");
            let mut bytes = frame.clone();
            bytes.resize(rng.index(80), 0);
            for _ in 0..rng.index(6) {
                if !bytes.is_empty() {
                    let at = rng.index(bytes.len());
                    bytes[at] = [0, 1, 8, 255, rng.below(256) as u8][rng.index(5)];
                }
            }
            inject(&sim, &mut device, &bytes);
            poll(&mut channel);
        }
    }
}

/// A peer that does nothing for half a minute under loss is asked rarely, and gets everything afterwards.
#[test]
fn a_silent_node_is_not_given_up() {
    let faults = Faults::NONE.loss(Rate::percent(5));
    let (sim, mut networks) = Sim::new(2, faults, 1);
    let mut channel = |index| {
        let channel: Channels<SimNetwork> = Reliable::new(networks.remove(index), 1).expect("fits");
        channel
    };
    let (mut silent, mut sender) = (channel(1), channel(0));
    let mut sent = 0;
    for _ in 0..30_000 {
        sent += usize::from(send(&mut sender, &[sent as u8]).is_ok());
        assert_eq!(poll(&mut sender), 0);
        sim.advance(1_000_000);
    }
    assert_eq!(sent, 8, "its memory stays at the window");
    let asked = sender.counts().resent;
    assert!((100..300).contains(&asked), "asked {asked} times");
    let mut got = 0;
    for _ in 0..1000 {
        got += poll(&mut silent);
        poll(&mut sender);
        sim.advance(1_000_000);
    }
    assert_eq!(got, sent);
    assert!(sender.is_settled());
    // Only word from outside makes it lost.
    sender.declare_lost(Peer(1));
    assert_eq!(
        send(&mut sender, b"late"),
        Err(ChannelError::PeerLost(Peer(1)))
    );
    let mut lost = Vec::new();
    sender
        .poll(|event| {
            if let Event::PeerLost(peer) = event {
                lost.push(peer);
            }
        })
        .expect("it is up");
    assert_eq!(lost, [Peer(1)]);
}
