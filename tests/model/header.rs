//! The protocol under exploration: a tag for matching, and the message's number, which matching ignores.

use pombo_kernel::header::fold;
use pombo_kernel::{Header, Pattern, Peer};
use std::sync::LazyLock;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Numbered {
    pub(crate) tag: U16,
    pub(crate) number: U32,
}

/// A pattern in which 65535 matches any.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Select {
    source: U16,
    tag: U16,
}

const ANY: u16 = u16::MAX;

pub(crate) fn select(source: Option<u8>, tag: Option<u8>) -> Select {
    Select {
        source: U16::new(source.map_or(ANY, u16::from)),
        tag: U16::new(tag.map_or(ANY, u16::from)),
    }
}

impl Header for Numbered {
    const NAME: &str = "Numbered";
    type Pattern = Select;
}

impl Pattern<Numbered> for Select {
    const CLASSES: usize = 4;

    fn matches(&self, from: Peer, header: &Numbered) -> bool {
        self.source().is_none_or(|peer| peer == from)
            && (self.tag.get() == ANY || self.tag == header.tag)
    }

    fn source(&self) -> Option<Peer> {
        (self.source.get() != ANY).then(|| Peer(self.source.get()))
    }

    fn class(&self) -> (usize, u32) {
        let class = 2 * usize::from(self.tag.get() == ANY) + usize::from(self.source().is_none());
        let header = Numbered {
            tag: self.tag,
            number: U32::new(0),
        };
        (class, Self::key(class, Peer(self.source.get()), &header))
    }

    fn key(class: usize, from: Peer, header: &Numbered) -> u32 {
        let source = if class & 1 == 0 { from.0.into() } else { 0 };
        let tag = if class & 2 == 0 { header.tag.get() } else { 0 };
        fold([source, tag.into()])
    }
}

/// Bytes of the longest message: two frames of data.
pub(crate) const LONGEST: usize = 150;

/// Returns a message's number, from which its sender and its operation follow.
pub(crate) fn number(from: u8, operation: usize) -> u8 {
    from * 32 + operation as u8
}

/// Returns the content of the message of that number at the largest length.
pub(crate) fn content(number: u8) -> &'static [u8; LONGEST] {
    static CONTENTS: LazyLock<Vec<[u8; LONGEST]>> = LazyLock::new(|| {
        let byte = |number: usize, at: usize| (1 + number * 31 + at * 7) as u8 | 1;
        let content = |number| std::array::from_fn(|at| byte(number, at));
        (0..128).map(content).collect()
    });
    &CONTENTS[usize::from(number)]
}
