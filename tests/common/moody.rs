//! A channel with moods, for ranks that take turns in one thread: full without a reason, slow on one way and quick
//! on another, late with completions, handing out frames in crumbs. What it does follows from a seed.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "each test uses a part of it"
)]

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent};
use pombo_kernel::{Communicator, Config, Header, Memory, Node, Operate, Part};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// How often something is difficult, in percent.
#[derive(Clone, Copy, Debug)]
pub struct Moods {
    /// The longest frame.
    pub limit: usize,
    /// Frames under way between two ranks.
    pub in_flight: usize,
    /// No room, although there is some.
    pub full: u32,
    /// A frame with a cookie is taken, but its memory is needed until later.
    pub later: u32,
    /// A poll sees nothing of a sender.
    pub slow: u32,
    /// A poll sees nothing of the completions.
    pub tardy: u32,
}

pub const CALM: Moods = Moods {
    limit: 128,
    in_flight: 8,
    full: 0,
    later: 0,
    slow: 0,
    tardy: 0,
};

/// One rank. Dropping it means that the node is gone.
pub struct Moody {
    node: Node,
    world: Rc<RefCell<World>>,
}

struct World {
    moods: Moods,
    dice: u64,
    /// Of all ranks: the clock.
    polls: u64,
    nodes: Vec<Place>,
}

struct Place {
    gone: bool,
    /// One lane per sender.
    lanes: Vec<VecDeque<Letter>>,
    /// Frames whose memory is still needed, with where they went.
    late: VecDeque<(Node, Cookie)>,
}

enum Letter {
    Frame(Box<[u8]>),
    Lost,
}

/// A frame handed out in pieces of a few bytes.
pub struct Crumbs<'a> {
    from: Node,
    bytes: &'a [u8],
    crumb: usize,
}

impl Moody {
    pub fn world(nodes: u16, moods: Moods, seed: u64) -> Vec<Moody> {
        let place = || Place {
            gone: false,
            lanes: (0..nodes).map(|_| VecDeque::new()).collect(),
            late: VecDeque::new(),
        };
        let world = Rc::new(RefCell::new(World {
            moods,
            dice: seed.wrapping_mul(2).wrapping_add(1),
            polls: 0,
            nodes: (0..nodes).map(|_| place()).collect(),
        }));
        let channel = |node| Moody {
            node: Node(node),
            world: world.clone(),
        };
        (0..nodes).map(channel).collect()
    }

    /// Other moods from now on, for the whole world.
    pub fn set(&self, moods: Moods) {
        self.world.borrow_mut().moods = moods;
    }

    /// Nothing is under way anywhere.
    pub fn is_quiet(&self) -> bool {
        let world = self.world.borrow();
        let quiet = |place: &Place| {
            place.gone || (place.late.is_empty() && place.lanes.iter().all(VecDeque::is_empty))
        };
        world.nodes.iter().all(quiet)
    }

    /// Puts a frame on its way to `to` that no kernel has written.
    pub fn forge(&self, to: Node, bytes: &[u8]) {
        let lane = &mut self.world.borrow_mut().nodes[to.index()].lanes[self.node.index()];
        lane.push_back(Letter::Frame(bytes.into()));
    }
}

impl World {
    /// True in `percent` of the cases.
    fn roll(&mut self, percent: u32) -> bool {
        // An LCG's upper bits are random enough for moods.
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.dice >> 33) % 100) < u64::from(percent)
    }
}

impl Channel for Moody {
    type Arrival<'a> = Crumbs<'a>;

    fn node(&self) -> Node {
        self.node
    }

    fn nodes(&self) -> usize {
        self.world.borrow().nodes.len()
    }

    fn limit(&self, to: Node) -> usize {
        assert!(to.index() < self.nodes(), "asked for the limit of no node");
        self.world.borrow().moods.limit
    }

