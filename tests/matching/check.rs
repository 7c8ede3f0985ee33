//! The conditions that must hold when nothing more happens without a call.

use crate::numbered::{Numbered, Select, select};
use crate::world::{Message, Receive, World};
use pombo_kernel::{Channel, Config, Pattern, Peer};
use zerocopy::little_endian::{I32, U32};

/// Number of other probes after which an unused answer expires.
const PATIENCE: usize = 65;

impl<L: Channel, C: Config> World<L, C> {
    /// Returns which receive took each message.
    fn takers(&self) -> Vec<Option<usize>> {
        let mut takers = vec![None; self.messages.len()];
        for (index, receive) in self.receives.iter().enumerate() {
            if let Some(id) = receive.got {
                assert!(
                    !self.messages[id].cancelled,
                    "message {id} was cancelled and received"
                );
                let twice = takers[id].replace(index);
                assert_eq!(twice, None, "message {id} was received twice");
            }
        }
        takers
    }

    fn could_take(&self, pattern: &Select, at: u16, id: usize) -> bool {
        let message = &self.messages[id];
        let header = Numbered {
            tag: I32::new(message.tag),
            number: U32::new(0),
        };
        !message.cancelled && at == message.to && pattern.matches(Peer(message.from), &header)
    }

    /// Checks that no matching message and receive both violate the order.
    pub(crate) fn check_pairs(&self) {
        let takers = self.takers();
        for (id, message) in self.messages.iter().enumerate() {
            for (index, receive) in self.receives.iter().enumerate() {
                let may_meet =
                    !receive.cancelled && self.could_take(&receive.pattern, receive.at, id);
                if !may_meet || receive.got == Some(id) {
                    continue;
                }
                let message_content = takers[id].is_some_and(|earlier| earlier < index);
                let receive_content = receive
                    .got
                    .is_some_and(|other| self.messages[other].from != message.from || other < id);
                assert!(
                    message_content || receive_content,
                    "message {id} and receive {index} should have met: {:?} / {:?}",
                    takers[id],
                    receive.got
                );
            }
        }
        for rank in &self.ranks {
            assert_eq!(rank.rejected(), 0);
        }
    }

    /// Checks that a probe names the message that a receive posted in its place would have taken.
    pub(crate) fn check_probes(&self) {
        let takers = self.takers();
        let taken_before = |id: usize, index| takers[id].is_some_and(|handler| handler < index);
        for found in &self.found {
            let message = &self.messages[found.id];
            assert!(
                !taken_before(found.id, found.receives),
                "a probe found message {}, which an earlier receive took",
                found.id
            );
            for earlier in 0..found.id {
                let first = self.messages[earlier].from == message.from
                    && self.could_take(&found.pattern, found.at, earlier)
                    && !taken_before(earlier, found.receives);
                assert!(
                    !first,
                    "a probe found message {}, but {earlier} comes first",
                    found.id
                );
            }
        }
    }

    /// Probes for what is left and receives it, by probe or by matched probe. Then checks that nothing is left.
    pub(crate) fn drain(&mut self) {
        for index in 0..self.receives.len() {
            let Receive { at, ticket, .. } = self.receives[index];
            if let Some(ticket) = ticket {
                // A claimed receive is unknown.
                let _ = self.ranks[usize::from(at)].cancel(ticket);
            }
        }
        for index in 0..self.receives.len() {
            self.irecv_matched(index, 2000);
        }
        self.settle_and_claim();
        for at in 0..self.ranks.len() as u16 {
            let take = at % 2 == 1;
            while let Some(id) = self.find_left(at, take) {
                let Message {
                    from,
                    tag,
                    len,
                    cancelled,
                    ..
                } = self.messages[id];
                assert!(
                    !cancelled,
                    "a probe found message {id}, which was cancelled"
                );
                match take {
                    true => self.irecv_matched(self.receives.len() - 1, len),
                    false => self.receive(at, select(Some(from), Some(tag)), len),
                }
                self.settle_and_claim();
                let last = self.receives.last().expect("it is there");
                assert_eq!(last.got, Some(id), "a probe has named this message");
            }
        }
        let takers = self.takers();
        for (id, message) in self.messages.iter().enumerate() {
            assert!(
                message.cancelled || takers[id].is_some(),
                "message {id} is lost"
            );
        }
        for rank in &self.ranks {
            let lengths = rank.lengths();
            assert_eq!(
                (lengths.operations, lengths.expected, lengths.unexpected),
                (0, 0, 0)
            );
        }
    }

    /// Finds a message by several probes: the first one may only query the senders, and may first have to wait until
    /// the answers to other probes expire.
    /// old.
    fn find_left(&mut self, at: u16, take: bool) -> Option<usize> {
        (0..=PATIENCE + 2).find_map(|tried| {
            let id = match take {
                true => self.matched_probe(at, select(None, None)),
                false => self.probe(at, select(None, None)),
            };
            if !(2..PATIENCE).contains(&tried) {
                (self.settle)(&mut self.ranks);
            }
            id
        })
    }
}
