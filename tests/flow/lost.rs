//! Tests a peer that leaves in every phase: what it has sent still arrives, operations that need it end and name it,
//! and all others continue.

use crate::common::*;
use crate::help::*;
use pombo_kernel::{Communicator, Error, Limits, Loan, Mode, Peer, Ticket};
use pombo_netdrivers::Loopback;
use pombo_netdrivers::fault::Rate;
use pombo_testing::{AdversarialChannel, Profile};
use proptest::prelude::*;

const GONE: Error = Error::PeerLost(Peer(1));

/// Messages sent before the end arrive, whatever the survivor tries to send meanwhile.
#[test]
fn messages_sent_before_the_end_arrive() {
    let mut ranks = world::<Tiny>(2, 2);
    let posted = ranks[0].post(Some(1), Some(1), 8);
    ranks[1].put(0, 1, b"farewell");
    drop(ranks.pop());
    let too_late = ranks[0].put(1, 1, b"hello");
    settle(&mut ranks);
    assert_eq!(ranks[0].outcome(too_late), Err(GONE));
    assert_eq!(ranks[0].bytes(posted), b"farewell");
}

/// All data of a long message was sent before the end.
#[test]
fn a_long_message_sent_before_the_end_arrives() {
    let mut ranks = world::<Tiny>(2, 2);
    let posted = ranks[0].post(Some(1), Some(1), 4000);
    let long = payload(1, 4000);
    let sent = ranks[1].put(0, 1, &long);
    ranks[0].turn();
    ranks[1].turn();
    assert_eq!(ranks[1].outcome(sent), Ok(4000));
    drop(ranks.pop());
    let too_late = ranks[0].put(1, 1, b"hello");
    settle(&mut ranks);
    assert_eq!(ranks[0].outcome(too_late), Err(GONE));
    assert_eq!(ranks[0].bytes(posted), long);
}

/// The answer to an empty synchronous message was sent before the end, and a frame that the peer no longer takes is
/// found before it. Without credit the message was offered to the receiver's query.
#[test]
fn an_answer_sent_before_the_end_counts() {
    for is_offered in [false, true] {
        let mut ranks = world::<Tiny>(2, 1);
        if is_offered {
            ranks[0].put(1, 5, b"fills the pool");
        }
        ranks[1].put(0, 9, b"fills the other");
        let posted = ranks[1].post(Some(0), Some(1), 8);
        let nothing = Bytes(Vec::new());
        let sent = ranks[0].isend_as(Mode::Synchronous, Peer(1), tagged(1), nothing);
        let sent = sent.map_err(Error::from).expect("sent");
        for _ in 0..1 + usize::from(is_offered) {
            ranks[0].turn();
            ranks[1].turn();
        }
        assert_eq!(ranks[1].outcome(posted), Ok(0));
        drop(ranks.pop());
        // This returns credit, for which there is nobody any more.
        let other = ranks[0].post(Some(1), Some(9), 15);
        settle(&mut ranks);
        assert_eq!(ranks[0].bytes(other), b"fills the other");
        assert_eq!(ranks[0].outcome(sent), Ok(0), "offered: {is_offered}");
    }
}

/// Receives that name the lost rank end; other receives keep waiting. Later calls that name it fail at once.
#[test]
fn receives_and_later_calls() {
    let mut ranks = world::<Tiny>(3, 1);
    ranks[1].put(0, 1, b"early");
    settle(&mut ranks);
    let named = [None, Some(7)].map(|tag| ranks[0].post(Some(1), tag, 8));
    let wildcard = ranks[0].post(None, Some(7), 8);
    let wildcard_tag = ranks[0].post(Some(2), None, 8);
    drop(ranks.remove(1));
    settle(&mut ranks);
    assert_eq!(ranks[0].bytes(named[0]), b"early");
    assert_eq!(ranks[0].outcome(named[1]), Err(GONE));
    ranks[1].put(0, 7, b"second");
    ranks[1].put(0, 7, b"third");
    settle(&mut ranks);
    assert_eq!(ranks[0].bytes(wildcard), b"second");
    assert_eq!(ranks[0].bytes(wildcard_tag), b"third");
    for _ in 0..2 {
        let refused = ranks[0].isend(Peer(1), tagged(1), Bytes(vec![1]));
        let refused = refused.expect_err("it is gone");
        assert_eq!((refused.error, refused.loan.0), (GONE, vec![1]));
        let posted = ranks[0].post(Some(1), None, 8);
        assert_eq!(ranks[0].outcome(posted), Err(GONE));
        assert_eq!(ranks[0].probe(wanted(Some(1), None)).err(), Some(GONE));
        assert_eq!(ranks[0].wait_probe(wanted(Some(1), None)).err(), Some(GONE));
        assert_eq!(ranks[0].send(Peer(1), tagged(1), b"x"), Err(GONE));
        let into = ranks[0].recv(wanted(Some(1), None), &mut [0; 8]);
        assert_eq!(into.err(), Some(GONE));
    }
    assert!(ranks[0].all_zero());
}

