//! Wraps any channel and exercises everything that the contract of a channel allows. It loses, repeats and changes
//! nothing, because the contract forbids that.

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, MIN_LIMIT, Sent};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_netdrivers::fault::{CRASHED, Rate, SeededRng};
use std::collections::VecDeque;

/// The probabilities and bounds of adverse events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// A send reports a full queue although there is room.
    pub full: Rate,
    /// A frame with a cookie is sent, but its memory stays lent until a later poll.
    pub later: Rate,
    /// A poll reports no more completions.
    pub late_completion: Rate,
    /// A poll reports nothing more from one sender: frames of different senders arrive in any order.
    pub skipped_sender: Rate,
    /// A poll reports nothing at all and leaves everything in the channel below, whose queues fill up.
    pub skipped_poll: Rate,
    /// Largest number of frames and losses that one poll reports; 0 counts as 1.
    pub batch: usize,
    /// Number of frames held back at which nothing more is taken from the channel below.
    pub max_held: usize,
    /// Largest chunk, in bytes, in which a frame is read; 0 counts as 1.
    pub fragment: usize,
    /// Number of sends and polls after which this peer crashes without a goodbye: the channel below is dropped.
    pub crash: Option<u64>,
}

impl Profile {
    /// No adverse events.
    pub const BENIGN: Profile = Profile {
        full: Rate::NEVER,
        later: Rate::NEVER,
        late_completion: Rate::NEVER,
        skipped_sender: Rate::NEVER,
        skipped_poll: Rate::NEVER,
        batch: 32,
        max_held: 64,
        fragment: usize::MAX,
        crash: None,
    };

    /// Returns a random profile under which programs still make progress, without a crash.
    pub fn random(rng: &mut SeededRng) -> Self {
        let mut rate = |most| match rng.below(3) {
            0 => Rate::NEVER,
            _ => Rate::percent(rng.below(most) as u32),
        };
        Profile {
            full: rate(70),
            later: rate(90),
            late_completion: rate(70),
            skipped_sender: rate(70),
            skipped_poll: rate(50),
            batch: 1 + rng.index(8),
            max_held: rng.index(16),
            fragment: 1 + rng.index(40),
            crash: None,
        }
    }
}

/// A channel with a profile. Its behaviour follows from its seed and the order of calls; its clock counts the calls,
/// one microsecond each, so time-outs are deterministic too. After a crash every call fails with [`CRASHED`].
pub struct AdversarialChannel<L: Channel> {
    /// The channel below; `None` after the crash.
    inner: Option<L>,
    me: Peer,
    peers: usize,
    profile: Profile,
    rng: SeededRng,
    /// By sender: events taken from the channel below.
    held_by_sender: Vec<VecDeque<HeldEvent>>,
    /// Number of events in `held_by_sender`: at most [`Profile::max_held`] plus those of one poll of the channel below.
    held: usize,
    /// Destinations and cookies of frames whose memory is still lent; as many as the kernel lends.
    late: VecDeque<(Peer, Cookie)>,
    /// Whether, since the last poll, a send was refused without need, or that poll skipped the channel below.
    withheld: bool,
    steps: u64,
    ticks: u64,
    /// Senders that this poll may still report; a field so that its memory is reused.
    open: Vec<usize>,
}

enum HeldEvent {
    Frame(Box<[u8]>),
    Lost,
}

/// A frame that is read in small chunks.
#[derive(Clone, Copy, Debug)]
pub struct Fragmented<'a> {
    from: Peer,
    bytes: &'a [u8],
    fragment: usize,
}

impl<L: Channel> AdversarialChannel<L> {
    /// Wraps a channel.
    pub fn new(inner: L, profile: Profile, seed: u64) -> Self {
        let (me, peers) = (inner.me(), inner.peers());
        AdversarialChannel {
            inner: Some(inner),
            me,
            peers,
            profile,
            rng: SeededRng::stream(seed, me.0.into()),
            held_by_sender: (0..peers).map(|_| VecDeque::new()).collect(),
            held: 0,
            late: VecDeque::new(),
            withheld: false,
            steps: 0,
            ticks: 0,
            open: Vec::with_capacity(peers),
        }
    }

    /// Wraps every channel of a world, with the same profile.
    pub fn world(channels: impl IntoIterator<Item = L>, profile: Profile, seed: u64) -> Vec<Self> {
        let over = |channel| AdversarialChannel::new(channel, profile, seed);
        channels.into_iter().map(over).collect()
    }

    /// Returns the profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Sets the profile from now on.
    pub fn set_profile(&mut self, profile: Profile) {
        self.profile = profile;
    }

    /// Returns whether nothing is held back here and the last poll has taken all that was in the channel below.
    pub fn is_quiet(&self) -> bool {
        self.held == 0 && self.late.is_empty() && !self.withheld
    }

    /// Returns whether this channel still needs the memory of a frame with this cookie.
    pub fn needs(&self, cookie: Cookie) -> bool {
        self.late.iter().any(|(_, late)| *late == cookie)
    }

    /// Returns whether this peer has crashed.
    pub fn has_crashed(&self) -> bool {
        self.inner.is_none()
    }

    /// Returns the channel below; `None` after the crash.
    pub fn inner_mut(&mut self) -> Option<&mut L> {
        self.inner.as_mut()
    }

