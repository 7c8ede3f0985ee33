//! The sends of a schedule, and their outcomes.

use crate::common::{Bytes, payload};
use crate::numbered::Numbered;
use crate::rank::Ended;
use crate::world::{Message, World};
use pombo_kernel::{Cookie, Error, Mode, Peer};
use zerocopy::little_endian::{I32, U32};

impl World {
    fn length(&mut self) -> usize {
        let long = self.rng.chance(self.habits.long);
        match self.rng.below(5) {
            0 if !long => 0,
            _ if !long => 1 + self.rng.index(16),
            0 | 1 => 65 + self.rng.index(1935),
            _ => 17 + self.rng.index(48),
        }
    }

    /// Returns the next message, which the caller may still fail to send.
    fn message(&mut self, from: usize, port: usize) -> (Message, Numbered, Peer) {
        let message = Message {
            from,
            to: self.rng.index(self.ranks.len()),
            port,
            tag: self.rng.below(self.habits.tags) as i32,
            len: self.length(),
            synchronous: false,
            cancelling: false,
            withdrawn: false,
            ticket: None,
            outcome: None,
        };
        let header = Numbered {
            tag: I32::new(message.tag),
            number: U32::new(self.messages.len() as u32),
        };
        let to = Peer(message.to as u16);
        (message, header, to)
    }

    /// Sends in any mode that does not block.
    pub(crate) fn send_somehow(&mut self, from: usize, port: usize) {
        let (mut message, header, to) = self.message(from, port);
        let (id, bytes) = (
            self.messages.len(),
            payload(self.messages.len(), message.len),
        );
        let mode = self.rng.below(8);
        message.synchronous = mode == 0;
        let sent = self.call(from, |rank| match mode {
            1 => rank
                .send_buffered(port, to, header, &Bytes(bytes))
                .map(|()| None),
            _ => {
                let mode = [Mode::Standard, Mode::Synchronous][usize::from(mode == 0)];
                let sent = rank.send(port, mode, to, header, bytes);
                sent.map(Some).map_err(|refused| {
                    assert_eq!(refused.loan.0, payload(id, message.len));
                    refused.error
                })
            }
        });
        let Message { tag, len, .. } = message;
        self.tell(|| format!("{from} sends {id}: tag {tag}, {len} bytes to {to}, {sent:?}"));
        match sent {
            None => {}
            Some(Ok(ticket)) => self.messages.push(Message { ticket, ..message }),
            Some(Err(error)) => self.refused(&message, error),
        }
    }

    /// Sends by a blocking call. No other rank makes progress meanwhile, so it often times out.
    pub(crate) fn send_blocking(&mut self, from: usize, port: usize) {
        let (message, header, to) = self.message(from, port);
        let (id, bytes) = (
            self.messages.len(),
            payload(self.messages.len(), message.len),
        );
        let time = self.patience();
        let sent = self.call(from, |rank| {
            rank.send_within(port, to, header, &bytes, time)
        });
        let Message { tag, len, .. } = message;
        self.tell(|| {
            format!("{from} sends {id} in {time}: tag {tag}, {len} bytes to {to}, {sent:?}")
        });
        // After a crash it is unknown how far the message came.
        let withdrawn = sent == Some(Err(Error::TimedOut)) || !self.is_up(from);
        match sent {
            None => {}
            Some(Ok(())) => self.messages.push(Message {
                outcome: Some(Ok(len)),
                ..message
            }),
            Some(Err(_)) if withdrawn => self.messages.push(Message {
                withdrawn,
                ..message
            }),
            Some(Err(error)) => self.refused(&message, error),
        }
    }

    /// Checks a refusal: some compositions cannot send some messages, and no rank can send to a lost one.
    fn refused(&self, message: &Message, error: Error) {
        match error {
            Error::PeerLost(peer) => {
                assert!(peer.index() == message.to && !self.is_up(message.to));
            }
            Error::NoCredit(_) | Error::TooLong { .. } | Error::FeatureDisabled(_) => {}
            // The send was a buffered one.
            Error::Full => assert!(message.ticket.is_none()),
            error => assert!(!self.is_up(message.from), "{error}"),
        }
    }

    pub(crate) fn cancel_send(&mut self) {
        let which = self.rng.index(self.messages.len());
        let Some(message) = self.messages.get_mut(which) else {
            return;
        };
        let (Some(ticket), None) = (message.ticket, message.outcome) else {
            return;
        };
        message.cancelling = true;
        let (from, port) = (message.from, message.port);
        let done = self.call(from, |rank| rank.cancel(port, ticket));
        self.tell(|| format!("{from} cancels {which}: {done:?}"));
        assert!(done.is_none_or(|done| done.is_ok()) || !self.is_up(from));
    }

    pub(crate) fn claim_send(&mut self, index: usize) {
        let &Message {
            from,
            port,
            len,
            ticket,
            ..
        } = &self.messages[index];
        let (Some(ticket), None) = (ticket, self.messages[index].outcome) else {
            return;
        };
        let Some(over) = self.call(from, |rank| rank.claim(port, ticket)) else {
            return;
        };
        let Some(Ended { outcome, bytes, .. }) = over.expect("it is known") else {
            return;
        };
        assert_eq!(bytes, payload(index, len));
        // Ports put their number into cookies, so this lookup finds nothing for an endpoint with several ports.
        let cookie = Cookie(ticket.to_bits());
        let in_use = self.call(from, |rank| rank.channel().needs(cookie));
        assert_ne!(
            in_use,
            Some(true),
            "send {index} is over, and its memory is in use"
        );
        self.tell(|| format!("send {index} is over: {outcome:?}"));
        self.check_outcome(index, outcome);
        self.messages[index].outcome = Some(outcome);
    }

    fn check_outcome(&self, index: usize, outcome: Result<usize, Error>) {
        let message = &self.messages[index];
        match outcome {
            Ok(sent) => assert_eq!(sent, message.len),
            Err(Error::Cancelled) => assert!(message.cancelling, "send {index}"),
            Err(Error::PeerLost(peer)) => {
                let lost = peer.index() == message.to && !self.is_up(message.to);
                assert!(lost, "send {index}: {peer}");
            }
            Err(error) => panic!("send {index}: {error}"),
        }
    }
}
