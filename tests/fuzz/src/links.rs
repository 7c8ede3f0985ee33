//! A reliable channel whose peers send anything, and random calls of its user.

use super::feed::Feed;
use super::line::{Line, PEERS, number};
use pombo_kernel::aspect::Static;
use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event};
use pombo_kernel::{Part, Peer};
use pombo_transport::reliable::{Reliable, Window};
use std::collections::VecDeque;

type Small = Reliable<Line, Window<3, 4, 256>, Static>;

const EPOCH: u32 = 7;
const DATA: u8 = 0x11;
const REPORT: u8 = 0x12;
/// Offsets of sequence numbers, stamps, expected numbers and echoes.
const NUMBERS: [usize; 4] = [12, 16, 20, 24];

/// The channel and its expected state.
struct Link {
    channel: Small,
    line: Line,
    /// Frames that it has sent to itself and that have not arrived yet.
    own: VecDeque<Vec<u8>>,
    lost: [bool; PEERS as usize],
}

/// Performs any acts until the bytes are used up.
pub(crate) fn run(feed: &mut Feed<'_>) {
    let line = Line::new(feed.below(8));
    let mut link = Link {
        channel: Reliable::new(line.clone(), EPOCH).expect("it fits"),
        line,
        own: VecDeque::new(),
        lost: [false; PEERS as usize],
    };
    while !feed.is_empty() {
        link.act(feed);
    }
    link.finish();
}

impl Link {
    fn act(&mut self, feed: &mut Feed<'_>) {
        match feed.byte() % 8 {
            0..3 => {
                let from = Peer(feed.below(PEERS.into()) as u16);
                let frame = self.frame(feed);
                self.line.arrive(from, frame);
            }
            3 => {
                let to = Peer(feed.below(usize::from(PEERS) + 1) as u16);
                let bytes = vec![feed.byte(); 1 + feed.below(240)];
                self.send(to, &bytes);
            }
            4 => self.line.pass(1 << (feed.byte() % 40)),
            5 => self.line.fill(feed.below(3) == 0),
            6 if feed.below(6) == 0 => {
                self.channel.declare_lost(Peer(feed.below(4) as u16));
            }
            _ => self.poll(),
        }
    }

    /// Returns any bytes, or a frame of valid form.
    fn frame(&self, feed: &mut Feed<'_>) -> Vec<u8> {
        let kind = match feed.byte() % 8 {
            0 => {
                let len = feed.below(256);
                return feed.bytes(len).to_vec();
            }
            1 => feed.byte(),
            kind if kind % 2 == 0 => DATA,
            _ => REPORT,
        };
        let mut frame = vec![kind, feed.byte() % 2, 0, 0, 0, 0, 0, 0];
        let epoch = if feed.byte() == 255 { 8 } else { EPOCH };
        frame.extend(epoch.to_le_bytes());
        for offset in NUMBERS {
            frame.extend(number(feed, &self.line, offset));
        }
        frame.extend([feed.byte() % 9, 0, 0, 0]);
        let rest = match kind {
            REPORT => 8,
            _ => feed.below(60),
        };
        let rest = feed.bytes(rest);
        frame[2] = match feed.byte() {
            255 => 200,
            _ => rest.len() as u8,
        };
        frame.extend(rest);
        frame
    }

    fn send(&mut self, to: Peer, bytes: &[u8]) {
        let limit = self.channel.limit(to);
        let sent = self.channel.try_send(to, Cookie(0), &[Part::Bytes(bytes)]);
        match sent {
            Ok(_) if to == Peer(0) => self.own.push_back(bytes.to_vec()),
            Ok(_) | Err(ChannelError::Full) => {}
            Err(error) => {
                let expected = match to.0 {
                    PEERS.. => ChannelError::NoSuchPeer(to),
                    _ if bytes.len() > limit => ChannelError::TooLong { limit },
                    _ => ChannelError::PeerLost(to),
                };
                assert_eq!(error, expected);
            }
        }
    }

    fn poll(&mut self) {
        let (own, lost) = (&mut self.own, &mut self.lost);
        let polled = self.channel.poll(|event| match event {
            Event::Arrival(arrival) => {
                let mut bytes = Vec::new();
                arrival.for_each_chunk(0, arrival.len(), |piece| bytes.extend_from_slice(piece));
                assert_eq!(bytes.len(), arrival.len());
                match arrival.from() {
                    // No other peer can send in our name.
                    Peer(0) => assert_eq!(Some(bytes), own.pop_front()),
                    Peer(peer) => assert!(peer < PEERS && !lost[usize::from(peer)]),
                }
            }
            Event::PeerLost(peer) => {
                assert!(!lost[peer.index()] && peer != Peer(0), "lost twice");
                lost[peer.index()] = true;
            }
            _ => panic!("no frame is lent"),
        });
        polled.expect("the line does not break");
    }

    /// Checks that without peers nothing is under way, and that frames to itself still arrive.
    fn finish(mut self) {
        self.line.fill(false);
        (1..PEERS).for_each(|peer| self.channel.declare_lost(Peer(peer)));
        self.poll();
        self.poll();
        assert!(self.channel.is_settled() && self.own.is_empty());
        assert_eq!(self.lost, [false, true, true]);
        for round in 0..20 {
            self.send(Peer(0), &[round]);
            assert_eq!(self.own.len(), 1);
            self.poll();
            assert!(self.own.is_empty());
        }
    }
}
