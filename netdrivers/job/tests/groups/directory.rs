//! The directory against the model, entry by entry.

use crate::model::{Answer, Model};
use pombo_job::group::{
    Completion, Directory, Entry, MESSAGE_LEN, Message, Name, Operation, Outcome, Request,
};
use pombo_kernel::Peer;
use proptest::prelude::*;

const PROCESSES: u16 = 5;
/// Those that the job begins with.
const FIRST: usize = 3;

/// The answer of the model's kind.
pub(crate) fn answer(completion: &Completion) -> (u16, u32, Answer) {
    let answer = match &completion.result {
        Ok(Outcome::Joined(member)) => Answer::Number(member.number),
        Ok(Outcome::Frozen(frozen)) => {
            Answer::Members(frozen.members.iter().map(|member| member.peer.0).collect())
        }
        Ok(Outcome::Done) => Answer::Done,
        Err(error) => Answer::Failed(*error),
    };
    (completion.origin.0, completion.number, answer)
}

/// Compares all that can be asked.
pub(crate) fn compare(directory: &Directory, model: &Model) {
    assert_eq!(directory.view(), model.view);
    assert_eq!(
        directory
            .processes()
            .iter()
            .map(|peer| peer.0)
            .collect::<Vec<_>>(),
        model.processes.iter().copied().collect::<Vec<_>>()
    );
    assert_eq!(directory.groups().count(), model.groups.len());
    for (name, group) in directory.groups() {
        let its = &model.groups[name.as_str()];
        assert_eq!(
            (group.id(), group.is_static(), group.size()),
            (its.id, its.is_static, its.members().len())
        );
        let members: Vec<(u16, u16)> = group
            .members()
            .map(|member| (member.number, member.peer.0))
            .collect();
        assert_eq!(members, its.members());
        for peer in 0..PROCESSES {
            assert_eq!(
                group.member_of(Peer(peer)).is_some(),
                members.iter().any(|(_, its)| *its == peer)
            );
        }
    }
}

pub(crate) fn operation(kind: u8, name: u8, count: u16) -> Operation {
    let name = Name::new(["one", "two", "drei"][usize::from(name) % 3]).expect("a name");
    match kind % 8 {
        0..3 => Operation::Join(name),
        3 => Operation::Leave(name),
        4 | 5 => Operation::Barrier(name, count),
        6 => Operation::Freeze(name, count),
        _ => Operation::Fence,
    }
}

proptest! {
    /// What is no message is refused, and what is one is written as it was read.
    #[test]
    fn any_bytes_are_a_message_or_none(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), kind in 0..14_u8) {
        if let Some(byte) = bytes.get_mut(8) {
            *byte = kind;
        }
        if let Some(message) = Message::from_bytes(&bytes) {
            let written = message.to_bytes();
            prop_assert!(written.len() <= MESSAGE_LEN);
            prop_assert_eq!(Message::from_bytes(&written), Some(message));
        }
    }

    /// Members, numbers and answers are the model's; a message is delivered to those who are members since its view.
    #[test]
    fn a_directory_is_names_with_lists_of_members(
        steps in proptest::collection::vec(
            (proptest::collection::vec((0..PROCESSES, 0..8_u8, 0..3_u8, 0..7_u16, 0..8_u8), 0..4), 0..40_u16, 0..16_u16, 0..16_u8),
            1..60,
        ),
    ) {
        let (mut directory, mut model) = (Directory::new(FIRST, PROCESSES.into()), Model::new(FIRST, PROCESSES.into()));
        let mut numbers = [0; PROCESSES as usize];
        let mut sent = Vec::new();
        for (requests, removed, admitted, message) in steps {
            let requests = requests.into_iter().map(|(origin, kind, name, count, repeated)| {
                let number = &mut numbers[usize::from(origin)];
                *number += u32::from(repeated != 0);
                Request { origin: Peer(origin), number: *number, operation: operation(kind, name, count) }
            });
            let removed = (removed < PROCESSES).then_some(Peer(removed));
            let entry = Entry {
                removed: removed.into_iter().collect(),
                admitted: [Peer(admitted)].into_iter().collect(),
                requests: requests.collect(),
            };
            let mut answers = Vec::new();
            directory.apply(&entry, &mut |completion| answers.push(answer(&completion)));
            let (mut its, mut own) = (model.apply(&entry), answers);
            its.sort_by_key(|(peer, number, _)| (*peer, *number));
            own.sort_by_key(|(peer, number, _)| (*peer, *number));
            prop_assert_eq!(own, its);
            compare(&directory, &model);
            // Identities and views of messages, also of groups that are no more and of views to come.
            sent.push((u32::from(message), directory.view()));
            for &(id, view) in &sent {
                for peer in 0..PROCESSES {
                    let past = view.saturating_sub(1);
                    for view in [past, view, view + 1] {
                        prop_assert_eq!(directory.delivery(Peer(peer), id, view), model.delivery(peer, id, view));
                    }
                }
            }
        }
    }
}

#[test]
fn names_are_text_of_1_to_32_bytes() {
    for bad in ["", "a\nb", "tab\t", &"x".repeat(33), "\0"] {
        assert!(Name::new(bad).is_err(), "{bad:?}");
    }
    for good in ["a", "grupo 1", "é", &"x".repeat(32)] {
        assert_eq!(Name::new(good).expect("a name").as_str(), good);
    }
}
