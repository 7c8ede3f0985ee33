//! A small protocol, and memory that belongs to the test.

use pombo_kernel::header::fold;
use pombo_kernel::{Header, Memory, Pattern, Peer, Sink, Source};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A header with a tag.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Mark {
    pub(crate) tag: u8,
}

/// A pattern in which 255 matches any tag.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Want {
    pub(crate) source: u8,
    pub(crate) tag: u8,
}

pub(crate) const ANY: Want = Want {
    source: 255,
    tag: 255,
};

impl Header for Mark {
    const NAME: &str = "Mark";
    type Pattern = Want;
}

impl Pattern<Mark> for Want {
    const CLASSES: usize = 4;

    fn matches(&self, from: Peer, header: &Mark) -> bool {
        self.source().is_none_or(|peer| peer == from) && (self.tag == 255 || self.tag == header.tag)
    }

    fn source(&self) -> Option<Peer> {
        (self.source != 255).then(|| Peer(self.source.into()))
    }

    fn class(&self) -> (usize, u32) {
        let class = 2 * usize::from(self.tag == 255) + usize::from(self.source == 255);
        let header = Mark { tag: self.tag };
        (class, Self::key(class, Peer(self.source.into()), &header))
    }

    fn key(class: usize, from: Peer, header: &Mark) -> u32 {
        let source = if class & 1 == 0 { from.0.into() } else { 0 };
        let tag = if class & 2 == 0 { header.tag } else { 0 };
        fold([source, tag.into()])
    }
}

/// Memory of vectors. An access outside of a vector panics.
pub(crate) struct Owned;

#[derive(Debug)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Memory for Owned {
    type Out = Bytes;
    type In = Bytes;
}

impl Source for Bytes {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn copy_out(&self, offset: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.0[offset..offset + into.len()]);
    }
}

impl Sink for Bytes {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn copy_in(&mut self, offset: usize, from: &[u8]) {
        self.0[offset..offset + from.len()].copy_from_slice(from);
    }
}
