//! Groups as a program uses them: the agreement and messages to members, over one port of the kernel.

use super::agreement::Agreement;
use super::directory::{Delivery, FrozenGroup, Group, Member, Outcome};
use super::entry::{Name, Operation};
use super::frame::GroupHeader;
use super::message::Message;
use super::verdicts::Verdicts;
use super::{GroupError, MESSAGE_LEN, RESEND};
use crate::settings::SPARE;
use alloc::vec::Vec;
use core::time::Duration;
use pombo_kernel::facade::{Inspect, PointToPointExt};
use pombo_kernel::{Channel, Error, Exact, Peer, PointToPoint, SCOPE_LOANS, Select, Ticket};
use pombo_netdrivers::wait::now;

/// A port of the kernel with the header of groups: a communicator of its own, or one port of an endpoint.
pub trait GroupPort: PointToPoint<Header = GroupHeader, Channel: Verdicts> {}

impl<P: PointToPoint<Header = GroupHeader, Channel: Verdicts>> GroupPort for P {}

/// The groups of the job, as this process sees them. Every call makes progress; a process that computes for long lets
/// the others wait.
pub struct Groups {
    agreement: Agreement,
    /// When to look for lost processes next.
    look_at: u64,
}

/// A message that has been received from a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// The sender, which need not be a member.
    pub from: Peer,
    /// The length of the message in bytes.
    pub len: usize,
}

/// Interval in ns between looks for lost processes.
const LOOK: u64 = 200_000;

impl Groups {
    /// Creates the groups of this process; all processes of the job do so.
    ///
    /// # Errors
    /// [`GroupError::TooManyProcesses`], [`GroupError::SparePlaces`].
    pub fn new(port: &mut impl GroupPort) -> Result<Self, GroupError> {
        if SPARE.is_on() {
            return Err(GroupError::SparePlaces);
        }
        let channel = port.channel_below();
        Ok(Groups {
            agreement: Agreement::new(channel.me(), channel.peers())?,
            look_at: 0,
        })
    }

    /// Joins a group, which this creates if there is none of the name.
    ///
    /// # Errors
    /// [`GroupError::BadName`], [`GroupError::AlreadyMember`], [`GroupError::Static`], [`GroupError::TooManyGroups`], and
    /// those of every operation: [`GroupError::Minority`], [`GroupError::TimedOut`], [`GroupError::Kernel`].
    pub fn join(
        &mut self,
        port: &mut impl GroupPort,
        name: &str,
        timeout: Duration,
    ) -> Result<Member, GroupError> {
        match self.operate(port, Operation::Join(Name::new(name)?), timeout)? {
            Outcome::Joined(member) => Ok(member),
            _ => Err(GroupError::NotAMember),
        }
    }

    /// Leaves a group; the last member destroys it.
    ///
    /// # Errors
    /// [`GroupError::BadName`], [`GroupError::UnknownGroup`], [`GroupError::NotAMember`], and those of every operation.
    pub fn leave(
        &mut self,
        port: &mut impl GroupPort,
        name: &str,
        timeout: Duration,
    ) -> Result<(), GroupError> {
        let operation = Operation::Leave(Name::new(name)?);
        self.operate(port, operation, timeout).map(drop)
    }

    /// Waits until `count` members wait; 0: until all members do.
    ///
    /// # Errors
    /// [`GroupError::BadName`], [`GroupError::UnknownGroup`], [`GroupError::NotAMember`], [`GroupError::CountMismatch`],
    /// [`GroupError::CountTooLarge`], [`GroupError::MemberLeft`] in a static group, and those of every operation.
    pub fn barrier(
        &mut self,
        port: &mut impl GroupPort,
        name: &str,
        count: u16,
        timeout: Duration,
    ) -> Result<(), GroupError> {
        let operation = Operation::Barrier(Name::new(name)?, count);
        self.operate(port, operation, timeout).map(drop)
    }

    /// Makes a group static when `count` members have called this; 0: all members. Returns a dense copy of these.
    ///
    /// # Errors
    /// As [`Groups::barrier`]; [`GroupError::Static`].
    pub fn freeze(
        &mut self,
        port: &mut impl GroupPort,
        name: &str,
        count: u16,
        timeout: Duration,
    ) -> Result<FrozenGroup, GroupError> {
        match self.operate(port, Operation::Freeze(Name::new(name)?, count), timeout)? {
            Outcome::Frozen(frozen) => Ok(frozen),
            _ => Err(GroupError::NotAMember),
        }
    }

