//! The service over channels of threads: every operation once, in several processes.

use pombo_job::group::{
    AgreementPort, GroupComposition, GroupEndpoint, GroupError, GroupHeader, Groups,
};
use pombo_kernel::prelude::*;
use pombo_kernel::{Endpoint, Port, Selected};
use pombo_netdrivers::Loopback;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

type Sizes = GroupComposition<16, 128>;
type Comm = GroupEndpoint<Loopback, Sizes>;

/// A hang limit.
const LONG: Duration = Duration::from_secs(60);
/// The time that a call gets which cannot succeed.
const SHORT: Duration = Duration::from_millis(20);

/// Runs `f` in so many threads.
fn on_threads(ranks: u16, f: impl Fn(&mut Groups, &mut Comm) -> Result<(), GroupError> + Sync) {
    std::thread::scope(|scope| {
        for channel in Loopback::world(ranks) {
            scope.spawn(|| {
                let mut comm = Comm::two(channel).expect("a communicator");
                let mut groups = Groups::new(&comm).expect("groups");
                let me = comm.me();
                if let Err(error) = f(&mut groups, &mut comm) {
                    panic!("{me}: {error}");
                }
                // Until the others have ended too.
                groups.join(&mut comm, "end", LONG).expect("a member");
                groups.barrier(&mut comm, "end", 0, SHORT).ok();
            });
        }
    });
}

#[test]
fn members_meet_and_talk() {
    on_threads(5, |groups, comm| {
        let me = comm.me();
        let own = groups.join(comm, "all", LONG)?;
        assert_eq!((own.peer, own.generation), (me, 0));
        assert_eq!(
            groups.join(comm, "all", LONG),
            Err(GroupError::AlreadyMember)
        );
        assert_eq!(groups.join(comm, "", LONG), Err(GroupError::BadName));
        assert_eq!(
            groups.leave(comm, "none", LONG),
            Err(GroupError::UnknownGroup)
        );
        groups.barrier(comm, "all", 5, LONG)?;
        assert_eq!(groups.size("all"), Ok(5));
        assert_eq!(groups.own("all"), Ok(own));
        assert_eq!(groups.member("all", own.number), Ok(own));
        assert_eq!(groups.member_of("all", me), Ok(own));
        assert_eq!(groups.member("all", 9), Err(GroupError::NoSuchMember));
        // Everybody tells all others, in a short message and a long one.
        for len in [3, 5000] {
            let text = vec![me.0 as u8; len];
            let from_all = |groups: &mut Groups, comm: &mut Comm| {
                let (mut buffer, mut seen) = (vec![0; 5000], 1 << me.0);
                for _ in 0..4 {
                    let message = groups.recv(comm, "all", &mut buffer, LONG)?;
                    assert_eq!(buffer[..message.len], vec![message.from.0 as u8; len]);
                    seen |= 1 << message.from.0;
                }
                assert_eq!(seen, 0b11111);
                Ok::<_, GroupError>(())
            };
            // In turn: a long message completes when its receivers take it.
            for turn in 0..5 {
                if turn == me.0 {
                    assert_eq!(groups.broadcast(comm, "all", &text, LONG)?, 4);
                } else if len > 1024 {
                    let mut buffer = vec![0; 5000];
                    let message = groups.recv(comm, "all", &mut buffer, LONG)?;
                    assert_eq!((message.from, message.len), (Peer(turn), len));
                }
            }
            if len <= 1024 {
                from_all(groups, comm)?;
            }
            groups.barrier(comm, "all", 0, LONG)?;
        }
        assert_eq!(
            groups.recv(comm, "all", &mut [0; 8], SHORT),
            Err(GroupError::TimedOut)
        );
        // From outside, to those who stay.
        if me == Peer(4) {
            groups.leave(comm, "all", LONG)?;
            assert_eq!(
                groups.recv(comm, "all", &mut [], SHORT),
                Err(GroupError::NotAMember)
            );
            assert_eq!(groups.broadcast(comm, "all", b"bye", LONG)?, 4);
        } else {
            let mut text = [0; 8];
            let message = groups.recv(comm, "all", &mut text, LONG)?;
            assert_eq!((message.from, &text[..message.len]), (Peer(4), &b"bye"[..]));
        }
        Ok(())
    });
}