/// Messages that had arrived whole can be received; those that were only announced are lost.
#[test]
fn unexpected_messages_of_a_lost_rank() {
    let mut ranks = world::<Hosted>(2, 8);
    ranks[1].put(0, 1, b"short");
    ranks[1].put(0, 1, &payload(1, 5000));
    ranks[1].put(0, 2, b"short as well");
    settle(&mut ranks);
    assert_eq!(ranks[0].lengths().unexpected, 3);
    drop(ranks.pop());
    settle(&mut ranks);
    assert_eq!(ranks[0].lengths().unexpected, 2);
    for text in ["short", "short as well"] {
        let found = ranks[0].probe(wanted(Some(1), None)).expect("it is here");
        assert_eq!(found.expect("it is here").len(), text.len());
        let posted = ranks[0].post(Some(1), None, 20);
        assert_eq!(ranks[0].bytes(posted), text.as_bytes());
    }
    assert_eq!(ranks[0].probe(wanted(Some(1), None)).err(), Some(GONE));
}

/// Sends end in every state: held, announced, being revoked, offered, streaming. Few frames are in flight, so that a
/// stream stops in the middle.
#[test]
fn sends_end_in_every_state() {
    for rounds in 0..10 {
        for (held, posted, cancelled) in (0..8).map(|bits| (bits & 1, bits & 2, bits & 4)) {
            let mut ranks = narrow_world::<Tiny>(2, 1, 1);
            let mut tickets = Vec::new();
            if held != 0 {
                tickets.push(ranks[0].put(1, 5, b"fills the pool"));
            }
            tickets.push(ranks[0].put(1, 1, &payload(1, 1000)));
            let mode = Mode::Synchronous;
            let sent = ranks[0].isend_as(mode, Peer(1), tagged(1), Bytes(payload(2, 8)));
            tickets.push(sent.map_err(Error::from).expect("sent"));
            if posted != 0 {
                ranks[1].post(None, Some(1), 1000);
            }
            for _ in 0..rounds {
                ranks[1].turn();
                ranks[0].turn();
            }
            if cancelled != 0 {
                for ticket in &tickets {
                    ranks[0].cancel(*ticket).expect("known");
                }
            }
            drop(ranks.pop());
            settle(&mut ranks);
            for ticket in tickets {
                let outcome = ranks[0].outcome(ticket);
                assert!(
                    matches!(outcome, Ok(_) | Err(GONE | Error::Cancelled)),
                    "{outcome:?}"
                );
            }
            assert!(ranks[0].all_zero());
        }
    }
}

/// A long message is lost in the middle: its receive ends, by name or by wildcard, and gets nothing of the next
/// message.
#[test]
fn a_long_receive_breaks_off() {
    for rounds in 1..10 {
        for source in [None, Some(1)] {
            let mut ranks = narrow_world::<Tiny>(3, 1, 1);
            let posted = ranks[0].post(source, None, 4000);
            ranks[1].put(0, 1, &payload(1, 4000));
            for _ in 0..rounds {
                ranks[0].turn();
                ranks[1].turn();
            }
            drop(ranks.remove(1));
            settle(&mut ranks);
            assert_eq!(ranks[0].outcome(posted), Err(GONE), "after {rounds} rounds");
            ranks[1].put(0, 1, b"goes on");
            let next = ranks[0].post(None, None, 8);
            settle(&mut ranks);
            assert_eq!(ranks[0].bytes(next), b"goes on");
            assert!(ranks[0].all_zero());
        }
    }
}

