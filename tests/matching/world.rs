//! Ranks that perform acts, and the record of their messages and receives.

use crate::Act;
use crate::common::{Bytes, Owned, payload};
use crate::numbered::{Numbered, Select, select};
use pombo_kernel::facade::{PointToPointExt, Received};
use pombo_kernel::{
    Channel, Communicator, Completed, Config, Envelope, Error, Limits, Loan, Mode, Peer, Ticket,
};
use zerocopy::little_endian::{I32, U32};

pub(crate) struct Message {
    pub(crate) from: u16,
    pub(crate) to: u16,
    pub(crate) tag: i32,
    pub(crate) len: usize,
    pub(crate) ticket: Ticket,
    pub(crate) cancelled: bool,
}

pub(crate) struct Receive {
    pub(crate) at: u16,
    pub(crate) pattern: Select,
    pub(crate) room: usize,
    /// `None` if the message came without an operation.
    pub(crate) ticket: Option<Ticket>,
    /// The number of the message that the receive got.
    pub(crate) got: Option<usize>,
    pub(crate) cancelled: bool,
    /// Whether a matched probe has taken the message, which is not yet received.
    pub(crate) waits: bool,
}

/// A successful probe.
pub(crate) struct Found {
    pub(crate) at: u16,
    pub(crate) pattern: Select,
    pub(crate) id: usize,
    /// Number of receives posted before it, over all ranks.
    pub(crate) receives: usize,
}

pub(crate) struct World<L: Channel, C: Config> {
    pub(crate) ranks: Vec<Communicator<Numbered, L, Owned, C>>,
    pub(crate) settle: fn(&mut [Communicator<Numbered, L, Owned, C>]),
    pub(crate) messages: Vec<Message>,
    pub(crate) receives: Vec<Receive>,
    pub(crate) found: Vec<Found>,
}

