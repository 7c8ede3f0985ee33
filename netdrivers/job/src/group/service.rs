//! Groups as a program uses them: the agreement and messages to members, over two ports of the kernel.

use super::agreement::Agreement;
#[cfg(feature = "hosts")]
use super::casts::CastService;
use super::directory::{Delivery, FrozenGroup, Group, Member, Outcome};
use super::entry::{Name, Operation};
use super::frame::{AgreementHeader, GroupHeader};
use super::message::Message;
#[cfg(not(feature = "hosts"))]
use super::no_casts::CastService;
use super::ports::{GroupPorts, ScopedPorts};
use super::processes::Processes;
use super::verdicts::Verdicts;
use super::{GroupError, MESSAGE_LEN, RESEND};
use crate::settings::spare_places;
use alloc::vec::Vec;
use core::time::Duration;
use pombo_kernel::{Channel, Error, Exact, Peer, SCOPE_LOANS, Select, Ticket};
use pombo_netdrivers::tuning::CAST_PATIENCE;
use pombo_netdrivers::wait::now;

/// The groups of the job, as this process sees them. Every call makes progress; a process that computes for long lets
/// the others wait.
pub struct Groups {
    agreement: Agreement,
    casts: CastService,
    /// Whether casts are looked at before other messages: by turns, so neither waits for long.
    casts_first: bool,
    /// When to look for lost processes next.
    look_at: u64,
}

/// A message that is to be handed out.
enum Found {
    /// In the kernel: the pattern that it alone is the first to match.
    Message(Select<GroupHeader>),
    /// A cast of that number.
    Cast(u64),
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
    /// Creates the groups of this process; all processes of the job do so. One that joined the running job has a copy
    /// of the directory when an operation has completed, as [`Groups::synchronize`].
    ///
    /// # Errors
    /// [`GroupError::TooManyProcesses`].
    pub fn new(port: &impl GroupPorts) -> Result<Self, GroupError> {
        let places = port.channel_of_groups().peers();
        Groups::with_first(port, places.saturating_sub(spare_places()))
    }

    /// Creates the groups as [`Groups::new`] does, in a job that began with its first so many processes: a channel that no
    /// launcher has made.
    ///
    /// # Errors
    /// [`GroupError::TooManyProcesses`].
    pub fn with_first(port: &impl GroupPorts, first: usize) -> Result<Self, GroupError> {
        let channel = port.channel_of_groups();
        let places = channel.peers();
        let mut agreement = Agreement::new(channel.me(), first, places)?;
        if places > first && channel.can_be_partitioned() {
            agreement.require_majorities();
        }
        Ok(Groups {
            agreement,
            casts: CastService::new(channel.me(), first),
            casts_first: false,
            look_at: 0,
        })
    }

