//! The receives and probes of a schedule, and their outcomes.

use crate::common::payload;
use crate::numbered::{Select, select};
use crate::rank::{Ended, Whose};
use crate::world::{End, Found, Receive, World};
use pombo_kernel::Error;

impl World {
    pub(crate) fn pattern(&mut self) -> Select {
        let source = match self.rng.chance(self.habits.any_source) {
            true => None,
            false => Some(self.rng.index(self.ranks.len()) as u16),
        };
        let tag = match self.rng.chance(self.habits.any_tag) {
            true => None,
            false => Some(self.rng.below(self.habits.tags) as i32),
        };
        select(source, tag)
    }

    pub(crate) fn receive_somehow(&mut self, at: usize, port: usize) {
        let pattern = self.pattern();
        let room = match self.rng.below(8) {
            0 => self.rng.index(40),
            _ => 2000,
        };
        self.receive(at, port, pattern, room);
    }

    pub(crate) fn receive(&mut self, at: usize, port: usize, pattern: Select, room: usize) {
        let posted = self.call(at, |rank| rank.receive(port, pattern, room));
        let Select { source, tag } = pattern;
        self.tell(|| format!("{at} receives {tag} from {source}: {posted:?}"));
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

    pub(crate) fn cancel_receive(&mut self, which: usize) {
        let Some(receive) = self
            .receives
            .get(which)
            .filter(|receive| receive.end == End::Open)
        else {
            return;
        };
        let (at, port, ticket) = (receive.at, receive.port, receive.ticket);
        let done = self.call(at, |rank| rank.cancel(port, ticket));
        self.tell(|| format!("{at} cancels receive {which}: {done:?}"));
        assert!(done.is_none_or(|done| done.is_ok()) || !self.is_up(at));
    }

    pub(crate) fn claim_receive(&mut self, which: usize) {
        let receive = &self.receives[which];
        let (at, port, ticket) = (receive.at, receive.port, receive.ticket);
        if receive.end != End::Open {
            return;
        }
        if let Some(over) = self.call(at, |rank| rank.claim(port, ticket)) {
            self.end(which, over.expect("it is known"));
        }
    }

    /// Blocks for some time, in which no other rank makes progress.
    pub(crate) fn wait_for_receive(&mut self) {
        let which = self.rng.index(self.receives.len());
        let time = self.patience();
        let Some(receive) = self
            .receives
            .get(which)
            .filter(|receive| receive.end == End::Open)
        else {
            return;
        };
        let (at, port, ticket) = (receive.at, receive.port, receive.ticket);
        self.tell(|| format!("{at} waits {time} for receive {which}"));
        match self.call(at, |rank| rank.wait_timeout(port, ticket, time)) {
            None => {}
            Some(Ok(over)) => self.end(which, over),
            Some(Err(error)) => assert!(!self.is_up(at), "{error}"),
        }
    }

    /// Records the end of a receive if it is complete.
    fn end(&mut self, which: usize, over: Option<Ended>) {
        let Some(Ended {
            outcome,
            whose,
            bytes,
        }) = over
        else {
            return;
        };
        let Receive {
            at,
            port,
            pattern,
            room,
            ..
        } = self.receives[which];
        let id = whose.map(|whose| self.identify(at, port, whose));
        let untouched = |from: usize| bytes[from..].iter().all(|byte| *byte == 0);
        let end = match (outcome, id) {
            (Ok(_) | Err(Error::Truncated { .. }), Some(id)) => {
                let sent = self.messages[id].len;
                let stored = sent.min(room);
                match outcome {
                    Ok(len) => assert!(len == sent && sent <= room),
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
            (Err(Error::Revoked), Some(id)) => {
                assert!(
                    self.messages[id].withdrawn,
                    "message {id} was not taken back"
                );
                End::Revoked
            }
            (Err(Error::PeerLost(peer)), id) => {
                let lost = peer.index();
                assert!(!self.is_up(lost), "{peer} is not lost");
                assert!(id.is_none_or(|id| self.messages[id].from == lost));
                // A receive from any source ends only if a message of the lost rank had matched and was lost in the
                // middle.
                assert!(
                    id.is_some() || pattern.source.get() == peer.0,
                    "whose loss?"
                );
                End::Lost(lost, id)
            }
            other => panic!("receive {which}: {other:?}"),
        };
        self.tell(|| format!("receive {which} is over: {end:?}"));
        self.receives[which].end = end;
    }

    pub(crate) fn probe(&mut self, at: usize, port: usize, pattern: Select) -> Option<usize> {
        let found = self.call(at, |rank| rank.probe(port, pattern))?;
        match found {
            Ok(whose) => {
                let id = self.identify(at, port, whose?);
                let Select { source, tag } = pattern;
                self.tell(|| format!("{at} probes {tag} from {source}: {id}"));
                let receives = self.receives.len();
                self.found.push(Found {
                    at,
                    pattern,
                    id,
                    receives,
                });
                Some(id)
            }
            Err(Error::PeerLost(peer)) => {
                assert_eq!(peer.0, pattern.source.get());
                assert!(!self.is_up(peer.index()), "{peer} is not lost");
                None
            }
            Err(error) => {
                assert!(!self.is_up(at), "{error}");
                None
            }
        }
    }

    /// Returns the number of a message at its receiver.
    fn identify(&self, at: usize, port: usize, (from, header, len): Whose) -> usize {
        let id = header.number.get() as usize;
        let message = &self.messages[id];
        assert_eq!(usize::from(from), message.from);
        assert_eq!((at, port), (message.to, message.port));
        assert_eq!((header.tag.get(), len), (message.tag, message.len));
        id
    }
}
