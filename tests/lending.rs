//! Tests memory that is lent to a scope: it comes back however the scope ends, nothing of a dead scope remains, and no
//! rank waits for it.

mod common;

use common::*;
use pombo_kernel::facade::PointToPointExt;
use pombo_kernel::{
    Channel, Communicator, Error, Limits, Loan, Mode, Peer, SCOPE_LOANS, Scope, Ticket,
};
use pombo_netdrivers::fault::Rate;
use pombo_netdrivers::{Loopback, loopback};
use pombo_testing::Profile;
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Rank<L> = Communicator<Tagged, L, Owned, Tiny>;
type Inner<'a, 'buf, L> = Scope<'a, 'buf, Tagged, L, Tiny>;

/// One cell in the pool for each peer.
const LIMITS: Limits = Limits {
    credit: Some(1),
    eager: None,
    copies: None,
};

/// Returns ranks with few frames in flight and one cell in the pool, so that messages take the longest way.
fn world(peers: u16, frames_in_flight: usize) -> Vec<Comm<Tiny>> {
    let channel = loopback::Limits {
        frame: 128,
        frames_in_flight,
    };
    Loopback::world_with(peers, channel)
        .into_iter()
        .map(|channel| Communicator::with_limits(channel, LIMITS).expect("it fits"))
        .collect()
}

fn post<L: Channel>(
    rank: &mut Rank<L>,
    source: Option<u16>,
    tag: Option<i32>,
    room: usize,
) -> Ticket {
    let posted = rank.irecv(wanted(source, tag), Bytes(vec![0; room]));
    posted.map_err(Error::from).expect("posted")
}

fn put<L: Channel>(rank: &mut Rank<L>, to: u16, tag: i32, bytes: &[u8]) -> Ticket {
    let sent = rank.isend(Peer(to), tagged(tag), Bytes(bytes.to_vec()));
    sent.map_err(Error::from).expect("sent")
}

fn bytes<L: Channel>(rank: &mut Rank<L>, ticket: Ticket) -> Result<Vec<u8>, Error> {
    let completed = rank.claim(ticket).expect("known").expect("over");
    let Loan::Received(Bytes(mut bytes)) = completed.loan else {
        panic!("a receive")
    };
    completed.outcome.map(|stored| {
        bytes.truncate(stored);
        bytes
    })
}

fn nothing_left(ranks: &mut [Comm<Tiny>]) {
    settle(ranks);
    are_empty(ranks);
}

fn are_empty<L: Channel>(ranks: &[Rank<L>]) {
    for rank in ranks {
        let lengths = rank.lengths();
        assert_eq!(
            (lengths.operations, lengths.expected, lengths.unexpected),
            (0, 0, 0)
        );
        assert!(rank.is_flushed());
        assert_eq!(rank.rejected(), 0);
    }
}

/// The same slices that were lent come back, filled.
#[test]
fn buffers_come_back() {
    let mut ranks = world(1, 4);
    let out = payload(1, 60);
    let mut into = [0; 80];
    let address = into.as_ptr();
    let (sent, received) = ranks[0].scope(|scope| {
        let sent = scope.isend(Peer(0), tagged(1), &out).expect("sent");
        let posted = scope.irecv(wanted(None, None), &mut into).expect("posted");
        let received = scope.wait(posted).expect("known");
        (scope.wait(sent).expect("known"), received)
    });
    assert_eq!((sent.outcome, received.outcome), (Ok(60), Ok(60)));
    assert!(matches!(sent.loan, Loan::Sent(bytes) if bytes.as_ptr() == out.as_ptr()));
    let Loan::Received(back) = received.loan else {
        panic!("a receive")
    };
    assert_eq!((back.as_ptr(), back.len()), (address, 80));
    assert_eq!(back[..60], out);
    back[0] = 1;
    nothing_left(&mut ranks);
}

/// Blocking calls between two threads, short and long, with buffers on the stack.
#[test]
fn blocking_calls_lend_for_the_call() {
    let mut ranks = world(2, 4);
    let (mut right, mut left) = (ranks.pop().expect("two"), ranks.pop().expect("two"));
    let right = std::thread::spawn(move || {
        for len in 0..300 {
            let mut bytes = vec![0; len];
            let got = right.recv(wanted(Some(0), None), &mut bytes);
            assert_eq!(got.expect("received").len(), len);
            right.send(Peer(0), tagged(1), &bytes).expect("sent");
        }
        let mut short = [0; 3];
        let cut = right.recv(wanted(Some(0), None), &mut short);
        assert_eq!(cut.err(), Some(Error::Truncated { sent: 200, room: 3 }));
        assert_eq!(short, payload(7, 200)[..3]);
        right
    });
    for len in 0..300 {
        left.send(Peer(1), tagged(1), &payload(len, len))
            .expect("sent");
        let mut back = vec![0; len];
        left.recv(wanted(None, Some(1)), &mut back)
            .expect("received");
        assert_eq!(back, payload(len, len));
    }
    left.send(Peer(1), tagged(1), &payload(7, 200))
        .expect("sent");
    nothing_left(&mut [left, right.join().expect("it ends well")]);
}

