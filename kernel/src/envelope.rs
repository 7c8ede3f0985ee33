//! The envelope of a message: what matching looks at and what a receive learns.
//! Source: the EPOS communication system, section 3.2 (`buf` is the loan, `complete` is the ticket).

use crate::aspect::{Announced, Length, RendezvousField, Transfer};
use crate::composition::{Config, Selected};
use crate::header::{Header, Peer};
use zerocopy::little_endian::U16;

/// Header, length and peer of a message. What the composition `C` leaves out takes no bytes.
#[repr(C)]
pub struct Envelope<H: Header, C: Config = Selected> {
    header: H,
    len: C::Length,
    peer: U16,
    rendezvous: <C::Transfer as Transfer>::Field,
}

impl<H: Header, C: Config> Envelope<H, C> {
    /// `None` if the length does not fit the composition's length type.
    #[inline]
    pub(crate) fn new(
        header: H,
        len: usize,
        peer: Peer,
        announced: Option<Announced>,
    ) -> Option<Self> {
        Some(Envelope {
            header,
            len: C::Length::new(len)?,
            peer: U16::new(peer.0),
            rendezvous: RendezvousField::new(announced),
        })
    }

    /// The upper protocol's header.
    pub fn header(&self) -> H {
        self.header
    }

    /// Bytes of the message, without the header; the buffer may have had less room.
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// A message without payload?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where it came from (receive) or went to (send).
    pub fn peer(&self) -> Peer {
        Peer(self.peer.get())
    }

    /// The sender's operation, while the payload is still with the sender.
    pub(crate) fn announced(&self) -> Option<Announced> {
        self.rendezvous.get()
    }
}

impl<H: Header, C: Config> Clone for Envelope<H, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H: Header, C: Config> Copy for Envelope<H, C> {}

impl<H: Header + core::fmt::Debug, C: Config> core::fmt::Debug for Envelope<H, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Envelope")
            .field("header", &self.header)
            .field("len", &self.len())
            .field("peer", &self.peer())
            .finish()
    }
}
