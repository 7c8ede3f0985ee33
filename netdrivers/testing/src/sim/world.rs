//! The state that the peers of a simulated network share. `Sim` and `SimNetwork` use it.

use super::limits::{DeviceLimits, LinkParameters};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::header::Peer;
use pombo_kernel::network::MIN_MTU;
use pombo_netdrivers::fault::{CRASHED, FaultCounts, Faults, InFlight, LinkFaults};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) struct World {
    pub(super) now: u64,
    pub(super) faults: Faults,
    pub(super) counts: FaultCounts,
    /// Bounded by the capacity of the links: see [`DeviceLimits::tx_queue`] and their latency.
    pub(super) in_flight: InFlight,
    pub(super) limits: DeviceLimits,
    stations: Vec<Station>,
    /// The link from peer i to peer j is at i * peers + j.
    links: Vec<Link>,
}

/// One peer's device.
struct Station {
    stopped: bool,
    inbox: VecDeque<(Peer, Vec<u8>)>,
    /// The time until which the peer waits at most; `None` if it does not wait.
    waits: Option<u64>,
}

/// The time, in nanoseconds, of one round in which every peer finds that it has nothing to do. A peer whose timer has
/// expired, or that has no room, keeps polling, and then time must pass.
const ROUND: u64 = 100;

struct Link {
    parameters: LinkParameters,
    faults: LinkFaults,
    /// The times at which queued frames will have left, oldest first.
    leaving: VecDeque<u64>,
    /// Whether the sender was told that there is no room.
    full: bool,
}

impl World {
    pub(super) fn new(
        peers: u16,
        limits: DeviceLimits,
        parameters: LinkParameters,
        faults: Faults,
        seed: u64,
    ) -> Self {
        let station = |_| Station {
            stopped: false,
            inbox: VecDeque::new(),
            waits: None,
        };
        let link = |number| Link {
            parameters,
            faults: LinkFaults::new(seed, number),
            leaving: VecDeque::new(),
            full: false,
        };
        let links = u64::from(peers) * u64::from(peers);
        World {
            now: 0,
            faults,
            counts: FaultCounts::default(),
            in_flight: InFlight::default(),
            limits: DeviceLimits {
                mtu: limits.mtu.max(MIN_MTU),
                tx_queue: limits.tx_queue.max(1),
                rx_queue: limits.rx_queue.max(1),
            },
            stations: (0..peers).map(station).collect(),
            links: (0..links).map(link).collect(),
        }
    }

    pub(super) fn peers(&self) -> usize {
        self.stations.len()
    }

    pub(super) fn is_up(&self, peer: Peer) -> bool {
        let station = self.stations.get(peer.index());
        station.is_some_and(|station| !station.stopped) && !self.faults.has_crashed(peer, self.now)
    }

    pub(super) fn check(&self, peer: Peer) -> Result<(), ChannelError> {
        match self.is_up(peer) {
            true => Ok(()),
            false => Err(ChannelError::Device(CRASHED)),
        }
    }

