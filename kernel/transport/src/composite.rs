//! Combines two channels into one: [`Composite`]. It is for jobs on several hosts: ranks of one host reach each other
//! over one channel, all others over the second.
//!
//! The second channel has every peer and defines the peer numbers; the first one has some of the peers under local
//! numbers. The route to a peer never changes, so the order per peer is that of its channel. Every feature of a channel
//! is available here too: remote peers do not disable the fast paths of local ones.
//!
//! | bound | set by | at the bound |
//! | --- | --- | --- |
//! | peers | `N` | [`Error::TooManyPeers`] from the constructor |
//! | polls of the local channel before the remote one is polled | 8, 1 after it had an event | |
//! | sleep in the local channel if it cannot sleep for both | 0.4 ms | |

use pombo_kernel::Error;
use pombo_kernel::aspect::{Cap, Capacity, Slice, Static, Storage};
use pombo_kernel::channel::{
    Arrival, Channel, ChannelError, Cookie, CopyTarget, Event, FrameHandler, SHORT_SLEEP, Sent,
    WaitSet,
};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;

/// The local channel and, if there are remote peers, the remote channel.
///
/// ```
/// # use pombo_kernel::{Channel, Peer};
/// # use pombo_netdrivers::Loopback;
/// # use pombo_transport::Composite;
/// # let (mut host, mut all) = (Loopback::world(2), Loopback::world(4));
/// // Peers 1 and 3 of 4 share a host; this is peer 3.
/// let (near, far) = (host.remove(1), all.remove(3));
/// let channel = Composite::<_, _>::new(near, far, &[Peer(1), Peer(3)])?;
/// assert_eq!((channel.me(), channel.peers()), (Peer(3), 4));
/// # Ok::<(), pombo_kernel::Error>(())
/// ```
pub struct Composite<A: LocalChannel, B: Channel, N: Capacity = Cap<8>, S: Storage = Static> {
    local: A,
    remote_peers: Option<RemotePeers<B, N, S>>,
}

/// A channel that can be the local one: its events name peers by the numbers that they have on the remote one.
pub trait LocalChannel: Channel {
    /// Names peer `i` by `names[i]` in all events from now on. Calls still take this channel's own numbers.
    fn set_names(&mut self, names: &[Peer]);
}

struct RemotePeers<B, N: Capacity, S: Storage> {
    channel: B,
    /// The number of every peer on the local channel, or [`NOT_LOCAL`].
    routes: S::Slice<u16, N>,
    /// There is no other local peer.
    is_alone: bool,
    /// Number of polls before the remote channel is polled.
    polls_left: u32,
    /// A frame has been sent to this peer itself since the last poll.
    sent_to_self: bool,
}

/// The route of remote peers: no peer has this number on any channel.
const NOT_LOCAL: u16 = u16::MAX;
/// Polls of the local channel per poll of the remote one: polling a device costs more than polling shared memory, and
/// its frames take longer.
const REMOTE_POLL_INTERVAL: u32 = 8;
/// Number of idle polls after which latency of the local channel does not matter.
const CALM_POLLS: u32 = 64;

impl<A: LocalChannel, B: Channel, N: Capacity, S: Storage> Composite<A, B, N, S> {
    /// Creates a composite of local peers only: without the other channel it costs one comparison.
    pub const fn local_only(local: A) -> Self {
        Composite {
            local,
            remote_peers: None,
        }
    }

    /// Creates a composite in which the local channel's peer `i` is `members[i]` on the remote one.
    ///
    /// # Errors
    /// [`Error::TooManyPeers`]; [`Error::NoSuchPeer`] names a member that does not exist, is listed twice, or is this
    /// peer on one channel only.
    pub fn new(mut local: A, remote: B, members: &[Peer]) -> Result<Self, Error> {
        let (peers, bound) = (remote.peers(), N::N);
        let refused = Error::TooManyPeers { peers, bound };
        if members.len() != local.peers() || members.get(local.me().index()) != Some(&remote.me()) {
            return Err(Error::NoSuchPeer(remote.me()));
        }
        let mut routes = S::Slice::new();
        for _ in 0..peers {
            routes.push(NOT_LOCAL).map_err(|_| refused)?;
        }
        for (number, &peer) in members.iter().enumerate() {
            match routes.as_mut().get_mut(peer.index()) {
                Some(route) if *route == NOT_LOCAL => *route = number as u16,
                _ => return Err(Error::NoSuchPeer(peer)),
            }
        }
        local.set_names(members);
        let remote_peers = RemotePeers {
            channel: remote,
            routes,
            is_alone: members.len() == 1,
            polls_left: 0,
            sent_to_self: false,
        };
        Ok(Composite {
            local,
            remote_peers: Some(remote_peers),
        })
    }

    /// Returns the local channel.
    #[inline]
    pub fn local(&self) -> &A {
        &self.local
    }

