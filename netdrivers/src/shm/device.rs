//! One rank's channel: [`Shm`]. Programs attach it to a segment; `meet` does it for ranks without a launcher.

use alloc::vec::Vec;
use core::time::Duration;
use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event, Sent, Taker, Wake};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;

use super::bell::{Park, Until};
use super::collective::Groups;
use super::door::{self, Beside, Door};
use super::error::ShmError;
use super::frame::{Closure, Frame, Hand, Whoever};
use super::futex::Futex;
use super::layout::{FRAME_LIMIT, MAX_RANKS};
use super::offers::Offers;
use super::patience::{self, Patience, Step};
use super::peer::Peer;
use super::ring::RingError;
use super::segment::{RankState, Segment};
use super::sync::Ordering;
use super::watch::{self, Watch};
use crate::clock;
use crate::courtesy::{self, Courtesy};

/// One rank's channel. Dropped without [`Shm::finish`] it counts as dead.
pub struct Shm {
    pub(super) node: Node,
    /// A forked child of this process is not this rank.
    pid: i32,
    pub(super) park: Futex,
    pub(super) patience: Patience,
    courtesy: Courtesy,
    /// The segment's epoch when `peers` last took notice of it.
    epoch: u32,
    pub(super) peers: Vec<Peer>,
    /// Peers to look at: those that ever sent, and those whose end is to be reported.
    active: Vec<u16>,
    /// Where the next poll starts in `active`.
    turn: usize,
    /// The peers that ever sent, as bits.
    heard: [u64; MAX_RANKS / 64],
    /// Peers that had no room since this rank last slept.
    full: Vec<u16>,
    /// None if a launcher watches over the ranks.
    watch: Option<Watch>,
    /// Polls in vain since the last look at the others' processes.
    idle_polls: u32,
    pub(super) groups: Groups,
    pub(super) offers: Offers,
    /// Where this rank sleeps while it waits for a network too.
    door: Option<Door>,
    /// Last, as the peers and the groups point into it.
    pub(super) segment: Segment,
}

/// Frames that one poll takes from one peer before it looks at the next.
const PER_PEER: usize = 16;
/// Frames that one poll takes in all.
const BATCH: usize = 64;
/// Polls in vain before a rank that never waits looks whether it is time to look after the others: a millisecond.
const POLLS: u32 = 1 << 16;

impl Shm {
    /// Becomes this rank. All ranks must bring the same fingerprint of their composition.
    ///
    /// # Errors
    /// [`ShmError::NoSuchRank`], [`ShmError::RankTaken`], [`ShmError::Fingerprint`], or [`ShmError::System`].
    pub fn attach(segment: Segment, rank: usize, fingerprint: u64) -> Result<Self, ShmError> {
        let ranks = segment.ranks();
        let asymmetric = segment.header().asymmetric.load(Ordering::Relaxed) != 0;
        let park = Futex::new(asymmetric)?;
        patience::announce_cpus(&segment);
        segment.claim(rank, fingerprint)?;
        segment.set_process(rank, watch::process());
        let peers = (0..ranks).map(|peer| {
            // SAFETY: the lanes go with `peers`, before the segment; this rank was claimed, so nobody else has them.
            unsafe { Peer::new(&segment, rank, peer) }
        });
        let mut shm = Self {
            node: Node(rank as u16),
            pid: watch::process(),
            park,
            patience: Patience::of(&segment),
            courtesy: Courtesy::default(),
            epoch: 0,
            peers: peers.collect(),
            active: Vec::with_capacity(ranks),
            turn: 0,
            heard: [0; MAX_RANKS / 64],
            full: Vec::with_capacity(ranks),
            watch: Watch::of(&segment, rank),
            idle_polls: 0,
            groups: Groups::default(),
            offers: Offers::default(),
            door: None,
            segment,
        };
        shm.take_notice();
        Ok(shm)
    }

    /// A world of one, without a launcher.
    ///
    /// # Errors
    /// [`ShmError::System`].
    pub fn alone() -> Result<Self, ShmError> {
        Self::attach(Segment::create(1, 0)?, 0, 0)
    }

    /// Goes in good order: the peers still get what was sent, and nothing is sent any more.
    pub fn finish(&mut self) {
        self.leave(RankState::Finished);
        self.peers.iter_mut().for_each(|peer| peer.gone = true);
        self.offers.end();
    }

