//! Ranks as threads of one process: a bounded inbox per rank behind a lock. It is for tests and small programs.

use crate::futex;
use crate::lock::Lock;
use crate::wait::yield_policy::sched_yield;
use crate::wait::{WaitPolicy, WaitStep, now};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::take;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event, MIN_LIMIT, Sent};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_transport::{ContiguousFrame, LocalChannel};

/// One rank of a world of threads. Dropping it reports the peer as lost to the others.
pub struct Loopback {
    me: Peer,
    world: Arc<World>,
    /// The names of the peers in events, if they are not the numbers.
    names: Vec<Peer>,
    /// The events that the running poll has taken out of the inbox; kept for its memory.
    batch: Vec<InboxEvent>,
}

/// The bounds of a world of [`Loopback`]s, beyond which sends fail with [`ChannelError::Full`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Size of the longest frame in bytes; a value below [`MIN_LIMIT`] counts as that.
    pub frame: usize,
    /// Number of frames in flight between one sender and one receiver; 0 counts as 1.
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

/// Number of frames that one poll hands out: small, so that senders get room early.
const BATCH: usize = 32;

impl Loopback {
    /// Creates a world of `peers` ranks with the default [`Limits`]: the channel at index i is peer i.
    pub fn world(peers: u16) -> Vec<Loopback> {
        Self::world_with(peers, Limits::default())
    }

    /// Creates a world with other limits.
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
                names: Vec::new(),
                batch: Vec::with_capacity(BATCH),
            })
            .collect()
    }

    fn inbox(&self, peer: Peer) -> Result<&Inbox, ChannelError> {
        let inbox = self.world.inboxes.get(peer.index());
        inbox.ok_or(ChannelError::NoSuchPeer(peer))
    }

    /// Returns the name of a peer in events.
    fn name(&self, peer: Peer) -> Peer {
        self.names.get(peer.index()).copied().unwrap_or(peer)
    }

    fn own_inbox(&self) -> &Inbox {
        &self.world.inboxes[self.me.index()]
    }

    /// Moves the oldest events to the batch and notifies senders that found no room.
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
                    if take(&mut share.blocked) {
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

    pombo_kernel::channel_defaults! { supports_single_copy, favours_early_data, set_corked, poll_with, wait_sources, wait_with }

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
            // The parts are copied before anything is counted: a lender that panics leaves the inbox unchanged.
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
        let mut batch = take(&mut self.batch);
        for event in batch.drain(..) {
            match event {
                InboxEvent::Frame(from, bytes) => f(Event::Arrival(ContiguousFrame::new(
                    self.name(from),
                    &bytes,
                ))),
                InboxEvent::Lost(peer) => f(Event::PeerLost(self.name(peer))),
            }
        }
        self.batch = batch;
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

impl LocalChannel for Loopback {
    fn set_names(&mut self, names: &[Peer]) {
        self.names = names.to_vec();
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        let unread = self.own_inbox().state.with(|state| {
            state.closed = true;
            take(&mut state.events)
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

/// The state that the ranks share.
struct World {
    start: u64,
    limits: Limits,
    inboxes: Box<[Inbox]>,
}

/// The inbox of one rank, and the word on which the rank sleeps.
struct Inbox {
    /// The state; a rank that panics leaves it consistent, as every change is made in one step.
    state: Lock<InboxState>,
    wakeup: AtomicU32,
}

struct InboxState {
    /// The events in the order of sending, over all senders: this is fair, and [`InboxEvent::Lost`] comes last by
    /// itself. They are bounded by the senders' shares, and one loss per peer.
    events: VecDeque<InboxEvent>,
    senders: Box<[SenderShare]>,
    /// The owner is gone.
    closed: bool,
}

/// The value of `wakeup` if nothing has happened since the owner last slept.
const QUIET: u32 = 0;
/// The value of `wakeup` if nothing has happened and the owner sleeps.
const ASLEEP: u32 = 1;
/// The value of `wakeup` after an event, or after room in another inbox.
const NOTIFIED: u32 = 2;

/// One sender's share of an inbox.
#[derive(Clone, Default)]
struct SenderShare {
    queued: usize,
    /// A send failed with [`ChannelError::Full`], so the sender must be notified of room.
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

    /// Notifies the owner after a change that it may sleep for.
    fn notify(&self) {
        if self.wakeup.swap(NOTIFIED, Ordering::Release) == ASLEEP {
            futex::wake(&self.wakeup, 1);
        }
    }

    /// Sleeps up to the limit. Returns immediately if anything has happened since the last sleep, which includes events
    /// between a poll and this call. Only the owner calls it.
    fn sleep(&self, limit: Duration) {
        let (asleep, notified) = (Ordering::Relaxed, Ordering::Relaxed);
        let quiet = self
            .wakeup
            .compare_exchange(QUIET, ASLEEP, asleep, notified);
        if quiet.is_ok() {
            futex::wait(&self.wakeup, ASLEEP, Some(limit));
        }
        // The swap makes everything before the notification that it resets visible from here on.
        self.wakeup.swap(QUIET, Ordering::Acquire);
    }
}
