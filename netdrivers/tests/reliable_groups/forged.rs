//! Frames that nobody sent: nothing is believed that cannot be, nothing breaks.

use crate::cast::{NAME, bytes};
use crate::trusted::{Trusted, frames};
use pombo_kernel::aspect::Static;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::network::Network;
use pombo_kernel::{Error, Peer};
use pombo_netdrivers::fault::{Faults, SeededRng};
use pombo_testing::Sim;
use pombo_transport::ContiguousFrame;
use pombo_transport::multicast::{GroupCapacities, Receiver, SendStatus, Sender, SenderConfig};
use pombo_transport::reliable::Timing;

const MESSAGE: usize = 10_000;
const KIND: usize = 0;
const EPOCH: usize = 8;
const GROUP: usize = 12;
const NUMBER: usize = 18;
const PACKET: usize = 22;
const STAMP: usize = 26;
const BITS: usize = 30;

type Sizes = GroupCapacities<4, 600, 4, 64>;
type Small = Sender<Sizes, Static>;

fn source() -> Small {
    let (config, timing) = (SenderConfig::default(), Timing::default());
    Sender::new(NAME, [Peer(1), Peer(2)], 600, config, timing).expect("places for four")
}

fn sink(quiet: Option<u64>) -> Receiver<Sizes, Static> {
    Receiver::new(NAME, Peer(0), Timing::default(), quiet)
}

/// A source that has announced its message and heard that there is room, with everything sent that may be sent; and
/// the last report of receiver 1.
fn under_way() -> (Sim, Trusted, Small, Vec<u8>) {
    let (sim, mut networks) = Sim::new(3, Faults::NONE, 1);
    let [own, mut one, mut two] = [0, 0, 0].map(|i| Trusted(networks.remove(i)));
    let (mut own, message) = (own, bytes(MESSAGE, 1));
    let mut source = source();
    source.send(&&message[..]).expect("nothing is under way");
    source.send_due(&mut own, &&message[..]).expect("it is up");
    let mut report = Vec::new();
    for (device, peer) in [(&mut two, 2), (&mut one, 1)] {
        let mut sink = sink(None);
        let buffer = &mut [0; MESSAGE][..];
        assert_eq!(sink.receive(buffer), Ok(None));
        for frame in frames(&sim, device) {
            sink.on_frame(&ContiguousFrame::new(Peer(0), &frame), buffer, 0, None);
        }
        sink.send_due(device).expect("it is up");
        report = frames(&sim, &mut own).remove(0);
        source.on_frame(&ContiguousFrame::new(Peer(peer), &report), sim.now(), None);
    }
    while !source.send_due(&mut own, &&message[..]).expect("it is up")
        && source.counts().packets < 18
    {
        sim.advance(1_000);
    }
    std::mem::forget((one, two));
    (sim, own, source, report)
}

fn with(frame: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    frame
}

/// A forged report frees nothing that was not sent, and nothing of another receiver.
#[test]
fn reports_that_cannot_be_are_counted_and_dropped() {
    let word = |n: u32| n.to_le_bytes();
    let (_sim, _own, mut source, report) = under_way();
    let sent = source.counts().packets as u32;
    assert_eq!(sent, 18, "all of it");
    let mut expected = source.counts();
    let mut on_frame = |from: u16, bytes: &[u8]| {
        source.on_frame(&ContiguousFrame::new(Peer(from), bytes), 0, None);
        assert!(!source.is_done());
        source.counts()
    };
    for (bytes, from) in [
        (with(&report, KIND, &[0x23]), 1),
        (with(&report, KIND, &[0x14]), 1),
        (with(&report, GROUP, &[9, 9]), 1),
        (report[..42].to_vec(), 1),
        (with(&report, PACKET, &word(sent)), 3),
    ] {
        expected.foreign += 1;
        assert_eq!(on_frame(from, &bytes), expected);
    }
    for bytes in [
        with(&report, EPOCH, &word(1)),
        with(&report, NUMBER, &word(2)),
    ] {
        expected.stale += 1;
        assert_eq!(on_frame(1, &bytes), expected);
    }
    for bytes in [
        with(&report, PACKET, &word(sent + 1)),
        with(&report, PACKET, &word(u32::MAX)),
        with(&report, STAMP, &word(1000)),
        with(&report, BITS, &[1]),
        with(&report, BITS + 2, &[4]),
    ] {
        expected.impossible += 1;
        assert_eq!(on_frame(1, &bytes), expected);
    }
    // What one of them may say it says for itself alone.
    on_frame(1, &with(&report, PACKET, &word(sent)));
    source.declare_lost(Peer(1));
    assert!(!source.is_done());
    source.declare_lost(Peer(2));
    assert!(source.is_done());
}

