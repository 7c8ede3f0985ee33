//! The conditions at the end of a schedule. The rules are MPI's, written as simply as possible: no message and no
//! receive that match may both violate the order. A crash excuses the operations that only the crashed rank could
//! finish, and these must have ended; it excuses nothing else.

use crate::numbered::{Numbered, Select, select};
use crate::world::{End, World};
use pombo_kernel::facade::Lengths;
use pombo_kernel::{Error, Mode, Pattern, Peer};
use zerocopy::little_endian::{I32, U32};

impl World {
    /// Checks everything; called when all operations are claimed.
    pub(crate) fn check(&self) {
        let takers = self.takers();
        self.check_pairs(&takers);
        self.check_probes(&takers);
        self.check_ends(&takers);
    }

    fn was_cancelled(&self, id: usize) -> bool {
        self.messages[id].was_cancelled()
    }

    /// Returns whether a message may be missing without an error: its sender crashed or withdrew it.
    fn is_excused(&self, id: usize) -> bool {
        self.messages[id].withdrawn || !self.is_up(self.messages[id].from)
    }

    /// Returns which receive took each message.
    fn takers(&self) -> Vec<Option<usize>> {
        let mut takers = vec![None; self.messages.len()];
        for (index, receive) in self.receives.iter().enumerate() {
            if let End::Got(id) = receive.end {
                assert!(
                    !self.was_cancelled(id),
                    "message {id} was cancelled and received"
                );
                let twice = takers[id].replace(index);
                assert_eq!(twice, None, "message {id} was received twice");
            }
        }
        takers
    }

    fn could_take(&self, at: usize, pattern: &Select, id: usize) -> bool {
        let message = &self.messages[id];
        let header = Numbered {
            tag: I32::new(message.tag),
            number: U32::new(0),
        };
        let from = Peer(message.from as u16);
        !self.was_cancelled(id) && at == message.to && pattern.matches(from, &header)
    }

    fn check_pairs(&self, takers: &[Option<usize>]) {
        for (id, message) in self.messages.iter().enumerate() {
            if !self.is_up(message.to) || (self.is_excused(id) && takers[id].is_none()) {
                continue;
            }
            for (index, receive) in self.receives.iter().enumerate() {
                let may_meet = receive.port == message.port
                    && !matches!(receive.end, End::Cancelled | End::Lost(..) | End::Revoked)
                    && self.could_take(receive.at, &receive.pattern, id);
                if !may_meet || receive.end == End::Got(id) {
                    continue;
                }
                let message_content = takers[id].is_some_and(|earlier| earlier < index);
                let receive_content = match receive.end {
                    End::Got(other) => self.messages[other].from != message.from || other < id,
                    _ => false,
                };
                assert!(
                    message_content || receive_content,
                    "message {id} and receive {index} should have met: {:?} / {:?}",
                    takers[id],
                    receive.end
                );
            }
        }
    }

    /// Checks that a probe names the message that a receive posted in its place would have taken.
    fn check_probes(&self, takers: &[Option<usize>]) {
        let taken_before = |id: usize, index| takers[id].is_some_and(|handler| handler < index);
        for found in self.found.iter().filter(|found| self.is_up(found.at)) {
            let message = &self.messages[found.id];
            assert!(
                !taken_before(found.id, found.receives),
                "a probe found message {}, which an earlier receive took",
                found.id
            );
            for earlier in 0..found.id {
                let first = self.messages[earlier].from == message.from
                    && self.messages[earlier].port == message.port
                    && self.could_take(found.at, &found.pattern, earlier)
                    && !self.is_excused(earlier)
                    && !taken_before(earlier, found.receives);
                assert!(
                    !first,
                    "a probe found message {}, but {earlier} comes first",
                    found.id
                );
            }
        }
    }

