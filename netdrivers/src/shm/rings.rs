//! The channel of ranks that are to carry as little code as possible: [`Rings`]. It moves frames by the rings alone, without
//! mail lines, long frames and single copies, and yields and sleeps where [`Shm`](super::Shm) chooses by processors.

use alloc::boxed::Box;
use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event, Sent};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_transport::ContiguousFrame;

use super::channel::FRAMES_PER_PEER;
use super::error::ShmError;
use super::event_count::WaitFor;
use super::futex::Futex;
use super::pid_monitor;
use super::ring::{Consumer, Producer, RingError};
use super::ring_memory::RingMemory;
use super::segment::{RankState, Segment};
use super::sync::Ordering;
use crate::tuning::RANK_YIELDS;
use crate::wait;
use crate::wait::yield_policy::sched_yield;
use core::time::Duration;

/// One rank's channel over rings alone. All ranks of the segment must use this type: their fingerprint has to differ from
/// that of ranks which attach as [`Shm`](super::Shm). Another process must report the deaths of ranks
/// ([`Segment::mark_dead`]). If it is dropped without [`Rings::finish`], the rank counts as dead.
pub struct Rings {
    me: Peer,
    park: Futex,
    /// The segment's epoch at the last look for ranks that have ended.
    epoch: u32,
    pairs: Box<[Pair]>,
    /// The last field, as the rings lie in it.
    segment: Segment,
}

/// The two rings of this rank and a peer.
struct Pair {
    outbound: Producer<RingMemory>,
    inbound: Consumer<RingMemory>,
    /// The peer had no room since this rank last slept.
    is_blocked: bool,
    /// The peer knows that this rank sends to it.
    is_announced: bool,
    /// The peer has ended, or has written what no correct peer writes.
    is_closed: bool,
    /// Its loss was reported.
    is_reported: bool,
}

impl Rings {
    /// Attaches to the segment as this rank. All ranks pass the same fingerprint of their composition.
    ///
    /// # Errors
    /// [`ShmError::NoSuchRank`], [`ShmError::RankTaken`], [`ShmError::Fingerprint`], or [`ShmError::System`].
    pub fn attach(segment: Segment, rank: usize, fingerprint: u64) -> Result<Self, ShmError> {
        let park = Futex::new(segment.header().asymmetric.load(Ordering::Relaxed) != 0)?;
        segment.claim(rank, fingerprint)?;
        segment.set_pid(rank, pid_monitor::pid());
        let pair = |peer| Pair {
            // SAFETY: the rings are dropped before the segment; this rank was claimed, so nobody else has its sides.
            outbound: Producer::new(unsafe { segment.ring_memory(rank, peer) }),
            // SAFETY: as above.
            inbound: Consumer::new(unsafe { segment.ring_memory(peer, rank) }),
            is_blocked: false,
            is_announced: false,
            is_closed: false,
            is_reported: false,
        };
        let pairs = (0..segment.ranks()).map(pair).collect();
        Ok(Rings {
            me: Peer(rank as u16),
            park,
            epoch: 0,
            pairs,
            segment,
        })
    }

    /// Detaches in good order: the peers still get what was sent, and sends fail from now on.
    pub fn finish(&mut self) {
        self.leave(RankState::Finished);
        self.pairs.iter_mut().for_each(|pair| pair.is_closed = true);
    }

    fn leave(&self, state: RankState) {
        let me = self.me.index();
        self.segment.transition(me, RankState::Attached, state);
    }

    /// Returns the segment, for the states of the other ranks.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Closes the rings of ranks that have ended.
    fn refresh(&mut self) {
        let epoch = self.segment.header().epoch.0.load(Ordering::Acquire);
        if epoch == self.epoch {
            return;
        }
        self.epoch = epoch;
        for (rank, pair) in self.pairs.iter_mut().enumerate() {
            let state = self.segment.state_of(rank);
            let has_ended = matches!(state, RankState::Finished | RankState::Dead);
            pair.is_closed |= has_ended && rank != self.me.index();
        }
    }

    /// Returns whether the peer has ever sent to this rank: rings that were never used occupy no memory.
    fn has_sent(&self, peer: usize) -> bool {
        let senders = &self.segment.control(self.me.index()).senders.0[peer / 64];
        senders.load(Ordering::Acquire) >> (peer % 64) & 1 != 0
    }

