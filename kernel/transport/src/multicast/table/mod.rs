//! Many groups over one network: [`GroupTable`]. It is for collectives built on broadcasts.

mod entry;
mod unknown_groups;

use super::frame::FrameHeader;
use super::{
    GroupCapacities, GroupId, GroupSizes, MulticastStats, ReassemblyBuffer, SendStatus,
    SenderConfig, WireGroup,
};
use crate::reliable::Timing;
use entry::Entry;
use pombo_kernel::Error;
use pombo_kernel::aspect::{Slice, Static, Storage};
use pombo_kernel::channel::{Arrival, ChannelError, Multicast, WaitSet};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Source as Bytes;
use pombo_kernel::network::Broadcast;
use unknown_groups::UnknownGroups;

/// The open groups of a peer, which own their network.
///
/// Group numbers are equal at all members and never reused; each peer opens groups in ascending order. In every group
/// every member may broadcast: the messages of one sender in one group arrive in order.
///
/// ```
/// use pombo_transport::multicast::{GroupCapacities, GroupId, GroupTable, NoBuffers, SendStatus};
/// use pombo_kernel::{Error, Peer};
/// use pombo_netdrivers::fault::{Faults, Rate};
/// use pombo_testing::Sim;
///
/// type Table = GroupTable<pombo_testing::SimNetwork, GroupCapacities<8, 1500>, pombo_netdrivers::HeapStorage>;
/// let (_sim, networks) = Sim::new(3, Faults::NONE.loss(Rate::percent(20)), 1);
/// let mut peers: Vec<Table> = networks.into_iter().map(|n| Table::new(n, 0x5eed)).collect();
/// for peer in &mut peers {
///     peer.open(GroupId(1), [Peer(0), Peer(1), Peer(2)])?;
/// }
/// assert_eq!(peers[0].send(GroupId(1), &&b"to all"[..])?, SendStatus::Copied);
/// let mut text = [0; 16];
/// for to in [1, 2] {
///     while peers[to].receive(GroupId(1), Peer(0), &mut text[..])?.is_none() {
///         for peer in &mut peers {
///             if !peer.poll(&mut NoBuffers)? {
///                 peer.wait(0)?;
///             }
///         }
///     }
///     assert_eq!(&text[..6], b"to all");
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct GroupTable<N: Broadcast, Z: GroupSizes = GroupCapacities<8, 1500>, S: Storage = Static> {
    network: N,
    epoch: u32,
    config: SenderConfig,
    timing: Timing,
    entries: S::Slice<Option<Entry<Z, S>>, Z::Groups>,
    unknown_groups: UnknownGroups,
    /// The time before which nothing is due.
    alarm: u64,
    /// The device had no room for a due frame.
    blocked: bool,
    /// The counters of closed groups, and of frames without a group.
    counts: MulticastStats,
}

/// Gives access to the users' memory during progress: for each group to the long message that this peer is sending, for
/// each sender to the waiting buffer of the last call of [`GroupTable::receive`].
pub trait BufferProvider {
    /// The memory of a message to send.
    type Out: Bytes;
    /// The memory in which a message is reassembled.
    type Into: ReassemblyBuffer + ?Sized;

    /// Returns the long message that this peer sends in that group.
    fn outgoing(&mut self, group: GroupId) -> Option<&Self::Out>;

    /// Returns the buffer for the next message of that sender in that group.
    fn incoming(&mut self, group: GroupId, sender: Peer) -> Option<&mut Self::Into>;

    /// Returns whether a user waits for a message, or for the completion of one. If not, the device is polled less
    /// often.
    fn is_waiting(&self) -> bool {
        true
    }
}

/// Provides no buffers: small messages make progress, long ones wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBuffers;

impl BufferProvider for NoBuffers {
    type Out = &'static [u8];
    type Into = [u8];

    fn outgoing(&mut self, _: GroupId) -> Option<&Self::Out> {
        None
    }

    fn incoming(&mut self, _: GroupId, _: Peer) -> Option<&mut [u8]> {
        None
    }
}

