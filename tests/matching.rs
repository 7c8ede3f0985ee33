//! Matching against the rules of MPI, written down as simply as they can be: no message and no receive may both
//! have reason to complain.
//!
//! Random sends, receives, cancels, probes and polls on up to three ranks, through channels and pools of the
//! smallest sizes. In the end every matching message and receive must have found each other, in an order that the
//! standard allows (MPI 5.0, section 3.5): a message goes to the first receive that matches, a receive takes the
//! first message of a source that matches.

mod common;

use common::*;
use pombo_kernel::{
    Communicator, Config, Error, Limits, Loan, Mode, Node, Operate, Pattern, Ticket,
};
use pombo_netdrivers::{Loopback, loopback};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Act {
    Send {
        from: u16,
        to: u16,
        tag: i32,
        len: usize,
        synchronous: bool,
    },
    Receive {
        at: u16,
        source: Option<u16>,
        tag: Option<i32>,
        room: usize,
    },
    CancelSend {
        which: usize,
    },
    CancelReceive {
        which: usize,
    },
    Probe {
        at: u16,
        source: Option<u16>,
        tag: Option<i32>,
    },
    Poll {
        at: u16,
    },
}

struct Message {
    from: u16,
    to: u16,
    tag: i32,
    ticket: Ticket,
    len: usize,
    cancelled: bool,
}

struct Receive {
    at: u16,
    pattern: Wanted,
    room: usize,
    ticket: Ticket,
    /// The message that it got, by number.
    got: Option<usize>,
    cancelled: bool,
}

fn act(ranks: u16) -> impl Strategy<Value = Act> {
    let rank = 0..ranks;
    let source = prop_oneof![1 => Just(None), 2 => rank.clone().prop_map(Some)];
    let tag = prop_oneof![1 => Just(None), 3 => (0..3i32).prop_map(Some)];
    let len = prop_oneof![4 => 4..16usize, 2 => 16..64usize, 1 => 64..2000usize];
    prop_oneof![
        6 => (rank.clone(), rank.clone(), 0..3i32, len, any::<bool>()).prop_map(
            |(from, to, tag, len, coin)| Act::Send { from, to, tag, len, synchronous: coin && len % 4 == 0 }
        ),
        5 => (rank.clone(), source.clone(), tag.clone(), prop_oneof![8 => Just(2000usize), 1 => 4..40usize])
            .prop_map(|(at, source, tag, room)| Act::Receive { at, source, tag, room }),
        1 => (0..64usize).prop_map(|which| Act::CancelSend { which }),
        1 => (0..64usize).prop_map(|which| Act::CancelReceive { which }),
        1 => (rank.clone(), source, tag).prop_map(|(at, source, tag)| Act::Probe { at, source, tag }),
        6 => rank.prop_map(|at| Act::Poll { at }),
    ]
}

struct World<C: Config> {
    ranks: Vec<Comm<C>>,
    messages: Vec<Message>,
    receives: Vec<Receive>,
}