/// Progress within two nested scopes completes operations of the outer ones, short and long.
#[test]
fn outer_receives_complete_inside() {
    for len in [4, 64, 1000] {
        let mut ranks = world(2, 2);
        let mut peer = ranks.pop().expect("two");
        let rank = &mut ranks[0];
        let outermost = post(rank, Some(1), Some(1), len);
        let (mut middle_bytes, mut inner_bytes) = (vec![0; len], vec![0; len]);
        for tag in [1, 2, 3] {
            put(&mut peer, 0, tag, &payload(tag as usize, len));
        }
        let sent = put(rank, 1, 7, &payload(7, len));
        let there = post(&mut peer, Some(0), Some(7), len);
        rank.scope(|middle| {
            let second = middle
                .irecv(wanted(Some(1), Some(2)), &mut middle_bytes)
                .expect("posted");
            middle.scope(|inner| {
                let third = inner
                    .irecv(wanted(Some(1), Some(3)), &mut inner_bytes)
                    .expect("posted");
                for _ in 0..1000 {
                    inner.check_messages().expect("it does not break");
                    peer.check_messages().expect("it does not break");
                }
                let third = inner.claim(third).expect("known").expect("over");
                assert_eq!(third.outcome, Ok(len));
            });
            // The second receive needs no further progress: it was completed inside.
            let second = middle.claim(second).expect("known").expect("over");
            assert_eq!(second.outcome, Ok(len));
        });
        assert_eq!(bytes(rank, outermost), Ok(payload(1, len)));
        assert_eq!(
            rank.claim(sent).expect("known").expect("over").outcome,
            Ok(len)
        );
        assert_eq!(bytes(&mut peer, there), Ok(payload(7, len)));
        assert_eq!(middle_bytes, payload(2, len));
        assert_eq!(inner_bytes, payload(3, len));
    }
}

/// The ways in which a scope can end.
#[derive(Clone, Copy, Debug)]
enum End {
    Return,
    Panic,
    Forget,
}

const ENDS: [End; 3] = [End::Return, End::Panic, End::Forget];

/// Opens a scope, lets `begin` start operations in it, and ends it.
fn cut_short<'buf, L: Channel>(
    rank: &mut Rank<L>,
    end: End,
    begin: impl FnOnce(&mut Inner<'_, 'buf, L>) -> Vec<Ticket>,
) {
    let run = || {
        rank.scope(|scope| {
            let tickets = begin(scope);
            match end {
                End::Return => Err(scope.cancel(other_ticket(&tickets)).unwrap_err())?,
                // `resume_unwind` avoids the panic hook, which would print.
                End::Panic => std::panic::resume_unwind(Box::new("cut short")),
                End::Forget => core::mem::forget(tickets),
            }
            Ok::<(), Error>(())
        })
    };
    let result = catch_unwind(AssertUnwindSafe(run));
    match end {
        End::Return => assert_eq!(result.ok(), Some(Err(Error::UnknownTicket))),
        End::Panic => assert!(result.is_err()),
        End::Forget => assert_eq!(result.ok(), Some(Ok(()))),
    }
}

/// Returns a ticket that this scope does not have.
fn other_ticket(tickets: &[Ticket]) -> Ticket {
    let bits = tickets.first().map_or(0, |ticket| ticket.to_bits());
    Ticket::from_bits(bits ^ 1 << 40)
}

