//! Any channel, as difficult as a channel may be. Nothing is lost, repeated or changed: that would be no channel.

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, MIN_LIMIT, Sent};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_netdrivers::fault::{CRASHED, Dice, Rate};
use std::collections::VecDeque;

/// How often a channel is difficult, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moods {
    /// A send finds no room, although there is some.
    pub full: Rate,
    /// A frame with a cookie is taken, but its memory is asked for until a later poll.
    pub later: Rate,
    /// A poll reports no more completions.
    pub tardy: Rate,
    /// A poll sees nothing more of one sender: frames of different senders arrive in any order.
    pub slow: Rate,
    /// A poll sees nothing at all and leaves everything in the channel below, where queues become full.
    pub blind: Rate,
    /// Frames and losses handed out by one poll, at most; 0 counts as 1.
    pub batch: usize,
    /// Frames that are taken from the channel below but not handed out: at this number nothing more is taken.
    pub hold: usize,
    /// Frames are read in pieces of at most so many bytes; 0 counts as 1.
    pub crumb: usize,
    /// Sends and polls, from the first on, until this node crashes without a good-bye: the channel below is dropped.
    pub crash: Option<u64>,
}

impl Moods {
    /// The channel as it is.
    pub const CALM: Moods = Moods {
        full: Rate::NEVER,
        later: Rate::NEVER,
        tardy: Rate::NEVER,
        slow: Rate::NEVER,
        blind: Rate::NEVER,
        batch: 32,
        hold: 64,
        crumb: usize::MAX,
        crash: None,
    };

    /// Any moods that leave some hope, and no crash.
    pub fn random(dice: &mut Dice) -> Self {
        let mut rate = |most| match dice.below(3) {
            0 => Rate::NEVER,
            _ => Rate::percent(dice.below(most) as u32),
        };
        Moods {
            full: rate(70),
            later: rate(90),
            tardy: rate(70),
            slow: rate(70),
            blind: rate(50),
            batch: 1 + dice.index(8),
            hold: dice.index(16),
            crumb: 1 + dice.index(40),
            crash: None,
        }
    }
}

/// A channel with moods. What it does follows from its seed and the order of calls; its clock counts them, a
/// microsecond each, so that time-outs follow too. When it has crashed every call fails with [`CRASHED`].
pub struct Moody<L: Channel> {
    /// Dropped at the crash.
    inner: Option<L>,
    node: Node,
    nodes: usize,
    moods: Moods,
    dice: Dice,
    /// By sender: what was taken from the channel below.
    lanes: Vec<VecDeque<Letter>>,
    /// Letters in the lanes: at most [`Moods::hold`], and one poll of the channel below.
    held: usize,
    /// Frames whose memory we still ask for, with where they went. As many as the kernel lends.
    late: VecDeque<(Node, Cookie)>,
    /// Since the last poll a send was refused without need, or that poll did not look.
    withheld: bool,
    steps: u64,
    ticks: u64,
    /// Lanes that this poll may still look at; kept for its memory.
    open: Vec<usize>,
}

enum Letter {
    Frame(Box<[u8]>),
    Lost,
}

/// A frame that is read in small pieces.
#[derive(Clone, Copy, Debug)]
pub struct Crumbs<'a> {
    from: Node,
    bytes: &'a [u8],
    crumb: usize,
}

impl<L: Channel> Moody<L> {
    /// Over a channel.
    pub fn new(inner: L, moods: Moods, seed: u64) -> Self {
        let (node, nodes) = (inner.node(), inner.nodes());
        Moody {
            inner: Some(inner),
            node,
            nodes,
            moods,
            dice: Dice::stream(seed, node.0.into()),
            lanes: (0..nodes).map(|_| VecDeque::new()).collect(),
            held: 0,
            late: VecDeque::new(),
            withheld: false,
            steps: 0,
            ticks: 0,
            open: Vec::with_capacity(nodes),
        }
    }

    /// Over every channel of a world, with the same moods.
    pub fn world(channels: impl IntoIterator<Item = L>, moods: Moods, seed: u64) -> Vec<Self> {
        let over = |channel| Moody::new(channel, moods, seed);
        channels.into_iter().map(over).collect()
    }

    /// The moods.
    pub fn moods(&self) -> Moods {
        self.moods
    }

    /// Other moods from now on.
    pub fn set(&mut self, moods: Moods) {
        self.moods = moods;
    }

    /// Nothing is kept back here, and the last poll has seen all that was in the channel below.
    pub fn is_quiet(&self) -> bool {
        self.held == 0 && self.late.is_empty() && !self.withheld
    }

    /// Does this channel still ask for the memory of a frame with that cookie?
    pub fn needs(&self, cookie: Cookie) -> bool {
        self.late.iter().any(|(_, late)| *late == cookie)
    }

    /// Has this node crashed?
    pub fn has_crashed(&self) -> bool {
        self.inner.is_none()
    }

    /// The channel below; `None` after the crash.
    pub fn inner_mut(&mut self) -> Option<&mut L> {
        self.inner.as_mut()
    }

