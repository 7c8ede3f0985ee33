//! Datagrams of others, and of peers that write what they like.

use crate::{bound, bound_at, network};
use pombo_kernel::Peer;
use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event};
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use pombo_netdrivers::fault::SeededRng;
use pombo_netdrivers::{HeapStorage, Udp};
use pombo_transport::ContiguousFrame;
use pombo_transport::reliable::{Reliable, Window};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

/// Far above the time that a datagram takes on one host.
const HANG: Duration = Duration::from_secs(60);

/// The next frame that comes to that peer.
pub(crate) fn next<N: Network>(network: &mut N) -> (Peer, Vec<u8>) {
    let mut frames = Vec::new();
    let start = Instant::now();
    while frames.is_empty() {
        assert!(start.elapsed() < HANG, "nothing comes");
        let polled = network.poll(|frame| {
            let mut bytes = Vec::new();
            frame.for_each_chunk(0, frame.len(), |piece| bytes.extend_from_slice(piece));
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
        (0..count).for_each(|_| drop(stranger.send_to(b"I am peer 1", addresses[0])));
    };
    send(10);
    let numbered = (0..).map(Peer).zip(bounds);
    let mut peers = numbered.map(|(peer, bound)| bound.join(peer, addresses.clone()));
    let (mut zero, mut one) = (
        peers.next().expect("two").expect("the table"),
        peers.next().expect("two").expect("the table"),
    );
    send(90);
    one.transmit(Peer(0), &[Part::Bytes(b"it is me")])
        .expect("room");
    assert_eq!(next(&mut zero), (Peer(1), b"it is me".to_vec()));
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
    let mut peers = network(2);
    let (mut one, mut zero) = (peers.remove(1), peers.remove(0));
    let longest = zero.mtu();
    for round in 0..50_usize {
        for number in 0..50_u8 {
            let len = 1 + (round * 977 + usize::from(number) * 131) % longest.min(3000);
            let frame = vec![number; len];
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
    let frame = vec![9; longest];
    zero.transmit(Peer(1), &[Part::Bytes(&frame)])
        .expect("room");
    assert_eq!(next(&mut one), (Peer(0), frame));
}

#[test]
fn nobody_there_is_no_error() {
    let (mut bounds, addresses) = bound(2);
    // The second rank has gone: the system says so at every frame, later.
    drop(bounds.remove(1));
    let mut zero = bounds
        .remove(0)
        .join(Peer(0), addresses)
        .expect("the table");
    for _ in 0..100 {
        zero.transmit(Peer(1), &[Part::Bytes(b"hello")])
            .expect("no error");
        assert_eq!(zero.poll(|_| panic!("from whom")), Ok(false));
    }
}

#[test]
fn what_a_node_forges_is_counted_and_the_channel_goes_on() {
    type Over = Reliable<pombo_netdrivers::Udp, Window<2, 16, 1500>, HeapStorage>;
    let (bounds, addresses) = bound_at(Ipv4Addr::new(127, 0, 0, 3), 2);
    let mut ranks = (0..).map(Peer).zip(bounds).map(|(peer, bound)| {
        let udp = bound.join(peer, addresses.clone()).expect("the table");
        Over::new(udp, 0x5eed).expect("two places")
    });
    let (mut zero, mut one) = (ranks.next().expect("two"), ranks.next().expect("two"));
    // Peer 1 writes past its channel, with the descriptor of its own socket.
    let mut rng = SeededRng::new(3);
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
        let len = rng.index(80);
        let bytes: Vec<u8> = (0..len).map(|_| rng.below(256) as u8).collect();
        forged(one.network().fd(), &bytes);
        while one
            .try_send(Peer(0), Cookie::COPY, &[Part::Bytes(&round.to_le_bytes())])
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

/// Keeps what leaves.
struct Copied {
    udp: Udp,
    left: Vec<Vec<u8>>,
}

impl Network for Copied {
    type Frame<'a> = ContiguousFrame<'a>;

    pombo_kernel::network_defaults! { set_corked, wait_sources }
    pombo_kernel::forward_network! { udp: is_checked, me, peers, mtu, poll, wait, now }

    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let mut bytes = vec![0; Part::total(parts)];
        let mut at = 0;
        for part in parts {
            part.copy_to(0, &mut bytes[at..at + part.len()]);
            at += part.len();
        }
        self.left.push(bytes);
        self.udp.transmit(to, parts)
    }
}

/// Somebody writes with the address of peer 1: each of its frames again with a bit that is wrong, wherever it is. None
/// of them is kept in place of the right one, and none frees what peer 0 has sent.
#[test]
fn a_copy_with_a_wrong_bit_never_takes_the_place_of_the_right_frame() {
    type Over<N> = Reliable<N, Window<2, 16, 1500>, HeapStorage>;
    let (mut bounds, addresses) = bound_at(Ipv4Addr::new(127, 0, 0, 4), 2);
    let mut join = |peer: u16| {
        let bound = bounds.remove(0);
        bound
            .join(Peer(peer), addresses.clone())
            .expect("the table")
    };
    let mut zero = Over::new(join(0), 0x5eed).expect("two places");
    let (udp, left) = (join(1), Vec::new());
    let mut one = Over::new(Copied { udp, left }, 0x5eed).expect("two places");
    // SAFETY: the descriptor stays open as long as `one` does, which ends after this; it is not closed here.
    let stranger = std::mem::ManuallyDrop::new(unsafe {
        <UdpSocket as std::os::fd::FromRawFd>::from_raw_fd(one.network().udp.fd())
    });
    let message = |round: u32| round.to_le_bytes().repeat(10);
    let (mut rng, mut copied, mut wrong) = (SeededRng::new(11), 0, 0);
    for round in 0..400_u32 {
        for (channel, to) in [(&mut one as &mut dyn Sends, 0), (&mut zero, 1)] {
            channel.send(Peer(to), &message(round));
        }
        let (mut here, mut there) = (false, false);
        let start = Instant::now();
        while !(here && there) {
            assert!(
                start.elapsed() < HANG,
                "round {round}: the channel has stopped"
            );
            // Old ones too: their numbers are close to those that come.
            let left = &one.network().left;
            for frame in &left[copied.min(left.len().saturating_sub(3))..] {
                let (mut bytes, bit) = (frame.clone(), rng.index(8 * frame.len()));
                bytes[bit / 8] ^= 1 << (bit % 8);
                stranger.send_to(&bytes, addresses[0]).expect("room");
                wrong += 1;
            }
            copied = left.len();
            here |= hears(&mut zero, &message(round));
            there |= hears(&mut one, &message(round));
        }
    }
    let start = Instant::now();
    while zero.counts().corrupt < wrong {
        assert!(start.elapsed() < HANG, "{:?}", zero.counts());
        zero.poll(|_| panic!("nobody sent it")).expect("it is up");
    }
    assert_eq!(zero.counts().corrupt, wrong);
}

/// Either end.
trait Sends {
    fn send(&mut self, to: Peer, bytes: &[u8]);
}

impl<C: Channel> Sends for C {
    fn send(&mut self, to: Peer, bytes: &[u8]) {
        let parts = [Part::Bytes(bytes)];
        self.try_send(to, Cookie::COPY, &parts).expect("room");
    }
}

/// Did that message come, and nothing else?
fn hears(channel: &mut impl Channel, message: &[u8]) -> bool {
    let mut heard = 0;
    let polled = channel.poll(|event| match event {
        Event::Arrival(frame) => {
            assert_eq!(bytes(&frame), message);
            heard += 1;
        }
        _ => panic!("nobody goes"),
    });
    polled.expect("it is up");
    assert!(heard < 2, "it came twice");
    heard == 1
}

fn bytes(frame: &impl Arrival) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.for_each_chunk(0, frame.len(), |piece| bytes.extend_from_slice(piece));
    bytes
}