    /// Returns the local channel. Sending on it directly breaks the kernel's order.
    #[inline]
    pub fn local_mut(&mut self) -> &mut A {
        &mut self.local
    }

    /// Returns whether the local channel reaches that peer.
    pub fn is_local(&self, peer: Peer) -> bool {
        self.remote_peers
            .as_ref()
            .is_none_or(|remote_peers| remote_peers.route(peer).is_some())
    }

    /// Returns the remote channel, if there is one.
    #[inline]
    pub fn remote(&self) -> Option<&B> {
        self.remote_peers
            .as_ref()
            .map(|remote_peers| &remote_peers.channel)
    }

    /// Returns the remote channel, if there is one. Sending on it directly breaks the kernel's order.
    #[inline]
    pub fn remote_mut(&mut self) -> Option<&mut B> {
        self.remote_peers
            .as_mut()
            .map(|remote_peers| &mut remote_peers.channel)
    }
}

impl<B: Channel, N: Capacity, S: Storage> RemotePeers<B, N, S> {
    /// Returns the peer's number on the local channel.
    fn route(&self, to: Peer) -> Option<Peer> {
        let route = self.routes.as_ref().get(to.index());
        route
            .filter(|route| **route != NOT_LOCAL)
            .map(|route| Peer(*route))
    }

    /// Polls the remote channel after the local one. Not inlined, so that callers without remote peers stay small and the
    /// code exists once.
    #[inline(never)]
    fn poll(
        &mut self,
        f: &mut dyn for<'a> FnMut(Event<B::Arrival<'a>>),
    ) -> Result<bool, ChannelError> {
        self.sent_to_self = false;
        if self.polls_left > 0 && !self.is_alone {
            self.polls_left -= 1;
            return Ok(false);
        }
        let routes = self.routes.as_ref();
        let (mut reported, mut hidden) = (false, false);
        let moved = self.channel.poll(|event| match event {
            // Only the local channel reports the loss of a local peer.
            Event::PeerLost(peer) if routes[peer.index()] != NOT_LOCAL => hidden = true,
            event => {
                reported = true;
                f(event);
            }
        })?;
        // Groups that the channel serves in addition to its frames may have news without an event.
        let any = reported || moved && !hidden;
        self.polls_left = if any { 0 } else { REMOTE_POLL_INTERVAL - 1 };
        Ok(any)
    }

    #[inline(never)]
    fn try_send(
        &mut self,
        local: &mut impl Channel,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        let Some(number) = self.route(to) else {
            return self.channel.try_send(to, cookie, parts);
        };
        self.sent_to_self |= to == self.channel.me();
        let sent = local.try_send(number, cookie, parts);
        sent.map_err(|error| match error {
            ChannelError::PeerLost(_) => ChannelError::PeerLost(to),
            ChannelError::NoSuchPeer(_) => ChannelError::NoSuchPeer(to),
            error => error,
        })
    }

    fn wait_sources(&mut self, local: &mut impl Channel) -> Option<WaitSet> {
        self.polls_left = 0;
        let remote = self.channel.wait_sources()?;
        if self.sent_to_self {
            return Some(remote.at_most(0));
        }
        match self.is_alone {
            true => Some(remote),
            false => local.wait_sources()?.or(remote),
        }
    }

    fn wait_with(
        &mut self,
        local: &mut impl Channel,
        idle: u32,
        other: WaitSet,
    ) -> Result<(), ChannelError> {
        if self.is_alone {
            return match self.sent_to_self {
                true => Ok(()),
                false => self.channel.wait_with(idle, other),
            };
        }
        if idle < CALM_POLLS {
            return local.wait_timeout(idle, other.timeout.min(SHORT_SLEEP));
        }
        self.polls_left = 0;
        match self
            .channel
            .wait_sources()
            .and_then(|remote| remote.or(other))
        {
            Some(wake) => local.wait_with(idle, wake),
            None => local.wait_timeout(idle, other.timeout.min(SHORT_SLEEP)),
        }
    }

    #[inline(never)]
    fn wait<A: Channel>(
        &mut self,
        local: &mut A,
        idle: u32,
        most: u64,
    ) -> Result<(), ChannelError> {
        if self.is_alone {
            return match self.sent_to_self {
                true => Ok(()),
                false if most == u64::MAX => self.channel.wait(idle),
                false => self.channel.wait_timeout(idle, most),
            };
        }
        if idle < CALM_POLLS {
            return local.wait_timeout(idle, most.min(SHORT_SLEEP));
        }
        self.polls_left = 0;
        match self.channel.wait_sources() {
            Some(wake) => local.wait_with(idle, wake.at_most(most)),
            None => local.wait_timeout(idle, most.min(SHORT_SLEEP)),
        }
    }
}

impl<A: LocalChannel, B: Channel, N: Capacity, S: Storage> Channel for Composite<A, B, N, S> {
    type Arrival<'a> = Either<A::Arrival<'a>, B::Arrival<'a>>;