/// Probe results of a lost rank are discarded.
#[test]
fn a_probe_names_no_message_of_a_lost_rank() {
    let mut ranks = world::<Tiny>(3, 1);
    for from in [1, 2] {
        ranks[from].put(0, 1, b"first");
        ranks[from].put(0, 2, b"held");
    }
    settle(&mut ranks);
    assert!(ranks[0].probe(wanted(None, Some(2))).unwrap().is_none());
    ranks[1].turn();
    ranks[0].turn();
    // The answer of rank 1 is here, and rank 2 is silent.
    drop(ranks.remove(1));
    ranks[0].turn();
    for _ in 0..3 {
        let found = ranks[0].probe(wanted(None, Some(2))).unwrap();
        assert!(
            found.is_none_or(|envelope| envelope.peer() == Peer(2)),
            "{found:?}"
        );
        settle(&mut ranks);
    }
}

#[derive(Clone, Debug)]
enum Act {
    Send {
        from: u16,
        to: u16,
        len: usize,
        synchronous: bool,
    },
    Receive {
        at: u16,
        source: Option<u16>,
    },
    Cancel {
        at: u16,
        which: usize,
    },
    Probe {
        at: u16,
        source: Option<u16>,
    },
    Poll {
        at: u16,
    },
}

/// The rank that leaves.
const DOOMED: u16 = 2;

fn act() -> impl Strategy<Value = Act> {
    let rank = 0..3u16;
    let source = || prop::option::weighted(0.7, 0..3u16);
    let len = prop_oneof![8..17usize, 17..400usize];
    prop_oneof![
        5 => (rank.clone(), rank.clone(), len, any::<u8>()).prop_map(
            |(from, to, len, coin)| Act::Send { from, to, len, synchronous: coin < 40 }
        ),
        4 => (rank.clone(), source()).prop_map(|(at, source)| Act::Receive { at, source }),
        1 => (rank.clone(), 0..20usize).prop_map(|(at, which)| Act::Cancel { at, which }),
        1 => (rank.clone(), source()).prop_map(|(at, source)| Act::Probe { at, source }),
        6 => rank.prop_map(|at| Act::Poll { at }),
    ]
}

type Rank = Communicator<Tagged, AdversarialChannel<Loopback>, Owned, Tiny>;

struct Message {
    from: u16,
    to: u16,
    len: usize,
    ticket: Ticket,
    outcome: Option<Result<usize, Error>>,
}

struct Receive {
    at: u16,
    source: Option<u16>,
    ticket: Ticket,
    /// The length of the message, or why none arrived.
    got: Option<Result<usize, Error>>,
}

struct World {
    ranks: Vec<Rank>,
    messages: Vec<Message>,
    receives: Vec<Receive>,
}

impl World {
    fn act(&mut self, act: &Act) {
        let alive = self.ranks.len() as u16;
        match *act {
            Act::Send {
                from,
                to,
                len,
                synchronous,
            } if from < alive => {
                let id = self.messages.len();
                let mode = [Mode::Standard, Mode::Synchronous][usize::from(synchronous)];
                let rank = &mut self.ranks[usize::from(from)];
                let sent =
                    rank.isend_as(mode, Peer(to), tagged(id as i32), Bytes(payload(id, len)));
                match sent {
                    Ok(ticket) => self.messages.push(Message {
                        from,
                        to,
                        len,
                        ticket,
                        outcome: None,
                    }),
                    Err(refused) => assert_eq!(refused.error, Error::PeerLost(Peer(DOOMED))),
                }
            }
            Act::Receive { at, source } if at < alive => self.receive(at, source),
            Act::Cancel { at, which } if at < alive => {
                let own = |receive: &&Receive| receive.at == at && receive.got.is_none();
                if let Some(receive) = self.receives.iter().filter(own).nth(which) {
                    let rank = &mut self.ranks[usize::from(at)];
                    rank.cancel(receive.ticket).expect("known");
                }
            }
            Act::Probe { at, source } if at < alive => {
                let found = self.ranks[usize::from(at)].probe(wanted(source, None));
                if let Err(error) = found {
                    assert_eq!(
                        (error, source),
                        (Error::PeerLost(Peer(DOOMED)), Some(DOOMED))
                    );
                }
            }
            Act::Poll { at } if at < alive => {
                let rank = &mut self.ranks[usize::from(at)];
                rank.check_messages().expect("it does not break");
            }
            _ => {}
        }
    }

    fn receive(&mut self, at: u16, source: Option<u16>) {
        let rank = &mut self.ranks[usize::from(at)];
        let posted = rank.irecv(wanted(source, None), Bytes(vec![0; 400]));
        self.receives.push(Receive {
            at,
            source,
            ticket: posted.map_err(Error::from).expect("posted"),
            got: None,
        });
    }