#[test]
fn a_number_is_reused_with_a_new_generation() {
    on_threads(3, |groups, comm| {
        let me = comm.me();
        groups.join(comm, "stage", LONG)?;
        groups.barrier(comm, "stage", 3, LONG)?;
        for round in 1..4 {
            if me == Peer(1) {
                let before = groups.own("stage")?;
                groups.leave(comm, "stage", LONG)?;
                let after = groups.join(comm, "stage", LONG)?;
                assert_eq!(
                    (after.number, after.generation),
                    (before.number, before.generation + 1)
                );
                assert_eq!(after.generation, round);
                let none: &[u8] = &[];
                assert_eq!(
                    groups.multicast(comm, "stage", &[before], none, LONG),
                    Err(GroupError::NoSuchMember)
                );
            }
            groups.barrier(comm, "stage", 3, LONG)?;
        }
        Ok(())
    });
}

#[test]
fn a_static_group_reports_who_leaves_its_barrier() {
    on_threads(4, |groups, comm| {
        let me = comm.me();
        groups.join(comm, "fixed", LONG)?;
        let frozen = groups.freeze(comm, "fixed", 4, LONG)?;
        assert_eq!((frozen.size(), frozen.rank(me).is_some()), (4, true));
        assert_eq!(
            groups.freeze(comm, "fixed", 4, LONG),
            Err(GroupError::Static)
        );
        groups.barrier(comm, "fixed", 4, LONG)?;
        if me == Peer(2) {
            // The others wait by then or do not; a time-out ends the rest.
            groups.serve(comm, SHORT)?;
            groups.leave(comm, "fixed", LONG)?;
        } else {
            let ended = groups.barrier(comm, "fixed", 4, Duration::from_secs(2));
            assert!(
                matches!(ended, Err(GroupError::MemberLeft | GroupError::TimedOut)),
                "{ended:?}"
            );
        }
        Ok(())
    });
}

#[test]
fn a_barrier_that_cannot_complete_times_out() {
    on_threads(2, |groups, comm| {
        groups.join(comm, "two", LONG)?;
        groups.barrier(comm, "two", 2, LONG)?;
        if comm.me() == Peer(0) {
            assert_eq!(
                groups.barrier(comm, "two", 2, SHORT),
                Err(GroupError::TimedOut)
            );
            assert_eq!(
                groups.barrier(comm, "two", 3, LONG),
                Err(GroupError::CountTooLarge)
            );
            groups.leave(comm, "two", LONG)?;
            groups.synchronize(comm, LONG)?;
            assert_eq!(groups.size("two"), Ok(1));
        } else {
            while groups.size("two") != Ok(1) {
                groups.serve(comm, SHORT)?;
            }
        }
        Ok(())
    });
}

/// The first process, which leads, ends; the others go on, without it.
#[test]
fn a_leader_ends() {
    std::thread::scope(|scope| {
        for channel in Loopback::world(4) {
            scope.spawn(|| {
                let mut comm = Comm::two(channel).expect("a communicator");
                let mut groups = Groups::new(&comm).expect("groups");
                let me = comm.me();
                groups.join(&mut comm, "all", LONG).expect("a member");
                groups.barrier(&mut comm, "all", 4, LONG).expect("all");
                for last in 1..=3_u16 {
                    if me.0 == last - 1 {
                        return;
                    }
                    while groups.size("all") != Ok(4 - usize::from(last)) {
                        groups.serve(&mut comm, SHORT).expect("a majority");
                    }
                    groups
                        .barrier(&mut comm, "all", 4 - last, LONG)
                        .expect("all that are left");
                }
                assert_eq!(groups.processes(), [Peer(3)]);
            });
        }
    });
}

header! {
    /// Another protocol over the same channel.
    struct Topic { number: u8 }
}