    /// The segment, to see how the others are.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    fn leave(&self, state: RankState) {
        if self.pid == watch::process() {
            let rank = self.node.index();
            self.segment.change(rank, RankState::Attached, state);
        }
    }

    /// Looks who is there and who has ended.
    #[cold]
    fn take_notice(&mut self) {
        self.epoch = self.segment.header().epoch.0.load(Ordering::Acquire);
        self.patience = Patience::of(&self.segment);
        for rank in 0..self.peers.len() {
            let state = self.segment.state_of(rank);
            let ended = matches!(state, RankState::Finished | RankState::Dead);
            if ended && rank != self.node.index() && self.peers[rank].end() {
                self.look_at(rank);
            }
        }
    }

    fn look_at(&mut self, rank: usize) {
        let rank = rank as u16;
        if !self.active.contains(&rank) {
            self.active.push(rank);
        }
    }

    #[inline]
    fn epoch_changed(&self) -> bool {
        self.segment.header().epoch.0.load(Ordering::Acquire) != self.epoch
    }

    /// The first frames of peers never heard of, as bits of this word.
    #[inline]
    fn unheard(&self, word: usize) -> u64 {
        let control = self.segment.control(self.node.index());
        control.heard.0[word].load(Ordering::Acquire) & !self.heard[word]
    }

    #[inline]
    fn words(&self) -> core::ops::Range<usize> {
        0..self.peers.len().div_ceil(64)
    }

    #[cold]
    fn hear(&mut self, word: usize, mut bits: u64) {
        self.heard[word] |= bits;
        while bits != 0 {
            let rank = word * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            // A bit beyond the last rank is not from a rank.
            if rank < self.peers.len() && !self.peers[rank].is_over() {
                self.look_at(rank);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn sleep(&mut self, park: &impl Park, limit: Option<Duration>) {
        let most = self.watch.as_ref().map(|_| watch::PAUSE);
        let limit = limit.into_iter().chain(most).min();
        let until = if self.full.is_empty() && self.offers.are_answered() {
            Until::Frame
        } else {
            Until::Room
        };
        let control = self.segment.control(self.node.index());
        control.bell.0.sleep(until, limit, park, || self.has_news());
        self.full.clear();
        self.look_after_others();
    }

    #[cold]
    fn sleep_beside(&mut self, other: Wake) {
        let futex = self.park;
        let Some(door) = self.door.take().or_else(Door::open) else {
            let nap = other.within.min(door::NAP);
            return self.sleep(&futex, Some(Duration::from_nanos(nap)));
        };
        let park = Beside {
            futex,
            door: &door,
            other,
            longest: door::LONGEST,
        };
        self.sleep(&park, None);
        self.door = Some(door);
    }

    fn look_after_others(&mut self) {
        self.idle_polls = 0;
        if let Some(watch) = &mut self.watch {
            watch.look(&self.segment);
        }
    }

    fn has_news(&self) -> bool {
        let of = |rank: &u16| &self.peers[usize::from(*rank)];
        self.epoch_changed()
            || self.words().any(|word| self.unheard(word) != 0)
            || self.active.iter().any(|rank| of(rank).has_news())
            || self.full.iter().any(|rank| of(rank).out.has_more_room())
            || self.groups.have_news()
            || self.has_answers()
    }
}

impl Channel for Shm {
    type Arrival<'a> = Frame<'a>;

    #[inline]
    fn node(&self) -> Node {
        self.node
    }

    #[inline]
    fn nodes(&self) -> usize {
        self.peers.len()
    }

    #[inline]
    fn limit(&self, _to: Node) -> usize {
        FRAME_LIMIT
    }

    fn offers(&self, to: Node, len: usize) -> bool {
        self.would_offer(to, len)
    }

    #[inline(always)]
    fn try_send(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        if self.epoch_changed() {
            self.take_notice();
        }
        let index = to.index();
        let peer = self.peers.get_mut(index);
        let peer = peer.ok_or(ChannelError::NoSuchNode(to))?;
        let len = Part::total(parts);
        if len > FRAME_LIMIT {
            return self.offer(to, cookie, parts);
        }
        if peer.gone {
            return Err(ChannelError::PeerLost(to));
        }
        if let Err(error) = peer.out.put(len, parts) {
            return Err(self.refuse(to, error));
        }
        if !peer.told {
            tell(&self.segment, self.node, index);
            peer.told = true;
        }
        peer.bell().ring(Until::Frame, &self.park);
        Ok(Sent::Done)
    }

    #[inline]
    fn poll(&mut self, f: impl FnMut(Event<Frame<'_>>)) -> Result<bool, ChannelError> {
        self.take_all(&mut Closure(f))
    }

    #[inline(always)]
    fn poll_for(&mut self, taker: &mut impl Taker) -> Result<bool, ChannelError> {
        self.take_all(&mut Whoever(taker))
    }

    #[inline]
    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        self.pause(idle, None);
        Ok(())
    }

    fn wait_within(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        self.pause(idle, Some(Duration::from_nanos(nanoseconds)));
        Ok(())
    }

    fn wait_beside(&mut self, idle: u32, other: Wake) -> Result<(), ChannelError> {
        match self.step(idle) {
            Step::Nap | Step::Sleep if other.within == 0 => {}
            Step::Nap => self.sleep_beside(other.at_most(courtesy::NAP)),
            Step::Sleep => self.sleep_beside(other),
            _ => self.pause(idle, None),
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        clock::now()
    }
}

/// Looks in a row before other things get a chance: together some hundred nanoseconds.
const CLOSE_LOOKS: u32 = 64;

impl Shm {
    #[inline(always)]
    fn take_all(&mut self, hand: &mut impl Hand) -> Result<bool, ChannelError> {
        if self.epoch_changed() {
            self.take_notice();
        }
        for word in self.words() {
            let bits = self.unheard(word);
            if bits != 0 {
                self.hear(word, bits);
            }
        }
        let (mut frames, mut any) = (0, false);
        if !self.offers.are_answered() {
            any = self.report_answers(hand);
        }
        for _ in 0..self.active.len() {
            if self.turn >= self.active.len() {
                self.turn = 0;
            }
            let rank = self.active[self.turn];
            let most = PER_PEER.min(BATCH - frames);
            let peer = &mut self.peers[usize::from(rank)];
            let served = peer.serve(Node(rank), most, hand);
            if served.frames > 0 {
                peer.bell().ring(Until::Room, &self.park);
            }
            frames += served.frames;
            any |= served.frames > 0 || served.lost;
            if served.lost {
                self.offers.lose(Node(rank));
                self.active.remove(self.turn);
            } else {
                self.turn += 1;
            }
            if frames == BATCH {
                break;
            }
        }
        if !any && self.watch.is_some() {
            self.idle_polls += 1;
            if self.idle_polls == POLLS {
                self.look_after_others();
            }
        }
        Ok(any)
    }

    /// Looks for frames of known peers, as often as the processor can.
    fn look(&self) {
        for _ in 0..CLOSE_LOOKS {
            for rank in &self.active {
                if self.peers[usize::from(*rank)].has_news() {
                    return;
                }
            }
        }
    }

    /// Who waits naps while yields do not pay.
    #[inline]
    fn step(&self, idle: u32) -> Step {
        match self.patience.step(idle) {
            Step::Yield if !self.segment.header().penance.0.is_over() => match idle {
                0..courtesy::AWAKE => Step::Spin,
                _ => Step::Nap,
            },
            step => step,
        }
    }

    /// Never inlined: what every call that waits carries stays short.
    #[inline(never)]
    fn pause(&mut self, idle: u32, limit: Option<Duration>) {
        match self.step(idle) {
            Step::Look => self.look(),
            Step::Spin => core::hint::spin_loop(),
            Step::Yield => self.courtesy.give_way(&self.segment.header().penance.0),
            step @ (Step::Nap | Step::Sleep) => {
                let nap = (step == Step::Nap).then_some(Duration::from_nanos(courtesy::NAP));
                let futex = self.park;
                self.sleep(&futex, limit.into_iter().chain(nap).min());
            }
        }
    }

    #[cold]
    pub(super) fn refuse(&mut self, to: Node, error: RingError) -> ChannelError {
        if error == RingError::Full {
            if !self.full.contains(&to.0) {
                self.full.push(to.0);
            }
            return ChannelError::Full;
        }
        // Its position makes no sense: whatever it still takes, it is no peer.
        if self.peers[to.index()].end() {
            self.look_at(to.index());
        }
        ChannelError::PeerLost(to)
    }
}

/// The peer's first look at our ring.
#[cold]
pub(super) fn tell(segment: &Segment, me: Node, to: usize) {
    let me = me.index();
    let heard = &segment.control(to).heard.0[me / 64];
    heard.fetch_or(1 << (me % 64), Ordering::Release);
}

impl Drop for Shm {
    fn drop(&mut self) {
        self.leave(RankState::Dead);
    }
}