impl<N: Broadcast, Z: GroupSizes, S: Storage> GroupTable<N, Z, S> {
    /// Creates a table over a network. All peers of a job have the same `epoch`, which differs from that of other jobs,
    /// as for [`Reliable`](crate::Reliable).
    pub fn new(network: N, epoch: u32) -> Self {
        Self::with(network, epoch, SenderConfig::default(), Timing::default())
    }

    /// Creates a table with other settings and timing.
    pub fn with(network: N, epoch: u32, config: SenderConfig, timing: Timing) -> Self {
        GroupTable {
            network,
            epoch,
            config,
            timing,
            entries: S::Slice::new(),
            unknown_groups: UnknownGroups::default(),
            alarm: u64::MAX,
            blocked: false,
            counts: MulticastStats::default(),
        }
    }

    /// Returns the network below.
    pub fn network(&self) -> &N {
        &self.network
    }

    /// Returns the counters of frames, summed over all groups.
    pub fn counts(&self) -> MulticastStats {
        let mut counts = self.counts;
        let entries = self.entries.as_ref().iter().flatten();
        entries.for_each(|entry| entry.count(&mut counts));
        counts
    }

    /// Returns whether that group is open here.
    pub fn is_open(&self, group: GroupId) -> bool {
        self.entry(group).is_ok()
    }

    /// Returns whether the table has room for another group.
    pub fn has_room(&self) -> bool {
        let entries = self.entries.as_ref();
        entries.len() < <Z::Groups as pombo_kernel::aspect::Capacity>::N
            || entries.iter().any(Option::is_none)
    }

    /// Opens a group of those peers, which may include this one. It does not know earlier losses: see
    /// [`GroupTable::declare_lost`].
    ///
    /// # Errors
    /// [`Error::Full`]: close others first. [`Error::TooManyPeers`]. [`Error::NoSuchGroup`]: its number is not above
    /// those of all groups opened here.
    pub fn open(
        &mut self,
        group: GroupId,
        members: impl IntoIterator<Item = Peer>,
    ) -> Result<(), Error> {
        if !self.unknown_groups.is_new(group.0) {
            return Err(Error::NoSuchGroup(group));
        }
        if !self.has_room() {
            return Err(Error::Full);
        }
        let id = WireGroup {
            group,
            epoch: self.epoch,
        };
        let me = self.network.me();
        let others = members.into_iter().filter(|peer| *peer != me);
        let mtu = self.network.mtu();
        let mut entry = Entry::new(id, others, mtu, self.config, self.timing)?;
        self.unknown_groups
            .opened(group.0, |from, stamp| entry.report_missed(from, stamp));
        let entries = self.entries.as_mut();
        match entries.iter().position(Option::is_none) {
            Some(place) => entries[place] = Some(entry),
            None => self.entries.push(Some(entry)).map_err(|_| Error::Full)?,
        }
        self.alarm = 0;
        Ok(())
    }

    /// Closes a group when all its messages have been received here. Messages that this peer has sent still reach the
    /// others and occupy the entry until then; later polls are still answered.
    ///
    /// # Errors
    /// [`Error::NoSuchGroup`].
    pub fn close(&mut self, group: GroupId) -> Result<(), Error> {
        let (entry, _) = self.find(group)?;
        entry.close();
        self.alarm = 0;
        Ok(())
    }

    /// Sends the next message of this peer to the other members of the group.
    ///
    /// # Errors
    /// [`ChannelError::Full`] as [`Error::Channel`]: poll, then try again. [`Error::NoSuchGroup`], [`Error::TooLong`]
    /// and the errors of the network.
    pub fn send(&mut self, group: GroupId, message: &impl Bytes) -> Result<SendStatus, Error> {
        let (entry, network) = self.find(group)?;
        let sent = entry.send(network, message);
        self.alarm = 0;
        sent
    }

