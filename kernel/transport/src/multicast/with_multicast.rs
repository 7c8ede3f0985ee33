//! A channel that serves multicast groups in addition to its own frames: [`WithMulticast`]. It is for programs that
//! open groups on a job's channel.

use pombo_kernel::channel::{Channel, ChannelError, Event, Multicast, SHORT_SLEEP, WaitSet};

/// A channel, and the groups of this peer if there are any: one poll takes the frames of both, one wait sleeps for
/// both, and the channel reports lost peers to the groups. Without groups a poll costs one more comparison.
///
/// If the groups' device fails, the channel goes on unchanged: see [`WithMulticast::error`].
///
/// ```
/// use pombo_kernel::channel::{Channel, GroupId};
/// use pombo_kernel::Peer;
/// use pombo_netdrivers::{HeapStorage, fault::Faults};
/// use pombo_testing::{Sim, SimNetwork};
/// use pombo_transport::multicast::{GroupCapacities, GroupTable, NoBuffers};
/// use pombo_transport::{Reliable, WithMulticast, reliable::Window};
///
/// type Frames = Reliable<SimNetwork, Window<2, 8, 1500>, HeapStorage>;
/// type Groups = GroupTable<SimNetwork, GroupCapacities<8, 1500>, HeapStorage>;
/// // One device for frames to one peer, another one for frames to all.
/// let (_sim, unicast) = Sim::new(2, Faults::NONE, 1);
/// let (switch, multicast) = Sim::new(2, Faults::NONE, 2);
/// let mut peers = Vec::new();
/// for (unicast, multicast) in unicast.into_iter().zip(multicast) {
///     let mut groups = Groups::new(multicast, 7);
///     groups.open(GroupId(1), [Peer(0), Peer(1)])?;
///     let mut channel = WithMulticast::new(Frames::new(unicast, 7)?, NoBuffers);
///     channel.set_groups(groups);
///     peers.push(channel);
/// }
/// let (groups, _) = peers[0].groups_mut().expect("set above");
/// groups.send(GroupId(1), &&b"to all"[..])?;
/// let mut text = [0; 16];
/// while peers[1].groups_mut().expect("set above").0.receive(GroupId(1), Peer(0), &mut text[..])?.is_none() {
///     for peer in &mut peers {
///         if !peer.poll(|_| ())? {
///             peer.wait(0)?;
///         }
///     }
///     switch.advance(1_000); // A wait lets the simulated time of the first device pass only.
/// }
/// assert_eq!(&text[..6], b"to all");
/// # Ok::<(), pombo_kernel::Error>(())
/// ```
pub struct WithMulticast<C, G, B> {
    channel: C,
    groups: Option<G>,
    buffers: B,
    /// Number of polls before the next poll of groups that are not due.
    polls_left: u32,
    error: Option<ChannelError>,
}

/// Number of polls of the channel per poll of groups that are not due: polling a device is a system call.
const IDLE_POLL_INTERVAL: u32 = 32;
/// Number of idle polls after which the channel may sleep, and the groups must be able to wake it.
const CALM_POLLS: u32 = 50;
/// Most polls that take what a lost peer has sent: each takes all that the device hands out at once.
const LAST_POLLS: u32 = 64;

impl<C: Channel, G: Multicast<B>, B: 'static> WithMulticast<C, G, B> {
    /// Creates a channel without groups. The buffers give later groups access to the users' memory.
    pub const fn new(channel: C, buffers: B) -> Self {
        WithMulticast {
            channel,
            groups: None,
            buffers,
            polls_left: 0,
            error: None,
        }
    }

    /// Sets the groups that this channel serves from now on.
    pub fn set_groups(&mut self, groups: G) {
        self.groups = Some(groups);
        self.error = None;
    }

    /// Removes and returns the groups.
    pub fn take_groups(&mut self) -> Option<G> {
        self.groups.take()
    }

    /// Returns the groups, if there are any.
    pub fn groups(&self) -> Option<&G> {
        self.groups.as_ref()
    }

    /// Returns the groups, if there are any, and the access to the users' memory.
    pub fn groups_mut(&mut self) -> Option<(&mut G, &mut B)> {
        let groups = self.groups.as_mut()?;
        Some((groups, &mut self.buffers))
    }

    /// Returns the error with which the groups' device has failed.
    pub fn error(&self) -> Option<ChannelError> {
        self.error
    }

    /// Returns the channel below.
    pub fn channel(&self) -> &C {
        &self.channel
    }

    /// Returns the channel below. Sending on it directly breaks the kernel's order.
    pub fn channel_mut(&mut self) -> &mut C {
        &mut self.channel
    }

    fn poll_groups(&mut self) -> bool {
        let Some(groups) = &mut self.groups else {
            return false;
        };
        if self.polls_left > 0 && !groups.is_due(&self.buffers) {
            self.polls_left -= 1;
            return false;
        }
        self.polls_left = IDLE_POLL_INTERVAL - 1;
        groups.poll(&mut self.buffers).unwrap_or_else(|error| {
            self.error = Some(error);
            false
        })
    }

    /// Returns the events by which the groups wake a sleeping channel; `None` if they need not.
    fn group_sources(&mut self, idle: u32) -> Option<WaitSet> {
        let groups = self.groups.as_mut().filter(|_| idle >= CALM_POLLS)?;
        self.polls_left = 0;
        let sources = groups.wait_sources();
        Some(sources.unwrap_or(WaitSet::timeout(SHORT_SLEEP)))
    }
}

impl<C: Channel, G: Multicast<B>, B: 'static> Channel for WithMulticast<C, G, B> {
    type Arrival<'a> = C::Arrival<'a>;

    pombo_kernel::channel_defaults! { poll_with }
    pombo_kernel::forward_channel! { channel: me, peers, limit, supports_single_copy, favours_early_data, try_send, set_corked, now }

    fn poll(&mut self, mut f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        let WithMulticast {
            channel,
            groups,
            buffers,
            error,
            ..
        } = self;
        let any = channel.poll(|event| {
            if let (Event::PeerLost(peer), Some(groups)) = (&event, groups.as_mut()) {
                // What it sent to groups before it ended arrives before its loss, as what it sent by the channel does.
                for _ in 0..LAST_POLLS {
                    match groups.poll(buffers) {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(failed) => {
                            *error = Some(failed);
                            break;
                        }
                    }
                }
                groups.declare_lost(*peer);
            }
            f(event);
        })?;
        Ok(self.poll_groups() || any)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        match self.group_sources(idle) {
            Some(groups) => self.channel.wait_with(idle, groups),
            None => self.channel.wait(idle),
        }
    }

    fn wait_timeout(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        match self.group_sources(idle) {
            Some(groups) => self.channel.wait_with(idle, groups.at_most(nanoseconds)),
            None => self.channel.wait_timeout(idle, nanoseconds),
        }
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        let own = self.channel.wait_sources()?;
        match self.group_sources(u32::MAX) {
            Some(groups) => own.or(groups),
            None => Some(own),
        }
    }

    fn wait_with(&mut self, idle: u32, other: WaitSet) -> Result<(), ChannelError> {
        match self.group_sources(idle).map(|groups| groups.or(other)) {
            Some(Some(both)) => self.channel.wait_with(idle, both),
            Some(None) => self
                .channel
                .wait_timeout(idle, other.timeout.min(SHORT_SLEEP)),
            None => self.channel.wait_with(idle, other),
        }
    }
}
