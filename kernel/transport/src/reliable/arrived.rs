//! A frame as a [`Reliable`](super::Reliable) hands it out.

use pombo_kernel::channel::Arrival;
use pombo_kernel::header::Node;
use pombo_kernel::network::Network;

/// A frame that lies behind the header of one of the network's, or in a place of the channel's own.
pub struct Arrived<'a, A>(Where<'a, A>);

/// A frame of that network.
pub(super) type Of<'a, N> = Arrived<'a, <N as Network>::Frame<'a>>;

enum Where<'a, A> {
    Behind { frame: A, head: usize, len: usize },
    Kept { from: Node, bytes: &'a [u8] },
}

impl<'a, A> Arrived<'a, A> {
    pub(super) fn behind(frame: A, head: usize, len: usize) -> Self {
        Arrived(Where::Behind { frame, head, len })
    }

    pub(super) fn kept(from: Node, bytes: &'a [u8]) -> Self {
        Arrived(Where::Kept { from, bytes })
    }
}

impl<A: Arrival> Arrival for Arrived<'_, A> {
    #[inline]
    fn from(&self) -> Node {
        match &self.0 {
            Where::Behind { frame, .. } => frame.from(),
            Where::Kept { from, .. } => *from,
        }
    }

    #[inline]
    fn len(&self) -> usize {
        match &self.0 {
            Where::Behind { len, .. } => *len,
            Where::Kept { bytes, .. } => bytes.len(),
        }
    }

    #[inline]
    fn head(&self, n: usize) -> Option<&[u8]> {
        match &self.0 {
            Where::Behind { len, .. } if n > *len => None,
            Where::Behind { frame, head, .. } => frame.head(head + n)?.get(*head..),
            Where::Kept { bytes, .. } => bytes.get(..n),
        }
    }

    #[inline]
    fn pieces(&self, offset: usize, len: usize, mut f: impl FnMut(&[u8])) {
        match &self.0 {
            Where::Behind { frame, head, .. } => frame.pieces(head + offset, len, f),
            Where::Kept { bytes, .. } => {
                if let Some(piece) = bytes.get(offset..).and_then(|rest| rest.get(..len)) {
                    f(piece);
                }
            }
        }
    }
}
