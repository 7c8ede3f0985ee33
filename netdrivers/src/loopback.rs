//! Ranks as threads of one process: a bounded inbox per rank behind a lock. Tests and small programs use it.

use crate::futex;
use crate::lock::Lock;
use crate::wait::yield_policy::sched_yield;
use crate::wait::{WaitPolicy, WaitStep, now};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event, MIN_LIMIT, Sent};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_transport::ContiguousFrame;

/// One rank of a world of threads. Dropping it means that the peer is gone.
pub struct Loopback {
    me: Peer,
    world: Arc<World>,
    /// Taken out of the inbox by the running poll; kept for its memory.
    batch: Vec<InboxEvent>,
}

/// How much a world of [`Loopback`]s takes before it says [`ChannelError::Full`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The longest frame in bytes; less than [`MIN_LIMIT`] counts as that.
    pub frame: usize,
    /// Frames that wait between one sender and one receiver; 0 counts as 1.
    pub frames_in_flight: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame: 16 << 10,
            frames_in_flight: 64,
        }
    }
}

/// Frames handed out by one poll: small, so that senders get room early.
const BATCH: usize = 32;

impl Loopback {
    /// A world of `peers` ranks with the default [`Limits`]: the channel at index i is peer i.
    pub fn world(peers: u16) -> Vec<Loopback> {
        Self::world_with(peers, Limits::default())
    }

    /// A world with other limits.
    pub fn world_with(peers: u16, limits: Limits) -> Vec<Loopback> {
        let world = Arc::new(World {
            start: now(),
            limits: Limits {
                frame: limits.frame.max(MIN_LIMIT),
                frames_in_flight: limits.frames_in_flight.max(1),
            },
            inboxes: (0..peers).map(|_| Inbox::new(peers)).collect(),
        });
        (0..peers)
            .map(|peer| Loopback {
                me: Peer(peer),
                world: world.clone(),
                batch: Vec::with_capacity(BATCH),
            })
            .collect()
    }

    fn inbox(&self, peer: Peer) -> Result<&Inbox, ChannelError> {
        let inbox = self.world.inboxes.get(peer.index());
        inbox.ok_or(ChannelError::NoSuchPeer(peer))
    }

    fn own_inbox(&self) -> &Inbox {
        &self.world.inboxes[self.me.index()]
    }

    /// Moves the oldest events to the batch and tells senders that found no room.
    fn fill_batch(&mut self) {
        let mut unblocked = Vec::new();
        self.world.inboxes[self.me.index()].state.with(|state| {
            while self.batch.len() < BATCH {
                let Some(event) = state.events.pop_front() else {
                    break;
                };
                if let InboxEvent::Frame(from, _) = event {
                    let share = &mut state.senders[from.index()];
                    share.queued -= 1;
                    if core::mem::take(&mut share.blocked) {
                        unblocked.push(from);
                    }
                }
                self.batch.push(event);
            }
        });
        for peer in unblocked {
            self.world.inboxes[peer.index()].notify();
        }
    }
}

impl Channel for Loopback {
    type Arrival<'a> = ContiguousFrame<'a>;

    pombo_kernel::channel_defaults! { supports_single_copy, set_corked, poll_with, wait_sources, wait_with }

    fn me(&self) -> Peer {
        self.me
    }

    fn peers(&self) -> usize {
        self.world.inboxes.len()
    }

    fn limit(&self, _to: Peer) -> usize {
        self.world.limits.frame
    }

    fn try_send(
        &mut self,
        to: Peer,
        _cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        let inbox = self.inbox(to)?;
        let limits = self.world.limits;
        if Part::total(parts) > limits.frame {
            return Err(ChannelError::TooLong {
                limit: limits.frame,
            });
        }
        inbox.state.with(|state| {
            if state.closed {
                return Err(ChannelError::PeerLost(to));
            }
            let share = &mut state.senders[self.me.index()];
            if share.queued == limits.frames_in_flight {
                share.blocked = true;
                return Err(ChannelError::Full);
            }
            // Gathered before anything is counted: a lender that panics leaves the inbox as it was.
            let frame = concat_parts(parts);
            share.queued += 1;
            state.events.push_back(InboxEvent::Frame(self.me, frame));
            Ok(())
        })?;
        inbox.notify();
        Ok(Sent::Done)
    }

