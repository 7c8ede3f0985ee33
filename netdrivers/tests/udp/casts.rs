//! One frame to everybody, and reliable broadcast on top, with ranks as threads.

use crate::bound;
use crate::strangers::next;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_kernel::{Arrival, Peer};
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::fault::{FaultyNetwork, Rate, SeededRng};
use pombo_netdrivers::udp::{BoundUdp, UdpError, UdpMulticast, multicast_group};
use pombo_transport::multicast::{
    GroupCapacities, GroupId, Receiver, Sender, SenderConfig, WireGroup,
};
use pombo_transport::reliable::Timing;
use std::net::{Ipv6Addr, SocketAddrV4, UdpSocket};
use std::sync::mpsc;
use std::time::Duration;

/// Another job for every test of every run.
pub(crate) fn job() -> u64 {
    let port = bound(1).1[0].port();
    u64::from(std::process::id()) << 16 | u64::from(port)
}

/// Devices for groups of that many peers, all in this one.
pub(crate) fn casts(peers: u16, group: SocketAddrV4) -> Vec<UdpMulticast> {
    let (bounds, addresses) = bound(peers);
    let numbered = (0..).map(Peer).zip(bounds);
    let join =
        |(peer, bound): (Peer, BoundUdp)| bound.join_multicast(peer, addresses.clone(), group);
    numbered.map(|one| join(one).expect("a group")).collect()
}

fn reaches_all_others_once(group: SocketAddrV4) {
    let mut casts = casts(4, group);
    // Another job on the same address.
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for from in 0..4 {
        let frame = [from as u8; 100];
        casts[from].broadcast(&[Part::Bytes(&frame)]).expect("room");
        for to in (0..4).filter(|to| *to != from) {
            assert_eq!(next(&mut casts[to]), (Peer(from as u16), frame.to_vec()));
        }
        let back = (from + 1) % 4;
        casts[back]
            .transmit(Peer(from as u16), &[Part::Bytes(b"got it")])
            .expect("room");
        let answer = (Peer(back as u16), b"got it".to_vec());
        assert_eq!(next(&mut casts[from]), answer);
        let _ = stranger.send_to(b"me too", group);
    }
    for cast in &mut casts {
        let polled = cast.poll(|frame| panic!("a frame too many of {} bytes", frame.len()));
        assert_eq!(polled, Ok(false));
    }
}

#[test]
fn multicast_reaches_all_others_once() {
    reaches_all_others_once(multicast_group(job()));
}

#[test]
fn broadcast_reaches_all_others_once() {
    // The loopback interface names no such address, but has one.
    let port = multicast_group(job()).port();
    reaches_all_others_once(SocketAddrV4::new([127, 255, 255, 255].into(), port));
}

/// A sender that polls seldom gets what all receivers have sent since.
#[test]
fn one_poll_takes_a_frame_of_every_peer() {
    const PEERS: u16 = 16;
    let mut casts = casts(PEERS, multicast_group(job()));
    for from in 1..PEERS {
        let frame = [from as u8; 10];
        let sent = casts[usize::from(from)].transmit(Peer(0), &[Part::Bytes(&frame)]);
        sent.expect("room");
    }
    // A frame between sockets of one host has arrived when its transmission returns.
    let mut taken = Vec::new();
    let polled = casts[0].poll(|frame| taken.push((frame.from(), frame.bytes().to_vec())));
    assert_eq!(polled, Ok(true));
    let expected = (1..PEERS).map(|from| (Peer(from), vec![from as u8; 10]));
    assert!(taken.into_iter().eq(expected));
}

#[test]
fn groups_need_version_four() {
    let Ok(bound) = pombo_netdrivers::Udp::bind(Ipv6Addr::LOCALHOST) else {
        return eprintln!("SKIPPED: this system has no IPv6");
    };
    let address = bound.address();
    let refused = bound.join_multicast(Peer(0), vec![address], multicast_group(1));
    let expected = UdpError::MulticastNeedsV4 { address };
    assert_eq!(refused.err(), Some(Box::new(expected)));
}

const NAME: WireGroup = WireGroup {
    group: GroupId(3),
    epoch: 0x5eed,
};
type Inbox = Receiver<GroupCapacities<8, 1472>, HeapStorage>;
/// Far above the seconds that a slow machine needs.
const HANG: Duration = Duration::from_secs(180);