    #[inline]
    fn me(&self) -> Peer {
        match &self.remote_peers {
            None => self.local.me(),
            Some(remote_peers) => remote_peers.channel.me(),
        }
    }

    #[inline]
    fn peers(&self) -> usize {
        match &self.remote_peers {
            None => self.local.peers(),
            Some(remote_peers) => remote_peers.channel.peers(),
        }
    }

    #[inline]
    fn limit(&self, to: Peer) -> usize {
        let Some(remote_peers) = &self.remote_peers else {
            return self.local.limit(to);
        };
        match remote_peers.route(to) {
            Some(number) => self.local.limit(number),
            None => remote_peers.channel.limit(to),
        }
    }

    #[inline]
    fn supports_single_copy(&self, to: Peer, len: usize, both_ways: bool) -> bool {
        let Some(remote_peers) = &self.remote_peers else {
            return self.local.supports_single_copy(to, len, both_ways);
        };
        match remote_peers.route(to) {
            Some(number) => self.local.supports_single_copy(number, len, both_ways),
            None => remote_peers
                .channel
                .supports_single_copy(to, len, both_ways),
        }
    }

    #[inline]
    fn favours_early_data(&self, to: Peer) -> bool {
        let Some(remote_peers) = &self.remote_peers else {
            return self.local.favours_early_data(to);
        };
        match remote_peers.route(to) {
            Some(number) => self.local.favours_early_data(number),
            None => remote_peers.channel.favours_early_data(to),
        }
    }

    #[inline(always)]
    fn try_send(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        match &mut self.remote_peers {
            None => self.local.try_send(to, cookie, parts),
            Some(remote_peers) => remote_peers.try_send(&mut self.local, to, cookie, parts),
        }
    }

    #[inline]
    fn set_corked(&mut self, on: bool) {
        self.local.set_corked(on);
        if let Some(remote_peers) = &mut self.remote_peers {
            remote_peers.channel.set_corked(on);
        }
    }

    #[inline]
    fn poll_with(&mut self, handler: &mut impl FrameHandler) -> Result<bool, ChannelError> {
        let local = self.local.poll_with(handler)?;
        match &mut self.remote_peers {
            None => Ok(local),
            Some(remote_peers) => {
                Ok(remote_peers.poll(&mut |event| handler.handle(event))? || local)
            }
        }
    }

    #[inline(never)]
    fn poll(&mut self, mut f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        let local = self.local.poll(|event| f(event.map(Either::Local)))?;
        match &mut self.remote_peers {
            None => Ok(local),
            Some(remote_peers) => {
                Ok(remote_peers.poll(&mut |event| f(event.map(Either::Remote)))? || local)
            }
        }
    }

    #[inline]
    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        match &mut self.remote_peers {
            None => self.local.wait(idle),
            Some(remote_peers) => remote_peers.wait(&mut self.local, idle, u64::MAX),
        }
    }

    fn wait_timeout(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        match &mut self.remote_peers {
            None => self.local.wait_timeout(idle, nanoseconds),
            Some(remote_peers) => remote_peers.wait(&mut self.local, idle, nanoseconds),
        }
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        match &mut self.remote_peers {
            None => self.local.wait_sources(),
            Some(remote_peers) => remote_peers.wait_sources(&mut self.local),
        }
    }

    fn wait_with(&mut self, idle: u32, other: WaitSet) -> Result<(), ChannelError> {
        match &mut self.remote_peers {
            None => self.local.wait_with(idle, other),
            Some(remote_peers) => remote_peers.wait_with(&mut self.local, idle, other),
        }
    }

    fn now(&self) -> u64 {
        self.local.now()
    }
}

/// A frame of either channel.
#[derive(Clone, Copy, Debug)]
pub enum Either<A, B> {
    /// A frame of the local channel.
    Local(A),
    /// A frame of the remote channel.
    Remote(B),
}

impl<A: Arrival, B: Arrival> Arrival for Either<A, B> {
    #[inline]
    fn from(&self) -> Peer {
        match self {
            Either::Local(frame) => frame.from(),
            Either::Remote(frame) => frame.from(),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        match self {
            Either::Local(frame) => frame.len(),
            Either::Remote(frame) => frame.len(),
        }
    }

    #[inline]
    fn head(&self, n: usize) -> Option<&[u8]> {
        match self {
            Either::Local(frame) => frame.head(n),
            Either::Remote(frame) => frame.head(n),
        }
    }

    #[inline]
    fn for_each_chunk(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        match self {
            Either::Local(frame) => frame.for_each_chunk(offset, len, f),
            Either::Remote(frame) => frame.for_each_chunk(offset, len, f),
        }
    }

    #[inline]
    fn read_into(&self, offset: usize, len: usize, into: &mut impl CopyTarget) -> bool {
        match self {
            Either::Local(frame) => frame.read_into(offset, len, into),
            Either::Remote(frame) => frame.read_into(offset, len, into),
        }
    }
}