    /// Returns whether the [`SendStatus::Borrowed`] message is complete.
    ///
    /// # Errors
    /// [`Error::NoSuchGroup`].
    pub fn is_sent(&mut self, group: GroupId) -> Result<bool, Error> {
        self.find(group).map(|(entry, _)| !entry.is_lent())
    }

    /// Returns the length of the next message of that sender in that group, if it has arrived. If not,
    /// [`BufferProvider::incoming`] must return `into` from now on until it has arrived.
    ///
    /// # Errors
    /// [`Error::Truncated`]: the message was longer; a long one leaves nothing in the buffer. [`Error::PeerLost`].
    /// [`Error::NoSuchGroup`], [`Error::NoSuchPeer`], and the errors of the network.
    pub fn receive(
        &mut self,
        group: GroupId,
        sender: Peer,
        into: &mut (impl ReassemblyBuffer + ?Sized),
    ) -> Result<Option<usize>, Error> {
        let (entry, network) = self.find(group)?;
        let received = entry.receive(network, sender, into);
        self.alarm = 0;
        received
    }

    /// Returns the length in bytes of the longest message to that group that is copied and sent at once.
    ///
    /// # Errors
    /// [`Error::NoSuchGroup`].
    pub fn small(&self, group: GroupId) -> Result<usize, Error> {
        self.entry(group).map(Entry::small)
    }

    /// Returns whether a small message to that group would leave at once: otherwise it may wait for who is behind.
    ///
    /// # Errors
    /// [`Error::NoSuchGroup`].
    pub fn has_credit(&self, group: GroupId) -> Result<bool, Error> {
        self.entry(group).map(Entry::has_credit)
    }

    /// Returns how many small messages of that sender to that group have arrived so far, each after all before it.
    ///
    /// # Errors
    /// [`Error::NoSuchGroup`], [`Error::NoSuchPeer`].
    pub fn arrived(&self, group: GroupId, sender: Peer) -> Result<u64, Error> {
        self.entry(group)?.arrived(sender)
    }

    /// Shows the small messages of that sender to that group that have arrived and are not taken, in order and with their
    /// numbers from 0 on, and drops those for which `keep` returns false: a user who has copied what it wants of one need
    /// not take those before it.
    ///
    /// # Errors
    /// [`Error::NoSuchGroup`], [`Error::NoSuchPeer`].
    pub fn retain(
        &mut self,
        group: GroupId,
        sender: Peer,
        keep: impl FnMut(u64, &[u8]) -> bool,
    ) -> Result<(), Error> {
        let (entry, _) = self.find(group)?;
        if entry.retain(sender, keep)? {
            self.alarm = 0;
        }
        Ok(())
    }

    /// Returns whether every message that this peer sent to that group has reached its live receivers.
    ///
    /// # Errors
    /// [`Error::NoSuchGroup`].
    pub fn has_reached_all(&self, group: GroupId) -> Result<bool, Error> {
        self.entry(group).map(Entry::is_settled)
    }

    fn entry(&self, group: GroupId) -> Result<&Entry<Z, S>, Error> {
        let mut entries = self.entries.as_ref().iter().flatten();
        let found = entries.find(|entry| entry.id() == group && !entry.is_closed());
        found.ok_or(Error::NoSuchGroup(group))
    }

    fn find(&mut self, group: GroupId) -> Result<(&mut Entry<Z, S>, &mut N), Error> {
        let entries = self.entries.as_mut().iter_mut().flatten();
        let mut open = entries.filter(|entry| !entry.is_closed());
        let entry = open.find(|entry| entry.id() == group);
        let entry = entry.ok_or(Error::NoSuchGroup(group))?;
        Ok((entry, &mut self.network))
    }

