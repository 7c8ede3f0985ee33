//! Ranks as threads of one process: a bounded inbox per rank behind a lock. Tests and small programs use it.

use crate::clock::now;
use crate::courtesy::give_way;
use crate::futex;
use crate::lock::Lock;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event, MIN_LIMIT, Sent};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_transport::InPlace;

/// One rank of a world of threads. Dropping it means that the node is gone.
pub struct Loopback {
    node: Node,
    world: Arc<World>,
    /// Taken out of the inbox by the running poll; kept for its memory.
    batch: Vec<Letter>,
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
/// Idle polls that only spin, then those that yield. Threads may outnumber the cores, so spinning is short.
const SPINS: u32 = 8;
const YIELDS: u32 = 32;

impl Loopback {
    /// A world of `nodes` ranks with the default [`Limits`]: the channel at index i is node i.
    pub fn world(nodes: u16) -> Vec<Loopback> {
        Self::world_with(nodes, Limits::default())
    }

    /// A world with other limits.
    pub fn world_with(nodes: u16, limits: Limits) -> Vec<Loopback> {
        let world = Arc::new(World {
            start: now(),
            limits: Limits {
                frame: limits.frame.max(MIN_LIMIT),
                frames_in_flight: limits.frames_in_flight.max(1),
            },
            inboxes: (0..nodes).map(|_| Inbox::new(nodes)).collect(),
        });
        (0..nodes)
            .map(|node| Loopback {
                node: Node(node),
                world: world.clone(),
                batch: Vec::with_capacity(BATCH),
            })
            .collect()
    }

    fn inbox(&self, node: Node) -> Result<&Inbox, ChannelError> {
        let inbox = self.world.inboxes.get(node.index());
        inbox.ok_or(ChannelError::NoSuchNode(node))
    }

    fn own(&self) -> &Inbox {
        &self.world.inboxes[self.node.index()]
    }

    /// Moves the oldest letters to the batch and tells senders that found no room.
    fn fetch(&mut self) {
        let mut roomy = Vec::new();
        self.world.inboxes[self.node.index()].state.with(|state| {
            while self.batch.len() < BATCH {
                let Some(letter) = state.letters.pop_front() else {
                    break;
                };
                if let Letter::Frame(from, _) = letter {
                    let lane = &mut state.lanes[from.index()];
                    lane.waiting -= 1;
                    if core::mem::take(&mut lane.starved) {
                        roomy.push(from);
                    }
                }
                self.batch.push(letter);
            }
        });
        for node in roomy {
            self.world.inboxes[node.index()].ring();
        }
    }
}

impl Channel for Loopback {
    type Arrival<'a> = InPlace<'a>;

    fn node(&self) -> Node {
        self.node
    }

    fn nodes(&self) -> usize {
        self.world.inboxes.len()
    }

    fn limit(&self, _to: Node) -> usize {
        self.world.limits.frame
    }

    fn try_send(
        &mut self,
        to: Node,
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
            let lane = &mut state.lanes[self.node.index()];
            if lane.waiting == limits.frames_in_flight {
                lane.starved = true;
                return Err(ChannelError::Full);
            }
            // Gathered before anything is counted: a lender that panics leaves the inbox as it was.
            let frame = gather(parts);
            lane.waiting += 1;
            state.letters.push_back(Letter::Frame(self.node, frame));
            Ok(())
        })?;
        inbox.ring();
        Ok(Sent::Done)
    }

    fn poll(&mut self, mut f: impl FnMut(Event<InPlace<'_>>)) -> Result<bool, ChannelError> {
        self.fetch();
        let any = !self.batch.is_empty();
        for letter in self.batch.drain(..) {
            match letter {
                Letter::Frame(from, bytes) => f(Event::Arrival(InPlace::new(from, &bytes))),
                Letter::Lost(node) => f(Event::PeerLost(node)),
            }
        }
        Ok(any)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        self.wait_within(idle, u64::MAX)
    }

    fn wait_within(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        if idle < SPINS {
            core::hint::spin_loop();
        } else if idle < SPINS + YIELDS {
            give_way();
        } else {
            self.own().sleep(Duration::from_nanos(nanoseconds));
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        now() - self.world.start
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        let unread = self.own().state.with(|state| {
            state.closed = true;
            core::mem::take(&mut state.letters)
        });
        drop(unread);
        for (i, inbox) in self.world.inboxes.iter().enumerate() {
            let tells = inbox.state.with(|state| {
                let tells = i != self.node.index() && !state.closed;
                if tells {
                    state.letters.push_back(Letter::Lost(self.node));
                }
                tells
            });
            if tells {
                inbox.ring();
            }
        }
    }
}

fn gather(parts: &[Part<'_>]) -> Box<[u8]> {
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

/// Everything that is on its way to one rank, and the bell that wakes it.
struct Inbox {
    /// A rank that panicked leaves it consistent: every change is made in one step.
    state: Lock<InboxState>,
    bell: AtomicU32,
}

struct InboxState {
    /// In the order of sending, over all senders: fair, and [`Letter::Lost`] comes last by itself. Bounded by the
    /// lanes, and one loss per peer.
    letters: VecDeque<Letter>,
    lanes: Box<[Lane]>,
    /// The owner is gone.
    closed: bool,
}

/// The values of a bell: nothing happened since the owner last slept.
const QUIET: u32 = 0;
/// The same, and the owner sleeps.
const ASLEEP: u32 = 1;
/// Something happened: a letter, or room for a lane of its own.
const RUNG: u32 = 2;

/// One sender's share of an inbox.
#[derive(Clone, Default)]
struct Lane {
    waiting: usize,
    /// The sender was told [`ChannelError::Full`] and must hear of room.
    starved: bool,
}

enum Letter {
    Frame(Node, Box<[u8]>),
    Lost(Node),
}

impl Inbox {
    fn new(nodes: u16) -> Self {
        Self {
            state: Lock::new(InboxState {
                letters: VecDeque::new(),
                lanes: vec![Lane::default(); nodes.into()].into_boxed_slice(),
                closed: false,
            }),
            bell: AtomicU32::new(QUIET),
        }
    }

    /// After a change that the owner may sleep for.
    fn ring(&self) {
        if self.bell.swap(RUNG, Ordering::Release) == ASLEEP {
            futex::wake(&self.bell, 1);
        }
    }

    /// For that long at most. Returns at once if anything happened since the last sleep: what came between a poll and
    /// this call counts. Only the owner calls it.
    fn sleep(&self, limit: Duration) {
        let (asleep, rung) = (Ordering::Relaxed, Ordering::Relaxed);
        let quiet = self.bell.compare_exchange(QUIET, ASLEEP, asleep, rung);
        if quiet.is_ok() {
            futex::wait(&self.bell, ASLEEP, Some(limit));
        }
        // What happened before a bell that this takes back is seen from here on.
        self.bell.swap(QUIET, Ordering::Acquire);
    }
}