    /// Checks that no operation waits for a lost rank, that a complete synchronous send was matched, and that a receive
    /// from any source that was lost had matched a message that no other receive got.
    fn check_ends(&self, takers: &[Option<usize>]) {
        for (index, receive) in self.receives.iter().enumerate() {
            let source = usize::from(receive.pattern.source.get());
            let named = self.ranks.get(source).is_some_and(Option::is_none);
            if self.is_up(receive.at) && named {
                assert_ne!(
                    receive.end,
                    End::Open,
                    "receive {index} waits for lost rank {source}"
                );
            }
            if let End::Lost(_, Some(id)) = receive.end {
                assert!(self.could_take(receive.at, &receive.pattern, id));
                assert_eq!(takers[id], None, "message {id} broke off and was received");
            }
        }
        for (id, message) in self.messages.iter().enumerate() {
            let (from, to) = (self.is_up(message.from), self.is_up(message.to));
            if from && !to && message.ticket.is_some() {
                let over = message.outcome.is_some();
                assert!(over, "send {id} waits for lost rank {}", message.to);
            }
            if to && message.synchronous && matches!(message.outcome, Some(Ok(_))) {
                let matched = takers[id].is_some() || !from;
                assert!(matched, "synchronous send {id} is over, and nobody took it");
            }
        }
    }

    /// Probes for what is left and receives it. Then checks that nothing is left.
    pub(crate) fn drain(&mut self) {
        for index in 0..self.receives.len() {
            self.cancel_receive(index);
        }
        self.settle();
        self.claim();
        for at in 0..self.ranks.len() {
            for port in 0..self.ranks[at].as_ref().map_or(0, |rank| rank.ports()) {
                while let Some(id) = self.find_left(at, port) {
                    let message = &self.messages[id];
                    let pattern = select(Some(message.from as u16), Some(message.tag));
                    let len = message.len;
                    self.receive(at, port, pattern, len);
                    self.settle();
                    self.claim();
                    let got = self.receives.last().map(|receive| receive.end);
                    assert_eq!(got, Some(End::Got(id)), "a probe has named this message");
                }
            }
        }
        let takers = self.takers();
        for (id, message) in self.messages.iter().enumerate() {
            if self.is_up(message.to) && !self.is_excused(id) {
                let over = self.was_cancelled(id) || takers[id].is_some();
                assert!(over, "message {id} is lost");
            }
            // Messages of a crashed rank must have arrived too if the rank was told that they had left.
            if self.is_up(message.to) && matches!(message.outcome, Some(Ok(_))) {
                assert!(takers[id].is_some(), "message {id} had left, and is lost");
            }
        }
        self.check_empty();
    }

    fn check_empty(&mut self) {
        let nothing = Lengths {
            operations: 0,
            expected: 0,
            unexpected: 0,
        };
        for (index, rank) in self.ranks.iter_mut().enumerate() {
            let Some(rank) = rank else { continue };
            for port in 0..rank.ports() {
                assert_eq!(rank.lengths(port), nothing, "rank {index}");
                assert_eq!(rank.rejected(port), 0, "rank {index}");
            }
        }
    }

    /// Finds a message by two probes, because the first one may only query the senders.
    fn find_left(&mut self, at: usize, port: usize) -> Option<usize> {
        (0..2).find_map(|_| {
            let id = self.probe(at, port, select(None, None));
            self.settle();
            id
        })
    }

    /// Checks that the remaining ranks know the lost ones: every call that names a lost rank fails at once.
    pub(crate) fn check_losses(&mut self) {
        let ranks = self.ranks.len();
        for (at, lost) in (0..ranks).flat_map(|at| (0..ranks).map(move |lost| (at, lost))) {
            let is_lost = self.ranks[lost].is_none();
            let Some(rank) = self.ranks[at].as_mut().filter(|_| is_lost) else {
                continue;
            };
            let peer = Peer(lost as u16);
            let gone = Error::PeerLost(peer);
            let header = Numbered {
                tag: I32::new(0),
                number: U32::new(0),
            };
            let refused = rank.send(0, Mode::Standard, peer, header, vec![1]);
            assert_eq!(refused.err().map(|refused| refused.error), Some(gone));
            let named = select(Some(peer.0), None);
            assert_eq!(rank.probe(0, named).err(), Some(gone));
            let posted = rank.receive(0, named, 8).expect("the table is empty");
            let over = rank.claim(0, posted).expect("it is known");
            assert_eq!(over.map(|over| over.outcome), Some(Err(gone)));
        }
    }
}
