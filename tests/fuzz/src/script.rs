//! The channel of peer 0 among three: frames to itself come back, frames of the peers are those of the input.

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, MIN_LIMIT, Sent};
use pombo_kernel::{Part, Peer};
use std::collections::VecDeque;

pub(crate) const PEERS: u16 = 3;
/// The longest frame, in bytes.
const LIMIT: usize = MIN_LIMIT;
/// Number of frames to itself that wait.
const OWN: usize = 6;
/// Number of own frames that a peer can quote.
const HEARD: usize = 4;

/// How a peer accepts frames.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkState {
    Open,
    /// It accepts frames, but needs their memory until [`Script::land`].
    Late,
    Full,
    /// It accepts no more frames; what it has sent still arrives.
    Deaf,
}

pub(crate) struct Script {
    pending: VecDeque<PendingEvent>,
    own: usize,
    profile: [LinkState; PEERS as usize],
    lost: [bool; PEERS as usize],
    late: Vec<(Peer, Cookie)>,
    heard: VecDeque<Vec<u8>>,
    /// Largest chunk, in bytes, in which a frame is read.
    fragment: usize,
    ticks: u64,
}

enum PendingEvent {
    Frame(Peer, Vec<u8>),
    Landed(Cookie),
    Lost(Peer),
}

pub(crate) struct Fragmented<'a> {
    from: Peer,
    bytes: &'a [u8],
    fragment: usize,
}

impl Script {
    pub(crate) fn new(fragment: usize) -> Self {
        Script {
            pending: VecDeque::new(),
            own: 0,
            profile: [LinkState::Open; PEERS as usize],
            lost: [false; PEERS as usize],
            late: Vec::new(),
            heard: VecDeque::new(),
            fragment: fragment.max(1),
            ticks: 0,
        }
    }

    /// Adds a frame of a peer, unless the peer is lost.
    pub(crate) fn arrive(&mut self, from: Peer, frame: Vec<u8>) {
        if !self.lost[from.index()] {
            self.pending.push_back(PendingEvent::Frame(from, frame));
        }
    }

    pub(crate) fn set(&mut self, peer: Peer, state: LinkState) {
        if self.profile[peer.index()] != LinkState::Deaf {
            self.profile[peer.index()] = state;
        }
    }

    /// Marks a peer as lost: the channel reports it once, after the peer's last frame.
    pub(crate) fn lose(&mut self, peer: Peer) {
        if !self.lost[peer.index()] {
            self.lost[peer.index()] = true;
            self.profile[peer.index()] = LinkState::Deaf;
            self.late.retain(|(to, _)| *to != peer);
            self.pending.push_back(PendingEvent::Lost(peer));
        }
    }

    /// Releases the memory of a frame.
    pub(crate) fn land(&mut self, nth: usize) {
        if !self.late.is_empty() {
            let (_, cookie) = self.late.swap_remove(nth % self.late.len());
            self.pending.push_back(PendingEvent::Landed(cookie));
        }
    }

    pub(crate) fn land_all(&mut self) {
        while !self.late.is_empty() {
            self.land(0);
        }
    }

    /// Returns eight bytes of a frame that the peers have received, or zeros.
    pub(crate) fn quote(&self, nth: usize, offset: usize) -> [u8; 8] {
        let frame = self.heard.iter().rev().nth(nth % HEARD);
        let bytes = frame.and_then(|frame| frame.get(offset..offset + 8));
        bytes.map_or([0; 8], |bytes| bytes.try_into().expect("eight bytes"))
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.pending.is_empty()
    }
}

impl Channel for Script {
    type Arrival<'a> = Fragmented<'a>;

    pombo_kernel::channel_defaults! {
        supports_single_copy, favours_early_data, set_corked, poll_with, wait_timeout, wait_sources, wait_with
    }

    fn me(&self) -> Peer {
        Peer(0)
    }

    fn peers(&self) -> usize {
        PEERS.into()
    }

    fn limit(&self, to: Peer) -> usize {
        // The kernel may ask for the limit of a number before it knows whether that peer exists.
        let _ = to;
        LIMIT
    }

    fn try_send(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        assert!(to.0 < PEERS, "a frame to nobody");
        let total = Part::total(parts);
        assert!(0 < total && total <= LIMIT, "a frame of {total} bytes");
        match self.profile[to.index()] {
            LinkState::Deaf => return Err(ChannelError::PeerLost(to)),
            LinkState::Full => return Err(ChannelError::Full),
            LinkState::Open | LinkState::Late => {}
        }
        if to == Peer(0) && self.own == OWN {
            return Err(ChannelError::Full);
        }
        let mut frame = vec![0; total];
        let mut at = 0;
        for part in parts {
            // In two chunks, as a driver at the end of its ring does.
            let half = part.len() / 2;
            part.copy_to(0, &mut frame[at..at + half]);
            part.copy_to(half, &mut frame[at + half..at + part.len()]);
            at += part.len();
        }
        if to == Peer(0) {
            self.own += 1;
            self.pending.push_back(PendingEvent::Frame(to, frame));
        } else {
            self.heard.push_back(frame);
            if self.heard.len() > HEARD {
                self.heard.pop_front();
            }
        }
        if self.profile[to.index()] == LinkState::Late && cookie != Cookie::COPY {
            self.late.push((to, cookie));
            return Ok(Sent::Later);
        }
        Ok(Sent::Done)
    }

    fn poll(&mut self, mut f: impl FnMut(Event<Fragmented<'_>>)) -> Result<bool, ChannelError> {
        self.ticks += 1;
        let any = !self.pending.is_empty();
        for event in self.pending.drain(..) {
            match event {
                PendingEvent::Frame(from, bytes) => {
                    self.own -= usize::from(from == Peer(0));
                    f(Event::Arrival(Fragmented {
                        from,
                        bytes: &bytes,
                        fragment: self.fragment,
                    }));
                }
                PendingEvent::Landed(cookie) => f(Event::Completed(cookie)),
                PendingEvent::Lost(peer) => f(Event::PeerLost(peer)),
            }
        }
        Ok(any)
    }

    fn wait(&mut self, _: u32) -> Result<(), ChannelError> {
        self.ticks += 1;
        Ok(())
    }

    fn now(&self) -> u64 {
        self.ticks
    }
}

impl Arrival for Fragmented<'_> {
    fn from(&self) -> Peer {
        self.from
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn head(&self, n: usize) -> Option<&[u8]> {
        assert!(n <= MIN_LIMIT, "a head of {n} bytes");
        self.bytes.get(..n)
    }

    fn for_each_chunk(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        self.bytes[offset..offset + len]
            .chunks(self.fragment)
            .for_each(f);
    }
}