impl<L: Channel, C: Config> World<L, C> {
    pub(crate) fn new(
        channels: Vec<L>,
        limits: Limits,
        settle: fn(&mut [Communicator<Numbered, L, Owned, C>]),
    ) -> Self {
        let over = |channel| Communicator::with_limits(channel, limits).expect("it fits");
        World {
            ranks: channels.into_iter().map(over).collect(),
            settle,
            messages: Vec::new(),
            receives: Vec::new(),
            found: Vec::new(),
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
                let mode = if synchronous {
                    Mode::Synchronous
                } else {
                    Mode::Standard
                };
                self.send(mode, (from, to), tag, len);
            }
            Act::Receive {
                at,
                source,
                tag,
                room,
                direct,
            } => {
                let pattern = select(source, tag);
                if !direct || !self.receive_directly(at, pattern, room) {
                    self.receive(at, pattern, room);
                }
            }
            Act::CancelSend { which } => {
                if let Some(message) = self.messages.get(which) {
                    let rank = &mut self.ranks[usize::from(message.from)];
                    check_cancel(rank.cancel(message.ticket));
                }
            }
            Act::CancelReceive { which } => {
                if let Some(Receive {
                    at,
                    ticket: Some(ticket),
                    ..
                }) = self.receives.get(which)
                {
                    let rank = &mut self.ranks[usize::from(*at)];
                    check_cancel(rank.cancel(*ticket));
                }
            }
            Act::Probe { at, source, tag } => {
                self.probe(at, select(source, tag));
            }
            Act::MatchedProbe { at, source, tag } => {
                self.matched_probe(at, select(source, tag));
            }
            Act::ReceiveMatched { which, room } => {
                let waiting = self.receives.iter().enumerate().filter(|(_, it)| it.waits);
                let waiting: Vec<_> = waiting.map(|(index, _)| index).collect();
                if !waiting.is_empty() {
                    self.irecv_matched(waiting[which % waiting.len()], room);
                }
            }
            Act::Poll { at } => {
                let rank = &mut self.ranks[usize::from(at)];
                rank.check_messages().expect("the channel does not break");
            }
            Act::Claim => self.claim(),
        }
    }

    fn send(&mut self, mode: Mode, (from, to): (u16, u16), tag: i32, len: usize) {
        let id = self.messages.len();
        let header = Numbered {
            tag: I32::new(tag),
            number: U32::new(id as u32),
        };
        let rank = &mut self.ranks[usize::from(from)];
        match rank.isend_as(mode, Peer(to), header, Bytes(payload(id, len))) {
            Ok(ticket) => self.messages.push(Message {
                from,
                to,
                tag,
                len,
                ticket,
                cancelled: false,
            }),
            // Without rendezvous some messages are refused: they come back and were never sent.
            Err(refused) => {
                assert_eq!(refused.loan.0, payload(id, len));
                let refusals = matches!(
                    refused.error,
                    Error::NoCredit(_) | Error::TooLong { .. } | Error::FeatureDisabled(_)
                );
                assert!(refusals, "{}", refused.error);
            }
        }
    }

    pub(crate) fn receive(&mut self, at: u16, pattern: Select, room: usize) {
        let ticket = self.ranks[usize::from(at)]
            .irecv(pattern, Bytes(vec![0; room]))
            .map_err(Error::from)
            .expect("the table is large enough");
        self.receives.push(Receive {
            at,
            pattern,
            room,
            ticket: Some(ticket),
            got: None,
            cancelled: false,
            waits: false,
        });
    }

    /// Receives a message that arrives now, if the queues are empty. Returns whether one came.
    fn receive_directly(&mut self, at: u16, pattern: Select, room: usize) -> bool {
        let mut into = Bytes(vec![0; room]);
        let rank = &mut self.ranks[usize::from(at)];
        let mut received = None;
        let polled = rank.recv_direct(&pattern, &mut into, 1, &mut received);
        polled.expect("the channel does not break");
        let Some(Received { envelope, outcome }) = received else {
            return false;
        };
        let id = self.check_message(at, &into.0, &envelope, outcome);
        self.receives.push(Receive {
            at,
            pattern,
            room,
            ticket: None,
            got: Some(id),
            cancelled: false,
            waits: false,
        });
        true
    }

    /// Records the message of a matched probe as a receive in its place.
    pub(crate) fn matched_probe(&mut self, at: u16, pattern: Select) -> Option<usize> {
        let rank = &mut self.ranks[usize::from(at)];
        let (ticket, envelope) = rank.matched_probe(pattern).expect("nobody is lost")?;
        let id = self.identify(at, &envelope);
        self.receives.push(Receive {
            at,
            pattern,
            room: 0,
            ticket: Some(ticket),
            got: Some(id),
            cancelled: false,
            waits: true,
        });
        Some(id)
    }

    pub(crate) fn irecv_matched(&mut self, which: usize, room: usize) {
        let receive = &mut self.receives[which];
        let Some(ticket) = receive.ticket.filter(|_| receive.waits) else {
            return;
        };
        receive.waits = false;
        receive.room = room;
        self.ranks[usize::from(receive.at)]
            .irecv_matched(ticket, Bytes(vec![0; room]))
            .map_err(Error::from)
            .expect("it was taken");
    }

    pub(crate) fn probe(&mut self, at: u16, pattern: Select) -> Option<usize> {
        let rank = &mut self.ranks[usize::from(at)];
        let envelope = rank.probe(pattern).expect("nobody is lost")?;
        let id = self.identify(at, &envelope);
        self.found.push(Found {
            at,
            pattern,
            id,
            receives: self.receives.len(),
        });
        Some(id)
    }

    /// Returns the number of the message of an envelope at its receiver.
    pub(crate) fn identify(&self, at: u16, envelope: &Envelope<Numbered, C>) -> usize {
        let header = envelope.header();
        let id = header.number.get() as usize;
        let message = &self.messages[id];
        assert_eq!(
            (message.from, message.to, message.tag, message.len),
            (envelope.peer().0, at, header.tag.get(), envelope.len())
        );
        id
    }

    pub(crate) fn settle_and_claim(&mut self) {
        (self.settle)(&mut self.ranks);
        self.claim();
    }

    /// Claims all complete operations, checks contents, and records which receive got which message.
    fn claim(&mut self) {
        for index in 0..self.receives.len() {
            let Receive { at, ticket, .. } = self.receives[index];
            let Some(ticket) = ticket else {
                continue;
            };
            let rank = &mut self.ranks[usize::from(at)];
            match rank.claim(ticket) {
                Ok(Some(completed)) => {
                    let got = self.check_received(at, completed);
                    let receive = &mut self.receives[index];
                    assert!(
                        receive.got.is_none() || receive.got == got,
                        "taken: another"
                    );
                    receive.got = got;
                    receive.cancelled = got.is_none();
                }
                Ok(None) => {}
                Err(error) => assert_eq!(error, Error::UnknownTicket, "claimed earlier"),
            }
        }
        for message in &mut self.messages {
            let rank = &mut self.ranks[usize::from(message.from)];
            match rank.claim(message.ticket) {
                Ok(Some(completed)) => match completed.outcome {
                    Ok(n) => assert_eq!(n, message.len),
                    Err(error) => {
                        assert_eq!(error, Error::Cancelled);
                        message.cancelled = true;
                    }
                },
                Ok(None) => {}
                Err(error) => assert_eq!(error, Error::UnknownTicket, "claimed earlier"),
            }
        }
    }

    /// Returns the number of the message that arrived, or `None` after a cancel.
    fn check_received(&self, at: u16, completed: Completed<Numbered, Owned, C>) -> Option<usize> {
        if completed.outcome == Err(Error::Cancelled) {
            assert!(completed.envelope.is_none());
            return None;
        }
        let Loan::Received(Bytes(bytes)) = completed.loan else {
            panic!("a receive")
        };
        let envelope = completed.envelope.expect("a message came");
        Some(self.check_message(at, &bytes, &envelope, completed.outcome))
    }

    /// Returns the number of a message whose buffer, which was zero, is `bytes`.
    fn check_message(
        &self,
        at: u16,
        bytes: &[u8],
        envelope: &Envelope<Numbered, C>,
        outcome: Result<usize, Error>,
    ) -> usize {
        let id = self.identify(at, envelope);
        let (sent, room) = (self.messages[id].len, bytes.len());
        let stored = sent.min(room);
        let expected = if sent > room {
            Err(Error::Truncated { sent, room })
        } else {
            Ok(sent)
        };
        assert_eq!(outcome, expected);
        assert_eq!(bytes[..stored], payload(id, sent)[..stored]);
        assert!(bytes[stored..].iter().all(|byte| *byte == 0));
        id
    }

    pub(crate) fn run(mut self, acts: &[Act]) {
        for act in acts {
            self.act(act);
        }
        self.settle_and_claim();
        self.check_pairs();
        self.check_probes();
        self.drain();
        self.check_pairs();
        self.check_probes();
    }
}

/// Checks a cancel: a claimed operation is unknown.
fn check_cancel(result: Result<(), Error>) {
    assert!(matches!(result, Ok(()) | Err(Error::UnknownTicket)));
}