/// Whatever comes, it goes on.
#[test]
fn any_bytes_are_harmless() {
    let (sim, mut own, mut source, report) = under_way();
    let mut rng = SeededRng::new(4);
    let mut scramble = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        for _ in 0..rng.index(5) {
            let at = rng.index(bytes.len().min(48));
            bytes[at] = [0, 1, 2, 255, rng.below(256) as u8][rng.index(5)];
        }
        bytes.truncate(bytes.len() - [0, 0, 0, 1, 30][rng.index(5)].min(bytes.len()));
        bytes
    };
    for round in 0..20_000 {
        let bytes = scramble(&report);
        source.on_frame(&ContiguousFrame::new(Peer(1 + round % 2), &bytes), 0, None);
        let turned = source.send_due(&mut own, &&bytes[..]);
        assert_eq!(turned.is_ok(), own.me() == Peer(0));
        sim.advance(1_000);
    }
    let packet = with(&report, KIND, &[0x13]);
    let repair = with(&report, KIND, &[0x14]);
    let mut announce = with(&report, KIND, &[0x16])[..40].to_vec();
    announce[30..40].copy_from_slice(&[200, 0, 0, 0, 0, 0, 0, 0, 25, 0]);
    (announce[2], announce[3]) = (10, 0);
    for round in 0..20_000_u32 {
        let mut sink = sink(Some(5));
        let buffer = &mut [0; 200][..];
        assert_eq!(sink.receive(buffer), Ok(None));
        sink.on_frame(&ContiguousFrame::new(Peer(0), &announce), buffer, 0, None);
        assert_eq!(sink.announced(), Some(200));
        for step in 0..8 {
            let kind = if (round + step) % 3 == 0 {
                &packet
            } else {
                &repair
            };
            let bytes = scramble(&with(kind, PACKET, &[step as u8]));
            sink.on_frame(&ContiguousFrame::new(Peer(0), &bytes), buffer, 0, None);
            let _ = sink.receive(buffer);
        }
    }
}

#[test]
fn bounds_are_told() {
    let new = |peers: u16| -> Result<Small, Error> {
        let peers = (1..=peers).map(Peer);
        Sender::new(NAME, peers, 600, SenderConfig::default(), Timing::default())
    };
    let (peers, bound) = (5, 4);
    assert_eq!(new(5).err(), Some(Error::TooManyPeers { peers, bound }));
    let mut source = new(4).expect("places for four");
    for message in 0..4 {
        assert_eq!(
            source.send(&&[7; 64][..]),
            Ok(SendStatus::Copied),
            "{message}"
        );
    }
    assert_eq!(source.send(&&[7; 64][..]), Err(ChannelError::Full));
    let mut source = new(4).expect("places for four");
    assert_eq!(source.send(&&[7; 65][..]), Ok(SendStatus::Borrowed));
    assert_eq!(source.send(&&[7; 1][..]), Err(ChannelError::Full));
}

/// The sum of a frame knows whom it is from and for: what seems to come from another peer, or came to another, is no
/// packet of that one and no report for this.
#[test]
fn a_frame_of_other_nodes_has_the_wrong_sum() {
    let (sim, mut networks) = Sim::new(3, Faults::NONE, 1);
    let (mut one, mut own) = (networks.remove(1), networks.remove(0));
    let mut source = source();
    let message = bytes(10, 1);
    source.send(&&message[..]).expect("nothing is under way");
    source.send_due(&mut own, &&message[..]).expect("it is up");
    let packet = frames(&sim, &mut one).remove(0);
    let mut sink = sink(None);
    let buffer = &mut [0; MESSAGE][..];
    sink.on_frame(
        &ContiguousFrame::new(Peer(2), &packet),
        buffer,
        0,
        Some(Peer(1)),
    );
    assert_eq!((sink.counts().corrupt, sink.counts().received), (1, 0));
    sink.on_frame(
        &ContiguousFrame::new(Peer(0), &packet),
        buffer,
        0,
        Some(Peer(1)),
    );
    assert_eq!((sink.counts().corrupt, sink.counts().received), (1, 1));
    sim.advance(1_000_000_000);
    sink.send_due(&mut one).expect("it is up");
    let report = frames(&sim, &mut own).remove(0);
    for (from, to) in [(2, 0), (1, 2)] {
        source.on_frame(
            &ContiguousFrame::new(Peer(from), &report),
            0,
            Some(Peer(to)),
        );
    }
    assert_eq!((source.counts().corrupt, source.counts().foreign), (2, 0));
    source.on_frame(&ContiguousFrame::new(Peer(1), &report), 0, Some(Peer(0)));
    source.declare_lost(Peer(2));
    assert_eq!(source.counts().corrupt, 2);
    assert!(source.is_done());
}
