//! A channel made of a network: [`Reliable`]. Whoever builds a program over a lossy device uses it.
//!
//! Every frame has a number and is kept until the peer has it. The receiver keeps what comes too early and reports
//! what it has: in the header of its own frames, alone after a while, or at once when it is asked or sees a gap. Every
//! transmission carries a stamp and the report returns the highest: so the sender knows what is lost from what has
//! overtaken it, also of frames that were sent again, without a clock. Only the end of a burst needs a clock.
//!
//! | bound | set by | at the bound |
//! | --- | --- | --- |
//! | frames under way to a peer | [`Windows::Frames`], [`Windows::BYTES`], the peer's credit, losses | [`ChannelError::Full`] |
//! | frames of a peer that came too early | the same, without the latter two | dropped and counted; sent again |
//! | nodes | [`Windows::Nodes`] | [`Error::TooManyNodes`] when it is made |
//! | bytes of a frame | [`Windows::Mtu`], the network, 65535 | the shorter one counts |
//!
//! A peer that says nothing is asked more and more rarely, and never given up: it may compute. That it is dead comes
//! from outside, by [`Reliable::declare_lost`].

mod arrived;
mod counts;
pub(crate) mod frame;
mod peer;
mod receiver;
mod sender;
mod throttle;
pub(crate) mod timing;
mod windows;

pub use arrived::Arrived;
use arrived::Of;
pub use counts::Counts;
pub use timing::Timing;
pub use windows::{Window, Windows};

use frame::{HEAD, Head};
use peer::{Life, Out, Peer};
use pombo_kernel::Error;
use pombo_kernel::aspect::{Capacity, Slice, Static, Storage};
use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent, Wake};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{MIN_MTU, Network};
use windows::frames;

/// A reliable channel over a network that may do anything.
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
    peers: S::Slice<Peer<Z, S>, Z::Nodes>,
    /// Peers to serve at the end of the poll, each once.
    marked: S::Slice<Node, Z::Nodes>,
    marks: usize,
    /// Nothing is due before.
    alarm: u64,
    /// The device had no room for something that is due.
    blocked: bool,
    /// Peers that were declared lost and not reported.
    losses: usize,
    /// Something has changed since the last wait that may interest the user.
    stirred: bool,
    counts: Counts,
}

impl<N: Network, Z: Windows, S: Storage> Reliable<N, Z, S> {
    const POSSIBLE: () = {
        assert!(Z::Frames::N.is_power_of_two() && Z::Frames::N <= 64);
        assert!(Z::Mtu::N >= MIN_MTU && Z::Mtu::N <= u16::MAX as usize);
    };

    /// Over a network. All nodes of a job have the same `epoch`, and no other job has: a random number, given out by
    /// who starts them. Frames of another epoch are not believed.
    ///
    /// # Errors
    /// [`Error::TooManyNodes`].
    pub fn new(network: N, epoch: u32) -> Result<Self, Error> {
        Self::with(network, epoch, Timing::default())
    }

    /// With other times.
    ///
    /// # Errors
    /// [`Error::TooManyNodes`].
    pub fn with(network: N, epoch: u32, timing: Timing) -> Result<Self, Error> {
        let () = Self::POSSIBLE;
        let (nodes, bound) = (network.nodes(), Z::Nodes::N);
        let refused = Error::TooManyNodes { nodes, bound };
        let (mut peers, mut marked) = (S::Slice::new(), S::Slice::new());
        let longest = network.mtu().min(Z::Mtu::N);
        for _ in 0..nodes {
            let peer = Peer::new(frames::<Z>(longest));
            peers.push(peer).map_err(|_| refused)?;
            marked.push(Node(0)).map_err(|_| refused)?;
        }
        Ok(Reliable {
            limit: longest - HEAD,
            network,
            epoch,
            timing,
            peers,
            marked,
            marks: 0,
            alarm: u64::MAX,
            blocked: false,
            losses: 0,
            stirred: false,
            counts: Counts::default(),
        })
    }

    /// The network below.
    pub fn network(&self) -> &N {
        &self.network
    }

    /// What has happened to frames so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Has every frame been handed out at its receiver that is not lost? A node polls until then before it goes.
    pub fn is_settled(&self) -> bool {
        let settled = |peer: &Peer<Z, S>| peer.life != Life::Up || peer.sender.is_empty();
        self.peers.as_ref().iter().all(settled)
    }

    /// Whoever knows it (a launcher, a supervisor) says that a node is dead. The next poll reports it, after what has
    /// arrived. Nodes that do not exist, this one, and those that are lost already are left alone.
    pub fn declare_lost(&mut self, node: Node) {
        let me = self.network.node();
        let peer = self.peers.as_mut().get_mut(node.index());
        if let Some(peer) = peer.filter(|peer| peer.life == Life::Up && node != me) {
            peer.life = Life::Declared;
            self.losses += 1;
        }
    }

    /// Sends what is due, to everybody even if the device fails for some.
    fn serve(&mut self, now: u64) -> Result<(), ChannelError> {
        let mut served = Ok(());
        for i in 0..core::mem::take(&mut self.marks) {
            let node = self.marked.as_ref()[i];
            self.peers.as_mut()[node.index()].marked = false;
            served = served.and(self.serve_peer(node, now));
        }
        if core::mem::take(&mut self.blocked) || self.alarm <= now {
            self.alarm = u64::MAX;
            for node in 0..self.peers.as_ref().len() {
                served = served.and(self.serve_peer(Node(node as u16), now));
            }
        }
        served
    }