/// Receives of a dead scope are withdrawn: their messages go to others, and their buffers stay unchanged.
#[test]
fn receives_are_unposted() {
    for end in ENDS {
        let mut ranks = world(2, 2);
        let mut dead = [[0xEE; 16]; 3];
        let [a, b, c] = &mut dead;
        cut_short(&mut ranks[0], end, |scope| {
            vec![
                scope.irecv(wanted(None, None), a).expect("posted"),
                scope.irecv(wanted(Some(1), None), b).expect("posted"),
                scope.irecv(wanted(Some(1), Some(1)), c).expect("posted"),
            ]
        });
        assert_eq!(ranks[0].lengths().expected, 0, "{end:?}");
        assert_eq!(ranks[0].lengths().operations, 0, "{end:?}");
        let sent = put(&mut ranks[1], 0, 1, b"message");
        settle(&mut ranks);
        let alive = post(&mut ranks[0], None, None, 16);
        assert_eq!(bytes(&mut ranks[0], alive), Ok(b"message".to_vec()));
        assert!(ranks[1].claim(sent).expect("known").is_some());
        assert_eq!(dead, [[0xEE; 16]; 3], "{end:?}");
        nothing_left(&mut ranks);
    }
}

/// A receive that had matched a long message dies before or amid its data: no further byte reaches the buffer, and the
/// send completes.
#[test]
fn a_dead_receive_gets_no_bytes() {
    for end in ENDS {
        for rounds in 0..8 {
            let mut ranks = world(2, 1);
            let mut peer = ranks.pop().expect("two");
            let sent = put(&mut peer, 0, 1, &payload(9, 1000));
            let mut dead = [0xEE; 1000];
            cut_short(&mut ranks[0], end, |scope| {
                let posted = scope.irecv(wanted(None, None), &mut dead).expect("posted");
                for _ in 0..rounds {
                    scope.check_messages().expect("it does not break");
                    peer.check_messages().expect("it does not break");
                }
                vec![posted]
            });
            let before = dead;
            ranks.push(peer);
            settle(&mut ranks);
            assert_eq!(dead, before);
            let sent = ranks[1].claim(sent).expect("known");
            if let Some(sent) = sent {
                assert_eq!(sent.outcome, Ok(1000), "after {rounds} rounds");
            } else {
                // The dead receive had not matched: the next receive takes the message.
                let alive = post(&mut ranks[0], None, None, 1000);
                settle(&mut ranks);
                assert_eq!(bytes(&mut ranks[0], alive), Ok(payload(9, 1000)));
                let _ = ranks[1].claim(Ticket::from_bits(0));
            }
            assert_eq!(ranks[0].lengths().operations, 0);
        }
    }
}

/// Sends of a dead scope disappear, or their receives fail with an error; later messages arrive. This holds in every
/// state: held, announced, offered, requested, streaming.
#[test]
fn sends_are_taken_back() {
    let (mut revoked, mut vanished, mut arrived) = (0, 0, 0);
    for end in ENDS {
        for (len, mode) in [
            (0, Mode::Synchronous),
            (8, Mode::Synchronous),
            (8, Mode::Standard),
            (1000, Mode::Standard),
        ] {
            for full in [false, true] {
                for posted_first in [false, true] {
                    for rounds in 0..12 {
                        let case = (end, len, mode, full, posted_first, rounds);
                        match send_dies(case) {
                            None => vanished += 1,
                            Some(Ok(_)) => arrived += 1,
                            Some(Err(Error::Revoked)) => revoked += 1,
                            Some(Err(error)) => panic!("{error} for {case:?}"),
                        }
                    }
                }
            }
        }
    }
    assert!(
        revoked > 10 && vanished > 10 && arrived > 10,
        "{revoked} {vanished} {arrived}"
    );
}

/// Lets a send die and returns the outcome of the receive, if it matched at all.
fn send_dies(
    (end, len, mode, full, posted_first, rounds): (End, usize, Mode, bool, bool, usize),
) -> Option<Result<Vec<u8>, Error>> {
    let mut ranks = world(2, 1);
    let mut peer = ranks.pop().expect("two");
    if full {
        put(&mut ranks[0], 1, 5, b"fills the pool");
    }
    let mut posted = posted_first.then(|| post(&mut peer, None, Some(1), 1000));
    let out = payload(3, len);
    cut_short(&mut ranks[0], end, |scope| {
        let sent = scope.isend_as(mode, Peer(1), tagged(1), &out);
        let sent = sent.expect("there is room");
        for _ in 0..rounds {
            peer.check_messages().expect("it does not break");
            scope.check_messages().expect("it does not break");
        }
        vec![sent]
    });
    drop(out);
    let posted = *posted.get_or_insert_with(|| post(&mut peer, None, Some(1), 1000));
    // The later message goes to the receive if the first one has disappeared.
    let behind = put(&mut ranks[0], 1, 1, b"behind");
    ranks.push(peer);
    settle(&mut ranks);
    let result = bytes(&mut ranks[1], posted);
    let vanished = result == Ok(b"behind".to_vec());
    if !vanished {
        if let Ok(bytes) = &result {
            assert_eq!(*bytes, payload(3, len));
        }
        let next = post(&mut ranks[1], None, Some(1), 1000);
        settle(&mut ranks);
        assert_eq!(bytes(&mut ranks[1], next), Ok(b"behind".to_vec()));
    }
    assert_eq!(
        ranks[0]
            .claim(behind)
            .expect("known")
            .expect("over")
            .outcome,
        Ok(6)
    );
    if full {
        let first = post(&mut ranks[1], None, Some(5), 100);
        settle(&mut ranks);
        assert_eq!(bytes(&mut ranks[1], first), Ok(b"fills the pool".to_vec()));
    }
    settle(&mut ranks);
    assert_eq!(ranks[1].lengths().operations, 0);
    // The sender has still to claim only the message that filled the pool.
    assert_eq!(ranks[0].lengths().operations, usize::from(full));
    assert_eq!(ranks[0].rejected() + ranks[1].rejected(), 0);
    (!vanished).then_some(result)
}

