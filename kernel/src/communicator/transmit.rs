//! How one frame leaves, and how long it may be. What sends calls it.

use super::lane::Outlet;
use super::state::State;
use crate::channel::{ChannelError, Cookie, Sent};
use crate::config::Config;
use crate::frame::{Kind, LEAD, Writer};
use crate::header::{Header, Node};
use crate::memory::Part;

/// Why a peer's turn ended early.
pub(super) enum Stop {
    /// No room: the peer stays due.
    Full,
    /// The peer is gone.
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
    /// The longest payload that goes to that node without an announce.
    #[inline]
    pub(crate) fn eager_limit(&self, channel: &impl Outlet, to: Node) -> usize {
        self.eager
            .min(channel.limit(to).saturating_sub(LEAD + size_of::<H>()))
    }

    /// One frame. It carries back the places that the peer may use again.
    #[inline]
    pub(super) fn put<L: Outlet>(
        &mut self,
        channel: &mut L,
        node: Node,
        kind: Kind,
        fields: impl FnOnce(Writer) -> Writer,
        payload: Option<(Cookie, Part<'_>)>,
    ) -> Result<Sent, ChannelError> {
        let peer = self.peer(node).ok_or(ChannelError::NoSuchNode(node))?;
        let lead = peer.lead(kind);
        let head = fields(Writer::new(lead));
        let (cookie, part) = payload.unwrap_or((Cookie::COPY, Part::Bytes(&[])));
        let sent = channel.try_send(node, cookie, &[Part::Bytes(head.bytes()), part])?;
        peer.owed -= u32::from(lead[1]);
        Ok(sent)
    }
}
