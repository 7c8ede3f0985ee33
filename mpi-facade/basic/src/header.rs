//! MPI's header over the kernel: context and tag; the source is the peer. Only this package uses it.

use pombo_collective::Protocol;
use pombo_kernel::{Header, Pattern, Peer};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// MPI's header.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct MpiHeader {
    /// Messages of the program, or of collective operations.
    context: U32,
    /// The tag, or the number of the operation.
    pub(crate) tag: U32,
}

/// The pattern of a receive.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct MpiPattern {
    header: MpiHeader,
    /// Zero if any tag matches, else ones.
    tags: U32,
    source: U16,
}

/// Messages of the program.
pub(crate) const POINT_TO_POINT: u32 = 0;
/// Messages of collective operations.
pub(crate) const COLLECTIVE: u32 = 1;
/// Matches any source; it is above every peer.
const ANY_SOURCE: u16 = u16::MAX;

impl MpiHeader {
    pub(crate) fn new(context: u32, tag: u32) -> Self {
        MpiHeader {
            context: U32::new(context),
            tag: U32::new(tag),
        }
    }
}

impl MpiPattern {
    /// Creates a pattern; `None` matches any source or tag.
    pub(crate) fn new(context: u32, source: Option<Peer>, tag: Option<u32>) -> Self {
        MpiPattern {
            header: MpiHeader::new(context, tag.unwrap_or(0)),
            tags: U32::new(tag.map_or(0, |_| u32::MAX)),
            source: U16::new(source.map_or(ANY_SOURCE, |peer| peer.0)),
        }
    }
}

impl Header for MpiHeader {
    const NAME: &str = "MPI basic";
    type Pattern = MpiPattern;
}

impl Pattern<MpiHeader> for MpiPattern {
    fn matches(&self, from: Peer, header: &MpiHeader) -> bool {
        self.header.context == header.context
            && header.tag & self.tags == self.header.tag
            && self.source().is_none_or(|source| source == from)
    }

    fn source(&self) -> Option<Peer> {
        let source = self.source.get();
        (source != ANY_SOURCE).then_some(Peer(source))
    }
}

impl Protocol<MpiHeader> for MpiHeader {
    fn header(&self) -> MpiHeader {
        *self
    }

    fn pattern(&self, from: Peer) -> MpiPattern {
        MpiPattern::new(COLLECTIVE, Some(from), Some(self.tag.get()))
    }
}
