//! The directory: names of groups and their members. Each process has a copy; entries change all copies alike.

use super::entry::{Entry, Name, Operation, Request};
use super::processes::Processes;
use super::{GroupError, MAX_GROUPS};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use pombo_kernel::Peer;

/// A member of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// The process.
    pub peer: Peer,
    /// The member's number in the group: the lowest that was free when it joined.
    pub number: u16,
    /// How many members had this number before it.
    pub generation: u32,
}

/// What a completed operation returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The caller is this member.
    Joined(Member),
    /// The group is static. Its members, by ascending number.
    Frozen(FrozenGroup),
    /// Nothing to return.
    Done,
}

/// The dense copy of a static group: the members that froze it, by ascending number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrozenGroup {
    /// The group's identity, which no other group has or had.
    pub id: u32,
    /// The view in which the group became static.
    pub view: u64,
    /// The members: rank i of the copy is the i-th.
    pub members: Vec<Member>,
}

/// An operation that an entry completed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The process that asked for it.
    pub origin: Peer,
    /// The number of its request.
    pub number: u32,
    /// The result.
    pub result: Result<Outcome, GroupError>,
}

/// Number and request count of a process that waits.
pub(super) type Waiter = (Peer, u32);

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Meeting {
    pub(super) count: u16,
    pub(super) waiters: Vec<Waiter>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    /// The member, and the view in which it joined.
    pub(super) member: Option<(Peer, u64)>,
    pub(super) generation: u32,
}

/// A group of the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    pub(super) id: u32,
    pub(super) is_static: bool,
    pub(super) slots: Vec<Slot>,
    pub(super) barrier: Meeting,
    pub(super) freeze: Meeting,
}

impl Group {
    /// Returns the group's identity.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns whether the group is static.
    pub fn is_static(&self) -> bool {
        self.is_static
    }

    /// Returns the members by ascending number; numbers may have holes.
    pub fn members(&self) -> impl Iterator<Item = Member> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(number, slot)| {
            Some(Member {
                peer: slot.member?.0,
                number: number as u16,
                generation: slot.generation,
            })
        })
    }

    /// Returns the number of members.
    pub fn size(&self) -> usize {
        self.members().count()
    }

    /// Returns the member that this process is.
    pub fn member_of(&self, peer: Peer) -> Option<Member> {
        self.members().find(|member| member.peer == peer)
    }

    /// Returns the view in which this process joined.
    fn joined(&self, peer: Peer) -> Option<u64> {
        let members = self.slots.iter().filter_map(|slot| slot.member);
        members
            .into_iter()
            .find(|(its, _)| *its == peer)
            .map(|(_, view)| view)
    }
}

/// What to do with a message to a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// Hand it out.
    Deliver,
    /// Drop it: this process is no member, or became one later.
    Drop,
    /// Keep it: it is of a view that has not come here yet.
    Later,
}

/// The names of all groups and their members, in one view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directory {
    pub(super) view: u64,
    pub(super) processes: Processes,
    /// All processes that have ever been in a view: none of them comes again.
    pub(super) known: Processes,
    pub(super) groups: BTreeMap<Name, Group>,
    pub(super) next_id: u32,
    /// The number of the last request of each process, one for each place.
    pub(super) last_request: Vec<u32>,
    /// Whether every decision needs a majority of the view.
    pub(super) by_majority: bool,
}

impl Directory {
    /// Creates the directory of view 0, without groups, of that many processes in a job of `places`: others can be
    /// admitted.
    pub fn new(processes: usize, places: usize) -> Self {
        Directory {
            view: 0,
            processes: Processes::first(processes),
            known: Processes::first(processes),
            groups: BTreeMap::new(),
            next_id: 1,
            last_request: alloc::vec![0; places],
            by_majority: false,
        }
    }

    /// Returns whether the process is in this view or was in an earlier one.
    pub fn is_known(&self, peer: Peer) -> bool {
        self.known.contains(peer)
    }

    /// Returns how many processes there can be: those of this view, and one in each place that nobody has had.
    fn most(&self) -> usize {
        let free = self.last_request.len().saturating_sub(self.known.len());
        self.processes.len() + free
    }

