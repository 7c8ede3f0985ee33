//! A frame that is contiguous in the driver's memory. Drivers hand it out; the kernel reads it.

use super::Arrival;
use crate::header::Peer;

/// A contiguous frame, read in place.
#[derive(Clone, Copy, Debug)]
pub struct ContiguousFrame<'a> {
    from: Peer,
    bytes: &'a [u8],
}

impl<'a> ContiguousFrame<'a> {
    /// Creates a frame of the sender `from`.
    pub fn new(from: Peer, bytes: &'a [u8]) -> Self {
        Self { from, bytes }
    }

    /// Returns all bytes of the frame.
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
