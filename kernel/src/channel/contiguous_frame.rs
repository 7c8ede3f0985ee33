//! A frame that lies in one piece at the driver. Drivers hand it out; the kernel reads it.

use super::Arrival;
use crate::header::Peer;

/// A frame in one piece, read where it lies.
#[derive(Clone, Copy, Debug)]
pub struct ContiguousFrame<'a> {
    from: Peer,
    bytes: &'a [u8],
}

impl<'a> ContiguousFrame<'a> {
    /// A frame of that sender.
    pub fn new(from: Peer, bytes: &'a [u8]) -> Self {
        Self { from, bytes }
    }

    /// All of it.
    #[inline(always)]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl Arrival for ContiguousFrame<'_> {
    #[inline(always)]
    fn from(&self) -> Peer {
        self.from
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.bytes.len()
    }

    #[inline(always)]
    fn head(&self, n: usize) -> Option<&[u8]> {
        self.bytes.get(..n)
    }

    #[inline(always)]
    fn for_each_chunk(&self, offset: usize, len: usize, mut f: impl FnMut(&[u8])) {
        let rest = self.bytes.get(offset..);
        match rest.and_then(|rest| rest.get(..len)) {
            Some([]) | None => {}
            Some(piece) => f(piece),
        }
    }
}
