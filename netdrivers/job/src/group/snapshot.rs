//! The directory as bytes, for a process that is admitted, with the entry that led to it: other processes may lack that
//! one. Only `agreement` uses it.

use super::directory::{Directory, Group, Meeting, Slot};
use super::entry::Entry;
use super::message::{Reader, Writer};
use super::{MAX_GROUPS, MAX_PROCESSES, NAME_LEN};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The most bytes of a meeting: all processes wait.
const MEETING_LEN: usize = 2 + 2 + MAX_PROCESSES * (2 + 4);
/// The most bytes of a group: all processes are members.
const GROUP_LEN: usize =
    1 + NAME_LEN + 4 + 1 + 2 + MAX_PROCESSES * (4 + 1 + 2 + 8) + 2 * MEETING_LEN;
/// The most bytes of a snapshot.
pub(super) const MAX_SNAPSHOT: usize =
    super::MESSAGE_LEN + 8 + 1 + 2 * 32 + 4 + 2 + 4 * MAX_PROCESSES + 2 + MAX_GROUPS * GROUP_LEN;

/// Returns the bytes of a directory and of its last entry.
pub(super) fn to_bytes(directory: &Directory, last: &Entry) -> Vec<u8> {
    let mut to = Writer(Vec::with_capacity(256));
    to.entry(last)
        .put(&directory.view.to_le_bytes())
        .put(&[directory.by_majority.into()])
        .processes(directory.processes)
        .processes(directory.known)
        .put(&directory.next_id.to_le_bytes());
    to.put(&(directory.last_request.len() as u16).to_le_bytes());
    for number in &directory.last_request {
        to.put(&number.to_le_bytes());
    }
    to.put(&(directory.groups.len() as u16).to_le_bytes());
    for (name, group) in &directory.groups {
        to.name(name.as_str())
            .put(&group.id.to_le_bytes())
            .put(&[group.is_static.into()])
            .put(&(group.slots.len() as u16).to_le_bytes());
        for slot in &group.slots {
            to.put(&slot.generation.to_le_bytes())
                .put(&[slot.member.is_some().into()]);
            if let Some((peer, view)) = slot.member {
                to.put(&peer.0.to_le_bytes()).put(&view.to_le_bytes());
            }
        }
        for meeting in [&group.barrier, &group.freeze] {
            to.put(&meeting.count.to_le_bytes())
                .put(&(meeting.waiters.len() as u16).to_le_bytes());
            for (peer, number) in &meeting.waiters {
                to.put(&peer.0.to_le_bytes()).put(&number.to_le_bytes());
            }
        }
    }
    to.0
}

/// Reads what [`to_bytes`] wrote, of a job of that many places; `None` if the bytes are nothing of that kind.
pub(super) fn from_bytes(bytes: &[u8], places: usize) -> Option<(Directory, Entry)> {
    let mut from = Reader(bytes);
    let last = from.entry()?;
    let (view, by_majority) = (from.u64()?, from.byte()? != 0);
    let (processes, known) = (from.processes()?, from.processes()?);
    let next_id = from.u32()?;
    if usize::from(from.u16()?) != places {
        return None;
    }
    let last_request = (0..places).map(|_| from.u32()).collect::<Option<_>>()?;
    let mut groups = BTreeMap::new();
    for _ in 0..from.u16()? {
        let name = from.name()??;
        groups.insert(name, from.group()?);
    }
    let directory = Directory {
        view,
        processes,
        known,
        groups,
        next_id,
        last_request,
        by_majority,
    };
    from.0.is_empty().then_some((directory, last))
}

impl Reader<'_> {
    fn group(&mut self) -> Option<Group> {
        let (id, is_static) = (self.u32()?, self.byte()? != 0);
        let slots = (0..self.u16()?).map(|_| self.slot());
        Some(Group {
            id,
            is_static,
            slots: slots.collect::<Option<_>>()?,
            barrier: self.meeting()?,
            freeze: self.meeting()?,
        })
    }

    fn slot(&mut self) -> Option<Slot> {
        let generation = self.u32()?;
        let member = match self.byte()? {
            0 => None,
            _ => Some((self.peer()?, self.u64()?)),
        };
        Some(Slot { member, generation })
    }

    fn meeting(&mut self) -> Option<Meeting> {
        let count = self.u16()?;
        let waiters = (0..self.u16()?).map(|_| Some((self.peer()?, self.u32()?)));
        Some(Meeting {
            count,
            waiters: waiters.collect::<Option<_>>()?,
        })
    }
}