/// Broadcasts to three receivers that lose frames; all must have the same bytes.
fn broadcast(ppm: u32, sizes: &'static [usize]) {
    let mut peers = casts(4, multicast_group(job())).into_iter();
    let lossy = |cast| FaultyNetwork::with_loss(cast, Rate::ppm(ppm), 1);
    let network = lossy(peers.next().expect("four"));
    let (done, ends) = mpsc::channel();
    let mut stops = Vec::new();
    for cast in peers {
        let (stop, stopped) = mpsc::channel::<()>();
        let (done, network) = (done.clone(), lossy(cast));
        stops.push(stop);
        std::thread::spawn(move || {
            receive(network, sizes, &stopped);
            let _ = done.send(());
        });
    }
    std::thread::spawn(move || {
        send(network, sizes);
        // The receivers answer until the last one has everything.
        drop(stops);
        let _ = done.send(());
    });
    for _ in 0..4 {
        ends.recv_timeout(HANG).expect("a peer failed or hangs");
    }
}

fn message(number: usize, len: usize) -> Vec<u8> {
    let mut rng = SeededRng::new(number as u64);
    let words = (0..len.div_ceil(8)).flat_map(|_| rng.below(u64::MAX).to_le_bytes());
    words.take(len).collect()
}

fn send(mut network: FaultyNetwork<UdpMulticast>, sizes: &[usize]) {
    let peers = (1..4).map(Peer);
    let (config, timing) = (SenderConfig::default(), Timing::default());
    let mtu = network.mtu().min(1472);
    let source =
        Sender::<GroupCapacities<8, 1472>, HeapStorage>::new(NAME, peers, mtu, config, timing);
    let mut source = source.expect("places for eight");
    for (number, len) in sizes.iter().enumerate() {
        let message = message(number, *len);
        source.send(&&message[..]).expect("the last is done");
        let mut idle = 0;
        while !source
            .send_due(&mut network, &&message[..])
            .expect("it is up")
        {
            let (me, now) = (network.me(), network.now());
            let heard = network.poll(|frame| source.on_frame(&frame, now, Some(me)));
            idle = if heard.expect("it is up") {
                0
            } else {
                idle + 1
            };
            if idle > 0 {
                network.wait(idle, source.deadline()).expect("it is up");
            }
        }
    }
    eprintln!("{:?}", source.counts());
}

fn receive(
    mut network: FaultyNetwork<UdpMulticast>,
    sizes: &[usize],
    stopped: &mpsc::Receiver<()>,
) {
    let mut sink = Inbox::new(NAME, Peer(0), Timing::default(), None);
    let mut idle = 0;
    for (number, len) in sizes.iter().enumerate() {
        let mut buffer = vec![0; *len];
        let received = loop {
            if let Some(received) = sink.receive(&mut buffer[..]).expect("it fits") {
                break received;
            }
            send_due(&mut network, &mut sink, &mut buffer, &mut idle);
        };
        assert_eq!(received, *len);
        assert!(
            buffer == message(number, *len),
            "other bytes than were sent"
        );
    }
    // A sleep would not end when the source has.
    eprintln!("{:?} {:?}", network.me(), sink.counts());
    while stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {
        idle = 0;
        send_due(&mut network, &mut sink, &mut [], &mut idle);
        std::thread::yield_now();
    }
}

fn send_due(
    network: &mut FaultyNetwork<UdpMulticast>,
    sink: &mut Inbox,
    buffer: &mut [u8],
    idle: &mut u32,
) {
    let (me, now) = (network.me(), network.now());
    let heard = network.poll(|frame| sink.on_frame(&frame, buffer, now, Some(me)));
    *idle = if heard.expect("it is up") {
        0
    } else {
        *idle + 1
    };
    sink.send_due(network).expect("it is up");
    if *idle > 0 {
        network.wait(*idle, sink.deadline()).expect("it is up");
    }
}

const SIZES: &[usize] = &[1, 16, 1400, 1500, 100_000, 3_000_000, 0, 7];

#[test]
fn a_group_gets_every_byte_on_a_good_network() {
    broadcast(0, SIZES);
}

#[test]
fn a_group_gets_every_byte_at_one_per_cent_loss() {
    broadcast(10_000, SIZES);
}

#[test]
fn a_group_gets_every_byte_at_five_per_cent_loss() {
    broadcast(50_000, SIZES);
}

#[test]
fn a_group_gets_every_byte_at_twenty_per_cent_loss() {
    broadcast(200_000, &[16, 1500, 400_000]);
}
