//! The frames that the twin sends after a call or a poll.

use super::loans::BufferAccess;
use super::state::{CREDIT, EAGER, Envelope, HEAD, Owner, PeerState, State, Step, ticket};
use crate::protocol::Tagged;
use pombo_kernel::{Channel, ChannelError, Cookie, Error, Part, Peer, Sent};
use zerocopy::IntoBytes;

impl State {
    #[inline]
    pub(crate) fn flush<L: Channel>(
        &mut self,
        channel: &mut L,
        buffers: &impl BufferAccess,
    ) -> Result<bool, Error> {
        if !self.due {
            return Ok(false);
        }
        self.flush_due(channel, buffers)
    }

    /// Sends at once a message that nothing delays, without an operation or a loan.
    #[inline]
    pub(crate) fn try_inject<L: Channel>(
        &mut self,
        channel: &mut L,
        to: Peer,
        header: Tagged,
        message: &[u8],
    ) -> Result<bool, Error> {
        let limit = self.eager_limit(channel.limit(to));
        let state = self.peer_states.get_mut(to.index());
        let state = state.ok_or(Error::NoSuchPeer(to))?;
        if state.deaf {
            return Err(Error::PeerLost(to));
        }
        if message.len() > limit || state.credit == 0 || !state.held.is_empty() || state.due {
            return Ok(false);
        }
        match state.put(channel, to, Cookie::COPY, &header, message) {
            Ok(_) => {}
            Err(ChannelError::Full) => return Ok(false),
            Err(error) => {
                if let ChannelError::PeerLost(peer) = error {
                    self.lose_sends(peer);
                }
                return Err(error.into());
            }
        }
        state.credit -= 1;
        Ok(true)
    }

    #[inline(never)]
    fn flush_due<L: Channel>(
        &mut self,
        channel: &mut L,
        buffers: &impl BufferAccess,
    ) -> Result<bool, Error> {
        self.due = false;
        let mut moved = false;
        let mut next = 0;
        while let Some(rest) = self.peer_states.get_mut(next..)
            && let Some((index, state)) = (next..).zip(rest).find(|(_, state)| state.due)
        {
            state.due = false;
            next = index + 1;
            match self.flush_peer(index, channel, buffers, &mut moved) {
                Ok(()) => {}
                Err(ChannelError::PeerLost(_)) => {
                    self.lose_sends(Peer(index as u16));
                    moved = true;
                }
                Err(error) => {
                    self.peer_states[index].due = true;
                    self.due = true;
                    if error != ChannelError::Full {
                        return Err(error.into());
                    }
                }
            }
        }
        Ok(moved)
    }

    /// Sends held messages in order, then the credit that none of them has carried.
    #[inline]
    fn flush_peer<L: Channel>(
        &mut self,
        index: usize,
        channel: &mut L,
        buffers: &impl BufferAccess,
        moved: &mut bool,
    ) -> Result<(), ChannelError> {
        let peer = Peer(index as u16);
        let state = &mut self.peer_states[index];
        while let Some(slot) = state.held.first()
            && state.credit > 0
        {
            let Some(operation) = self.operations.get_mut(slot) else {
                break;
            };
            let (Some(envelope), ticket) = (operation.envelope, ticket(slot, operation.generation))
            else {
                break;
            };
            let Some(bytes) = buffers.bytes(ticket) else {
                break;
            };
            let cookie = Cookie(ticket.to_bits());
            let sent = state.put(channel, peer, cookie, &envelope.header, bytes)?;
            state.credit -= 1;
            operation.step = match sent {
                Sent::Done => Step::Done(Ok(Envelope::len(&envelope))),
                Sent::Later => Step::Leaving,
            };
            let over = operation.owner == Owner::Nobody && sent == Sent::Done;
            state.held.unlink(&mut self.operations, slot);
            if over {
                self.operations.remove(slot);
            }
            *moved = true;
        }
        if state.owes_credit(self.credit) {
            let owed = state.owed.min(255);
            let frame = [CREDIT, owed as u8];
            channel.try_send(peer, Cookie::COPY, &[Part::Bytes(&frame)])?;
            state.owed -= owed;
            *moved = true;
        }
        Ok(())
    }
}

impl PeerState {
    /// Sends a whole message, with cells returned to the peer.
    #[inline]
    fn put<L: Channel>(
        &mut self,
        channel: &mut L,
        to: Peer,
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
