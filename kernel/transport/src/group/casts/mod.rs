//! Many groups over one network: [`Casts`]. Who makes collectives of broadcasts uses it.

mod entry;
mod strangers;

use super::frame::Head;
use super::{Begun, Counts, Group, Groups, Habits, Name, Room};
use crate::reliable::Timing;
use entry::Entry;
use pombo_kernel::Error;
use pombo_kernel::aspect::{Slice, Static, Storage};
use pombo_kernel::channel::{Arrival, ChannelError, Wake};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Source as Bytes;
use pombo_kernel::network::Broadcast;
use strangers::Strangers;

/// The groups of a node that are open. The network is theirs alone.
///
/// Groups have numbers, the same at all their members and never used again; each node opens them in ascending order.
/// In every group every member may broadcast: the messages of one source in one group arrive in order.
///
/// ```
/// use pombo_transport::group::{Begun, Casts, Group, NoHands};
/// use pombo_kernel::{Error, Node};
/// use pombo_netdrivers::fault::{Faults, Rate};
/// use pombo_testing::Sim;
///
/// type Table = Casts<pombo_testing::SimNetwork, Group<8, 1500>, pombo_netdrivers::HeapStorage>;
/// let (_sim, networks) = Sim::new(3, Faults::NONE.loss(Rate::percent(20)), 1);
/// let mut nodes: Vec<Table> = networks.into_iter().map(|n| Table::new(n, 0x5eed)).collect();
/// for node in &mut nodes {
///     node.open(1, [Node(0), Node(1), Node(2)])?;
/// }
/// assert_eq!(nodes[0].send(1, &&b"to all"[..])?, Begun::Kept);
/// let mut text = [0; 16];
/// for to in [1, 2] {
///     while nodes[to].receive(1, Node(0), &mut text[..])?.is_none() {
///         for node in &mut nodes {
///             if !node.poll(&mut NoHands)? {
///                 node.wait(0)?;
///             }
///         }
///     }
///     assert_eq!(&text[..6], b"to all");
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct Casts<N: Broadcast, Z: Groups = Group<8, 1500>, S: Storage = Static> {
    network: N,
    epoch: u32,
    habits: Habits,
    timing: Timing,
    entries: S::Slice<Option<Entry<Z, S>>, Z::Groups>,
    strangers: Strangers,
    /// Nothing is due before.
    alarm: u64,
    /// The device had no room for something that is due.
    blocked: bool,
    /// Of groups that are closed, and of frames that belong to none.
    counts: Counts,
}

/// Shows the users' memory while frames come and go: for each group the long message that its own source has under
/// way, for each source the buffer that [`Casts::receive`] was called with last and that waits.
pub trait Hands {
    /// What is sent.
    type Out: Bytes;
    /// Where a message is put together.
    type Into: Room + ?Sized;

    /// The long message that this node sends in that group.
    fn outgoing(&mut self, group: u32) -> Option<&Self::Out>;

    /// The buffer for the next message of that source in that group.
    fn incoming(&mut self, group: u32, source: Node) -> Option<&mut Self::Into>;
}

/// Nobody has anything in hand: small messages travel, long ones wait.
#[derive(Clone, Copy, Debug)]
pub struct NoHands;

impl Hands for NoHands {
    type Out = &'static [u8];
    type Into = [u8];

    fn outgoing(&mut self, _: u32) -> Option<&Self::Out> {
        None
    }

    fn incoming(&mut self, _: u32, _: Node) -> Option<&mut [u8]> {
        None
    }
}

impl<N: Broadcast, Z: Groups, S: Storage> Casts<N, Z, S> {
    /// Over a network. All nodes of a job have the same `epoch`, and no other job has, as for
    /// x.
    pub fn new(network: N, epoch: u32) -> Self {
        Self::with(network, epoch, Habits::default(), Timing::default())
    }

    /// With other habits and times.
    pub fn with(network: N, epoch: u32, habits: Habits, timing: Timing) -> Self {
        Casts {
            network,
            epoch,
            habits,
            timing,
            entries: S::Slice::new(),
            strangers: Strangers::default(),
            alarm: u64::MAX,
            blocked: false,
            counts: Counts::default(),
        }
    }

