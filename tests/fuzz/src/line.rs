//! The network of peer 0 among three: frames that it sends are dropped, frames that arrive are those of the input.

use super::feed::Feed;
use pombo_kernel::channel::{Arrival, ChannelError, MIN_LIMIT};
use pombo_kernel::network::{Broadcast, MIN_MTU, Network};
use pombo_kernel::{Part, Peer};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

pub(crate) const PEERS: u16 = 3;
const MTU: usize = MIN_MTU;
/// Number of own frames that can be quoted.
const HEARD: usize = 4;

/// A network that claims to check frames, so that they need no checksums. Clones are the same network.
#[derive(Clone)]
pub(crate) struct Line(Rc<Inner>);

struct Inner {
    letters: RefCell<Vec<(Peer, Vec<u8>)>>,
    heard: RefCell<VecDeque<Vec<u8>>>,
    now: Cell<u64>,
    /// Whether the network refuses frames.
    full: Cell<bool>,
    /// Largest chunk, in bytes, in which a frame is read.
    fragment: usize,
}

pub(crate) struct Fragmented<'a> {
    from: Peer,
    bytes: &'a [u8],
    fragment: usize,
}

impl Line {
    pub(crate) fn new(fragment: usize) -> Self {
        Line(Rc::new(Inner {
            letters: RefCell::default(),
            heard: RefCell::default(),
            now: Cell::new(1),
            full: Cell::new(false),
            fragment: fragment.max(1),
        }))
    }

    pub(crate) fn arrive(&self, from: Peer, frame: Vec<u8>) {
        self.0.letters.borrow_mut().push((from, frame));
    }

    pub(crate) fn pass(&self, time: u64) {
        self.0.now.set(self.0.now.get() + time);
    }

    pub(crate) fn fill(&self, full: bool) {
        self.0.full.set(full);
    }

    /// Returns bytes of a frame that we have sent, or zeros.
    pub(crate) fn quote(&self, nth: usize, offset: usize, len: usize) -> Vec<u8> {
        let heard = self.0.heard.borrow();
        let frame = heard.iter().rev().nth(nth % HEARD);
        let bytes = frame.and_then(|frame| frame.get(offset..offset + len));
        bytes.map_or(vec![0; len], <[u8]>::to_vec)
    }

    fn keep(&self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let total = Part::total(parts);
        assert!(0 < total && total <= MTU, "a frame of {total} bytes");
        if self.0.full.get() {
            return Err(ChannelError::Full);
        }
        let mut frame = Vec::new();
        for part in parts {
            let at = frame.len();
            frame.resize(at + part.len(), 0);
            part.copy_to(0, &mut frame[at..]);
        }
        let mut heard = self.0.heard.borrow_mut();
        heard.push_back(frame);
        if heard.len() > HEARD {
            heard.pop_front();
        }
        Ok(())
    }
}

/// Returns a number that is small, the largest, or close to the one at that offset of a frame of ours.
pub(crate) fn number(feed: &mut Feed<'_>, line: &Line, offset: usize) -> [u8; 4] {
    let number = match feed.byte() {
        255 => u32::MAX,
        byte @ 128.. => {
            let quoted = line.quote(feed.below(HEARD), offset, 4);
            let quoted = u32::from_le_bytes(quoted.try_into().expect("four bytes"));
            quoted.wrapping_add(u32::from(byte % 16)).wrapping_sub(8)
        }
        byte => u32::from(byte % 40),
    };
    number.to_le_bytes()
}

impl Network for Line {
    type Frame<'a> = Fragmented<'a>;

    pombo_kernel::network_defaults! { set_corked, wait_sources }

    fn is_checked(&self) -> bool {
        true
    }

    fn me(&self) -> Peer {
        Peer(0)
    }

    fn peers(&self) -> usize {
        PEERS.into()
    }

    fn mtu(&self) -> usize {
        MTU
    }

    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        assert!(to.0 < PEERS, "a frame to nobody");
        self.keep(parts)
    }

    fn poll(&mut self, mut f: impl FnMut(Fragmented<'_>)) -> Result<bool, ChannelError> {
        let letters = self.0.letters.take();
        for (from, bytes) in &letters {
            f(Fragmented {
                from: *from,
                bytes,
                fragment: self.0.fragment,
            });
        }
        Ok(!letters.is_empty())
    }

    fn wait(&mut self, _: u32, until: u64) -> Result<(), ChannelError> {
        // At most one second passes.
        self.pass(until.saturating_sub(self.now()).clamp(1, 1_000_000_000));
        Ok(())
    }

    fn now(&self) -> u64 {
        self.0.now.get()
    }
}

impl Broadcast for Line {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.keep(parts)
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
        assert!(n <= 2 * MIN_LIMIT, "a head of {n} bytes");
        self.bytes.get(..n)
    }

    fn for_each_chunk(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        self.bytes[offset..offset + len]
            .chunks(self.fragment)
            .for_each(f);
    }
}
