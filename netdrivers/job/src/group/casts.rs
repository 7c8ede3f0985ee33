//! Messages to members on other hosts, of which each leaves as one frame: a cast. `service` uses it.
//!
//! The processes with which the job began share one group of the network, opened once: a view opens and closes nothing. A
//! frame names the group of the directory, the sender's view, and the members that it is for; everybody else drops it.
//! Acknowledgement and repair are those of the group of the network, which waits for no lost process.
//!
//! Every process sends its address for casts to all others, zeros if it has none. With the addresses of all it opens the
//! group and casts a first message in another one; once all have acknowledged that, they have the group open and hear this
//! process, which casts from then on. A process that does not get there sends each member its own copy, as do all after a
//! process ended before it has told its address.
//!
//! Messages to a member come in order: one of its own names how many casts its sender has sent before, and waits for
//! those; and no cast leaves before such messages have arrived. Where those casts do not come any more, as their sender has
//! ended, the message is dropped as they are.

use super::directory::Directory;
use super::frame::{AgreementHeader, GroupHeader};
use super::message::{Reader, Writer};
use super::ports::ScopedPorts;
use super::processes::Processes;
use super::{CASTS, Delivery};
use crate::job_channel::groups::{
    HEADER_LEN, JobGroups, MulticastAddress, MulticastKind, MulticastSocket, RANKS,
};
use crate::settings::GROUP_CASTS;
use alloc::boxed::Box;
use alloc::vec::Vec;
use pombo_kernel::channel::{ChannelError, GroupId};
use pombo_kernel::{Error, Peer};
use pombo_netdrivers::tuning::CAST_BACK_OFF;

/// The group of the network in which processes find out whether they reach all others.
const TRIAL: GroupId = GroupId(0);

/// The casts of this process, and what it has received.
pub(super) struct CastService {
    me: Peer,
    /// The other processes with which the job began, and those of them on other hosts.
    others: Processes,
    remote: Processes,
    stage: Stage,
    /// The addresses of all processes, as far as known; zeros of this one if it does not take part.
    addresses: Vec<MulticastAddress>,
    known: Processes,
    /// Who has been told the address of this process.
    told: Processes,
    sent: u64,
    /// A process on another host has got messages of its own since the last cast.
    has_unicasts: bool,
    /// Until then messages do not wait for what holds casts up.
    back_off: u64,
    /// The sender of the cast that was found last: others come first.
    last: Peer,
    frame: Vec<u8>,
}

enum Stage {
    New,
    /// Not all addresses are known.
    Exchange(Box<MulticastSocket>),
    /// The others have not acknowledged the first message yet.
    Trial,
    /// All others hear this process, so it casts what it can.
    Ready,
    /// This process receives casts.
    Receiving,
    /// This process does not take part.
    Off,
}

impl CastService {
    pub(super) fn new(me: Peer, first: usize) -> Self {
        CastService {
            me,
            others: Processes::first(first).without([me].into_iter().collect()),
            remote: Processes::NONE,
            stage: Stage::New,
            addresses: alloc::vec![MulticastAddress::default(); first],
            known: Processes::NONE,
            told: Processes::NONE,
            sent: 0,
            has_unicasts: false,
            back_off: 0,
            last: me,
            frame: Vec::new(),
        }
    }