    /// Counts one call, at which the peer may crash.
    fn step(&mut self) -> Result<&mut L, ChannelError> {
        self.ticks += 1;
        self.steps += 1;
        if self.profile.crash.is_some_and(|crash| self.steps > crash) {
            self.inner = None;
        }
        self.inner.as_mut().ok_or(ChannelError::Device(CRASHED))
    }

    /// Takes events from the channel below. Its completions are reported at once.
    fn fill_held(&mut self, mut completed: impl FnMut(Cookie)) -> Result<(), ChannelError> {
        if self.held > self.profile.max_held {
            return Ok(());
        }
        self.withheld = self.rng.chance(self.profile.skipped_poll);
        if self.withheld {
            return Ok(());
        }
        let AdversarialChannel {
            inner: Some(inner),
            held_by_sender,
            held,
            ..
        } = self
        else {
            return Ok(());
        };
        inner.poll(|arrived| {
            let (from, event) = match arrived {
                Event::Arrival(arrival) => (arrival.from(), HeldEvent::Frame(copy(&arrival))),
                Event::PeerLost(peer) => (peer, HeldEvent::Lost),
                Event::Completed(cookie) => return completed(cookie),
                _ => return,
            };
            if let Some(held_events) = held_by_sender.get_mut(from.index()) {
                held_events.push_back(event);
                *held += 1;
            }
        })?;
        Ok(())
    }

    /// Returns the next frame or loss of this poll, from any sender, in the order of that sender.
    fn next(&mut self) -> Option<(Peer, HeldEvent)> {
        loop {
            if self.open.is_empty() {
                return None;
            }
            let choice = self.rng.index(self.open.len());
            let from = self.open[choice];
            let event = match self.rng.chance(self.profile.skipped_sender) {
                true => None,
                false => self.held_by_sender[from].pop_front(),
            };
            match event {
                Some(event) => {
                    self.held -= 1;
                    return Some((Peer(from as u16), event));
                }
                None => {
                    self.open.swap_remove(choice);
                }
            }
        }
    }
}

impl<L: Channel> Channel for AdversarialChannel<L> {
    type Arrival<'a> = Fragmented<'a>;

    pombo_kernel::channel_defaults! {
        supports_single_copy, set_corked, poll_with, wait_timeout, wait_sources, wait_with
    }

    fn me(&self) -> Peer {
        self.me
    }

    fn peers(&self) -> usize {
        self.peers
    }

    fn limit(&self, to: Peer) -> usize {
        let inner = self.inner.as_ref();
        inner.map_or(MIN_LIMIT, |inner| inner.limit(to))
    }

    fn favours_early_data(&self, _: Peer) -> bool {
        true
    }

    fn try_send(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        self.step()?;
        let can_go = to.index() < self.peers && Part::total(parts) <= self.limit(to);
        if can_go && self.rng.chance(self.profile.full) {
            self.withheld = true;
            return Err(ChannelError::Full);
        }
        let Some(inner) = &mut self.inner else {
            return Err(ChannelError::Device(CRASHED));
        };
        let sent = inner.try_send(to, cookie, parts)?;
        if sent == Sent::Done && cookie != Cookie::COPY && self.rng.chance(self.profile.later) {
            self.late.push_back((to, cookie));
            return Ok(Sent::Later);
        }
        Ok(sent)
    }

    fn poll(&mut self, mut f: impl FnMut(Event<Fragmented<'_>>)) -> Result<bool, ChannelError> {
        self.step()?;
        let mut any = false;
        self.fill_held(|cookie| {
            any = true;
            f(Event::Completed(cookie));
        })?;
        while !self.late.is_empty() && !self.rng.chance(self.profile.late_completion) {
            if let Some((_, cookie)) = self.late.pop_front() {
                any = true;
                f(Event::Completed(cookie));
            }
        }
        self.open.clear();
        let held_by_sender = self.held_by_sender.iter().enumerate();
        self.open.extend(
            held_by_sender
                .filter(|(_, held_events)| !held_events.is_empty())
                .map(|(i, _)| i),
        );
        for _ in 0..self.profile.batch.max(1) {
            let Some((from, event)) = self.next() else {
                break;
            };
            any = true;
            match event {
                HeldEvent::Frame(bytes) => f(Event::Arrival(Fragmented {
                    from,
                    bytes: &bytes,
                    fragment: self.profile.fragment.max(1),
                })),
                HeldEvent::Lost => {
                    // A lost peer needs no memory any more, and its frames get no completion.
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

impl Arrival for Fragmented<'_> {
    fn from(&self) -> Peer {
        self.from
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn head(&self, n: usize) -> Option<&[u8]> {
        self.bytes.get(..n)
    }

    fn for_each_chunk(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        let rest = self.bytes.get(offset..).unwrap_or_default();
        let piece = rest.get(..len).unwrap_or_default();
        piece.chunks(self.fragment).for_each(f);
    }
}

fn copy(arrival: &impl Arrival) -> Box<[u8]> {
    let mut bytes = Vec::with_capacity(arrival.len());
    arrival.for_each_chunk(0, arrival.len(), |piece| bytes.extend_from_slice(piece));
    bytes.into()
}