impl<C: Config> World<C> {
    fn new(ranks: u16, in_flight: usize, limits: Limits) -> Self {
        let channel = loopback::Limits {
            frame: 128,
            frames_in_flight: in_flight,
        };
        let ranks = Loopback::world_with(ranks, channel)
            .into_iter()
            .map(|channel| Communicator::with_limits(channel, limits).expect("it fits"))
            .collect();
        World {
            ranks,
            messages: Vec::new(),
            receives: Vec::new(),
        }
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Send {
                from,
                to,
                tag,
                len,
                synchronous,
            } => {
                let id = self.messages.len();
                let mut bytes = payload(id, len);
                bytes[..4].copy_from_slice(&(id as u32).to_le_bytes());
                let mode = if synchronous {
                    Mode::Synchronous
                } else {
                    Mode::Standard
                };
                let rank = &mut self.ranks[usize::from(from)];
                let ticket = rank
                    .send_as(mode, Node(to), tagged(tag), Bytes(bytes))
                    .map_err(Error::from)
                    .expect("the table is large enough");
                self.messages.push(Message {
                    from,
                    to,
                    tag,
                    ticket,
                    len,
                    cancelled: false,
                });
            }
            Act::Receive {
                at,
                source,
                tag,
                room,
            } => {
                let pattern = wanted(source, tag);
                let ticket = self.ranks[usize::from(at)]
                    .receive(pattern, Bytes(vec![0; room]))
                    .map_err(Error::from)
                    .expect("the table is large enough");
                let receive = Receive {
                    at,
                    pattern,
                    room,
                    ticket,
                    got: None,
                    cancelled: false,
                };
                self.receives.push(receive);
            }
            Act::CancelSend { which } => {
                if let Some(message) = self.messages.get(which) {
                    let rank = &mut self.ranks[usize::from(message.from)];
                    rank.cancel(message.ticket).expect("it is known");
                }
            }
            Act::CancelReceive { which } => {
                if let Some(receive) = self.receives.get(which) {
                    let rank = &mut self.ranks[usize::from(receive.at)];
                    rank.cancel(receive.ticket).expect("it is known");
                }
            }
            Act::Probe { at, source, tag } => {
                let pattern = wanted(source, tag);
                let found = self.ranks[usize::from(at)]
                    .probe(pattern)
                    .expect("nobody is lost");
                if let Some(envelope) = found {
                    assert!(pattern.matches(envelope.node(), &envelope.header()));
                }
            }
            Act::Poll { at } => {
                self.ranks[usize::from(at)]
                    .check_messages()
                    .expect("loopback does not break");
            }
        }
    }

    /// Claims everything, checks contents, and notes who got what.
    fn finish(&mut self) {
        settle(&mut self.ranks);
        for receive in &mut self.receives {
            let rank = &mut self.ranks[usize::from(receive.at)];
            let Some(completed) = rank.claim(receive.ticket).expect("it is known") else {
                continue;
            };
            if completed.outcome == Err(Error::Cancelled) {
                receive.cancelled = true;
                continue;
            }
            let Loan::Received(Bytes(bytes)) = completed.loan else {
                panic!("a receive")
            };
            let id = u32::from_le_bytes(bytes[..4].try_into().expect("4 bytes")) as usize;
            let message = &self.messages[id];
            let envelope = completed.envelope.expect("a message came");
            assert_eq!(
                (envelope.node(), envelope.len()),
                (Node(message.from), message.len)
            );
            assert_eq!(message.to, receive.at);
            let stored = message.len.min(receive.room);
            match completed.outcome {
                Ok(n) => assert_eq!((n, stored), (message.len, message.len)),
                Err(error) => {
                    assert_eq!(
                        error,
                        Error::Truncated {
                            sent: message.len,
                            room: receive.room
                        }
                    );
                }
            }
            assert_eq!(bytes[4..stored], payload(id, message.len)[4..stored]);
            receive.got = Some(id);
        }
        for message in &mut self.messages {
            let rank = &mut self.ranks[usize::from(message.from)];
            if let Some(completed) = rank.claim(message.ticket).expect("it is known") {
                match completed.outcome {
                    Ok(n) => assert_eq!(n, message.len),
                    Err(error) => {
                        assert_eq!(error, Error::Cancelled);
                        message.cancelled = true;
                    }
                }
            }
        }
    }

    /// No message and no receive that match each other may both have reason to complain.
    fn check(&self) {
        let mut taker = vec![None; self.messages.len()];
        for (index, receive) in self.receives.iter().enumerate() {
            if let Some(id) = receive.got {
                assert!(
                    !self.messages[id].cancelled,
                    "message {id} was cancelled and received"
                );
                assert_eq!(
                    taker[id].replace(index),
                    None,
                    "message {id} was received twice"
                );
            }
        }
        for (id, message) in self
            .messages
            .iter()
            .enumerate()
            .filter(|(_, m)| !m.cancelled)
        {
            for (index, receive) in self
                .receives
                .iter()
                .enumerate()
                .filter(|(_, r)| !r.cancelled)
            {
                let matches = receive.at == message.to
                    && receive
                        .pattern
                        .matches(Node(message.from), &tagged(message.tag));
                if !matches || receive.got == Some(id) {
                    continue;
                }
                let message_content = taker[id].is_some_and(|earlier| earlier < index);
                let receive_content = receive
                    .got
                    .is_some_and(|other| self.messages[other].from != message.from || other < id);
                assert!(
                    message_content || receive_content,
                    "message {id} and receive {index} should have met: {:?} / {:?}",
                    taker[id],
                    receive.got
                );
            }
        }
        for rank in &self.ranks {
            assert_eq!(rank.rejected(), 0);
        }
    }
}

fn run<C: Config>(acts: &[Act], in_flight: usize, limits: Limits) {
    let mut world = World::<C>::new(3, in_flight, limits);
    for act in acts {
        world.act(act);
    }
    world.finish();
    world.check();
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn nobody_has_reason_to_complain(
        acts in prop::collection::vec(act(3), 1..150),
        in_flight in 1..6usize,
        credit in 1..4u32,
    ) {
        run::<Tiny>(&acts, in_flight, Limits { credit: Some(1), eager: None });
        run::<Hosted>(&acts, in_flight, Limits { credit: Some(credit), eager: Some(16) });
    }
}
