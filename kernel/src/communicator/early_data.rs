//! Early data: the first frames of a message's payload behind its announcement, before the request.
//!
//! The receiver remembers the message that a peer has announced last. If a receive matches that before any of its early
//! data has come, the data go into its buffer, and the request asks for what is behind them. Otherwise they are dropped,
//! and the request asks for all. So a message has either all of its early data or none, and the frames, which name the
//! sender's operation, have no effect otherwise.
//!
//! A sender has early data of one message at a time under way to each peer. Where they were in vain it goes without them
//! for a number of messages, which doubles each time: programs whose receives come late lose little.

use super::early_state::{EarlyState, PAUSES};
use super::frame_tx::{Progress, Stop};
use super::operation::{OpState, length};
use super::port_mux::PortTx;
use super::state::State;
use crate::aspect::{Length, Maybe, Transfer};
use crate::channel::Cookie;
use crate::config::Config;
use crate::envelope::Envelope;
use crate::frame::{Handle, Kind, PREAMBLE, Writer, first_share, share};
use crate::header::{Header, Peer};
use crate::memory::{BufferAccess, Ticket};

impl<H: Header, C: Config> State<H, C> {
    /// Returns the state of early data to and from that peer, if the composition has any.
    pub(super) fn early(&mut self, peer: Peer) -> Option<&mut EarlyState> {
        if <C::Transfer as Transfer>::EARLY_FRAMES == 0 {
            return None;
        }
        self.peer_state(peer)?.early.get_mut()
    }

    /// Sends the first data of a message of `len` bytes, which was just announced, if that is likely to pay.
    #[inline]
    pub(super) fn send_early_data<L: PortTx>(
        &mut self,
        peer: Peer,
        me: Ticket,
        len: usize,
        channel: &mut L,
        buffers: &impl BufferAccess,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        let both_ways = self.is_receiving_announced(peer);
        let Some(early) = self.early(peer) else {
            return Ok(());
        };
        if early.sent.is_some()
            || !channel.favours_early_data(peer)
            || channel.supports_single_copy(peer, len, both_ways)
        {
            return Ok(());
        }
        if early.pause > 0 {
            early.pause -= 1;
            return Ok(());
        }
        let most = channel.limit(peer) - (PREAMBLE + size_of::<Handle>() + size_of::<C::Length>());
        let mut next = 0;
        for _ in 0..<C::Transfer as Transfer>::EARLY_FRAMES {
            let size = match next {
                0 => first_share(most, len),
                _ => share(most, len - next),
            };
            let Some(part) = buffers.part(me, next, size).filter(|_| size > 0) else {
                break;
            };
            let mut head = Writer::new(Kind::EarlyData);
            head.put(&me.handle()).put(&length::<C>(next));
            // Copied, so that nothing of the loan is under way if they are dropped.
            match self.put(
                channel,
                peer,
                &mut head,
                Some((Cookie::COPY, part)),
                progress,
            ) {
                Ok(_) => next += size,
                // The request will come all the same.
                Err(Stop::Full) => break,
                Err(stop) => return Err(stop),
            }
            if let Some(early) = self.early(peer) {
                early.sent = Some((me, next));
            }
        }
        Ok(())
    }

    /// Ends the early data of a send: the peer requests what is `behind` them, or all; `None`: it has not matched the
    /// message. Returns the number of bytes that it has.
    pub(super) fn settle_early_data(
        &mut self,
        peer: Peer,
        me: Ticket,
        behind: Option<bool>,
    ) -> usize {
        let Some(early) = self.early(peer) else {
            return 0;
        };
        let sent = early.sent.take_if(|(sent, _)| *sent == me);
        match (sent, behind) {
            (Some((_, bytes)), Some(true)) => {
                early.last_pause = 0;
                bytes
            }
            (Some(_), Some(false)) => {
                early.last_pause = (2 * early.last_pause).clamp(*PAUSES.start(), *PAUSES.end());
                early.pause = early.last_pause;
                0
            }
            _ => 0,
        }
    }

    /// Records that early data may follow this announcement.
    pub(super) fn early_data_may_follow(&mut self, envelope: &Envelope<H, C>) {
        let announced = envelope.announced();
        if let Some(early) = self.early(envelope.peer()) {
            early.announced = announced.map(|sender| (sender.0, None));
        }
    }

    /// Returns whether an announced message that this rank has requested from the peer is arriving. Only the last one is looked
    /// at, as most messages arrive in the order of their requests.
    pub(super) fn is_receiving_announced(&mut self, from: Peer) -> bool {
        let requested = self.early(from).and_then(|early| early.requested);
        let operation = requested.and_then(|ticket| self.operation(ticket));
        operation.is_some_and(|it| it.peer == from && it.state.arriving::<C>().is_some())
    }

    /// Returns whether a receive takes the early data of the message that it has matched.
    pub(super) fn takes_early_data(&mut self, from: Peer, sender: Handle, slot: u32) -> bool {
        let generation = self.operations.get(slot).map(|it| it.generation);
        if let (Some(early), Some(generation)) = (self.early(from), generation)
            && early.announced == Some((sender, None))
        {
            early.announced = Some((sender, Some(Ticket::new(slot, generation))));
            return true;
        }
        false
    }
}

impl<N: Length> OpState<N> {
    /// Returns how many bytes of a message a receive gets, and how many are here, while they arrive.
    #[inline]
    pub(super) fn arriving<C: Config<Length = N>>(&self) -> Option<(usize, usize)> {
        match self {
            OpState::Receiving { want, got } => Some((want.get(), got.get())),
            OpState::TakingEarly { want, got, .. }
                if <C::Transfer as Transfer>::EARLY_FRAMES > 0 =>
            {
                Some((want.get(), got.get()))
            }
            _ => None,
        }
    }
}
