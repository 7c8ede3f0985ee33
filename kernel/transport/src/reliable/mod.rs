//! A reliable channel over a network: [`Reliable`]. Programs over a lossy device use it.
//!
//! Every frame has a number and is stored until the peer acknowledges it. The receiver stores frames that arrive too
//! early and reports what it has: in the header of its own frames, in a separate report after a while, or at once if
//! the sender requests it or if there is a gap. Every transmission carries a stamp and a report returns the highest
//! one: so the sender distinguishes lost frames from overtaken ones without a clock, also among frames that were sent
//! again. Only the end of a burst needs a clock.
//!
//! | bound | set by | at the bound |
//! | --- | --- | --- |
//! | frames under way to a peer | [`Windows::Frames`], [`Windows::BYTES`], credit, losses | [`ChannelError::Full`] |
//! | frames that arrived too early | the same, without the latter two | dropped, counted, sent again |
//! | peers | [`Windows::Peers`] | [`Error::TooManyPeers`] at creation |
//! | bytes of a frame | [`Windows::Mtu`], the network, 65535 | the smallest counts |
//!
//! A peer that is silent is probed at growing intervals and never given up, because it may be computing. The user
//! reports a dead peer by [`Reliable::declare_lost`].

mod capacities;
mod congestion_window;
mod connection;
pub(crate) mod frame;
mod received_frame;
mod receiver;
mod sender;
mod stats;
pub(crate) mod timing;

pub use capacities::{Window, Windows};
pub use received_frame::Arrived;
use received_frame::ArrivedOf;
pub use stats::ReliableStats;
pub use timing::Timing;

use capacities::frames;
use connection::{Connection, Liveness, Tx};
use frame::{FrameHeader, HEADER_LEN};
use pombo_kernel::Error;
use pombo_kernel::aspect::{Capacity, Slice, Static, Storage};
use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent, WaitSet};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{MIN_MTU, Network};

/// A reliable channel over a network that may lose, repeat, reorder and damage frames.
///
/// ```
/// # use pombo_transport::reliable::{Reliable, Window};
/// # use pombo_netdrivers::fault::{Faults, Rate};
/// # use pombo_testing::Sim;
/// let lossy = Faults::NONE.loss(Rate::percent(5));
/// let (_sim, networks) = Sim::new(2, lossy, 1);
/// let ranks = networks.into_iter().map(|network| Reliable::<_>::new(network, 0x5eed));
/// # assert!(ranks.into_iter().all(|rank| rank.is_ok()));
/// ```
pub struct Reliable<N: Network, Z: Windows = Window<8, 16, 1500>, S: Storage = Static> {
    network: N,
    /// Bytes of the longest frame without the header.
    limit: usize,
    epoch: u32,
    timing: Timing,
    connections: S::Slice<Connection<Z, S>, Z::Peers>,
    /// Peers to serve at the end of the poll, each once.
    marked: S::Slice<Peer, Z::Peers>,
    marks: usize,
    /// The time before which nothing is due.
    alarm: u64,
    /// Whether the device had no room for something that is due.
    blocked: bool,
    /// Number of peers that were declared lost and not yet reported.
    losses: usize,
    /// Whether something that may concern the user has changed since the last wait.
    has_changed: bool,
    counts: ReliableStats,
}

impl<N: Network, Z: Windows, S: Storage> Reliable<N, Z, S> {
    const POSSIBLE: () = {
        assert!(Z::Frames::N.is_power_of_two() && Z::Frames::N <= 64);
        assert!(Z::Mtu::N >= MIN_MTU && Z::Mtu::N <= u16::MAX as usize);
    };

    /// Creates a channel over a network. All peers of a job have the same `epoch`, and no other job has it: the
    /// launcher distributes a random number. Frames of another epoch are rejected.
    ///
    /// # Errors
    /// [`Error::TooManyPeers`].
    pub fn new(network: N, epoch: u32) -> Result<Self, Error> {
        Self::with(network, epoch, Timing::default())
    }

