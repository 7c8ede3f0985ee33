//! A schedule at work: random calls on random ranks, with a note of everything that was asked for and what came of it.

use crate::common::{Bytes, payload};
use crate::numbered::{Numbered, Select, select};
use crate::plan::Plan;
use crate::rank::{Ended, Rank, Whose};
use pombo_kernel::{Cookie, Error, Mode, Node, Ticket};
use pombo_netdrivers::fault::{Dice, Moods};
use zerocopy::little_endian::{I32, U32};

pub(crate) struct Message {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) port: usize,
    pub(crate) tag: i32,
    pub(crate) len: usize,
    pub(crate) synchronous: bool,
    pub(crate) cancelling: bool,
    /// None for a buffered send, which nobody claims.
    ticket: Option<Ticket>,
    pub(crate) outcome: Option<Result<usize, Error>>,
}

pub(crate) struct Receive {
    pub(crate) at: usize,
    pub(crate) port: usize,
    pub(crate) pattern: Select,
    room: usize,
    ticket: Ticket,
    pub(crate) end: End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Open,
    Got(usize),
    Cancelled,
    /// By the loss of that rank, and of which of its messages.
    Lost(usize, Option<usize>),
}

/// A probe that found something.
pub(crate) struct Found {
    pub(crate) at: usize,
    pub(crate) pattern: Select,
    pub(crate) id: usize,
    /// Receives posted before it, over all ranks.
    pub(crate) receives: usize,
}

pub(crate) struct World {
    /// None for a rank that has crashed.
    pub(crate) ranks: Vec<Option<Box<dyn Rank>>>,
    pub(crate) messages: Vec<Message>,
    pub(crate) receives: Vec<Receive>,
    pub(crate) found: Vec<Found>,
    ports: usize,
    tags: u64,
    moods: Moods,
    dice: Dice,
    /// Prints every step.
    loud: bool,
}

impl Message {
    pub(crate) fn is_claimed(&self) -> bool {
        self.ticket.is_some()
    }

    pub(crate) fn was_cancelled(&self) -> bool {
        self.outcome == Some(Err(Error::Cancelled))
    }

    pub(crate) fn was_lost(&self) -> bool {
        matches!(self.outcome, Some(Err(Error::PeerLost(_))))
    }
}

macro_rules! tell {
    ($world:expr, $($format:tt)+) => {
        if $world.loud {
            eprintln!($($format)+);
        }
    };
}

impl World {
    pub(crate) fn new(plan: Plan, loud: bool) -> Self {
        World {
            ports: plan.ranks[0].ports(),
            ranks: plan.ranks.into_iter().map(Some).collect(),
            messages: Vec::new(),
            receives: Vec::new(),
            found: Vec::new(),
            tags: plan.tags,
            moods: plan.moods,
            dice: plan.dice,
            loud,
        }
    }

    pub(crate) fn is_up(&self, rank: usize) -> bool {
        self.ranks[rank].is_some()
    }

    /// A rank that may be asked to do something, and one of its ports.
    fn somebody(&mut self) -> (usize, usize) {
        let up: Vec<_> = (0..self.ranks.len())
            .filter(|&rank| self.is_up(rank))
            .collect();
        match up.as_slice() {
            [] => (0, 0),
            up => (up[self.dice.index(up.len())], self.dice.index(self.ports)),
        }
    }

    /// Calls a rank, unless it has crashed. A rank that crashes in the call is no more, whatever it answers.
    pub(crate) fn call<R>(&mut self, rank: usize, f: impl FnOnce(&mut dyn Rank) -> R) -> Option<R> {
        let called = self.ranks[rank].as_mut()?;
        let answer = f(called.as_mut());
        if called.channel().has_crashed() {
            tell!(self, "rank {rank} has crashed");
            self.ranks[rank] = None;
        }
        Some(answer)
    }