    /// Returns whether this process casts.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Ready)
    }

    /// Returns whether this process may have received casts.
    fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Trial | Stage::Ready | Stage::Receiving)
    }

    /// Makes the next step until this process casts. To be called now and then.
    ///
    /// # Errors
    /// That of a device by which casts do not come any more.
    pub(super) fn advance(&mut self, ports: &mut (dyn ScopedPorts<'_> + '_)) -> Result<(), Error> {
        if matches!(self.stage, Stage::New) {
            self.open(ports);
        }
        self.check_device(ports)?;
        let mut address = MulticastAddress::default();
        let header = AgreementHeader::address();
        while let Some((from, len)) = ports.next_of_agreement(header, &mut address)? {
            if self.others.contains(from) && len == address.len() {
                self.on_address(ports, from, address);
            }
        }
        for peer in self.others.without(self.told).iter() {
            let own = &self.addresses[self.me.index()];
            if ports.try_inject(peer, header, own) || ports.lost(peer).is_some() {
                self.told.insert(peer);
            }
        }
        match self.stage {
            Stage::Exchange(_) => {
                let mut missing = self.others.without(self.known).iter();
                if self.known == self.others {
                    self.join(ports);
                } else if missing.any(|peer| ports.lost(peer).is_some()) {
                    self.withdraw();
                }
            }
            Stage::Trial => {
                if let Some(groups) = groups_of(ports)
                    && groups.has_reached_all(TRIAL) == Ok(true)
                {
                    // Where each gets its own copy, those of the kernel are cheaper.
                    self.stage = match groups.is_unicast_only() {
                        false => Stage::Ready,
                        true => Stage::Receiving,
                    };
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, ports: &mut (dyn ScopedPorts<'_> + '_)) {
        self.stage = Stage::Off;
        // A process that joined later is known as one that does not take part, and where all share one host, nobody does.
        let is_first = self.me.index() < self.addresses.len();
        let Some(channel) = ports.cast_channel().filter(|_| is_first) else {
            self.told = self.others;
            return;
        };
        let remote = self.others.iter().filter(|peer| !channel.is_local(*peer));
        self.remote = remote.collect();
        if self.addresses.len() <= RANKS
            && GROUP_CASTS.is_on()
            && let Some(socket) = channel.open_socket()
        {
            self.addresses[self.me.index()] = socket.address();
            self.stage = Stage::Exchange(Box::new(socket));
        }
    }

    fn on_address(
        &mut self,
        ports: &mut (dyn ScopedPorts<'_> + '_),
        from: Peer,
        address: MulticastAddress,
    ) {
        self.addresses[from.index()] = address;
        self.known.insert(from);
        if address != MulticastAddress::default() {
            return;
        }
        match self.stage {
            Stage::Exchange(_) => return self.withdraw(),
            // Others may have heard of this process that it has the group open.
            Stage::Trial => self.stage = Stage::Receiving,
            _ => {}
        }
        // It never has the groups open: nobody waits for its answers.
        if self.is_open()
            && let Some(groups) = groups_of(ports)
        {
            groups.declare_lost(from);
        }
    }

    /// Tells all others that this process does not take part.
    fn withdraw(&mut self) {
        self.stage = Stage::Off;
        self.addresses[self.me.index()] = MulticastAddress::default();
        self.told = Processes::NONE;
    }

    fn join(&mut self, ports: &mut (dyn ScopedPorts<'_> + '_)) {
        if self.try_join(ports).is_none() {
            self.withdraw();
        }
    }

    fn try_join(&mut self, ports: &mut (dyn ScopedPorts<'_> + '_)) -> Option<()> {
        let Stage::Exchange(socket) = core::mem::replace(&mut self.stage, Stage::Off) else {
            return None;
        };
        let mut groups = socket.join(self.me, &self.addresses, MulticastKind::Group)?;
        for group in [TRIAL, CASTS] {
            groups.open(group, self.remote.iter()).ok()?;
        }
        for peer in self
            .remote
            .iter()
            .filter(|peer| ports.lost(*peer).is_some())
        {
            groups.declare_lost(peer);
        }
        groups.send(TRIAL, &&b"?"[..]).ok()?;
        ports.cast_channel()?.set_groups(groups);
        self.stage = Stage::Trial;
        Some(())
    }

    /// Fails if the device of casts has: those that are under way do not arrive, and later messages would wait for them.
    fn check_device(&self, ports: &mut (dyn ScopedPorts<'_> + '_)) -> Result<(), Error> {
        let channel = ports.cast_channel().filter(|_| self.is_open());
        match channel.and_then(|channel| channel.failure_of_groups()) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Returns those of these processes that get a message of so many bytes by a cast: none if it would save no frame.
    pub(super) fn reach(
        &self,
        ports: &mut (dyn ScopedPorts<'_> + '_),
        to: Processes,
        len: usize,
    ) -> Result<Processes, Error> {
        self.check_device(ports)?;
        if !self.is_ready() {
            return Ok(Processes::NONE);
        }
        let Some(groups) = groups_of(ports) else {
            return Ok(Processes::NONE);
        };
        let fits = groups
            .small(CASTS)
            .is_ok_and(|most| HEADER_LEN + len <= most);
        let remote = to.and(self.remote);
        let remote: Processes = remote
            .iter()
            .filter(|peer| ports.lost(*peer).is_none())
            .collect();
        Ok(match fits && remote.len() > 1 {
            true => remote,
            false => Processes::NONE,
        })
    }

    /// Sends a message as a cast to these processes if it can leave now.
    pub(super) fn try_send(
        &mut self,
        ports: &mut (dyn ScopedPorts<'_> + '_),
        to: Processes,
        header: &GroupHeader,
        bytes: &[u8],
    ) -> Result<bool, Error> {
        let Some(channel) = ports.cast_channel() else {
            return Ok(false);
        };
        if self.has_unicasts && channel.has_unicasts_under_way() {
            return Ok(false);
        }
        let Some(groups) = channel.groups() else {
            return Ok(false);
        };
        if groups.is_unicast_only() {
            self.stage = Stage::Receiving;
            return Ok(false);
        }
        // Nothing may wait here for who is behind: later messages of their own would wait for it.
        if !groups.has_credit(CASTS)? {
            return Ok(false);
        }
        let mut frame = Writer(core::mem::take(&mut self.frame));
        frame.0.clear();
        frame
            .put(&header.group.get().to_le_bytes())
            .put(&header.view.get().to_le_bytes())
            .put(&to.0[0].to_le_bytes())
            .put(bytes);
        let sent = groups.send(CASTS, &&frame.0[..]);
        self.frame = frame.0;
        if let Err(Error::Channel(ChannelError::Full)) = sent {
            return Ok(false);
        }
        self.sent += 1;
        self.has_unicasts = false;
        sent.map(|_| true)
    }

    /// Returns whether a message may wait until it can be cast.
    pub(super) fn may_wait(&self, now: u64) -> bool {
        self.is_ready() && now >= self.back_off
    }

    /// Records that a message has waited in vain.
    pub(super) fn back_off(&mut self, now: u64) {
        self.back_off = now + CAST_BACK_OFF;
    }

    /// Records that these processes get messages of their own; returns how many casts those follow.
    pub(super) fn before_unicasts(&mut self, to: Processes) -> u64 {
        self.has_unicasts |= !to.and(self.remote).is_empty();
        self.sent
    }

    /// Returns the sender and the number of a cast to that group that is to be handed out next.
    pub(super) fn find(
        &mut self,
        ports: &mut (dyn ScopedPorts<'_> + '_),
        directory: &Directory,
        group: u32,
    ) -> Result<Option<(Peer, u64)>, Error> {
        if !self.is_open() {
            return Ok(None);
        }
        let is_later = |peer: &Peer| *peer > self.last;
        let senders = self.remote.iter().filter(is_later);
        for from in senders.chain(self.remote.iter().filter(|peer| !is_later(peer))) {
            let first = self.first_of(ports, directory, group, from);
            let Some((number, Delivery::Deliver)) = first else {
                continue;
            };
            let message = match ports.probe(GroupHeader::of_group(group).from_peer(from)) {
                Err(Error::PeerLost(_)) => None,
                message => message?,
            };
            if message.is_none_or(|(header, _)| header.number.get() > number) {
                self.last = from;
                return Ok(Some((from, number)));
            }
        }
        Ok(None)
    }

    /// Returns what to do with a message to a member that its view permits to hand out: it waits for the casts that its
    /// sender has sent before.
    pub(super) fn delivery(
        &self,
        ports: &mut (dyn ScopedPorts<'_> + '_),
        directory: &Directory,
        header: &GroupHeader,
        from: Peer,
    ) -> Delivery {
        if !self.is_open() || !self.remote.contains(from) {
            return Delivery::Deliver;
        }
        let Some(groups) = groups_of(ports) else {
            return Delivery::Deliver;
        };
        let before = header.number.get();
        let arrived = groups.arrived(CASTS, from);
        let lacks_casts = arrived.is_ok_and(|arrived| arrived < before);
        if lacks_casts && ports.lost(from).is_none() {
            return Delivery::Later;
        }
        let first = self.first_of(ports, directory, header.group.get(), from);
        match first {
            Some((number, _)) if number < before => Delivery::Later,
            // What a lost sender's casts lack does not come any more.
            _ if lacks_casts => Delivery::Drop,
            _ => Delivery::Deliver,
        }
    }

    /// Takes a cast that was found; returns its length in bytes.
    pub(super) fn take(
        &mut self,
        ports: &mut (dyn ScopedPorts<'_> + '_),
        (from, number): (Peer, u64),
        into: &mut [u8],
    ) -> Result<usize, Error> {
        let (room, mut sent) = (into.len(), 0);
        if let Some(groups) = groups_of(ports) {
            groups.retain(CASTS, from, |its, bytes| {
                if its == number {
                    let bytes = &bytes[HEADER_LEN..];
                    sent = bytes.len();
                    let len = sent.min(room);
                    into[..len].copy_from_slice(&bytes[..len]);
                }
                its != number
            })?;
        }
        match sent <= room {
            true => Ok(sent),
            false => Err(Error::Truncated { sent, room }),
        }
    }

    /// Drops what is not for this process, or to groups of which it is no member: nobody would take it, and its sender
    /// waits.
    pub(super) fn drop_former(
        &self,
        ports: &mut (dyn ScopedPorts<'_> + '_),
        directory: &Directory,
    ) {
        for from in self.remote.iter().filter(|_| self.is_open()) {
            self.first_of(ports, directory, 0, from);
        }
    }

    /// Returns the number of the first cast of that sender to that group, and what to do with it; drops those that are
    /// not to be handed out.
    fn first_of(
        &self,
        ports: &mut (dyn ScopedPorts<'_> + '_),
        directory: &Directory,
        group: u32,
        from: Peer,
    ) -> Option<(u64, Delivery)> {
        let mut first = None;
        let groups = groups_of(ports)?;
        let shown = groups.retain(CASTS, from, |number, bytes| {
            let mut bytes = Reader(bytes);
            let (Some(its), Some(view), Some(to)) = (bytes.u32(), bytes.u64(), bytes.u64()) else {
                return false;
            };
            if to >> self.me.index() & 1 == 0 {
                return false;
            }
            let delivery = directory.delivery(self.me, its, view);
            if its == group && delivery != Delivery::Drop {
                first.get_or_insert((number, delivery));
            }
            delivery != Delivery::Drop
        });
        shown.ok().and(first)
    }
}

fn groups_of<'a>(ports: &'a mut (dyn ScopedPorts<'_> + '_)) -> Option<&'a mut JobGroups> {
    ports.cast_channel()?.groups()
}
