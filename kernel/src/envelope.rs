//! The envelope of a message: the input of matching and part of the result of a receive. Source: the EPOS communication
//! system, section 3.2 (`buf` is the loan, `complete` is the ticket).

use crate::aspect::{Announced, Length, RendezvousField, Transfer};
use crate::header::{Header, Peer};
use zerocopy::little_endian::U16;

/// The policies that decide which fields an envelope has.
pub trait EnvelopeFormat {
    /// The width of lengths.
    type Length: Length;
    /// The transfer protocol of payloads.
    type Transfer: Transfer;
}

/// Header, length and peer of a message. Fields that the composition `C` leaves out take no bytes.
#[repr(C)]
pub struct Envelope<H: Header, C: EnvelopeFormat> {
    header: H,
    len: C::Length,
    peer: U16,
    rendezvous: <C::Transfer as Transfer>::Field,
}

impl<H: Header, C: EnvelopeFormat> Envelope<H, C> {
    /// Creates an envelope; returns `None` if the length does not fit the composition's length type.
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

    /// Returns the upper protocol's header.
    pub fn header(&self) -> H {
        self.header
    }

    /// Returns the length of the message in bytes, without the header; the buffer may have been shorter.
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Returns whether the message has no payload.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the source (of a receive) or the destination (of a send).
    pub fn peer(&self) -> Peer {
        Peer(self.peer.get())
    }

    /// Returns the sender's operation, while the payload is still with the sender.
    pub(crate) fn announced(&self) -> Option<Announced> {
        self.rendezvous.get()
    }
}

impl<H: Header, C: EnvelopeFormat> Clone for Envelope<H, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H: Header, C: EnvelopeFormat> Copy for Envelope<H, C> {}

impl<H: Header + core::fmt::Debug, C: EnvelopeFormat> core::fmt::Debug for Envelope<H, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Envelope")
            .field("header", &self.header)
            .field("len", &self.len())
            .field("peer", &self.peer())
            .finish()
    }
}