    /// Brings this process' copy of the directory up to date: what any process completed before this call is in it
    /// when it returns. The questions below ask this copy.
    ///
    /// # Errors
    /// Those of every operation.
    pub fn synchronize(
        &mut self,
        port: &mut impl GroupPort,
        timeout: Duration,
    ) -> Result<(), GroupError> {
        self.operate(port, Operation::Fence, timeout).map(drop)
    }

    /// Returns the number of the present view: all processes in it have the same groups.
    pub fn view(&self) -> u64 {
        self.agreement.directory().view()
    }

    /// Returns the processes of the present view.
    pub fn processes(&self) -> Vec<Peer> {
        self.agreement.directory().processes().iter().collect()
    }

    /// Returns whether there is a group of that name.
    ///
    /// # Errors
    /// [`GroupError::BadName`].
    pub fn exists(&self, name: &str) -> Result<bool, GroupError> {
        Ok(self.agreement.directory().group(Name::new(name)?).is_some())
    }

    /// Returns the number of members of a group.
    ///
    /// # Errors
    /// [`GroupError::BadName`], [`GroupError::UnknownGroup`].
    pub fn size(&self, name: &str) -> Result<usize, GroupError> {
        self.group(name).map(Group::size)
    }

    /// Returns the members of a group by ascending number; numbers may have holes.
    ///
    /// # Errors
    /// [`GroupError::BadName`], [`GroupError::UnknownGroup`].
    pub fn members(&self, name: &str) -> Result<Vec<Member>, GroupError> {
        Ok(self.group(name)?.members().collect())
    }

    /// Returns the member with that number.
    ///
    /// # Errors
    /// [`GroupError::BadName`], [`GroupError::UnknownGroup`], [`GroupError::NoSuchMember`].
    pub fn member(&self, name: &str, number: u16) -> Result<Member, GroupError> {
        let mut members = self.group(name)?.members();
        let found = members.find(|member| member.number == number);
        found.ok_or(GroupError::NoSuchMember)
    }

    /// Returns the member that a process is.
    ///
    /// # Errors
    /// [`GroupError::BadName`], [`GroupError::UnknownGroup`], [`GroupError::NoSuchMember`].
    pub fn member_of(&self, name: &str, peer: Peer) -> Result<Member, GroupError> {
        let found = self.group(name)?.member_of(peer);
        found.ok_or(GroupError::NoSuchMember)
    }

    /// Returns the member that this process is.
    ///
    /// # Errors
    /// [`GroupError::BadName`], [`GroupError::UnknownGroup`], [`GroupError::NotAMember`].
    pub fn own(&self, name: &str) -> Result<Member, GroupError> {
        let found = self.group(name)?.member_of(self.agreement.me());
        found.ok_or(GroupError::NotAMember)
    }

    /// Sends to all members of a group except this process, which need not be a member. Returns to how many it has
    /// sent; those that have ended meanwhile do not count. Members receive messages of one sender in order.
    ///
    /// # Errors
    /// [`GroupError::BadName`], [`GroupError::UnknownGroup`], [`GroupError::Minority`], [`GroupError::Kernel`];
    /// [`GroupError::TimedOut`] if some members have not taken it, while others may have.
    pub fn broadcast(
        &mut self,
        port: &mut impl GroupPort,
        name: &str,
        bytes: &[u8],
        timeout: Duration,
    ) -> Result<usize, GroupError> {
        let to = self.members(name)?;
        self.multicast(port, name, &to, bytes, timeout)
    }

    /// Sends as [`Groups::broadcast`], to those of these members that are not this process.
    ///
    /// # Errors
    /// As [`Groups::broadcast`]; [`GroupError::NoSuchMember`] before anything is sent.
    pub fn multicast(
        &mut self,
        port: &mut impl GroupPort,
        name: &str,
        to: &[Member],
        bytes: &[u8],
        timeout: Duration,
    ) -> Result<usize, GroupError> {
        if self.agreement.is_minority() {
            return Err(GroupError::Minority);
        }
        let group = self.group(name)?;
        let header = GroupHeader::message(group.id(), self.view());
        if to
            .iter()
            .any(|member| group.member_of(member.peer) != Some(*member))
        {
            return Err(GroupError::NoSuchMember);
        }
        let me = self.agreement.me();
        let peers: Vec<Peer> = to
            .iter()
            .map(|member| member.peer)
            .filter(|peer| *peer != me)
            .collect();
        let deadline = deadline(timeout);
        let mut sent = 0;
        for peers in peers.chunks(SCOPE_LOANS) {
            sent += port.scope(|scope| self.send_all(scope, peers, header, bytes, deadline))?;
        }
        Ok(sent)
    }

