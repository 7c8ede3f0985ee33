//! Tests early data: what leaves before the request, when it stops, and that contents are right.

use crate::common::*;
use pombo_kernel::aspect::EarlyData;
use pombo_kernel::matching::Linear;
use pombo_kernel::{
    Capacities, Communicator, Completed, Composition, Error, Loan, Mode, Peer, Ticket,
};
use pombo_netdrivers::fault::Rate;
use pombo_netdrivers::{HeapStorage, Loopback, loopback};
use pombo_testing::{AdversarialChannel, Profile};
use proptest::prelude::*;
use zerocopy::little_endian::U32;

type Early = Composition<U32, EarlyData<16, 2>, Linear, HeapStorage, Capacities<4096, 256, 64, 2>>;
type Rank = Communicator<Tagged, AdversarialChannel<Loopback>, Owned, Early>;

fn ranks(frame: usize, frames_in_flight: usize, profile: Profile, seed: u64) -> [Rank; 2] {
    let limits = loopback::Limits {
        frame,
        frames_in_flight,
    };
    let channels = AdversarialChannel::world(Loopback::world_with(2, limits), profile, seed);
    let ranks: Vec<_> = channels
        .into_iter()
        .map(|channel| Communicator::new(channel).expect("it fits"))
        .collect();
    ranks.try_into().ok().expect("two ranks")
}

fn pair() -> [Rank; 2] {
    ranks(128, 64, Profile::BENIGN, 1)
}

fn post(rank: &mut Rank, tag: Option<i32>, room: usize) -> Ticket {
    let posted = rank.irecv(wanted(None, tag), Bytes(vec![0; room]));
    posted.map_err(Error::from).expect("posted")
}

fn put(rank: &mut Rank, mode: Mode, tag: i32, bytes: Vec<u8>) -> Ticket {
    let sent = rank.isend_as(mode, Peer(1), tagged(tag), Bytes(bytes));
    sent.map_err(Error::from).expect("sent")
}

/// Lets the rank take everything that is there now.
fn turn(rank: &mut Rank) {
    for _ in 0..8 {
        rank.check_messages().expect("it does not break");
    }
}

/// Returns the outcome and the bytes of a receive that is complete.
fn received(rank: &mut Rank, ticket: Ticket) -> Option<(Result<usize, Error>, Vec<u8>)> {
    let Completed { loan, outcome, .. } = rank.claim(ticket).expect("known")?;
    match loan {
        Loan::Received(Bytes(bytes)) => Some((outcome, bytes)),
        Loan::Sent(_) => panic!("a receive"),
    }
}

/// What fits into the early frames is there before the sender gets the request, which then completes the send.
#[test]
fn data_do_not_wait_for_the_request() {
    for mode in [Mode::Standard, Mode::Synchronous] {
        let [mut left, mut right] = pair();
        let posted = post(&mut right, Some(1), 200);
        let sent = put(&mut left, mode, 1, payload(3, 200));
        turn(&mut right);
        let here = received(&mut right, posted);
        assert_eq!(here, Some((Ok(200), payload(3, 200))));
        assert!(left.claim(sent).expect("known").is_none());
        turn(&mut left);
        assert_eq!(
            left.claim(sent).expect("known").expect("over").outcome,
            Ok(200)
        );
    }
}

/// A receive that finds the message announced, but none of its data, takes them as well.
#[test]
fn the_announcement_alone_may_come_first() {
    let batch = Profile {
        batch: 1,
        ..Profile::BENIGN
    };
    let [mut left, mut right] = ranks(128, 64, batch, 1);
    put(&mut left, Mode::Standard, 1, payload(3, 200));
    right.check_messages().expect("it does not break");
    let posted = post(&mut right, None, 200);
    turn(&mut right);
    assert_eq!(
        received(&mut right, posted),
        Some((Ok(200), payload(3, 200)))
    );
}

/// Returns whether the data of a message are there before the sender gets the request.
fn goes_early(left: &mut Rank, right: &mut Rank, is_late: bool) -> bool {
    let posted = (!is_late).then(|| post(right, Some(1), 1000));
    put(left, Mode::Standard, 1, payload(5, 200));
    turn(right);
    let posted = posted.unwrap_or_else(|| post(right, Some(1), 1000));
    turn(right);
    let early = received(right, posted);
    for _ in 0..4 {
        turn(left);
        turn(right);
    }
    let whole = early.clone().or_else(|| received(right, posted));
    let (outcome, bytes) = whole.expect("it has arrived");
    assert_eq!((outcome, &bytes[..200]), (Ok(200), &payload(5, 200)[..]));
    early.is_some()
}

/// Early data in vain stop for 16 messages, then 32; those that are taken end that.
#[test]
fn data_in_vain_stop_for_a_while() {
    let [mut left, mut right] = pair();
    let (left, right) = (&mut left, &mut right);
    for pause in [16, 32, 64] {
        assert!(!goes_early(left, right, true));
        for _ in 0..pause {
            assert!(!goes_early(left, right, false));
        }
    }
    assert!(goes_early(left, right, false));
    assert!(!goes_early(left, right, true));
    for _ in 0..16 {
        assert!(!goes_early(left, right, false));
    }
    assert!(goes_early(left, right, false));
}

/// One that was announced, and cancelled before a receive came, stops none of the next.
#[test]
fn a_cancelled_send_ends_its_early_data() {
    let [mut left, mut right] = pair();
    let sent = put(&mut left, Mode::Standard, 1, payload(3, 200));
    turn(&mut right);
    left.cancel(sent).expect("known");
    for _ in 0..4 {
        turn(&mut left);
        turn(&mut right);
    }
    let over = left.claim(sent).expect("known").expect("over");
    assert_eq!(over.outcome, Err(Error::Cancelled));
    assert!(goes_early(&mut left, &mut right, false));
}