    fn has_pending(&self) -> bool {
        self.epoch != self.segment.header().epoch.0.load(Ordering::Acquire)
            || self.pairs.iter().enumerate().any(|(peer, pair)| {
                self.has_sent(peer) && pair.inbound.has_next()
                    || pair.is_blocked && pair.outbound.has_more_room()
            })
    }

    #[cold]
    fn sleep(&mut self, limit: Option<Duration>) {
        let until = match self.pairs.iter().any(|pair| pair.is_blocked) {
            true => WaitFor::Room,
            false => WaitFor::Frame,
        };
        let own = &self.segment.control(self.me.index()).event_count.0;
        own.sleep(until, None, limit, &self.park, || self.has_pending());
        let blocked = self.pairs.iter_mut();
        blocked.for_each(|pair| pair.is_blocked = false);
    }

    /// Waits as [`Channel::wait`], up to a limit.
    fn pause(&mut self, idle: u32, limit: Option<Duration>) {
        match idle < RANK_YIELDS {
            true => sched_yield(),
            false => self.sleep(limit),
        }
    }
}

impl Channel for Rings {
    type Arrival<'a> = ContiguousFrame<'a>;

    pombo_kernel::channel_defaults! { supports_single_copy, favours_early_data, set_corked, poll_with, wait_sources, wait_with }

    fn me(&self) -> Peer {
        self.me
    }

    fn peers(&self) -> usize {
        self.pairs.len()
    }

    fn limit(&self, _to: Peer) -> usize {
        self.segment.frame_limit()
    }

    fn try_send(&mut self, to: Peer, _: Cookie, parts: &[Part<'_>]) -> Result<Sent, ChannelError> {
        self.refresh();
        let (index, len, limit) = (to.index(), Part::total(parts), self.segment.frame_limit());
        if len > limit {
            return Err(ChannelError::TooLong { limit });
        }
        let pair = self.pairs.get_mut(index);
        let pair = pair.ok_or(ChannelError::NoSuchPeer(to))?;
        if pair.is_closed {
            return Err(ChannelError::PeerLost(to));
        }
        match pair.outbound.push(0, len, parts) {
            Ok(()) => {}
            Err(RingError::Full) => {
                pair.is_blocked = true;
                return Err(ChannelError::Full);
            }
            Err(_) => {
                pair.is_closed = true;
                return Err(ChannelError::PeerLost(to));
            }
        }
        let control = self.segment.control(index);
        if !pair.is_announced {
            pair.is_announced = true;
            let me = self.me.index();
            control.senders.0[me / 64].fetch_or(1 << (me % 64), Ordering::Release);
        }
        control.event_count.0.notify(WaitFor::Frame, &self.park);
        Ok(Sent::Done)
    }

    fn poll(
        &mut self,
        mut f: impl FnMut(Event<ContiguousFrame<'_>>),
    ) -> Result<bool, ChannelError> {
        self.refresh();
        let mut any = false;
        for index in 0..self.pairs.len() {
            let (peer, has_sent) = (Peer(index as u16), self.has_sent(index));
            let pair = &mut self.pairs[index];
            let mut frames = 0;
            let ended = loop {
                if !has_sent || frames == FRAMES_PER_PEER {
                    break !has_sent;
                }
                let taken = pair.inbound.pop(0, &mut |bytes, _| {
                    f(Event::Arrival(ContiguousFrame::new(peer, bytes)));
                });
                match taken {
                    Ok(true) => frames += 1,
                    Ok(false) => break true,
                    Err(_) => {
                        pair.is_closed = true;
                        break true;
                    }
                }
            };
            if frames > 0 {
                any = true;
                let control = self.segment.control(index);
                control.event_count.0.notify(WaitFor::Room, &self.park);
            }
            if ended && pair.is_closed && !pair.is_reported {
                (pair.is_reported, any) = (true, true);
                f(Event::PeerLost(peer));
            }
        }
        Ok(any)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        self.pause(idle, None);
        Ok(())
    }

    fn wait_timeout(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        self.pause(idle, Some(Duration::from_nanos(nanoseconds)));
        Ok(())
    }

    fn now(&self) -> u64 {
        wait::now()
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        self.leave(RankState::Dead);
    }
}