    /// Sends to a few peers at once.
    fn send_all<'buf, P>(
        &mut self,
        scope: &mut P,
        peers: &[Peer],
        header: GroupHeader,
        bytes: &'buf [u8],
        deadline: u64,
    ) -> Result<usize, GroupError>
    where
        P: GroupPort + PointToPoint<Memory = pombo_kernel::Lent<'buf>>,
    {
        let (mut sent, mut waiting, mut idle) = (0, Vec::<Ticket>::new(), 0);
        let mut left: Vec<Peer> = peers.to_vec();
        loop {
            let mut failed = None;
            left.retain(|&peer| match scope.isend(peer, header, bytes) {
                Ok(ticket) => {
                    waiting.push(ticket);
                    false
                }
                Err(refused) => match refused.error {
                    Error::PeerLost(_) => false,
                    Error::Full | Error::NoCredit(_) => true,
                    error => {
                        failed = Some(error);
                        false
                    }
                },
            });
            if let Some(error) = failed {
                return Err(error.into());
            }
            let mut open = Vec::new();
            for ticket in waiting {
                match scope.claim(ticket)?.map(|completed| completed.outcome) {
                    None => open.push(ticket),
                    Some(Ok(_)) => sent += 1,
                    Some(Err(Error::PeerLost(_))) => {}
                    Some(Err(error)) => return Err(error.into()),
                }
            }
            waiting = open;
            if waiting.is_empty() && left.is_empty() {
                return Ok(sent);
            }
            self.progress(scope)?;
            pause(scope, &mut idle, deadline)?;
        }
    }

    /// Receives the next message to a group of which this process is a member. A message to a former member is dropped,
    /// and one of a view that has not come here waits for it.
    ///
    /// # Errors
    /// [`GroupError::BadName`], [`GroupError::UnknownGroup`], [`GroupError::NotAMember`], [`GroupError::TimedOut`] (a
    /// message that was arriving is dropped), [`GroupError::Minority`], and [`GroupError::Kernel`], for instance with
    /// [`Error::Truncated`].
    pub fn recv(
        &mut self,
        port: &mut impl GroupPort,
        name: &str,
        bytes: &mut [u8],
        timeout: Duration,
    ) -> Result<Received, GroupError> {
        let (name, deadline, mut idle) = (Name::new(name)?, deadline(timeout), 0);
        loop {
            self.progress(port)?;
            if self.agreement.is_minority() {
                return Err(GroupError::Minority);
            }
            let group = self
                .agreement
                .directory()
                .group(name)
                .ok_or(GroupError::UnknownGroup)?;
            let id = group.id();
            group
                .member_of(self.agreement.me())
                .ok_or(GroupError::NotAMember)?;
            if let Some(envelope) = port.probe(GroupHeader::of_group(id))? {
                let (header, from) = (envelope.header(), envelope.peer());
                let pattern = Select::from(Exact(header)).from_peer(from);
                let me = self.agreement.me();
                match self
                    .agreement
                    .directory()
                    .delivery(me, id, header.view.get())
                {
                    Delivery::Later => {}
                    Delivery::Drop => drop_message(port, pattern)?,
                    Delivery::Deliver => {
                        let received = port.scope(|scope| {
                            let ticket = scope
                                .irecv(pattern, &mut *bytes)
                                .map_err(|refused| refused.error)?;
                            loop {
                                if let Some(completed) = scope.claim(ticket)? {
                                    return completed.outcome.map_err(GroupError::from);
                                }
                                self.progress(scope)?;
                                pause(scope, &mut idle, deadline)?;
                            }
                        });
                        match received {
                            // Its sender ended before the message was whole.
                            Err(GroupError::Kernel(Error::PeerLost(_) | Error::Revoked)) => {
                                continue;
                            }
                            received => {
                                let len = received?;
                                return Ok(Received { from, len });
                            }
                        }
                    }
                }
            }
            pause(port, &mut idle, deadline)?;
        }
    }

    /// Makes progress for some time: for processes that have nothing else to do.
    ///
    /// # Errors
    /// [`GroupError::Minority`], [`GroupError::Kernel`].
    pub fn serve(&mut self, port: &mut impl GroupPort, time: Duration) -> Result<(), GroupError> {
        let (deadline, mut idle) = (deadline(time), 0);
        loop {
            self.progress(port)?;
            if self.agreement.is_minority() {
                return Err(GroupError::Minority);
            }
            match pause(port, &mut idle, deadline) {
                Err(GroupError::TimedOut) => return Ok(()),
                paused => paused?,
            }
        }
    }

    /// Takes the messages of the agreement that have arrived, and answers them. Does not wait.
    ///
    /// # Errors
    /// [`GroupError::Kernel`] when the channel is broken.
    pub fn progress(&mut self, port: &mut impl GroupPort) -> Result<(), GroupError> {
        port.check_messages()?;
        let now = now();
        while let Some(envelope) = port.probe(GroupHeader::of_agreement())? {
            let (mut bytes, from) = ([0; MESSAGE_LEN], envelope.peer());
            let pattern = GroupHeader::of_agreement().from_peer(from);
            // It has arrived as a whole: such messages are never announced.
            match port.recv_timeout(pattern, &mut bytes, RESEND) {
                Ok(envelope) => {
                    if let Some(message) = Message::from_bytes(&bytes[..envelope.len()]) {
                        let agreement = &mut self.agreement;
                        agreement.on_message(now, from, message, &mut |to, message| {
                            inject(port, to, &message)
                        });
                    }
                }
                Err(Error::Channel(error)) => return Err(Error::Channel(error).into()),
                Err(_) => {}
            }
        }
        if now >= self.look_at {
            self.look_at = now + LOOK;
            let others = self.agreement.reach().iter();
            let others: Vec<Peer> = others.filter(|peer| *peer != self.agreement.me()).collect();
            for peer in others {
                let pattern = GroupHeader::of_agreement().from_peer(peer);
                if let Err(Error::PeerLost(_)) = port.probe(pattern) {
                    let verdict = port.channel_below().verdict(peer);
                    let agreement = &mut self.agreement;
                    agreement.on_lost(now, peer, verdict, &mut |to, message| {
                        inject(port, to, &message)
                    });
                }
            }
            let agreement = &mut self.agreement;
            agreement.on_time(now, &mut |to, message| inject(port, to, &message));
            self.drop_former(port)?;
        }
        Ok(())
    }

    /// Drops messages to groups of which this process is no member, as nobody would receive them.
    fn drop_former(&mut self, port: &mut impl GroupPort) -> Result<(), GroupError> {
        let (directory, me) = (self.agreement.directory(), self.agreement.me());
        let mut former = Vec::new();
        port.for_each_unexpected(|envelope| {
            let header = envelope.header();
            let delivery = directory.delivery(me, header.group.get(), header.view.get());
            if header.is_message() && delivery == Delivery::Drop {
                former.push(Select::from(Exact(header)).from_peer(envelope.peer()));
            }
        });
        former
            .into_iter()
            .try_for_each(|pattern| drop_message(port, pattern))
    }

    fn group(&self, name: &str) -> Result<&Group, GroupError> {
        let group = self.agreement.directory().group(Name::new(name)?);
        group.ok_or(GroupError::UnknownGroup)
    }

    fn operate(
        &mut self,
        port: &mut impl GroupPort,
        operation: Operation,
        timeout: Duration,
    ) -> Result<Outcome, GroupError> {
        let (deadline, mut idle) = (deadline(timeout), 0);
        self.progress(port)?;
        let agreement = &mut self.agreement;
        agreement.begin(now(), operation, &mut |to, message| {
            inject(port, to, &message)
        });
        loop {
            if let Some(outcome) = self.agreement.outcome() {
                return outcome;
            }
            if let Err(error) = pause(port, &mut idle, deadline) {
                let agreement = &mut self.agreement;
                agreement.give_up(now(), &mut |to, message| inject(port, to, &message));
                return Err(error);
            }
            self.progress(port)?;
        }
    }
}