/// The sender may take its memory back while all data are under way: the receive is complete all the same.
#[test]
fn what_has_left_arrives() {
    let [mut left, mut right] = pair();
    let posted = post(&mut right, Some(1), 200);
    let sent = put(&mut left, Mode::Standard, 1, payload(3, 200));
    use pombo_kernel::facade::PointToPointExt;
    assert!(left.release(sent).is_some());
    turn(&mut right);
    turn(&mut left);
    turn(&mut right);
    assert_eq!(
        received(&mut right, posted),
        Some((Ok(200), payload(3, 200)))
    );
    assert_eq!((left.lengths().operations, right.rejected()), (0, 0));
}

#[derive(Clone, Debug)]
enum Act {
    Send { tag: i32, len: usize, mode: bool },
    Receive { tag: Option<i32>, room: usize },
    Turn { rank: usize },
    CancelSend { which: usize },
    CancelReceive { which: usize },
}

fn act() -> impl Strategy<Value = Act> {
    let len = || prop_oneof![0..40usize, 15_000..35_000usize, 0..204_800usize];
    prop_oneof![
        4 => (0..3, len(), any::<bool>()).prop_map(|(tag, len, mode)| Act::Send { tag, len, mode }),
        4 => (prop::option::of(0..3), prop_oneof![3 => Just(200 << 10), 1 => len()])
            .prop_map(|(tag, room)| Act::Receive { tag, room }),
        6 => (0..2usize).prop_map(|rank| Act::Turn { rank }),
        1 => (0..40usize).prop_map(|which| Act::CancelSend { which }),
        1 => (0..40usize).prop_map(|which| Act::CancelReceive { which }),
    ]
}

struct Message {
    ticket: Ticket,
    tag: i32,
    bytes: Vec<u8>,
}

struct Receive {
    ticket: Ticket,
    tag: Option<i32>,
    room: usize,
}

/// Runs the acts, and compares what is received with a queue of messages and a queue of receives, without those that
/// were cancelled.
fn run(acts: &[Act], ranks: [Rank; 2]) {
    let mut ranks = ranks;
    let (mut messages, mut receives) = (Vec::new(), Vec::new());
    for act in acts {
        match *act {
            Act::Send { tag, len, mode } => {
                let mode = if mode {
                    Mode::Synchronous
                } else {
                    Mode::Standard
                };
                let bytes = payload(messages.len(), len);
                let ticket = put(&mut ranks[0], mode, tag, bytes.clone());
                messages.push(Message { ticket, tag, bytes });
            }
            Act::Receive { tag, room } => {
                let ticket = post(&mut ranks[1], tag, room);
                receives.push(Receive { ticket, tag, room });
            }
            Act::Turn { rank } => drop(ranks[rank].check_messages().expect("it does not break")),
            Act::CancelSend { which } => {
                if let Some(message) = messages.get(which) {
                    ranks[0].cancel(message.ticket).expect("known");
                }
            }
            Act::CancelReceive { which } => {
                if let Some(receive) = receives.get(which) {
                    ranks[1].cancel(receive.ticket).expect("known");
                }
            }
        }
    }
    settle_adversarial(&mut ranks);
    let (mut queue, mut incomplete) = (Vec::<Option<Message>>::new(), Vec::new());
    for message in messages {
        let over = ranks[0].claim(message.ticket).expect("known");
        match over.map(|over| over.outcome) {
            Some(Err(Error::Cancelled)) => continue,
            Some(outcome) => assert_eq!(outcome, Ok(message.bytes.len())),
            None => {
                incomplete.push(message.ticket);
            }
        }
        queue.push(Some(message));
    }
    for receive in receives {
        let over = received(&mut ranks[1], receive.ticket);
        if let Some((Err(Error::Cancelled), _)) = over {
            continue;
        }
        let fits = |it: &Option<Message>| {
            it.as_ref()
                .is_some_and(|it| receive.tag.is_none_or(|tag| tag == it.tag))
        };
        let Some(at) = queue.iter().position(fits) else {
            assert_eq!(over, None);
            continue;
        };
        let Message {
            ticket,
            bytes: sent,
            ..
        } = queue[at].take().expect("it fits");
        assert!(!incomplete.contains(&ticket), "received, but not sent");
        let (outcome, bytes) = over.expect("its message is there");
        let (sent_len, room) = (sent.len(), receive.room);
        let stored = sent_len.min(room);
        match sent_len > room {
            true => assert_eq!(
                outcome,
                Err(Error::Truncated {
                    sent: sent_len,
                    room
                })
            ),
            false => assert_eq!(outcome, Ok(sent_len)),
        }
        assert!(
            bytes[..stored] == sent[..stored],
            "other bytes than were sent"
        );
        assert!(
            bytes[stored..].iter().all(|byte| *byte == 0),
            "more than was sent"
        );
    }
    assert!(ranks.iter().all(|rank| rank.rejected() == 0));
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn contents_are_those_of_a_queue(
        acts in prop::collection::vec(act(), 1..80),
        frames_in_flight in 1..8usize,
        batch in 1..8usize,
        (full, later) in (0..60u32, 0..60u32),
        seed in any::<u64>(),
    ) {
        let profile = Profile {
            full: Rate::percent(full),
            later: Rate::percent(later),
            batch,
            ..Profile::BENIGN
        };
        run(&acts, ranks(16 << 10, frames_in_flight, profile, seed));
    }
}