    /// Handles arrived frames and sends what is due. Returns whether any frame arrived.
    ///
    /// # Errors
    /// The errors of the network, except that it has no room.
    pub fn poll(&mut self, provider: &mut impl BufferProvider) -> Result<bool, ChannelError> {
        let (now, mut heard) = (self.network.now(), false);
        let GroupTable {
            network,
            epoch,
            entries,
            unknown_groups,
            alarm,
            counts,
            ..
        } = self;
        let entries = entries.as_mut();
        let me = (!network.is_checked()).then(|| network.me());
        network.poll(|frame| {
            heard = true;
            let head = match FrameHeader::read(&frame, *epoch, me) {
                Ok(head) => head,
                Err(refusal) => return counts.refuse(refusal),
            };
            let group = GroupId(head.group.get());
            let mut open = entries.iter_mut().flatten();
            let concerned = match open.find(|entry| entry.id() == group) {
                Some(entry) => entry.on_frame(&head, &frame, provider, now),
                None => unknown_groups.on_frame(&head, frame.from()),
            };
            match concerned {
                true => *alarm = 0,
                false => counts.elsewhere += 1,
            }
        })?;
        self.network.set_corked(true);
        let served = self.serve(provider);
        self.network.set_corked(false);
        served.map(|()| heard)
    }

    /// Sends what is due, in all groups even if the device fails for some.
    fn serve(&mut self, provider: &mut impl BufferProvider) -> Result<(), ChannelError> {
        let now = self.network.now();
        if !self.blocked && self.alarm > now {
            return Ok(());
        }
        (self.alarm, self.blocked) = (u64::MAX, false);
        let mut served = self.unknown_groups.answer(&mut self.network, self.epoch);
        self.blocked = self.unknown_groups.is_blocked();
        for place in self.entries.as_mut() {
            let Some(entry) = place else { continue };
            served = served.and(entry.send_due(&mut self.network, provider, now));
            if entry.is_over() {
                self.unknown_groups.closed(entry.id().0);
                entry.count(&mut self.counts);
                *place = None;
            } else {
                self.alarm = self.alarm.min(entry.due());
                self.blocked |= entry.is_blocked();
            }
        }
        served
    }

    /// Returns the time in ns at which [`GroupTable::poll`] must be called next; a full device reports room by itself.
    pub fn deadline(&self) -> u64 {
        self.alarm
    }

    /// Waits as [`Network::wait`](pombo_kernel::Network::wait), until something is due.
    ///
    /// # Errors
    /// As [`Network::wait`](pombo_kernel::Network::wait).
    pub fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        self.network.wait(idle, self.alarm)
    }

    /// Returns the events that would end this wait, for a caller that sleeps for other sources as well.
    pub fn wait_sources(&mut self) -> Option<WaitSet> {
        let wake = self.network.wait_sources()?;
        Some(match self.alarm {
            u64::MAX => wake,
            alarm => wake.at_most(alarm.saturating_sub(self.network.now())),
        })
    }

    /// Reports a lost peer: the open groups do not wait for it any more; its messages that have arrived can be
    /// received.
    pub fn declare_lost(&mut self, peer: Peer) {
        let entries = self.entries.as_mut().iter_mut().flatten();
        entries.for_each(|entry| entry.declare_lost(peer));
        self.alarm = 0;
    }

    /// Returns whether one of this peer's own groups has given up broadcast, so that each receiver gets its own copy.
    pub fn is_unicast_only(&self) -> bool {
        let mut entries = self.entries.as_ref().iter().flatten();
        entries.any(Entry::is_unicast_only)
    }

    /// Returns whether everything that this peer sent has reached its live receivers. A peer polls until then before it
    /// terminates.
    pub fn is_settled(&self) -> bool {
        let mut entries = self.entries.as_ref().iter().flatten();
        entries.all(|entry| entry.is_settled())
    }
}

impl<N: Broadcast, Z: GroupSizes, S: Storage, B: BufferProvider> Multicast<B>
    for GroupTable<N, Z, S>
{
    fn poll(&mut self, buffers: &mut B) -> Result<bool, ChannelError> {
        GroupTable::poll(self, buffers)
    }

    fn is_due(&self, buffers: &B) -> bool {
        buffers.is_waiting() || self.alarm <= self.network.now()
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        GroupTable::wait_sources(self)
    }

    fn declare_lost(&mut self, peer: Peer) {
        GroupTable::declare_lost(self, peer);
    }
}