    fn serve_peer(&mut self, to: Node, now: u64) -> Result<(), ChannelError> {
        let mut out = Out {
            network: &mut self.network,
            counts: &mut self.counts,
            timing: &self.timing,
            epoch: self.epoch,
            to,
            now,
        };
        match self.peers.as_mut()[to.index()].serve(&mut out) {
            Ok(due) => self.alarm = self.alarm.min(due),
            Err(ChannelError::Full) => self.blocked = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// What this node sent to itself: it never leaves.
    fn poll_own(&mut self, f: &mut impl FnMut(Event<Of<'_, N>>)) -> usize {
        let me = self.network.node();
        let Some(own) = self.peers.as_mut().get_mut(me.index()) else {
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

    fn poll_losses(&mut self, f: &mut impl FnMut(Event<Of<'_, N>>)) -> usize {
        let mut events = 0;
        for (node, peer) in self.peers.as_mut().iter_mut().enumerate() {
            if self.losses > 0 && peer.life == Life::Declared {
                peer.life = Life::Lost;
                self.losses -= 1;
                events += 1;
                f(Event::PeerLost(Node(node as u16)));
            }
        }
        events
    }

    /// May the user find something that no frame will tell of?
    fn has_news(&mut self) -> bool {
        let own = self.peers.as_ref().get(self.network.node().index());
        let own = own.is_some_and(|own| !own.sender.is_empty());
        core::mem::take(&mut self.stirred) || own || self.losses > 0
    }

    /// Takes what the network has.
    fn poll_network(
        &mut self,
        now: u64,
        f: &mut impl FnMut(Event<Of<'_, N>>),
    ) -> Result<usize, ChannelError> {
        let (me, mut events) = (self.network.node(), 0);
        let summed = !self.network.is_checked();
        let Reliable {
            network,
            epoch,
            timing,
            peers,
            marked,
            marks,
            stirred,
            counts,
            ..
        } = self;
        network.poll(|arrival| {
            let from = arrival.from();
            let peer = peers.as_mut().get_mut(from.index());
            let Some(peer) = peer.filter(|_| from != me) else {
                counts.foreign += 1;
                return;
            };
            let head = match Head::read(&arrival, (from, me), *epoch, summed) {
                Ok(head) if peer.life != Life::Lost => head,
                Ok(_) => return counts.refuse(frame::Refusal::Stale),
                Err(refusal) => return counts.refuse(refusal),
            };
            *stirred = true;
            if !peer.marked {
                peer.marked = true;
                marked.as_mut()[*marks] = from;
                *marks += 1;
            }
            peer.hear::<N>(&head, arrival, now, timing, counts, |arrived| {
                events += 1;
                f(Event::Arrival(arrived));
            });
        })?;
        Ok(events)
    }
}

impl<N: Network, Z: Windows, S: Storage> Channel for Reliable<N, Z, S> {
    type Arrival<'a> = Arrived<'a, N::Frame<'a>>;

    fn node(&self) -> Node {
        self.network.node()
    }

    fn nodes(&self) -> usize {
        self.peers.as_ref().len()
    }

    fn limit(&self, _to: Node) -> usize {
        self.limit
    }

    fn try_send(
        &mut self,
        to: Node,
        _cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        let (limit, total) = (self.limit(to), Part::total(parts));
        let peer = self.peers.as_mut().get_mut(to.index());
        let peer = peer.ok_or(ChannelError::NoSuchNode(to))?;
        if total > limit {
            return Err(ChannelError::TooLong { limit });
        }
        if peer.life != Life::Up {
            return Err(ChannelError::PeerLost(to));
        }
        if !peer.sender.has_room() || !peer.sender.keep(parts, total) {
            return Err(ChannelError::Full);
        }
        let now = self.network.now();
        let number = peer.sender.next();
        if to == self.network.node() {
            let marks = peer.sender.marks(number, &self.timing);
            peer.sender.sent(number, &marks, now);
        } else {
            let mut out = Out {
                network: &mut self.network,
                counts: &mut self.counts,
                timing: &self.timing,
                epoch: self.epoch,
                to,
                now,
            };
            peer.transmit(number, &mut out)?;
            self.alarm = self.alarm.min(peer.deadline(&self.timing));
        }
        self.counts.sent += 1;
        Ok(Sent::Done)
    }

    #[inline]
    fn gather(&mut self, on: bool) {
        self.network.gather(on);
    }

    fn poll(&mut self, mut f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        let now = self.network.now();
        let mut events = self.poll_own(&mut f);
        events += self.poll_network(now, &mut f)?;
        if self.losses > 0 {
            events += self.poll_losses(&mut f);
        }
        self.network.gather(true);
        let served = self.serve(now);
        self.network.gather(false);
        served.map(|()| events > 0)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        match self.has_news() {
            true => Ok(()),
            false => self.network.wait(idle, self.alarm),
        }
    }

    fn wait_within(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        let until = self.now().saturating_add(nanoseconds);
        match self.has_news() {
            true => Ok(()),
            false => self.network.wait(idle, self.alarm.min(until)),
        }
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        let wake = self.network.wakes_by()?;
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
