//! The simplest model of groups: names with lists of members, changed by one operation after the other.

use pombo_job::group::{Delivery, Entry, GroupError, Operation};
use std::collections::{BTreeMap, BTreeSet};

/// A group: who has each number and since which view, and what its members wait for, by whom.
#[derive(Clone, Default, Debug)]
pub(crate) struct Group {
    pub(crate) id: u32,
    pub(crate) is_static: bool,
    pub(crate) numbers: Vec<Option<(u16, u64)>>,
    barrier: (u16, Vec<u16>),
    freeze: (u16, Vec<u16>),
}

impl Group {
    pub(crate) fn members(&self) -> Vec<(u16, u16)> {
        let numbers = self.numbers.iter().enumerate();
        numbers
            .filter_map(|(number, member)| Some((number as u16, member.as_ref()?.0)))
            .collect()
    }

    fn has(&self, peer: u16) -> bool {
        self.members().iter().any(|(_, its)| *its == peer)
    }
}

/// What an operation returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Number(u16),
    Members(Vec<u16>),
    Done,
    Failed(GroupError),
}

#[derive(Clone, Default, Debug)]
pub(crate) struct Model {
    pub(crate) view: u64,
    pub(crate) processes: BTreeSet<u16>,
    pub(crate) groups: BTreeMap<String, Group>,
    created: u32,
    last: BTreeMap<u16, u32>,
    known: BTreeSet<u16>,
    places: usize,
}

impl Model {
    pub(crate) fn new(size: usize, places: usize) -> Self {
        let processes: BTreeSet<u16> = (0..size as u16).collect();
        Model {
            known: processes.clone(),
            processes,
            places,
            ..Model::default()
        }
    }

    /// Applies an entry; returns who got which answer.
    pub(crate) fn apply(&mut self, entry: &Entry) -> Vec<(u16, u32, Answer)> {
        self.view += 1;
        let mut answers = Vec::new();
        for peer in entry.removed.iter().map(|peer| peer.0) {
            if self.processes.contains(&peer) {
                self.forget(peer);
                let names: Vec<String> = self.groups.keys().cloned().collect();
                for name in names {
                    if self.groups[&name].has(peer) {
                        self.leave(&name, peer, &mut answers);
                    }
                }
            }
        }
        for peer in entry.removed.iter() {
            self.processes.remove(&peer.0);
        }
        for peer in entry.admitted.iter().map(|peer| peer.0) {
            if usize::from(peer) < self.places && self.known.insert(peer) {
                self.processes.insert(peer);
            }
        }
        for request in &entry.requests {
            let (peer, number) = (request.origin.0, request.number);
            let last = self.last.entry(peer).or_default();
            if !self.processes.contains(&peer) || number <= *last {
                continue;
            }
            *last = number;
            self.forget(peer);
            if let Some(answer) = self.operate(peer, request.operation, &mut answers) {
                answers.push((peer, number, answer));
            }
        }
        answers
    }

    fn forget(&mut self, peer: u16) {
        for group in self.groups.values_mut() {
            group.barrier.1.retain(|its| *its != peer);
            group.freeze.1.retain(|its| *its != peer);
        }
    }