    /// Returns the number of the view: that of the entries so far.
    pub fn view(&self) -> u64 {
        self.view
    }

    /// Returns the processes of this view.
    pub fn processes(&self) -> Processes {
        self.processes
    }

    /// Returns the group of that name.
    pub fn group(&self, name: Name) -> Option<&Group> {
        self.groups.get(&name)
    }

    /// Returns all groups by name.
    pub fn groups(&self) -> impl Iterator<Item = (Name, &Group)> {
        self.groups.iter().map(|(name, group)| (*name, group))
    }

    /// Returns whether that request has been handled.
    pub fn has_handled(&self, origin: Peer, number: u32) -> bool {
        self.last_request
            .get(origin.index())
            .is_none_or(|last| number <= *last)
    }

    /// Decides on a message to group `id` of a sender in view `view`, at member `me`.
    pub fn delivery(&self, me: Peer, id: u32, view: u64) -> Delivery {
        if view > self.view {
            return Delivery::Later;
        }
        let mut groups = self.groups.values();
        let joined = groups
            .find(|group| group.id == id)
            .and_then(|group| group.joined(me));
        match joined {
            Some(joined) if joined <= view => Delivery::Deliver,
            _ => Delivery::Drop,
        }
    }

    /// Makes the step to the next view; reports the operations that it completes.
    pub fn apply(&mut self, entry: &Entry, done: &mut dyn FnMut(Completion)) {
        self.view += 1;
        for peer in entry.removed.and(self.processes).iter() {
            self.withdraw(peer);
            self.leave_all(peer, done);
        }
        let places = Processes::first(self.last_request.len());
        let admitted = entry.admitted.and(places).without(self.known);
        self.processes = self.processes.without(entry.removed).or(admitted);
        self.known = self.known.or(admitted);
        for &Request {
            origin,
            number,
            operation,
        } in &entry.requests
        {
            if !self.processes.contains(origin) || self.has_handled(origin, number) {
                continue;
            }
            self.last_request[origin.index()] = number;
            self.withdraw(origin);
            let result = match self.execute((origin, number), operation, done) {
                Ok(None) => continue,
                Ok(Some(outcome)) => Ok(outcome),
                Err(error) => Err(error),
            };
            done(Completion {
                origin,
                number,
                result,
            });
        }
    }

    /// Returns `None` if the operation completes later, or has reported its completion.
    fn execute(
        &mut self,
        waiter: Waiter,
        operation: Operation,
        done: &mut dyn FnMut(Completion),
    ) -> Result<Option<Outcome>, GroupError> {
        let origin = waiter.0;
        match operation {
            Operation::Fence | Operation::Withdraw => Ok(Some(Outcome::Done)),
            Operation::Join(name) => self
                .join(origin, name)
                .map(|member| Some(Outcome::Joined(member))),
            Operation::Leave(name) => {
                let group = self.groups.get_mut(&name).ok_or(GroupError::UnknownGroup)?;
                group.leave(origin, done)?;
                self.settle(name, done);
                Ok(Some(Outcome::Done))
            }
            Operation::Barrier(name, count) | Operation::Freeze(name, count) => {
                if usize::from(count) > self.most() {
                    return Err(GroupError::CountTooLarge);
                }
                let group = self.groups.get_mut(&name).ok_or(GroupError::UnknownGroup)?;
                group.joined(origin).ok_or(GroupError::NotAMember)?;
                let is_freeze = matches!(operation, Operation::Freeze(..));
                if is_freeze && group.is_static {
                    return Err(GroupError::Static);
                }
                let meeting = if is_freeze {
                    &mut group.freeze
                } else {
                    &mut group.barrier
                };
                if !meeting.waiters.is_empty() && meeting.count != count {
                    return Err(GroupError::CountMismatch);
                }
                meeting.count = count;
                meeting.waiters.push(waiter);
                self.settle(name, done);
                Ok(None)
            }
        }
    }