    /// One random step.
    pub(crate) fn act(&mut self) {
        let (at, port) = self.somebody();
        match self.dice.below(24) {
            0..7 => self.send_anything(at, port),
            7..12 => {
                let (pattern, room) = (self.pattern(), self.room());
                self.receive(at, port, pattern, room);
            }
            12 => self.cancel_send(),
            13 => {
                let which = self.dice.index(self.receives.len());
                self.cancel_receive(which);
            }
            14..16 => {
                let pattern = self.pattern();
                self.probe(at, port, pattern);
            }
            16 => self.claim(),
            17 => self.wait_for_one(),
            _ => {
                tell!(self, "rank {at} polls");
                self.poll(at, port);
            }
        }
    }

    fn pattern(&mut self) -> Select {
        let source = match self.dice.below(3) {
            0 => None,
            _ => Some(self.dice.index(self.ranks.len()) as u16),
        };
        let tag = match self.dice.below(4) {
            0 => None,
            _ => Some(self.dice.below(self.tags) as i32),
        };
        select(source, tag)
    }

    fn room(&mut self) -> usize {
        match self.dice.below(8) {
            0 => self.dice.index(40),
            _ => 2000,
        }
    }

    fn length(&mut self) -> usize {
        match self.dice.below(8) {
            0 => 0,
            1..5 => 1 + self.dice.index(16),
            5..7 => 17 + self.dice.index(48),
            _ => 65 + self.dice.index(1935),
        }
    }

    fn send_anything(&mut self, from: usize, port: usize) {
        let to = self.dice.index(self.ranks.len());
        let (tag, len) = (self.dice.below(self.tags) as i32, self.length());
        let (synchronous, buffered) = (self.dice.below(8) == 0, self.dice.below(8) == 0);
        let id = self.messages.len();
        let header = Numbered {
            tag: I32::new(tag),
            number: U32::new(id as u32),
        };
        let mode = match synchronous {
            true => Mode::Synchronous,
            false => Mode::Standard,
        };
        let node = Node(to as u16);
        let bytes = payload(id, len);
        let sent = match buffered {
            false => self.call(from, |rank| {
                rank.send(port, mode, node, header, bytes)
                    .map(Some)
                    .map_err(|refused| {
                        assert_eq!(refused.loan.0, payload(id, len));
                        refused.error
                    })
            }),
            true => self.call(from, |rank| {
                let bytes = Bytes(bytes);
                rank.send_buffered(port, node, header, &bytes)
                    .map(|()| None)
            }),
        };
        tell!(
            self,
            "{from} sends {id}: tag {tag}, {len} bytes to {to}, {sent:?}"
        );
        match sent {
            None => {}
            Some(Ok(ticket)) => self.messages.push(Message {
                from,
                to,
                port,
                tag,
                len,
                synchronous: synchronous && !buffered,
                cancelling: false,
                ticket,
                outcome: None,
            }),
            Some(Err(Error::PeerLost(lost))) => assert!(lost == node && !self.is_up(to)),
            // Some compositions cannot send some messages: they were never sent.
            Some(Err(Error::NoCredit(_) | Error::TooLong { .. } | Error::NotComposed(_))) => {}
            Some(Err(Error::Full)) => assert!(buffered),
            Some(Err(error)) => assert!(!self.is_up(from), "{error}"),
        }
    }

    pub(crate) fn receive(&mut self, at: usize, port: usize, pattern: Select, room: usize) {
        let posted = self.call(at, |rank| rank.receive(port, pattern, room));
        tell!(
            self,
            "{at} receives: {} from {}, {posted:?}",
            pattern.tag,
            pattern.source
        );
        match posted {
            None => {}
            Some(Ok(ticket)) => self.receives.push(Receive {
                at,
                port,
                pattern,
                room,
                ticket,
                end: End::Open,
            }),
            Some(Err(error)) => assert!(!self.is_up(at), "{error}"),
        }
    }