    pub(super) fn stop(&mut self, peer: Peer) {
        if let Some(station) = self.stations.get_mut(peer.index()) {
            station.stopped = true;
            station.inbox = VecDeque::new();
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        let empty = |peer: u16| {
            self.stations[usize::from(peer)].inbox.is_empty() || !self.is_up(Peer(peer))
        };
        self.in_flight.next().is_none() && (0..self.peers() as u16).all(empty)
    }

    fn link(&mut self, from: Peer, to: Peer) -> Option<&mut Link> {
        let peers = self.peers();
        let inside = from.index() < peers && to.index() < peers;
        let link = self.links.get_mut(from.index() * peers + to.index());
        link.filter(|_| inside)
    }

    pub(super) fn set_link(&mut self, from: Peer, to: Peer, parameters: LinkParameters) {
        if let Some(link) = self.link(from, to) {
            link.parameters = parameters;
        }
    }

    /// Sends a frame over its link.
    pub(super) fn transmit(
        &mut self,
        from: Peer,
        to: Peer,
        frame: &[u8],
    ) -> Result<(), ChannelError> {
        let (now, tx_queue) = (self.now, self.limits.tx_queue);
        let link = self.link(from, to).ok_or(ChannelError::NoSuchPeer(to))?;
        let arrives = link.enqueue(now, frame.len(), tx_queue)?;
        self.counts.sent += 1;
        if self.faults.is_down(from, to, now) {
            self.counts.outage += 1;
            return Ok(());
        }
        let peers = self.peers();
        let World {
            links,
            in_flight,
            faults,
            counts,
            ..
        } = self;
        let link = &mut links[from.index() * peers + to.index()];
        link.faults
            .apply(faults, counts, arrives, frame, |at, frame| {
                in_flight.push(at, from, to, frame);
            });
        Ok(())
    }

    /// Sends a frame over the links to all other peers.
    pub(super) fn broadcast(&mut self, from: Peer, frame: &[u8]) -> Result<(), ChannelError> {
        let (now, tx_queue) = (self.now, self.limits.tx_queue);
        let mut others = (0..self.peers() as u16)
            .map(Peer)
            .filter(|peer| *peer != from);
        for to in others.clone() {
            let link = self.link(from, to).ok_or(ChannelError::NoSuchPeer(to))?;
            link.make_room(now, tx_queue)?;
        }
        others.try_for_each(|to| self.transmit(from, to, frame))
    }

    /// Returns the next frame that has arrived at the peer.
    pub(super) fn take(&mut self, peer: Peer) -> Option<(Peer, Vec<u8>)> {
        let station = self.stations.get_mut(peer.index())?;
        let taken = station.inbox.pop_front();
        self.counts.delivered += u64::from(taken.is_some());
        taken
    }

    /// Advances the clock to `then` and delivers what arrives until then.
    pub(super) fn run_to(&mut self, then: u64) {
        while let Some(frame_in_flight) = self.in_flight.pop(then) {
            self.now = self.now.max(frame_in_flight.at);
            if !self.is_up(frame_in_flight.to) {
                self.counts.orphaned += 1;
                continue;
            }
            let inbox = &mut self.stations[frame_in_flight.to.index()].inbox;
            if inbox.len() < self.limits.rx_queue {
                inbox.push_back((frame_in_flight.from, frame_in_flight.frame));
            } else {
                self.counts.overflowed += 1;
            }
        }
        self.now = self.now.max(then);
    }

    /// Notes that the peer is awake.
    pub(super) fn wake(&mut self, peer: Peer) {
        if let Some(station) = self.stations.get_mut(peer.index()) {
            station.waits = None;
        }
    }

    /// Notes that the peer has nothing to do until a frame arrives, or until `until`. If all peers wait, time passes.
    pub(super) fn wait(&mut self, peer: Peer, until: u64) {
        if let Some(station) = self.stations.get_mut(peer.index()) {
            station.waits = Some(until);
        }
        let Some(timer) = self.first_timer() else {
            return;
        };
        let arrival = self.in_flight.next().unwrap_or(u64::MAX);
        let room = self
            .links
            .iter()
            .filter_map(|link| link.has_room_after(self.now));
        match room.fold(timer.min(arrival), u64::min) {
            // No frame is under way and no timer runs.
            u64::MAX => {}
            then => self.run_to(then.max(self.now + ROUND)),
        }
        for station in &mut self.stations {
            station.waits = None;
        }
    }

    /// Returns when the first peer has to wake by its timer; `None` if a peer does not wait or has something to do.
    fn first_timer(&self) -> Option<u64> {
        let mut first = u64::MAX;
        for (index, station) in self.stations.iter().enumerate() {
            if !self.is_up(Peer(index as u16)) {
                continue;
            }
            if !station.inbox.is_empty() {
                return None;
            }
            first = first.min(station.waits?);
        }
        Some(first)
    }
}

impl Link {
    /// Returns when a sender that was refused may try again, if that is in the future.
    fn has_room_after(&self, now: u64) -> Option<u64> {
        let leaves = self.leaving.front().filter(|_| self.full)?;
        Some(*leaves).filter(|leaves| *leaves > now)
    }

    fn make_room(&mut self, now: u64, tx_queue: usize) -> Result<(), ChannelError> {
        while self.leaving.front().is_some_and(|leaves| *leaves <= now) {
            self.leaving.pop_front();
        }
        self.full = self.leaving.len() >= tx_queue;
        match self.full {
            true => Err(ChannelError::Full),
            false => Ok(()),
        }
    }

    /// Returns when a frame that is sent now arrives.
    fn enqueue(&mut self, now: u64, len: usize, tx_queue: usize) -> Result<u64, ChannelError> {
        self.make_room(now, tx_queue)?;
        let bytes = u128::from(len as u64 + self.parameters.overhead);
        let time = bytes * 1_000_000_000 / u128::from(self.parameters.bandwidth.max(1));
        let time = u64::try_from(time).unwrap_or(u64::MAX).max(1);
        let begins = self.leaving.back().map_or(now, |last| *last);
        let leaves = begins.saturating_add(time);
        self.leaving.push_back(leaves);
        Ok(leaves.saturating_add(self.parameters.latency))
    }
}

/// Locks the world. A poisoned lock is usable: a thread that panicked leaves a consistent world, because every call
/// changes it as a whole.
pub(super) fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}