    /// The network below.
    pub fn network(&self) -> &N {
        &self.network
    }

    /// What has happened to frames so far, in all groups together.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts;
        let entries = self.entries.as_ref().iter().flatten();
        entries.for_each(|entry| entry.count(&mut counts));
        counts
    }

    /// Is that group open here?
    pub fn is_open(&self, group: u32) -> bool {
        let mut entries = self.entries.as_ref().iter().flatten();
        entries.any(|entry| entry.id() == group && !entry.is_closed())
    }

    /// Is there a place for one group more?
    pub fn has_room(&self) -> bool {
        let entries = self.entries.as_ref();
        entries.len() < <Z::Groups as pombo_kernel::aspect::Capacity>::N
            || entries.iter().any(Option::is_none)
    }

    /// Opens a group of those nodes, of which this one may be one. It does not know who was lost before: see
    /// [`Casts::declare_lost`].
    ///
    /// # Errors
    /// [`Error::Full`]: close others first. [`Error::TooManyNodes`]. [`Error::NoSuchGroup`]: its number is not above
    /// all that were opened here.
    pub fn open(
        &mut self,
        group: u32,
        members: impl IntoIterator<Item = Node>,
    ) -> Result<(), Error> {
        if !self.strangers.is_new(group) {
            return Err(Error::NoSuchGroup(group));
        }
        if !self.has_room() {
            return Err(Error::Full);
        }
        let name = Name {
            group,
            epoch: self.epoch,
        };
        let me = self.network.node();
        let others = members.into_iter().filter(|node| *node != me);
        let mtu = self.network.mtu();
        let mut entry = Entry::new(name, others, mtu, self.habits, self.timing)?;
        self.strangers
            .opened(group, |from, stamp| entry.greet(from, stamp));
        let entries = self.entries.as_mut();
        match entries.iter().position(Option::is_none) {
            Some(place) => entries[place] = Some(entry),
            None => self.entries.push(Some(entry)).map_err(|_| Error::Full)?,
        }
        self.alarm = 0;
        Ok(())
    }

    /// Closes a group when everything of it has been received here. What this node has sent still reaches the others,
    /// and keeps the place until then; what they ask is answered ever after.
    ///
    /// # Errors
    /// [`Error::NoSuchGroup`].
    pub fn close(&mut self, group: u32) -> Result<(), Error> {
        let (entry, _) = self.find(group)?;
        entry.close();
        self.alarm = 0;
        Ok(())
    }

    /// The next message of this node to the others in the group.
    ///
    /// # Errors
    /// [`ChannelError::Full`] as [`Error::Channel`]: poll, then try again. [`Error::NoSuchGroup`], [`Error::TooLong`]
    /// and what the network says.
    pub fn send(&mut self, group: u32, message: &impl Bytes) -> Result<Begun, Error> {
        let (entry, network) = self.find(group)?;
        let sent = entry.send(network, message);
        self.alarm = 0;
        sent
    }

    /// Is the message over that was [`Begun::Lent`]?
    ///
    /// # Errors
    /// [`Error::NoSuchGroup`].
    pub fn is_sent(&mut self, group: u32) -> Result<bool, Error> {
        self.find(group).map(|(entry, _)| !entry.is_lent())
    }

    /// The next message of that source in that group, if it is here: its length. If not, `into` is what
    /// [`Hands::incoming`] shows from now on until it is here.
    ///
    /// # Errors
    /// [`Error::Truncated`]: it was longer; of a long message nothing is in the buffer. [`Error::PeerLost`].
    /// [`Error::NoSuchGroup`], [`Error::NoSuchNode`], and what the network says.
    pub fn receive(
        &mut self,
        group: u32,
        source: Node,
        into: &mut (impl Room + ?Sized),
    ) -> Result<Option<usize>, Error> {
        let (entry, network) = self.find(group)?;
        let received = entry.receive(network, source, into);
        self.alarm = 0;
        received
    }

    fn find(&mut self, group: u32) -> Result<(&mut Entry<Z, S>, &mut N), Error> {
        let entries = self.entries.as_mut().iter_mut().flatten();
        let mut open = entries.filter(|entry| !entry.is_closed());
        let entry = open.find(|entry| entry.id() == group);
        let entry = entry.ok_or(Error::NoSuchGroup(group))?;
        Ok((entry, &mut self.network))
    }

    /// Takes what has come and sends what is due. Returns whether anything came.
    ///
    /// # Errors
    /// What the network says, except that it has no room.
    pub fn poll(&mut self, hands: &mut impl Hands) -> Result<bool, ChannelError> {
        let (now, mut heard) = (self.network.now(), false);
        let Casts {
            network,
            epoch,
            entries,
            strangers,
            alarm,
            counts,
            ..
        } = self;
        let entries = entries.as_mut();
        let me = (!network.is_checked()).then(|| network.node());
        network.poll(|frame| {
            heard = true;
            let head = match Head::read(&frame, *epoch, me) {
                Ok(head) => head,
                Err(refusal) => return counts.refuse(refusal),
            };
            let group = head.group.get();
            let mut open = entries.iter_mut().flatten();
            let concerned = match open.find(|entry| entry.id() == group) {
                Some(entry) => entry.hear(&head, &frame, hands, now),
                None => strangers.hear(&head, frame.from()),
            };
            match concerned {
                true => *alarm = 0,
                false => counts.elsewhere += 1,
            }
        })?;
        self.network.gather(true);
        let served = self.serve(hands);
        self.network.gather(false);
        served.map(|()| heard)
    }

    /// Sends what is due, in all groups even if the device fails for some.
    fn serve(&mut self, hands: &mut impl Hands) -> Result<(), ChannelError> {
        let now = self.network.now();
        if !self.blocked && self.alarm > now {
            return Ok(());
        }
        (self.alarm, self.blocked) = (u64::MAX, false);
        let mut served = self.strangers.answer(&mut self.network, self.epoch);
        self.blocked = self.strangers.is_blocked();
        for place in self.entries.as_mut() {
            let Some(entry) = place else { continue };
            served = served.and(entry.turn(&mut self.network, hands, now));
            if entry.is_over() {
                self.strangers.closed(entry.id());
                entry.count(&mut self.counts);
                *place = None;
            } else {
                self.alarm = self.alarm.min(entry.due());
                self.blocked |= entry.is_blocked();
            }
        }
        served
    }

    /// When [`Casts::poll`] has something to do by itself; a device that gets room again tells it on its own.
    pub fn deadline(&self) -> u64 {
        self.alarm
    }

    /// As [`Network::wait`](pombo_kernel::Network::wait), until something is due.
    ///
    /// # Errors
    /// As there.
    pub fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        self.network.wait(idle, self.alarm)
    }

    /// What would end that wait, for who sleeps for other things as well.
    pub fn wakes_by(&mut self) -> Option<Wake> {
        let wake = self.network.wakes_by()?;
        Some(match self.alarm {
            u64::MAX => wake,
            alarm => wake.at_most(alarm.saturating_sub(self.network.now())),
        })
    }

    /// Whoever knows it says that a node is dead. Nothing waits for it any more in the groups that are open; what is
    /// here of it can be received.
    pub fn declare_lost(&mut self, node: Node) {
        let entries = self.entries.as_mut().iter_mut().flatten();
        entries.for_each(|entry| entry.declare_lost(node));
        self.alarm = 0;
    }

    /// Does the network not carry frames for all, as far as this node's own groups show? What it sends goes to each
    /// receiver alone then.
    pub fn is_singly(&self) -> bool {
        let mut entries = self.entries.as_ref().iter().flatten();
        entries.any(Entry::is_singly)
    }

    /// Has everything that this node sent reached its receivers, as far as they are not lost? A node polls until then
    /// before it goes.
    pub fn is_settled(&self) -> bool {
        let mut entries = self.entries.as_ref().iter().flatten();
        entries.all(|entry| entry.is_settled())
    }
}