    fn poll(
        &mut self,
        mut f: impl FnMut(Event<ContiguousFrame<'_>>),
    ) -> Result<bool, ChannelError> {
        self.fill_batch();
        let any = !self.batch.is_empty();
        for event in self.batch.drain(..) {
            match event {
                InboxEvent::Frame(from, bytes) => {
                    f(Event::Arrival(ContiguousFrame::new(from, &bytes)))
                }
                InboxEvent::Lost(peer) => f(Event::PeerLost(peer)),
            }
        }
        Ok(any)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        self.wait_timeout(idle, u64::MAX)
    }

    fn wait_timeout(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        match WaitPolicy::THREADS.step(idle) {
            WaitStep::Poll | WaitStep::Spin => core::hint::spin_loop(),
            WaitStep::Yield => sched_yield(),
            WaitStep::ShortSleep | WaitStep::Sleep => {
                self.own_inbox().sleep(Duration::from_nanos(nanoseconds));
            }
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        now() - self.world.start
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        let unread = self.own_inbox().state.with(|state| {
            state.closed = true;
            core::mem::take(&mut state.events)
        });
        drop(unread);
        for (i, inbox) in self.world.inboxes.iter().enumerate() {
            let tells = inbox.state.with(|state| {
                let tells = i != self.me.index() && !state.closed;
                if tells {
                    state.events.push_back(InboxEvent::Lost(self.me));
                }
                tells
            });
            if tells {
                inbox.notify();
            }
        }
    }
}

fn concat_parts(parts: &[Part<'_>]) -> Box<[u8]> {
    let mut frame = vec![0; Part::total(parts)].into_boxed_slice();
    let mut at = 0;
    for part in parts {
        part.copy_to(0, &mut frame[at..at + part.len()]);
        at += part.len();
    }
    frame
}

/// What the ranks share.
struct World {
    start: u64,
    limits: Limits,
    inboxes: Box<[Inbox]>,
}

/// Everything that is on its way to one rank, and the condition variable that wakes it.
struct Inbox {
    /// A rank that panicked leaves it consistent: every change is made in one step.
    state: Lock<InboxState>,
    wakeup: AtomicU32,
}

struct InboxState {
    /// In the order of sending, over all senders: fair, and [`InboxEvent::Lost`] comes last by itself. Bounded by the
    /// senders' shares, and one loss per peer.
    events: VecDeque<InboxEvent>,
    senders: Box<[SenderShare]>,
    /// The owner is gone.
    closed: bool,
}

/// The values of `wakeup`: nothing happened since the owner last slept.
const QUIET: u32 = 0;
/// The same, and the owner sleeps.
const ASLEEP: u32 = 1;
/// Something happened: an event, or room in another inbox.
const NOTIFIED: u32 = 2;

/// One sender's share of an inbox.
#[derive(Clone, Default)]
struct SenderShare {
    queued: usize,
    /// The sender was told [`ChannelError::Full`] and must hear of room.
    blocked: bool,
}

enum InboxEvent {
    Frame(Peer, Box<[u8]>),
    Lost(Peer),
}

impl Inbox {
    fn new(peers: u16) -> Self {
        Self {
            state: Lock::new(InboxState {
                events: VecDeque::new(),
                senders: vec![SenderShare::default(); peers.into()].into_boxed_slice(),
                closed: false,
            }),
            wakeup: AtomicU32::new(QUIET),
        }
    }

    /// After a change that the owner may sleep for.
    fn notify(&self) {
        if self.wakeup.swap(NOTIFIED, Ordering::Release) == ASLEEP {
            futex::wake(&self.wakeup, 1);
        }
    }

    /// For that long at most. Returns at once if anything happened since the last sleep: what came between a poll and
    /// this call counts. Only the owner calls it.
    fn sleep(&self, limit: Duration) {
        let (asleep, notified) = (Ordering::Relaxed, Ordering::Relaxed);
        let quiet = self
            .wakeup
            .compare_exchange(QUIET, ASLEEP, asleep, notified);
        if quiet.is_ok() {
            futex::wait(&self.wakeup, ASLEEP, Some(limit));
        }
        // What happened before a notification that this takes back is seen from here on.
        self.wakeup.swap(QUIET, Ordering::Acquire);
    }
}