    fn cancel_send(&mut self) {
        let which = self.dice.index(self.messages.len());
        let Some(message) = self.messages.get_mut(which) else {
            return;
        };
        let (Some(ticket), None) = (message.ticket, message.outcome) else {
            return;
        };
        message.cancelling = true;
        let (from, port) = (message.from, message.port);
        let done = self.call(from, |rank| rank.cancel(port, ticket));
        tell!(self, "{from} cancels {which}: {done:?}");
        assert!(done.is_none_or(|done| done.is_ok()) || !self.is_up(from));
    }

    pub(crate) fn cancel_receive(&mut self, which: usize) {
        let Some(&Receive {
            at,
            port,
            ticket,
            end,
            ..
        }) = self.receives.get(which)
        else {
            return;
        };
        if end == End::Open {
            let done = self.call(at, |rank| rank.cancel(port, ticket));
            tell!(self, "{at} cancels receive {which}: {done:?}");
            assert!(done.is_none_or(|done| done.is_ok()) || !self.is_up(at));
        }
    }

    pub(crate) fn probe(&mut self, at: usize, port: usize, pattern: Select) -> Option<usize> {
        let found = self.call(at, |rank| rank.probe(port, pattern))?;
        match found {
            Ok(Some(whose)) => {
                let id = self.identify(at, port, whose);
                tell!(
                    self,
                    "{at} probes {} from {}: {id}",
                    pattern.tag,
                    pattern.source
                );
                let receives = self.receives.len();
                self.found.push(Found {
                    at,
                    pattern,
                    id,
                    receives,
                });
                Some(id)
            }
            Ok(None) => None,
            Err(Error::PeerLost(node)) => {
                assert_eq!(node.0, pattern.source.get());
                assert!(!self.is_up(node.index()), "{node} is not lost");
                None
            }
            Err(error) => {
                assert!(!self.is_up(at), "{error}");
                None
            }
        }
    }

    /// The number of a message at its receiver.
    fn identify(&self, at: usize, port: usize, (from, header, len): Whose) -> usize {
        let id = header.number.get() as usize;
        let message = &self.messages[id];
        assert_eq!(
            (
                message.from,
                message.to,
                message.port,
                message.tag,
                message.len
            ),
            (usize::from(from), at, port, header.tag.get(), len)
        );
        id
    }

    /// True if anything moved.
    fn poll(&mut self, rank: usize, port: usize) -> bool {
        match self.call(rank, |rank| rank.progress(port)) {
            None => false,
            Some(Ok(moved)) => moved,
            Some(Err(error)) => {
                assert!(!self.is_up(rank), "{error}");
                true
            }
        }
    }

    /// What a blocking call does: progress until it is over, unless only the schedule itself can end it.
    fn wait_for_one(&mut self) {
        let which = self.dice.index(self.receives.len());
        let Some(&Receive {
            at, end: End::Open, ..
        }) = self.receives.get(which)
        else {
            return;
        };
        tell!(self, "{at} waits for receive {which}");
        for _ in 0..20 {
            self.claim_receive(which);
            if self.receives[which].end != End::Open {
                return;
            }
            let (other, port) = self.somebody();
            self.poll(other, port);
            self.poll(at, 0);
        }
    }

    fn round(&mut self) -> bool {
        let ports = self.ports;
        (0..self.ranks.len()).fold(false, |moved, rank| {
            let port = self.dice.index(ports);
            self.poll(rank, port) || moved
        })
    }

    /// Lets every rank make progress until nothing is under way or due, in all moods and then in none.
    pub(crate) fn settle(&mut self) {
        let mut idle = 0;
        for _ in 0..100_000 {
            idle = if self.round() { 0 } else { idle + 1 };
            match idle {
                0 => self.set_calm(false),
                8 => self.set_calm(true),
                // The first calm round takes what was kept back; the second finds nothing; then nothing is left.
                11 => return self.set_calm(false),
                _ => {}
            }
        }
        panic!("the ranks never come to rest");
    }