    /// Creates a channel with other times.
    ///
    /// # Errors
    /// [`Error::TooManyPeers`].
    pub fn with(network: N, epoch: u32, timing: Timing) -> Result<Self, Error> {
        let () = Self::POSSIBLE;
        let (peers, bound) = (network.peers(), Z::Peers::N);
        let refused = Error::TooManyPeers { peers, bound };
        let (mut connections, mut marked) = (S::Slice::new(), S::Slice::new());
        let longest = network.mtu().min(Z::Mtu::N);
        for _ in 0..peers {
            let connection = Connection::new(frames::<Z>(longest));
            connections.push(connection).map_err(|_| refused)?;
            marked.push(Peer(0)).map_err(|_| refused)?;
        }
        Ok(Reliable {
            limit: longest - HEADER_LEN,
            network,
            epoch,
            timing,
            connections,
            marked,
            marks: 0,
            alarm: u64::MAX,
            blocked: false,
            losses: 0,
            has_changed: false,
            counts: ReliableStats::default(),
        })
    }

    /// Returns the network below.
    pub fn network(&self) -> &N {
        &self.network
    }

    /// Returns the counts of frames so far.
    pub fn counts(&self) -> ReliableStats {
        self.counts
    }

    /// Returns whether every frame has been delivered, or its receiver is lost. A peer polls until then before it
    /// leaves.
    pub fn is_settled(&self) -> bool {
        let settled = |connection: &Connection<Z, S>| {
            connection.liveness != Liveness::Up || connection.sender.is_empty()
        };
        self.connections.as_ref().iter().all(settled)
    }

    /// Declares a peer dead; a launcher or supervisor knows. The next poll reports the loss, after all that has
    /// arrived. Peers that do not exist, this peer, and peers that are lost already are ignored.
    pub fn declare_lost(&mut self, peer: Peer) {
        let me = self.network.me();
        let connection = self.connections.as_mut().get_mut(peer.index());
        if let Some(connection) =
            connection.filter(|connection| connection.liveness == Liveness::Up && peer != me)
        {
            connection.liveness = Liveness::LossDeclared;
            self.losses += 1;
        }
    }

    /// Sends what is due to all peers, even if the device fails for some.
    fn serve(&mut self, now: u64) -> Result<(), ChannelError> {
        let mut served = Ok(());
        for i in 0..core::mem::take(&mut self.marks) {
            let peer = self.marked.as_ref()[i];
            self.connections.as_mut()[peer.index()].marked = false;
            served = served.and(self.serve_peer(peer, now));
        }
        if core::mem::take(&mut self.blocked) || self.alarm <= now {
            self.alarm = u64::MAX;
            for peer in 0..self.connections.as_ref().len() {
                served = served.and(self.serve_peer(Peer(peer as u16), now));
            }
        }
        served
    }

