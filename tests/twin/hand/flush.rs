//! What leaves the twin after a call or a poll.

use super::loans::Bank;
use super::state::{CREDIT, EAGER, Envelope, HEAD, Owner, Peer, State, Step, ticket};
use crate::protocol::Tagged;
use pombo_kernel::{Channel, ChannelError, Cookie, Error, Node, Part, Sent};
use zerocopy::IntoBytes;

impl State {
    #[inline]
    pub(crate) fn flush<L: Channel>(
        &mut self,
        channel: &mut L,
        bank: &impl Bank,
    ) -> Result<bool, Error> {
        if !self.due {
            return Ok(false);
        }
        self.flush_due(channel, bank)
    }

    /// The short way of a message that nothing holds up: no operation, no loan.
    #[inline]
    pub(crate) fn send_now<L: Channel>(
        &mut self,
        channel: &mut L,
        to: Node,
        header: Tagged,
        message: &[u8],
    ) -> Result<bool, Error> {
        let limit = self.eager_limit(channel.limit(to));
        let peer = self.peers.get_mut(to.index());
        let peer = peer.ok_or(Error::NoSuchNode(to))?;
        if peer.deaf {
            return Err(Error::PeerLost(to));
        }
        if message.len() > limit || peer.credit == 0 || !peer.held.is_empty() || peer.due {
            return Ok(false);
        }
        match peer.put(channel, to, Cookie::COPY, &header, message) {
            Ok(_) => {}
            Err(ChannelError::Full) => return Ok(false),
            Err(error) => {
                if let ChannelError::PeerLost(node) = error {
                    self.lose_sends(node);
                }
                return Err(error.into());
            }
        }
        peer.credit -= 1;
        Ok(true)
    }

    #[inline(never)]
    fn flush_due<L: Channel>(&mut self, channel: &mut L, bank: &impl Bank) -> Result<bool, Error> {
        self.due = false;
        let mut moved = false;
        let mut next = 0;
        while let Some(rest) = self.peers.get_mut(next..)
            && let Some((index, peer)) = (next..).zip(rest).find(|(_, peer)| peer.due)
        {
            peer.due = false;
            next = index + 1;
            match self.flush_peer(index, channel, bank, &mut moved) {
                Ok(()) => {}
                Err(ChannelError::PeerLost(_)) => {
                    self.lose_sends(Node(index as u16));
                    moved = true;
                }
                Err(error) => {
                    self.peers[index].due = true;
                    self.due = true;
                    if error != ChannelError::Full {
                        return Err(error.into());
                    }
                }
            }
        }
        Ok(moved)
    }

    /// Held sends in order, then credit that none of them has carried.
    #[inline]
    fn flush_peer<L: Channel>(
        &mut self,
        index: usize,
        channel: &mut L,
        bank: &impl Bank,
        moved: &mut bool,
    ) -> Result<(), ChannelError> {
        let node = Node(index as u16);
        let peer = &mut self.peers[index];
        while let Some(slot) = peer.held.first()
            && peer.credit > 0
        {
            let Some(operation) = self.operations.get_mut(slot) else {
                break;
            };
            let (Some(envelope), ticket) = (operation.envelope, ticket(slot, operation.generation))
            else {
                break;
            };
            let Some(bytes) = bank.bytes(ticket) else {
                break;
            };
            let cookie = Cookie(ticket.to_bits());
            let sent = peer.put(channel, node, cookie, &envelope.header, bytes)?;
            peer.credit -= 1;
            operation.step = match sent {
                Sent::Done => Step::Done(Ok(Envelope::len(&envelope))),
                Sent::Later => Step::Leaving,
            };
            let over = operation.owner == Owner::Nobody && sent == Sent::Done;
            peer.held.unlink(&mut self.operations, slot);
            if over {
                self.operations.remove(slot);
            }
            *moved = true;
        }
        if peer.owes_credit(self.credit) {
            let owed = peer.owed.min(255);
            let frame = [CREDIT, owed as u8];
            channel.try_send(node, Cookie::COPY, &[Part::Bytes(&frame)])?;
            peer.owed -= owed;
            *moved = true;
        }
        Ok(())
    }
}

impl Peer {
    /// A whole message, with places that the peer gets back.
    #[inline]
    fn put<L: Channel>(
        &mut self,
        channel: &mut L,
        to: Node,
        cookie: Cookie,
        header: &Tagged,
        bytes: &[u8],
    ) -> Result<Sent, ChannelError> {
        let owed = self.owed.min(255);
        let mut head = [EAGER, owed as u8, 0, 0, 0, 0, 0, 0];
        head[HEAD - size_of::<Tagged>()..].copy_from_slice(header.as_bytes());
        let sent = channel.try_send(to, cookie, &[Part::Bytes(&head), Part::Bytes(bytes)])?;
        self.owed -= owed;
        Ok(sent)
    }
}
