//! Sends single frames within the channel's limits; used by the send path.

use super::port_mux::PortTx;
use super::state::State;
use crate::channel::{ChannelError, Cookie, Sent};
use crate::config::Config;
use crate::frame::{PREAMBLE, Writer};
use crate::header::{Header, Peer};
use crate::memory::Part;

/// The reason why a flush to one peer ended early.
pub(super) enum Stop {
    /// The channel has no room: the peer stays pending.
    Full,
    /// The peer is lost.
    Lost,
    /// The channel is broken, as [`Progress`] says.
    Broken,
}

/// What a flush has done.
#[derive(Default)]
pub(super) struct Progress {
    /// Whether a frame has left.
    pub(super) moved: bool,
    /// What has broken the channel. [`Stop`] does not carry it, as many places pass that one on.
    pub(super) failure: Option<ChannelError>,
}

impl Progress {
    pub(super) fn stop(&mut self, error: ChannelError) -> Stop {
        match error {
            ChannelError::Full => Stop::Full,
            ChannelError::PeerLost(_) => Stop::Lost,
            other => {
                self.failure = Some(other);
                Stop::Broken
            }
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

    /// Sends one frame without payload.
    pub(super) fn put_head<L: PortTx>(
        &mut self,
        channel: &mut L,
        peer: Peer,
        head: &mut Writer,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        self.put(channel, peer, head, None, progress)?;
        progress.moved = true;
        Ok(())
    }

    /// Sends one frame, which also returns credit to the peer.
    #[inline]
    pub(super) fn put<L: PortTx>(
        &mut self,
        channel: &mut L,
        peer: Peer,
        head: &mut Writer,
        payload: Option<(Cookie, Part<'_>)>,
        progress: &mut Progress,
    ) -> Result<Sent, Stop> {
        let Some(state) = self.peer_state(peer) else {
            return Err(progress.stop(ChannelError::NoSuchPeer(peer)));
        };
        let preamble = state.preamble(head.kind());
        let head = Part::Bytes(head.finish(preamble));
        let (cookie, part) = payload.unwrap_or((Cookie::COPY, Part::Bytes(&[])));
        match channel.try_send(peer, cookie, &[head, part]) {
            Ok(sent) => {
                state.credits_to_return -= u32::from(preamble[1]);
                Ok(sent)
            }
            Err(error) => Err(progress.stop(error)),
        }
    }
}