    fn claim(&mut self) {
        let alive = self.ranks.len() as u16;
        for message in &mut self.messages {
            if message.from < alive && message.outcome.is_none() {
                let rank = &mut self.ranks[usize::from(message.from)];
                let over = rank.claim(message.ticket).expect("known");
                message.outcome = over.map(|over| over.outcome);
            }
        }
        for receive in &mut self.receives {
            if receive.at >= alive || receive.got.is_some() {
                continue;
            }
            let rank = &mut self.ranks[usize::from(receive.at)];
            let Some(over) = rank.claim(receive.ticket).expect("known") else {
                continue;
            };
            let Loan::Received(Bytes(bytes)) = over.loan else {
                panic!("a receive")
            };
            receive.got = Some(over.outcome.map(|stored| {
                let envelope = over.envelope.expect("a message came");
                let id = envelope.header().tag.get() as usize;
                let message = &self.messages[id];
                assert_eq!((message.from, message.to), (envelope.peer().0, receive.at));
                assert_eq!(bytes[..stored], payload(id, message.len)[..]);
                id
            }));
        }
    }

    /// Receives by name all that can still arrive.
    fn drain(&mut self) {
        for at in 0..2 {
            for source in 0..3 {
                for _ in 0..=self.messages.len() {
                    self.receive(at, Some(source));
                }
            }
        }
        settle_adversarial(&mut self.ranks);
        for index in 0..self.receives.len() {
            let Receive { at, ticket, .. } = self.receives[index];
            if at < DOOMED {
                // A claimed receive is unknown.
                let _ = self.ranks[usize::from(at)].cancel(ticket);
            }
        }
        settle_adversarial(&mut self.ranks);
        self.claim();
    }

    fn check(&self) {
        let mut taken = vec![0; self.messages.len()];
        let mut last = [[None; 3]; 3];
        for receive in self.receives.iter().filter(|receive| receive.at < DOOMED) {
            match receive.got.expect("nothing waits for a lost rank") {
                Ok(id) => {
                    taken[id] += 1;
                    let from = self.messages[id].from;
                    let last = &mut last[usize::from(from)][usize::from(receive.at)];
                    assert!(*last < Some(id), "{from} is overtaken");
                    *last = Some(id);
                }
                Err(Error::Cancelled) => {}
                Err(error) => {
                    assert_eq!(error, Error::PeerLost(Peer(DOOMED)));
                    assert!(receive.source.is_none_or(|source| source == DOOMED));
                }
            }
        }
        for (id, message) in self.messages.iter().enumerate() {
            if message.to == DOOMED {
                if message.from != DOOMED {
                    let outcome = message.outcome.expect("nothing waits for a lost rank");
                    assert!(matches!(outcome, Ok(_) | Err(Error::PeerLost(_))));
                }
            } else if message.from != DOOMED {
                assert_eq!((taken[id], message.outcome), (1, Some(Ok(message.len))));
            } else if message.outcome.is_some_and(|outcome| outcome.is_ok()) {
                assert_eq!(taken[id], 1, "message {id} had left when its sender died");
            }
        }
        for rank in &self.ranks {
            let lengths = rank.lengths();
            assert_eq!(
                (lengths.operations, lengths.expected, lengths.unexpected),
                (0, 0, 0)
            );
        }
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn a_loss_concerns_nobody_else(
        before in prop::collection::vec(act(), 1..80),
        after in prop::collection::vec(act(), 0..40),
        profile in (1..5usize, 0..40u32, 0..60u32, 0..60u32, 0..60u32),
        seed in any::<u64>(),
    ) {
        let (in_flight, full, later, skipped_sender, late_completion) = profile;
        let [full, later, skipped_sender, late_completion] = [full, later, skipped_sender, late_completion].map(Rate::percent);
        let profile = Profile { full, later, skipped_sender, late_completion, ..Profile::BENIGN };
        let limits = Limits { credit: Some(1), eager: None , copies: None};
        let over = |channel| Communicator::with_limits(channel, limits).expect("it fits");
        let mut world = World {
            ranks: adversarial(3, in_flight, profile, seed).into_iter().map(over).collect(),
            messages: Vec::new(),
            receives: Vec::new(),
        };
        for act in &before {
            world.act(act);
        }
        world.claim();
        drop(world.ranks.pop());
        for act in &after {
            world.act(act);
        }
        settle_adversarial(&mut world.ranks);
        world.claim();
        world.drain();
        world.check();
    }
}
