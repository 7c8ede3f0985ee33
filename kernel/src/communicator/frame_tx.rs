//! Sends single frames within the channel's limits; used by the send path.

use super::port_mux::PortTx;
use super::state::State;
use crate::channel::{ChannelError, Cookie, Sent};
use crate::config::Config;
use crate::frame::{Kind, PREAMBLE, Writer};
use crate::header::{Header, Peer};
use crate::memory::Part;

/// The reason why a flush to one peer ended early.
pub(super) enum Stop {
    /// The channel has no room: the peer stays pending.
    Full,
    /// The peer is lost.
    Lost,
    /// The channel is broken.
    Broken(ChannelError),
}

impl From<ChannelError> for Stop {
    fn from(error: ChannelError) -> Self {
        match error {
            ChannelError::Full => Stop::Full,
            ChannelError::PeerLost(_) => Stop::Lost,
            other => Stop::Broken(other),
        }
    }
}

impl<H: Header, C: Config> State<H, C> {
    /// Returns the length in bytes of the longest payload that is sent eagerly to that peer.
    #[inline]
    pub(crate) fn eager_limit(&self, channel: &impl PortTx, to: Peer) -> usize {
        self.eager
            .min(channel.limit(to).saturating_sub(PREAMBLE + size_of::<H>()))
    }

    /// Sends one frame, which also returns credit to the peer.
    #[inline]
    pub(super) fn put<L: PortTx>(
        &mut self,
        channel: &mut L,
        peer: Peer,
        kind: Kind,
        fields: impl FnOnce(Writer) -> Writer,
        payload: Option<(Cookie, Part<'_>)>,
    ) -> Result<Sent, ChannelError> {
        let state = self
            .peer_state(peer)
            .ok_or(ChannelError::NoSuchPeer(peer))?;
        let preamble = state.preamble(kind);
        let head = fields(Writer::new(preamble));
        let (cookie, part) = payload.unwrap_or((Cookie::COPY, Part::Bytes(&[])));
        let sent = channel.try_send(peer, cookie, &[Part::Bytes(head.bytes()), part])?;
        state.credits_to_return -= u32::from(preamble[1]);
        Ok(sent)
    }
}