    fn try_send(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        let mut world = self.world.borrow_mut();
        let Moods {
            limit,
            in_flight,
            full,
            later,
            ..
        } = world.moods;
        let len = Part::total(parts);
        assert!((1..=limit).contains(&len), "a frame of {len} bytes");
        if world.nodes[to.index()].gone {
            return Err(ChannelError::PeerLost(to));
        }
        let waiting = world.nodes[to.index()].lanes[self.node.index()].len();
        if waiting >= in_flight || world.roll(full) {
            return Err(ChannelError::Full);
        }
        let mut frame = vec![0; len].into_boxed_slice();
        let mut at = 0;
        for part in parts {
            part.copy_to(0, &mut frame[at..at + part.len()]);
            at += part.len();
        }
        world.nodes[to.index()].lanes[self.node.index()].push_back(Letter::Frame(frame));
        if cookie != Cookie::COPY && world.roll(later) {
            world.nodes[self.node.index()].late.push_back((to, cookie));
            return Ok(Sent::Later);
        }
        Ok(Sent::Done)
    }

    fn poll(&mut self, mut f: impl FnMut(Event<Crumbs<'_>>)) -> Result<bool, ChannelError> {
        let (completed, arrived, crumb) = self.take();
        let any = !completed.is_empty() || !arrived.is_empty();
        for cookie in completed {
            f(Event::Completed(cookie));
        }
        for (from, letter) in arrived {
            match letter {
                Letter::Frame(bytes) => f(Event::Arrival(Crumbs {
                    from,
                    bytes: &bytes,
                    crumb,
                })),
                Letter::Lost => f(Event::PeerLost(from)),
            }
        }
        Ok(any)
    }

    fn wait(&mut self, _idle: u32) -> Result<(), ChannelError> {
        panic!("ranks that take turns must not wait");
    }

    fn now(&self) -> u64 {
        self.world.borrow().polls
    }
}

impl Moody {
    /// What this poll sees.
    fn take(&mut self) -> (Vec<Cookie>, Vec<(Node, Letter)>, usize) {
        let mut world = self.world.borrow_mut();
        world.polls += 1;
        let Moods { slow, tardy, .. } = world.moods;
        let mut arrived = Vec::new();
        for from in 0..world.nodes.len() {
            while !world.roll(slow) {
                let Some(letter) = world.nodes[self.node.index()].lanes[from].pop_front() else {
                    break;
                };
                let from = Node(from as u16);
                if matches!(letter, Letter::Lost) {
                    world.nodes[self.node.index()]
                        .late
                        .retain(|(to, _)| *to != from);
                }
                arrived.push((from, letter));
            }
        }
        let mut completed = Vec::new();
        while !world.roll(tardy) {
            match world.nodes[self.node.index()].late.pop_front() {
                Some((_, cookie)) => completed.push(cookie),
                None => break,
            }
        }
        let crumb = 1 + (world.dice >> 40) as usize % 40;
        (completed, arrived, crumb)
    }
}

impl Drop for Moody {
    fn drop(&mut self) {
        let mut world = self.world.borrow_mut();
        let me = self.node.index();
        world.nodes[me].gone = true;
        for place in world.nodes.iter_mut().filter(|place| !place.gone) {
            place.lanes[me].push_back(Letter::Lost);
        }
    }
}

impl Arrival for Crumbs<'_> {
    fn from(&self) -> Node {
        self.from
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn head(&self, n: usize) -> Option<&[u8]> {
        self.bytes.get(..n)
    }

    fn pieces(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        self.bytes[offset..offset + len]
            .chunks(self.crumb)
            .for_each(f);
    }
}

/// Lets every rank make progress until nothing is due, under way, or moving.
pub fn settle_moody<H: Header, M: Memory, C: Config>(ranks: &mut [Communicator<H, Moody, M, C>]) {
    for _ in 0..1_000_000 {
        let mut moved = false;
        for rank in ranks.iter_mut() {
            moved |= rank.check_messages().expect("this channel does not break");
        }
        let at_rest =
            |rank: &Communicator<H, Moody, M, C>| rank.is_flushed() && rank.channel().is_quiet();
        if !moved && ranks.iter().all(at_rest) {
            return;
        }
    }
    panic!("the ranks never come to rest");
}