/// Groups are two ports of an endpoint, beside another protocol.
#[test]
fn groups_are_two_more_ports() {
    type All = Endpoint<
        Loopback,
        (
            Port<GroupHeader, Lent<'static>, Sizes>,
            AgreementPort,
            Port<Topic, Lent<'static>, Selected>,
        ),
    >;
    std::thread::scope(|scope| {
        for channel in Loopback::world(2) {
            scope.spawn(|| {
                let mut all = All::three(channel).expect("three ports");
                let mut groups = Groups::new(&all).expect("groups");
                let own = groups.join(&mut all, "all", LONG).expect("a member");
                groups.barrier(&mut all, "all", 2, LONG).expect("all");
                let others = groups.members("all").expect("members");
                let other = others
                    .iter()
                    .find(|member| **member != own)
                    .expect("another");
                all.port::<2>()
                    .send(other.peer, Topic { number: 7 }, b"beside")
                    .expect("a send");
                groups
                    .broadcast(&mut all, "all", b"above", LONG)
                    .expect("a member");
                let mut text = [0; 8];
                let envelope = all
                    .port::<2>()
                    .recv(Topic::number(7), &mut text)
                    .expect("a message");
                assert_eq!(&text[..envelope.len()], b"beside");
                let message = groups
                    .recv(&mut all, "all", &mut text, LONG)
                    .expect("a message");
                assert_eq!(&text[..message.len], b"above");
                groups.barrier(&mut all, "all", 2, LONG).expect("all");
            });
        }
    });
}

/// A member that leaves more messages unread than there is room for does not hold up the operations of the others.
#[test]
fn unread_messages_do_not_stop_the_agreement() {
    on_threads(3, |groups, comm| {
        groups.join(comm, "deaf", LONG)?;
        groups.barrier(comm, "deaf", 3, LONG)?;
        if comm.me() == Peer(0) {
            let refused = (0..500)
                .map(|_| groups.broadcast(comm, "deaf", b"unread", SHORT))
                .find(Result::is_err);
            assert_eq!(refused, Some(Err(GroupError::TimedOut)));
        }
        for _ in 0..20 {
            groups.join(comm, "others", LONG)?;
            groups.barrier(comm, "deaf", 3, LONG)?;
            groups.leave(comm, "others", LONG)?;
            groups.barrier(comm, "deaf", 3, LONG)?;
        }
        Ok(())
    });
}

/// Processes come later, find what the others have made, and take part in it.
#[test]
fn newcomers_are_admitted() {
    let begun = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (at, channel) in Loopback::world(5).into_iter().enumerate() {
            let begun = &begun;
            scope.spawn(move || {
                while at >= 2 && begun.load(Relaxed) < 2 {
                    std::thread::yield_now();
                }
                let mut comm = Comm::two(channel).expect("an endpoint");
                let mut groups = Groups::with_first(&comm, 2).expect("groups");
                assert_eq!(groups.exists("all"), Ok(false));
                // The directory of who comes later is longer than a message.
                for number in 0..if at < 2 { 40 } else { 0 } {
                    let name = format!("group {number} of {at}");
                    groups.join(&mut comm, &name, LONG).expect("a member");
                }
                groups.join(&mut comm, "all", LONG).expect("a member");
                assert!(at < 2 || groups.size("group 39 of 1") == Ok(1));
                begun.fetch_add(1, Relaxed);
                while groups.size("all") != Ok(5) {
                    groups.serve(&mut comm, SHORT).expect("a majority");
                }
                assert_eq!(groups.processes().len(), 5);
                groups.barrier(&mut comm, "all", 5, LONG).expect("all");
                if at == 4 {
                    let sent = groups.broadcast(&mut comm, "all", &[7; 3000], LONG);
                    assert_eq!(sent, Ok(4));
                } else {
                    let mut bytes = [0; 3000];
                    let message = groups.recv(&mut comm, "all", &mut bytes, LONG);
                    assert_eq!(message.expect("a message").from, Peer(4));
                    assert_eq!(bytes, [7; 3000]);
                }
                groups.barrier(&mut comm, "all", 5, LONG).expect("all");
                // Until the others have ended too.
                groups.barrier(&mut comm, "all", 0, SHORT).ok();
            });
        }
    });
}
