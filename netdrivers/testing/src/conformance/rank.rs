//! One rank of a conformance test: blocking calls over a channel, with checks of what holds for every event.

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use std::collections::VecDeque;

pub(super) struct Rank<C: Channel> {
    pub(super) channel: C,
    got: Vec<VecDeque<Vec<u8>>>,
    lost: Vec<bool>,
    cookie: u64,
}

impl<C: Channel> Rank<C> {
    pub(super) fn new(channel: C) -> Self {
        let peers = channel.peers();
        Self {
            channel,
            got: vec![VecDeque::new(); peers],
            lost: vec![false; peers],
            cookie: 0,
        }
    }

    pub(super) fn me(&self) -> Peer {
        self.channel.me()
    }

    pub(super) fn everyone(&self) -> impl Iterator<Item = Peer> + use<C> {
        (0..self.got.len() as u16).map(Peer)
    }

    /// Polls once and, if that finds nothing, waits once. Passes events to `f` where a test examines them.
    pub(super) fn step(&mut self, idle: u32, f: impl FnMut(Event<C::Arrival<'_>>)) {
        if !self.poll(f) {
            self.channel.wait(idle).expect("wait");
        }
    }

    /// Polls once. Returns false if nothing happened.
    pub(super) fn poll(&mut self, mut f: impl FnMut(Event<C::Arrival<'_>>)) -> bool {
        let (got, lost) = (&mut self.got, &mut self.lost);
        let mut events = 0;
        let polled = self.channel.poll(|event| {
            events += 1;
            note(got, lost, &event);
            f(event);
        });
        assert_eq!(polled, Ok(events > 0), "poll must say what it did");
        events > 0
    }

    /// Returns false if there is no room.
    pub(super) fn try_send(&mut self, to: Peer, bytes: &[u8]) -> bool {
        self.try_send_parts(to, &[Part::Bytes(bytes)])
    }

    fn try_send_parts(&mut self, to: Peer, parts: &[Part<'_>]) -> bool {
        let cookie = Cookie(self.cookie);
        match self.channel.try_send(to, cookie, parts) {
            Ok(Sent::Done) => {}
            Ok(Sent::Later) => self.complete(cookie),
            Err(ChannelError::Full) => return false,
            Err(error) => panic!("send to {to}: {error}"),
        }
        self.cookie += 1;
        true
    }

    /// Waits for a completion: the parts must stay valid until the driver reports that it has read them.
    fn complete(&mut self, cookie: Cookie) {
        let mut done = false;
        while !done {
            self.step(0, |event| {
                if let Event::Completed(completed) = event {
                    assert!(completed == cookie && !done, "completed what is not sent");
                    done = true;
                }
            });
        }
    }

    pub(super) fn send(&mut self, to: Peer, bytes: &[u8]) {
        self.send_parts(to, &[Part::Bytes(bytes)]);
    }

    pub(super) fn send_parts(&mut self, to: Peer, parts: &[Part<'_>]) {
        let mut idle = 0;
        while !self.try_send_parts(to, parts) {
            self.step(idle, |_| ());
            idle += 1;
        }
    }

    /// Returns the oldest frame that has arrived already.
    pub(super) fn received(&mut self, from: Peer) -> Option<Vec<u8>> {
        self.got[from.index()].pop_front()
    }

    pub(super) fn receive(&mut self, from: Peer) -> Vec<u8> {
        let mut idle = 0;
        loop {
            if let Some(bytes) = self.received(from) {
                return bytes;
            }
            assert!(!self.lost(from), "peer {from} went without sending all");
            self.step(idle, |_| ());
            idle += 1;
        }
    }

    pub(super) fn lost(&self, peer: Peer) -> bool {
        self.lost[peer.index()]
    }

    /// Sends `count` frames to every rank, itself included, checks the frames of every rank, and leaves.
    pub(super) fn exchange(mut self, count: u64) {
        let me = self.me();
        for number in 0..count {
            for to in self.everyone() {
                let bytes = frame(me, to, number, self.channel.limit(to));
                self.send(to, &bytes);
            }
        }
        for from in self.everyone() {
            for number in 0..count {
                let bytes = self.receive(from);
                let expected = frame(from, me, number, self.channel.limit(from));
                assert!(
                    bytes == expected,
                    "frame {number} from {from} of {} bytes",
                    bytes.len()
                );
            }
        }
        self.leave();
    }

    /// Leaves when all other ranks are ready to leave, so that no rank misses a frame or sends to a rank that has left.
    /// Finds excess frames.
    pub(super) fn leave(mut self) {
        for to in self.everyone() {
            self.send(to, b"bye");
        }
        for from in self.everyone() {
            assert_eq!(self.receive(from), b"bye");
        }
    }
}

fn note<A: Arrival>(got: &mut [VecDeque<Vec<u8>>], lost: &mut [bool], event: &Event<A>) {
    match event {
        Event::Arrival(arrival) => {
            let from = arrival.from().index();
            assert!(!lost[from], "a frame after the loss of its sender");
            let mut bytes = Vec::with_capacity(arrival.len());
            arrival.for_each_chunk(0, arrival.len(), |piece| bytes.extend_from_slice(piece));
            got[from].push_back(bytes);
        }
        Event::PeerLost(peer) => {
            let again = core::mem::replace(&mut lost[peer.index()], true);
            assert!(!again, "peer {peer} was lost twice");
        }
        _ => {}
    }
}

/// Returns the frame of that number from peer `from` to peer `to`: mostly small, often at the limit.
pub(super) fn frame(from: Peer, to: Peer, number: u64, limit: usize) -> Vec<u8> {
    let seed = mix(number << 32 | u64::from(from.0) << 16 | u64::from(to.0));
    let rng = (mix(seed) >> 8) as usize;
    let len = match seed % 8 {
        0 => limit - rng % limit.min(70),
        1 | 2 => 1 + rng % limit,
        _ => 1 + rng % limit.min(200),
    };
    pattern(seed, len)
}

/// Returns bytes that differ with the seed and with every position.
pub(super) fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let words = (0..len.div_ceil(8) as u64).flat_map(|i| mix(seed ^ i << 40).to_le_bytes());
    words.take(len).collect()
}

fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 32
}
