//! A frame as a [`Reliable`](super::Reliable) delivers it.

use pombo_kernel::channel::Arrival;
use pombo_kernel::header::Peer;
use pombo_kernel::network::Network;

/// A frame that lies behind the header in a frame of the network, or in a slot of the channel.
pub struct Arrived<'a, A>(Where<'a, A>);

/// A delivered frame over that network.
pub(super) type ArrivedOf<'a, N> = Arrived<'a, <N as Network>::Frame<'a>>;

enum Where<'a, A> {
    Behind { frame: A, head: usize, len: usize },
    Unacked { from: Peer, bytes: &'a [u8] },
}

impl<'a, A> Arrived<'a, A> {
    pub(super) fn behind(frame: A, head: usize, len: usize) -> Self {
        Arrived(Where::Behind { frame, head, len })
    }

    pub(super) fn kept(from: Peer, bytes: &'a [u8]) -> Self {
        Arrived(Where::Unacked { from, bytes })
    }
}

impl<A: Arrival> Arrival for Arrived<'_, A> {
    #[inline]
    fn from(&self) -> Peer {
        match &self.0 {
            Where::Behind { frame, .. } => frame.from(),
            Where::Unacked { from, .. } => *from,
        }
    }

    #[inline]
    fn len(&self) -> usize {
        match &self.0 {
            Where::Behind { len, .. } => *len,
            Where::Unacked { bytes, .. } => bytes.len(),
        }
    }

    #[inline]
    fn head(&self, n: usize) -> Option<&[u8]> {
        match &self.0 {
            Where::Behind { len, .. } if n > *len => None,
            Where::Behind { frame, head, .. } => frame.head(head + n)?.get(*head..),
            Where::Unacked { bytes, .. } => bytes.get(..n),
        }
    }

    #[inline]
    fn for_each_chunk(&self, offset: usize, len: usize, mut f: impl FnMut(&[u8])) {
        match &self.0 {
            Where::Behind { frame, head, .. } => frame.for_each_chunk(head + offset, len, f),
            Where::Unacked { bytes, .. } => {
                if let Some(piece) = bytes.get(offset..).and_then(|rest| rest.get(..len)) {
                    f(piece);
                }
            }
        }
    }
}