    fn operate(
        &mut self,
        peer: u16,
        operation: Operation,
        answers: &mut Vec<(u16, u32, Answer)>,
    ) -> Option<Answer> {
        let fail = |error| Some(Answer::Failed(error));
        let (name, count, freeze) = match operation {
            Operation::Join(name) => {
                if !self.groups.contains_key(name.as_str()) {
                    self.created += 1;
                    let group = Group {
                        id: self.created,
                        ..Group::default()
                    };
                    self.groups.insert(name.as_str().into(), group);
                }
                let view = self.view;
                let group = self.groups.get_mut(name.as_str())?;
                if group.has(peer) {
                    return fail(GroupError::AlreadyMember);
                }
                if group.is_static {
                    return fail(GroupError::Static);
                }
                group.numbers.push(None);
                let number = group.numbers.iter().position(Option::is_none)?;
                group.numbers[number] = Some((peer, view));
                return Some(Answer::Number(number as u16));
            }
            Operation::Leave(name) => {
                let Some(group) = self.groups.get(name.as_str()) else {
                    return fail(GroupError::UnknownGroup);
                };
                if !group.has(peer) {
                    return fail(GroupError::NotAMember);
                }
                self.leave(name.as_str(), peer, answers);
                return Some(Answer::Done);
            }
            Operation::Barrier(name, count) => (name, count, false),
            Operation::Freeze(name, count) => (name, count, true),
            Operation::Fence | Operation::Withdraw => return Some(Answer::Done),
        };
        if usize::from(count) > self.processes.len() + self.places - self.known.len() {
            return fail(GroupError::CountTooLarge);
        }
        let Some(group) = self.groups.get_mut(name.as_str()) else {
            return fail(GroupError::UnknownGroup);
        };
        if !group.has(peer) {
            return fail(GroupError::NotAMember);
        }
        if freeze && group.is_static {
            return fail(GroupError::Static);
        }
        let meeting = if freeze {
            &mut group.freeze
        } else {
            &mut group.barrier
        };
        if !meeting.1.is_empty() && meeting.0 != count {
            return fail(GroupError::CountMismatch);
        }
        meeting.0 = count;
        meeting.1.push(peer);
        self.settle(name.as_str(), answers);
        None
    }

    fn leave(&mut self, name: &str, peer: u16, answers: &mut Vec<(u16, u32, Answer)>) {
        let group = self.groups.get_mut(name).expect("a group");
        for number in &mut group.numbers {
            number.take_if(|(its, _)| *its == peer);
        }
        if group.is_static {
            for waiter in std::mem::take(&mut group.barrier.1) {
                answers.push((
                    waiter,
                    self.last[&waiter],
                    Answer::Failed(GroupError::MemberLeft),
                ));
            }
        }
        self.settle(name, answers);
    }

    fn settle(&mut self, name: &str, answers: &mut Vec<(u16, u32, Answer)>) {
        let group = self.groups.get_mut(name).expect("a group");
        let members = group.members();
        if members.is_empty() {
            self.groups.remove(name);
            return;
        }
        let is_enough = |(count, waiting): &(u16, Vec<u16>)| {
            let wanted = if *count == 0 {
                members.len()
            } else {
                (*count).into()
            };
            !waiting.is_empty() && waiting.len() >= wanted
        };
        if is_enough(&group.barrier) {
            for waiter in std::mem::take(&mut group.barrier.1) {
                answers.push((waiter, self.last[&waiter], Answer::Done));
            }
        }
        if is_enough(&group.freeze) {
            group.is_static = true;
            let waiting = std::mem::take(&mut group.freeze.1);
            let dense: Vec<u16> = members
                .iter()
                .map(|(_, peer)| *peer)
                .filter(|peer| waiting.contains(peer))
                .collect();
            for waiter in waiting {
                answers.push((waiter, self.last[&waiter], Answer::Members(dense.clone())));
            }
        }
    }

    /// Returns the group with that identity, if the process is a member that joined in this view or before.
    fn has_member(&self, id: u32, peer: u16, view: u64) -> bool {
        let group = self.groups.values().find(|group| group.id == id);
        let numbers = group
            .into_iter()
            .flat_map(|group| group.numbers.iter().flatten());
        numbers
            .into_iter()
            .any(|(its, joined)| *its == peer && *joined <= view)
    }

    /// Decides as [`pombo_job::group::Directory::delivery`].
    pub(crate) fn delivery(&self, peer: u16, id: u32, view: u64) -> Delivery {
        match view > self.view {
            true => Delivery::Later,
            false if self.has_member(id, peer, view) => Delivery::Deliver,
            false => Delivery::Drop,
        }
    }
}