/// A scope holds a bounded number of loans; the next buffer comes back, and a claim makes room.
#[test]
fn a_scope_is_bounded() {
    let mut ranks = world(1, 4);
    let mut buffers = [[0; 8]; SCOPE_LOANS + 1];
    ranks[0].scope(|scope| {
        let mut buffers = buffers.iter_mut();
        let tickets: Vec<_> = (0..SCOPE_LOANS)
            .map(|tag| {
                let buffer = buffers.next().expect("enough");
                let posted = scope.irecv(wanted(None, Some(tag as i32)), buffer);
                posted.map_err(Error::from).expect("there is room")
            })
            .collect();
        let last = buffers.next().expect("enough");
        let refused = scope.irecv(wanted(None, None), last);
        let refused = refused.expect_err("it is full");
        assert_eq!(refused.error, Error::Full);
        let refused_send = scope.isend(Peer(0), tagged(1), b"no room");
        let refused_send = refused_send.expect_err("it is full");
        assert_eq!(
            (refused_send.error, refused_send.loan),
            (Error::Full, &b"no room"[..])
        );
        // An inner scope has slots of its own.
        scope.send(Peer(0), tagged(3), b"inside").expect("sent");
        let third = scope.wait(tickets[3]).expect("known");
        assert_eq!(third.outcome, Ok(6));
        let posted = scope.irecv(wanted(None, None), refused.loan);
        posted.map_err(Error::from).expect("there is room again");
        // A refused operation leaves nothing behind.
        assert_eq!(scope.claim(tickets[3]).err(), Some(Error::UnknownTicket));
    });
    nothing_left(&mut ranks);
}