    fn join(&mut self, origin: Peer, name: Name) -> Result<Member, GroupError> {
        if !self.groups.contains_key(&name) {
            if self.groups.len() >= MAX_GROUPS {
                return Err(GroupError::TooManyGroups);
            }
            self.groups.insert(
                name,
                Group {
                    id: self.next_id,
                    is_static: false,
                    slots: Vec::new(),
                    barrier: Meeting::default(),
                    freeze: Meeting::default(),
                },
            );
            self.next_id = self.next_id.wrapping_add(1);
        }
        let group = self.groups.get_mut(&name).ok_or(GroupError::UnknownGroup)?;
        if group.joined(origin).is_some() {
            return Err(GroupError::AlreadyMember);
        }
        if group.is_static {
            return Err(GroupError::Static);
        }
        let free = group.slots.iter().position(|slot| slot.member.is_none());
        let number = free.unwrap_or(group.slots.len());
        if free.is_none() {
            group.slots.push(Slot {
                member: None,
                generation: 0,
            });
        }
        let slot = &mut group.slots[number];
        slot.member = Some((origin, self.view));
        Ok(Member {
            peer: origin,
            number: number as u16,
            generation: slot.generation,
        })
    }

    /// Takes a process that has ended out of all groups.
    fn leave_all(&mut self, peer: Peer, done: &mut dyn FnMut(Completion)) {
        let names: Vec<Name> = self.groups.keys().copied().collect();
        for name in names {
            if let Some(group) = self.groups.get_mut(&name)
                && group.leave(peer, done).is_ok()
            {
                self.settle(name, done);
            }
        }
    }

    /// Ends the waiting of a process, whose time is over.
    fn withdraw(&mut self, peer: Peer) {
        for group in self.groups.values_mut() {
            for meeting in [&mut group.barrier, &mut group.freeze] {
                meeting.waiters.retain(|(waiter, _)| *waiter != peer);
            }
        }
    }

    /// Completes what enough members of the group wait for, and destroys the group if it has none.
    fn settle(&mut self, name: Name, done: &mut dyn FnMut(Completion)) {
        let view = self.view;
        let Some(group) = self.groups.get_mut(&name) else {
            return;
        };
        let size = group.size();
        if size == 0 {
            self.groups.remove(&name);
            return;
        }
        for (origin, number) in group.barrier.take_complete(size) {
            done(Completion {
                origin,
                number,
                result: Ok(Outcome::Done),
            });
        }
        let callers = group.freeze.take_complete(size);
        if callers.is_empty() {
            return;
        }
        group.is_static = true;
        let members = group.members();
        let members = members.filter(|member| callers.iter().any(|(peer, _)| *peer == member.peer));
        let frozen = FrozenGroup {
            id: group.id,
            view,
            members: members.collect(),
        };
        for (origin, number) in callers {
            let result = Ok(Outcome::Frozen(frozen.clone()));
            done(Completion {
                origin,
                number,
                result,
            });
        }
    }
}

impl Group {
    /// Removes a member; its number is free for a member of the next generation.
    fn leave(&mut self, peer: Peer, done: &mut dyn FnMut(Completion)) -> Result<(), GroupError> {
        let its = |slot: &&mut Slot| slot.member.is_some_and(|(member, _)| member == peer);
        let slot = self
            .slots
            .iter_mut()
            .find(its)
            .ok_or(GroupError::NotAMember)?;
        slot.member = None;
        slot.generation += 1;
        if self.is_static {
            for (origin, number) in self.barrier.waiters.drain(..) {
                done(Completion {
                    origin,
                    number,
                    result: Err(GroupError::MemberLeft),
                });
            }
        }
        Ok(())
    }
}

impl Meeting {
    /// Takes the waiters if they are enough in a group of that size.
    fn take_complete(&mut self, size: usize) -> Vec<Waiter> {
        let wanted = if self.count == 0 {
            size
        } else {
            self.count.into()
        };
        match self.waiters.len() {
            0 => Vec::new(),
            waiting if waiting < wanted => Vec::new(),
            _ => core::mem::take(&mut self.waiters),
        }
    }
}
