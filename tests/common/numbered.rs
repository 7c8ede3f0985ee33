//! A header that numbers messages, for tests that check which receive got which message.
#![allow(missing_docs, unreachable_pub, reason = "shared by tests")]

use pombo_kernel::header::fold;
use pombo_kernel::{Header, Pattern, Peer};
use zerocopy::little_endian::{I32, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A tag for matching, and the message's number, which matching ignores: so even empty messages can be distinguished.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Numbered {
    pub tag: I32,
    pub number: U32,
}

/// A pattern in which -1 as tag or 65535 as source matches any.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Select {
    pub source: U16,
    pub tag: I32,
}

impl Header for Numbered {
    const NAME: &str = "Numbered";
    type Pattern = Select;
}

impl Pattern<Numbered> for Select {
    const CLASSES: usize = 4;

    fn matches(&self, from: Peer, header: &Numbered) -> bool {
        self.source().is_none_or(|peer| peer == from)
            && (self.tag.get() == -1 || self.tag == header.tag)
    }

    fn source(&self) -> Option<Peer> {
        (self.source.get() != u16::MAX).then(|| Peer(self.source.get()))
    }

    fn class(&self) -> (usize, u32) {
        let class = 2 * usize::from(self.tag.get() == -1) + usize::from(self.source().is_none());
        let header = Numbered {
            tag: self.tag,
            number: U32::new(0),
        };
        (class, Self::key(class, Peer(self.source.get()), &header))
    }

    /// Several tags share a key, so that a matcher by key has to compare the pattern too.
    fn key(class: usize, from: Peer, header: &Numbered) -> u32 {
        let source = if class & 1 == 0 { from.0.into() } else { 0 };
        let tag = if class & 2 == 0 { header.tag.get() } else { 0 };
        fold([source, tag as u32 / 2])
    }
}

pub fn select(source: Option<u16>, tag: Option<i32>) -> Select {
    Select {
        source: U16::new(source.unwrap_or(u16::MAX)),
        tag: I32::new(tag.unwrap_or(-1)),
    }
}