    fn set_calm(&mut self, calm: bool) {
        for rank in self.ranks.iter_mut().flatten() {
            let channel = rank.channel();
            let moods = if calm { Moods::CALM } else { self.moods };
            let crash = channel.moods().crash;
            channel.set(Moods { crash, ..moods });
        }
    }

    /// Who has not crashed by now never will.
    pub(crate) fn end_crashes(&mut self) {
        for rank in self.ranks.iter_mut().flatten() {
            let channel = rank.channel();
            let moods = channel.moods();
            channel.set(Moods {
                crash: None,
                ..moods
            });
        }
    }

    /// Claims everything that is over, checks it, and notes who got what.
    pub(crate) fn claim(&mut self) {
        for index in 0..self.receives.len() {
            self.claim_receive(index);
        }
        for index in 0..self.messages.len() {
            self.claim_send(index);
        }
    }

    fn claim_receive(&mut self, index: usize) {
        let Receive {
            at,
            port,
            pattern,
            room,
            ticket,
            end,
        } = self.receives[index];
        if end != End::Open {
            return;
        }
        let Some(over) = self.call(at, |rank| rank.claim(port, ticket)) else {
            return;
        };
        let Some(Ended {
            outcome,
            whose,
            bytes,
        }) = over.expect("it is known")
        else {
            return;
        };
        let id = whose.map(|whose| self.identify(at, port, whose));
        let untouched = |from: usize| bytes[from..].iter().all(|byte| *byte == 0);
        let end = match (outcome, id) {
            (Ok(_) | Err(Error::Truncated { .. }), Some(id)) => {
                let sent = self.messages[id].len;
                let stored = sent.min(room);
                match outcome {
                    Ok(len) => assert_eq!(len, sent),
                    truncated => assert_eq!(truncated, Err(Error::Truncated { sent, room })),
                }
                assert_eq!(bytes[..stored], payload(id, sent)[..stored], "message {id}");
                assert!(untouched(stored));
                End::Got(id)
            }
            (Err(Error::Cancelled), None) => {
                assert!(untouched(0));
                End::Cancelled
            }
            (Err(Error::PeerLost(node)), id) => {
                let lost = node.index();
                assert!(!self.is_up(lost), "{node} is not lost");
                assert!(id.is_none_or(|id| self.messages[id].from == lost));
                // A receive from anybody ends only when a message of the lost rank has broken off.
                assert!(
                    id.is_some() || pattern.source.get() == node.0,
                    "whose loss?"
                );
                End::Lost(lost, id)
            }
            other => panic!("receive {index}: {other:?}"),
        };
        tell!(self, "receive {index} is over: {end:?}");
        self.receives[index].end = end;
    }

    fn claim_send(&mut self, index: usize) {
        let Message {
            from,
            to,
            port,
            len,
            ticket,
            cancelling,
            outcome,
            ..
        } = self.messages[index];
        let (Some(ticket), None) = (ticket, outcome) else {
            return;
        };
        let Some(over) = self.call(from, |rank| rank.claim(port, ticket)) else {
            return;
        };
        let Some(Ended { outcome, bytes, .. }) = over.expect("it is known") else {
            return;
        };
        assert_eq!(bytes, payload(index, len));
        // Ports put their number into cookies, so this sees nothing of an endpoint with several.
        let cookie = Cookie(ticket.to_bits());
        let in_use = self.call(from, |rank| rank.channel().needs(cookie));
        assert_ne!(
            in_use,
            Some(true),
            "send {index} is over, and its memory is in use"
        );
        match outcome {
            Ok(sent) => assert_eq!(sent, len),
            Err(Error::Cancelled) => assert!(cancelling, "send {index}"),
            Err(Error::PeerLost(node)) => {
                assert!(
                    node.index() == to && !self.is_up(to),
                    "send {index}: {node}"
                );
            }
            Err(error) => panic!("send {index}: {error}"),
        }
        tell!(self, "send {index} is over: {outcome:?}");
        self.messages[index].outcome = Some(outcome);
    }
}