    fn serve_peer(&mut self, to: Peer, now: u64) -> Result<(), ChannelError> {
        let mut tx = Tx {
            network: &mut self.network,
            counts: &mut self.counts,
            timing: &self.timing,
            epoch: self.epoch,
            to,
            now,
        };
        match self.connections.as_mut()[to.index()].serve(&mut tx) {
            Ok(due) => self.alarm = self.alarm.min(due),
            Err(ChannelError::Full) => self.blocked = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Delivers the frames of this peer to itself, which never reach the network.
    fn poll_loopback(&mut self, f: &mut impl FnMut(Event<ArrivedOf<'_, N>>)) -> usize {
        let me = self.network.me();
        let Some(own) = self.connections.as_mut().get_mut(me.index()) else {
            return 0;
        };
        let (sender, mut events) = (&mut own.sender, 0);
        while sender.first() != sender.next() {
            f(Event::Arrival(Arrived::kept(
                me,
                sender.bytes(sender.first()),
            )));
            sender.forget(sender.first().wrapping_add(1));
            events += 1;
        }
        self.counts.received += events as u64;
        events
    }

    fn poll_losses(&mut self, f: &mut impl FnMut(Event<ArrivedOf<'_, N>>)) -> usize {
        let mut events = 0;
        for (peer, connection) in self.connections.as_mut().iter_mut().enumerate() {
            if self.losses > 0 && connection.liveness == Liveness::LossDeclared {
                connection.liveness = Liveness::Lost;
                self.losses -= 1;
                events += 1;
                f(Event::PeerLost(Peer(peer as u16)));
            }
        }
        events
    }

    /// Returns whether there may be events that no frame announces.
    fn has_news(&mut self) -> bool {
        let own = self.connections.as_ref().get(self.network.me().index());
        let own = own.is_some_and(|own| !own.sender.is_empty());
        core::mem::take(&mut self.has_changed) || own || self.losses > 0
    }

    /// Handles the frames that the network has received.
    fn poll_network(
        &mut self,
        now: u64,
        f: &mut impl FnMut(Event<ArrivedOf<'_, N>>),
    ) -> Result<usize, ChannelError> {
        let (me, mut events) = (self.network.me(), 0);
        let summed = !self.network.is_checked();
        let Reliable {
            network,
            epoch,
            timing,
            connections,
            marked,
            marks,
            has_changed,
            counts,
            ..
        } = self;
        network.poll(|arrival| {
            let from = arrival.from();
            let connection = connections.as_mut().get_mut(from.index());
            let Some(connection) = connection.filter(|_| from != me) else {
                counts.foreign += 1;
                return;
            };
            let head = match FrameHeader::read(&arrival, (from, me), *epoch, summed) {
                Ok(head) if connection.liveness != Liveness::Lost => head,
                Ok(_) => return counts.refuse(frame::Refusal::Stale),
                Err(refusal) => return counts.refuse(refusal),
            };
            *has_changed = true;
            let mark = marked.as_mut().get_mut(*marks);
            if let Some(mark) = mark.filter(|_| !connection.marked) {
                (*mark, connection.marked) = (from, true);
                *marks += 1;
            }
            connection.on_frame::<N>(&head, arrival, now, timing, counts, |arrived| {
                events += 1;
                f(Event::Arrival(arrived));
            });
        })?;
        Ok(events)
    }
}

impl<N: Network, Z: Windows, S: Storage> Channel for Reliable<N, Z, S> {
    type Arrival<'a> = Arrived<'a, N::Frame<'a>>;

    pombo_kernel::channel_defaults! { supports_single_copy, favours_early_data, poll_with, wait_with }

    fn me(&self) -> Peer {
        self.network.me()
    }

    fn peers(&self) -> usize {
        self.connections.as_ref().len()
    }

    fn limit(&self, _to: Peer) -> usize {
        self.limit
    }

    fn try_send(
        &mut self,
        to: Peer,
        _cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        let (limit, total) = (self.limit(to), Part::total(parts));
        let connection = self.connections.as_mut().get_mut(to.index());
        let connection = connection.ok_or(ChannelError::NoSuchPeer(to))?;
        if total > limit {
            return Err(ChannelError::TooLong { limit });
        }
        if connection.liveness != Liveness::Up {
            return Err(ChannelError::PeerLost(to));
        }
        if !connection.sender.has_room() || !connection.sender.keep(parts, total) {
            return Err(ChannelError::Full);
        }
        let now = self.network.now();
        let number = connection.sender.next();
        if to == self.network.me() {
            let marks = connection.sender.marks(number, &self.timing);
            connection.sender.sent(number, &marks, now);
        } else {
            let mut tx = Tx {
                network: &mut self.network,
                counts: &mut self.counts,
                timing: &self.timing,
                epoch: self.epoch,
                to,
                now,
            };
            connection.transmit(number, &mut tx)?;
            self.alarm = self.alarm.min(connection.deadline(&self.timing));
        }
        self.counts.sent += 1;
        Ok(Sent::Done)
    }

    #[inline]
    fn set_corked(&mut self, on: bool) {
        self.network.set_corked(on);
    }

    fn poll(&mut self, mut f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        let now = self.network.now();
        let mut events = self.poll_loopback(&mut f);
        events += self.poll_network(now, &mut f)?;
        if self.losses > 0 {
            events += self.poll_losses(&mut f);
        }
        self.network.set_corked(true);
        let served = self.serve(now);
        self.network.set_corked(false);
        served.map(|()| events > 0)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        match self.has_news() {
            true => Ok(()),
            false => self.network.wait(idle, self.alarm),
        }
    }

    fn wait_timeout(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        let until = self.now().saturating_add(nanoseconds);
        match self.has_news() {
            true => Ok(()),
            false => self.network.wait(idle, self.alarm.min(until)),
        }
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        let wake = self.network.wait_sources()?;
        Some(wake.at_most(match (self.has_news(), self.alarm) {
            (true, _) => 0,
            (false, u64::MAX) => u64::MAX,
            (false, alarm) => alarm.saturating_sub(self.now()),
        }))
    }

    fn now(&self) -> u64 {
        self.network.now()
    }
}