    /// Joins a group, which this creates if there is none of the name.
    ///
    /// # Errors
    /// [`GroupError::BadName`], [`GroupError::AlreadyMember`], [`GroupError::Static`], [`GroupError::TooManyGroups`], and
    /// those of every operation: [`GroupError::Minority`], [`GroupError::TimedOut`], [`GroupError::NotAdmitted`],
    /// [`GroupError::Kernel`].
    pub fn join(
        &mut self,
        port: &mut impl GroupPorts,
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
        port: &mut impl GroupPorts,
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
        port: &mut impl GroupPorts,
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
        port: &mut impl GroupPorts,
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
        port: &mut impl GroupPorts,
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

    /// Returns whether a short message of this process to members on other hosts is one frame, whatever their number. At
    /// the beginning it is not, until all processes of the job have called their groups; see [`group`](super).
    pub fn is_casting(&self) -> bool {
        self.casts.is_ready()
    }

    /// Sends to all members of a group except this process, which need not be a member. Returns to how many it has
    /// sent; those that have ended meanwhile do not count. Members receive messages of one sender in order.
    ///
    /// # Errors
    /// [`GroupError::BadName`], [`GroupError::UnknownGroup`], [`GroupError::Minority`], [`GroupError::Kernel`];
    /// [`GroupError::TimedOut`] if some members have not taken it, while others may have.
    pub fn broadcast(
        &mut self,
        port: &mut impl GroupPorts,
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
        port: &mut impl GroupPorts,
        name: &str,
        to: &[Member],
        bytes: &[u8],
        timeout: Duration,
    ) -> Result<usize, GroupError> {
        if self.agreement.is_minority() {
            return Err(GroupError::Minority);
        }
        let (group, view) = (self.group(name)?, self.view());
        let id = group.id();
        if to
            .iter()
            .any(|member| group.member_of(member.peer) != Some(*member))
        {
            return Err(GroupError::NoSuchMember);
        }
        let me = [self.agreement.me()].into_iter().collect();
        let to: Processes = to.iter().map(|member| member.peer).collect();
        let (to, deadline) = (to.without(me), deadline(timeout));
        let header = GroupHeader::message(id, view, 0);
        let reached = port.scope(|ports| self.cast(ports, to, header, bytes, deadline))?;
        let to = to.without(reached);
        let header = GroupHeader::message(id, view, self.casts.before_unicasts(to));
        let (peers, mut sent): (Vec<Peer>, _) = (to.iter().collect(), reached.len());
        for peers in peers.chunks(SCOPE_LOANS) {
            sent += port.scope(|ports| self.send_all(ports, peers, header, bytes, deadline))?;
        }
        Ok(sent)
    }

    /// Sends to those of these processes that one frame reaches; returns which these are. Waits for a moment if a cast
    /// cannot leave: for long only processes are behind that do not take theirs, of which others need not wait.
    fn cast(
        &mut self,
        ports: &mut (dyn ScopedPorts<'_> + '_),
        to: Processes,
        header: GroupHeader,
        bytes: &[u8],
        deadline: u64,
    ) -> Result<Processes, GroupError> {
        let (to, mut idle) = (self.casts.reach(ports, to, bytes.len())?, 0);
        let patience = now().saturating_add(CAST_PATIENCE).min(deadline);
        while !to.is_empty() {
            if self.casts.try_send(ports, to, &header, bytes)? {
                return Ok(to);
            }
            if !self.casts.may_wait(now()) {
                break;
            }
            self.advance(ports)?;
            match pause(ports, &mut idle, patience) {
                Err(GroupError::TimedOut) => self.casts.back_off(now()),
                paused => paused?,
            }
        }
        Ok(Processes::NONE)
    }

    /// Sends to a few peers at once.
    fn send_all<'buf>(
        &mut self,
        ports: &mut (dyn ScopedPorts<'buf> + '_),
        peers: &[Peer],
        header: GroupHeader,
        bytes: &'buf [u8],
        deadline: u64,
    ) -> Result<usize, GroupError> {
        let (mut sent, mut waiting, mut idle) = (0, Vec::<Ticket>::new(), 0);
        let mut left: Vec<Peer> = peers.to_vec();
        loop {
            let mut failed = None;
            left.retain(|&peer| match ports.isend(peer, header, bytes) {
                Ok(ticket) => {
                    waiting.push(ticket);
                    false
                }
                Err(Error::PeerLost(_)) => false,
                Err(Error::Full | Error::NoCredit(_)) => true,
                Err(error) => {
                    failed = Some(error);
                    false
                }
            });
            if let Some(error) = failed {
                return Err(error.into());
            }
            let mut open = Vec::new();
            for ticket in waiting {
                match ports.claim(ticket)? {
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
            self.advance(ports)?;
            pause(ports, &mut idle, deadline)?;
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
        port: &mut impl GroupPorts,
        name: &str,
        bytes: &mut [u8],
        timeout: Duration,
    ) -> Result<Received, GroupError> {
        let (name, deadline) = (Name::new(name)?, deadline(timeout));
        loop {
            let (found, from) = port.scope(|ports| self.find(ports, name, deadline))?;
            let received = port.scope(|ports| {
                let pattern = match found {
                    Found::Message(pattern) => pattern,
                    Found::Cast(number) => {
                        return Ok(self.casts.take(ports, (from, number), bytes)?);
                    }
                };
                let ticket = ports.irecv(pattern, &mut *bytes)?;
                let mut idle = 0;
                loop {
                    if let Some(outcome) = ports.claim(ticket)? {
                        return outcome.map_err(GroupError::from);
                    }
                    self.advance(ports)?;
                    pause(ports, &mut idle, deadline)?;
                }
            });
            match received {
                // Its sender ended before the message was whole.
                Err(GroupError::Kernel(Error::PeerLost(_) | Error::Revoked)) => {}
                received => {
                    let len = received?;
                    return Ok(Received { from, len });
                }
            }
        }
    }

    /// Waits for a message that is to be handed out; returns it and its sender.
    fn find(
        &mut self,
        ports: &mut (dyn ScopedPorts<'_> + '_),
        name: Name,
        deadline: u64,
    ) -> Result<(Found, Peer), GroupError> {
        let mut idle = 0;
        loop {
            self.advance(ports)?;
            if self.agreement.is_minority() {
                return Err(GroupError::Minority);
            }
            let (directory, me) = (self.agreement.directory(), self.agreement.me());
            let group = directory.group(name).ok_or(GroupError::UnknownGroup)?;
            let id = group.id();
            group.member_of(me).ok_or(GroupError::NotAMember)?;
            for by_cast in [self.casts_first, !self.casts_first] {
                let found = match by_cast {
                    true => {
                        let found = self.casts.find(ports, directory, id)?;
                        found.map(|(from, number)| (Found::Cast(number), from))
                    }
                    false => self.find_message(ports, id)?,
                };
                if let Some(found) = found {
                    self.casts_first = !by_cast;
                    return Ok(found);
                }
            }
            pause(ports, &mut idle, deadline)?;
        }
    }

    /// Looks for a message to that group in the kernel.
    fn find_message(
        &self,
        ports: &mut (dyn ScopedPorts<'_> + '_),
        group: u32,
    ) -> Result<Option<(Found, Peer)>, GroupError> {
        let (directory, me) = (self.agreement.directory(), self.agreement.me());
        while let Some((header, from)) = ports.probe(GroupHeader::of_group(group))? {
            let pattern = Select::from(Exact(header)).from_peer(from);
            let delivery = match directory.delivery(me, group, header.view.get()) {
                Delivery::Deliver => self.casts.delivery(ports, directory, &header, from),
                other => other,
            };
            match delivery {
                Delivery::Drop => ports.drop_message(pattern)?,
                Delivery::Deliver => return Ok(Some((Found::Message(pattern), from))),
                Delivery::Later => break,
            }
        }
        Ok(None)
    }

    /// Makes progress for some time: for processes that have nothing else to do.
    ///
    /// # Errors
    /// [`GroupError::Minority`], [`GroupError::Kernel`].
    pub fn serve(&mut self, port: &mut impl GroupPorts, time: Duration) -> Result<(), GroupError> {
        let deadline = deadline(time);
        port.scope(|ports| {
            let mut idle = 0;
            loop {
                self.advance(ports)?;
                if self.agreement.is_minority() {
                    return Err(GroupError::Minority);
                }
                match pause(ports, &mut idle, deadline) {
                    Err(GroupError::TimedOut) => return Ok(()),
                    paused => paused?,
                }
            }
        })
    }

    /// Takes the messages of the agreement that have arrived, and answers them. Does not wait.
    ///
    /// # Errors
    /// [`GroupError::Kernel`] when the channel is broken.
    pub fn progress(&mut self, port: &mut impl GroupPorts) -> Result<(), GroupError> {
        port.scope(|ports| self.advance(ports))
    }

    fn advance(&mut self, ports: &mut (dyn ScopedPorts<'_> + '_)) -> Result<(), GroupError> {
        ports.progress()?;
        let (now, agreement) = (now(), &mut self.agreement);
        let mut bytes = [0; MESSAGE_LEN];
        let header = AgreementHeader::new();
        while let Some((from, len)) = ports.next_of_agreement(header, &mut bytes)? {
            if let Some(message) = Message::from_bytes(&bytes[..len]) {
                agreement.on_message(now, from, message, &mut |to, message| {
                    ports.inject(to, &message.to_bytes());
                });
            }
        }
        if now >= self.look_at {
            self.look_at = now + LOOK;
            for peer in agreement.watched().iter() {
                if let Some(verdict) = ports.lost(peer) {
                    agreement.on_lost(now, peer, verdict, &mut |to, message| {
                        ports.inject(to, &message.to_bytes());
                    });
                }
            }
            agreement.on_time(now, &mut |to, message| {
                ports.inject(to, &message.to_bytes());
            });
            self.drop_former(ports)?;
            self.casts.advance(ports)?;
        }
        Ok(())
    }

    /// Drops messages to groups of which this process is no member, as nobody would receive them.
    fn drop_former(&mut self, ports: &mut (dyn ScopedPorts<'_> + '_)) -> Result<(), GroupError> {
        let (directory, me) = (self.agreement.directory(), self.agreement.me());
        self.casts.drop_former(ports, directory);
        let mut former = Vec::new();
        ports.for_each_message(&mut |header, from| {
            let delivery = directory.delivery(me, header.group.get(), header.view.get());
            if header.is_message() && delivery == Delivery::Drop {
                former.push(Select::from(Exact(header)).from_peer(from));
            }
        });
        former
            .into_iter()
            .try_for_each(|pattern| ports.drop_message(pattern))?;
        Ok(())
    }

    fn group(&self, name: &str) -> Result<&Group, GroupError> {
        let group = self.agreement.directory().group(Name::new(name)?);
        group.ok_or(GroupError::UnknownGroup)
    }

    fn operate(
        &mut self,
        port: &mut impl GroupPorts,
        operation: Operation,
        timeout: Duration,
    ) -> Result<Outcome, GroupError> {
        let deadline = deadline(timeout);
        port.scope(|ports| {
            let mut idle = 0;
            self.advance(ports)?;
            let agreement = &mut self.agreement;
            agreement.begin(now(), operation, &mut |to, message| {
                ports.inject(to, &message.to_bytes());
            });
            loop {
                if let Some(outcome) = self.agreement.outcome() {
                    return outcome;
                }
                if let Err(error) = pause(ports, &mut idle, deadline) {
                    let agreement = &mut self.agreement;
                    agreement.give_up(now(), &mut |to, message| {
                        ports.inject(to, &message.to_bytes());
                    });
                    return match self.agreement.is_admitted() {
                        false if error == GroupError::TimedOut => Err(GroupError::NotAdmitted),
                        _ => Err(error),
                    };
                }
                self.advance(ports)?;
            }
        })
    }
}

/// Returns the time at which so much has passed.
fn deadline(timeout: Duration) -> u64 {
    let timeout = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    now().saturating_add(timeout)
}

/// Lets the channel wait for a moment.
fn pause(
    ports: &mut (dyn ScopedPorts<'_> + '_),
    idle: &mut u32,
    deadline: u64,
) -> Result<(), GroupError> {
    let left = deadline.saturating_sub(now());
    if left == 0 {
        return Err(GroupError::TimedOut);
    }
    Ok(ports.progress_or_wait(idle, left.min(RESEND / 4))?)
}