/// Thousands of scopes that end in any state leave nothing behind.
#[derive(Clone, Debug)]
enum Act {
    /// A scope at a rank with sends and receives, some progress, and an end.
    Scope {
        at: usize,
        sends: Vec<(u16, i32, usize)>,
        receives: Vec<(Option<u16>, Option<i32>)>,
        polls: Vec<usize>,
        end: usize,
    },
    Send {
        from: usize,
        to: u16,
        len: usize,
    },
    Poll {
        at: usize,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let len = || prop_oneof![0..16usize, 16..400usize];
    let sends = prop::collection::vec((0..3u16, 0..3i32, len()), 0..4);
    let pattern = (prop::option::of(0..3u16), prop::option::of(0..3i32));
    let receives = prop::collection::vec(pattern, 0..4);
    let polls = prop::collection::vec(0..3usize, 0..12);
    prop_oneof![
        3 => (0..3usize, sends, receives, polls, 0..3usize).prop_map(
            |(at, sends, receives, polls, end)| Act::Scope { at, sends, receives, polls, end }
        ),
        2 => (0..3usize, 0..3u16, len()).prop_map(|(from, to, len)| Act::Send { from, to, len }),
        3 => (0..3usize).prop_map(|at| Act::Poll { at }),
    ]
}

/// Runs a scope in the rank `at`, alternating with the other ranks.
fn run_scope<L: Channel>(ranks: &mut [Rank<L>], at: usize, act: &Act) {
    let Act::Scope {
        sends,
        receives,
        polls,
        end,
        ..
    } = act
    else {
        return;
    };
    let (before, rest) = ranks.split_at_mut(at);
    let (rank, after) = rest.split_first_mut().expect("it is one of them");
    let out: Vec<_> = sends.iter().map(|(_, _, len)| payload(1, *len)).collect();
    let mut into: Vec<_> = receives.iter().map(|_| vec![0; 400]).collect();
    cut_short(rank, ENDS[*end], |scope| {
        let mut tickets = Vec::new();
        for ((to, tag, _), out) in sends.iter().zip(&out) {
            let sent = scope.isend(Peer(*to), tagged(*tag), out);
            tickets.push(sent.map_err(Error::from).expect("there is room"));
        }
        for ((source, tag), into) in receives.iter().zip(&mut into) {
            let posted = scope.irecv(wanted(*source, *tag), into);
            tickets.push(posted.map_err(Error::from).expect("there is room"));
        }
        for who in polls {
            let others = before.iter_mut().chain(after.iter_mut());
            match others.enumerate().find(|(index, _)| index == who) {
                Some((_, other)) => other.check_messages().expect("it does not break"),
                None => scope.check_messages().expect("it does not break"),
            };
        }
        tickets
    });
}

/// Performs the acts and receives all remaining messages. Then checks that nothing is left.
fn play<L: Channel>(mut ranks: Vec<Rank<L>>, settle: fn(&mut [Rank<L>]), acts: &[Act]) {
    let mut sent = Vec::new();
    for act in acts {
        match *act {
            Act::Scope { at, .. } => run_scope(&mut ranks, at, act),
            Act::Send { from, to, len } => {
                // No scope uses this tag, so only wildcards of scopes can have taken the message.
                let ticket = put(&mut ranks[from], to, 9, &payload(2, len));
                sent.push((from, len, ticket));
            }
            Act::Poll { at } => {
                ranks[at].check_messages().expect("it does not break");
            }
        }
    }
    settle(&mut ranks);
    for at in 0..ranks.len() {
        loop {
            let posted = post(&mut ranks[at], None, None, 400);
            settle(&mut ranks);
            if let Some(completed) = ranks[at].claim(posted).expect("known") {
                assert!(completed.outcome.is_ok());
                continue;
            }
            ranks[at].cancel(posted).expect("known");
            assert_eq!(bytes(&mut ranks[at], posted), Err(Error::Cancelled));
            break;
        }
    }
    for (from, len, ticket) in sent {
        let over = ranks[from].claim(ticket).expect("known").expect("over");
        assert_eq!(over.outcome, Ok(len));
    }
    settle(&mut ranks);
    are_empty(&ranks);
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn dead_scopes_leave_nothing_behind(
        acts in prop::collection::vec(act(), 1..60),
        in_flight in 1..4usize,
    ) {
        play(world(3, in_flight), settle, &acts);
    }

    /// The same holds where frames complete late and need their memory after the end of the scope.
    #[test]
    fn dead_scopes_leave_nothing_in_a_moody_channel(
        acts in prop::collection::vec(act(), 1..60),
        (in_flight, full, later, skipped_sender, late_completion) in (1..4usize, 0..50u32, 0..100u32, 0..50u32, 0..90u32),
        seed in any::<u64>(),
    ) {
        let [full, later, skipped_sender, late_completion] = [full, later, skipped_sender, late_completion].map(Rate::percent);
        let profile = Profile { full, later, skipped_sender, late_completion, ..Profile::BENIGN };
        let over = |channel| Communicator::with_limits(channel, LIMITS).expect("it fits");
        let ranks = adversarial(3, in_flight, profile, seed).into_iter().map(over).collect();
        play(ranks, settle_adversarial, &acts);
    }
}

#[test]
fn only_what_went_well_is_dismissed() {
    let mut ranks = world(2, 4);
    let posted = [(1, 4), (2, 1)].map(|(tag, room)| post(&mut ranks[0], None, Some(tag), room));
    assert_eq!(ranks[0].claim_header(posted[0]), None, "it is under way");
    let sent = [1, 2].map(|tag| put(&mut ranks[1], 0, tag, b"word"));
    settle(&mut ranks);
    let [receiver, sender] = &mut ranks[..] else {
        panic!("two ranks")
    };
    assert_eq!(receiver.claim_header(posted[0]), Some(tagged(1)));
    assert_eq!(receiver.claim_header(posted[0]), None, "it is gone");
    assert_eq!(receiver.claim_header(posted[1]), None, "it is truncated");
    let cut = Error::Truncated { sent: 4, room: 1 };
    assert_eq!(bytes(receiver, posted[1]), Err(cut));
    let dismissed = sent.map(|ticket| sender.claim_header(ticket));
    assert_eq!(dismissed, [Some(tagged(1)), Some(tagged(2))]);
    nothing_left(&mut ranks);
}