    /// One more call, which may be the one that never comes back.
    fn step(&mut self) -> Result<&mut L, ChannelError> {
        self.ticks += 1;
        self.steps += 1;
        if self.moods.crash.is_some_and(|crash| self.steps > crash) {
            self.inner = None;
        }
        self.inner.as_mut().ok_or(ChannelError::Device(CRASHED))
    }

    /// Takes what the channel below has. Completions of its own go on at once.
    fn fetch(&mut self, mut completed: impl FnMut(Cookie)) -> Result<(), ChannelError> {
        if self.held > self.moods.hold {
            return Ok(());
        }
        self.withheld = self.dice.hits(self.moods.blind);
        if self.withheld {
            return Ok(());
        }
        let Moody {
            inner: Some(inner),
            lanes,
            held,
            ..
        } = self
        else {
            return Ok(());
        };
        inner.poll(|event| {
            let (from, letter) = match event {
                Event::Arrival(arrival) => (arrival.from(), Letter::Frame(copy(&arrival))),
                Event::PeerLost(node) => (node, Letter::Lost),
                Event::Completed(cookie) => return completed(cookie),
                _ => return,
            };
            if let Some(lane) = lanes.get_mut(from.index()) {
                lane.push_back(letter);
                *held += 1;
            }
        })?;
        Ok(())
    }

    /// The next frame or loss that this poll sees, of any sender in whose order it is next.
    fn next(&mut self) -> Option<(Node, Letter)> {
        loop {
            if self.open.is_empty() {
                return None;
            }
            let choice = self.dice.index(self.open.len());
            let from = self.open[choice];
            let letter = match self.dice.hits(self.moods.slow) {
                true => None,
                false => self.lanes[from].pop_front(),
            };
            match letter {
                Some(letter) => {
                    self.held -= 1;
                    return Some((Node(from as u16), letter));
                }
                None => {
                    self.open.swap_remove(choice);
                }
            }
        }
    }
}

impl<L: Channel> Channel for Moody<L> {
    type Arrival<'a> = Crumbs<'a>;

    fn node(&self) -> Node {
        self.node
    }

    fn nodes(&self) -> usize {
        self.nodes
    }

    fn limit(&self, to: Node) -> usize {
        let inner = self.inner.as_ref();
        inner.map_or(MIN_LIMIT, |inner| inner.limit(to))
    }

    fn try_send(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        self.step()?;
        let can_go = to.index() < self.nodes && Part::total(parts) <= self.limit(to);
        if can_go && self.dice.hits(self.moods.full) {
            self.withheld = true;
            return Err(ChannelError::Full);
        }
        let Some(inner) = &mut self.inner else {
            return Err(ChannelError::Device(CRASHED));
        };
        let sent = inner.try_send(to, cookie, parts)?;
        if sent == Sent::Done && cookie != Cookie::COPY && self.dice.hits(self.moods.later) {
            self.late.push_back((to, cookie));
            return Ok(Sent::Later);
        }
        Ok(sent)
    }

    fn poll(&mut self, mut f: impl FnMut(Event<Crumbs<'_>>)) -> Result<bool, ChannelError> {
        self.step()?;
        let mut any = false;
        self.fetch(|cookie| {
            any = true;
            f(Event::Completed(cookie));
        })?;
        while !self.late.is_empty() && !self.dice.hits(self.moods.tardy) {
            if let Some((_, cookie)) = self.late.pop_front() {
                any = true;
                f(Event::Completed(cookie));
            }
        }
        self.open.clear();
        let lanes = self.lanes.iter().enumerate();
        self.open
            .extend(lanes.filter(|(_, lane)| !lane.is_empty()).map(|(i, _)| i));
        for _ in 0..self.moods.batch.max(1) {
            let Some((from, letter)) = self.next() else {
                break;
            };
            any = true;
            match letter {
                Letter::Frame(bytes) => f(Event::Arrival(Crumbs {
                    from,
                    bytes: &bytes,
                    crumb: self.moods.crumb.max(1),
                })),
                Letter::Lost => {
                    // Nothing of frames to it is needed any more, and no completion follows.
                    self.late.retain(|(to, _)| *to != from);
                    f(Event::PeerLost(from));
                }
            }
        }
        Ok(any)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        self.ticks += 1;
        let quiet = self.is_quiet();
        match &mut self.inner {
            None => Err(ChannelError::Device(CRASHED)),
            Some(inner) if quiet => inner.wait(idle),
            Some(_) => Ok(()),
        }
    }

    fn now(&self) -> u64 {
        self.ticks * 1000
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
        let rest = self.bytes.get(offset..).unwrap_or_default();
        let piece = rest.get(..len).unwrap_or_default();
        piece.chunks(self.crumb).for_each(f);
    }
}

fn copy(arrival: &impl Arrival) -> Box<[u8]> {
    let mut bytes = Vec::with_capacity(arrival.len());
    arrival.pieces(0, arrival.len(), |piece| bytes.extend_from_slice(piece));
    bytes.into()
}