/// Returns the time at which so much has passed.
fn deadline(timeout: Duration) -> u64 {
    let timeout = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    now().saturating_add(timeout)
}

/// Lets the channel wait for a moment.
fn pause(port: &mut impl GroupPort, idle: &mut u32, deadline: u64) -> Result<(), GroupError> {
    let left = deadline.saturating_sub(now());
    if left == 0 {
        return Err(GroupError::TimedOut);
    }
    Ok(port.progress_or_wait_timeout(idle, left.min(RESEND / 4))?)
}

/// Sends a message of the agreement now or not at all: it is sent again in time.
fn inject(port: &mut impl GroupPort, to: Peer, message: &Message) {
    // A lost peer is found by its verdict, a broken channel by the next poll.
    let _ = port.try_inject(to, GroupHeader::agreement(), &&*message.to_bytes());
}

/// Drops the first message that matches; its sender goes on.
fn drop_message(port: &mut impl GroupPort, pattern: Select<GroupHeader>) -> Result<(), GroupError> {
    port.scope(|scope| {
        // At the end of the scope the kernel drops what is still arriving.
        let ticket = scope
            .irecv(pattern, &mut [])
            .map_err(|refused| refused.error)?;
        scope.check_messages()?;
        scope.claim(ticket)?;
        Ok(())
    })
}
