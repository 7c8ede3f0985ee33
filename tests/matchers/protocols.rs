//! Headers with good, bad and no classes and keys.

use crate::common::{Tagged, tagged, wanted};
use pombo_kernel::{Header, Pattern, Peer};
use zerocopy::little_endian::{I32, U16};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A header with a tag. `None` matches any tag.
pub(crate) trait Protocol: Header {
    fn header(tag: i32) -> Self;
    fn pattern(source: Option<u16>, tag: Option<i32>) -> Self::Pattern;
}

/// Four classes, with all fields in the key.
impl Protocol for Tagged {
    fn header(tag: i32) -> Self {
        tagged(tag)
    }

    fn pattern(source: Option<u16>, tag: Option<i32>) -> Self::Pattern {
        wanted(source, tag)
    }
}

/// A header whose pattern has no classes and keys of its own.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Silent(I32);

/// A header with two classes, with a tag and without; tags share two keys, and no key includes the source.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Coarse(I32);

/// A pattern in which -1 as tag or 65535 as source matches any.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Select {
    source: U16,
    tag: I32,
}

impl Select {
    fn new(source: Option<u16>, tag: Option<i32>) -> Self {
        Select {
            source: U16::new(source.unwrap_or(u16::MAX)),
            tag: I32::new(tag.unwrap_or(-1)),
        }
    }

    fn peer(&self) -> Option<Peer> {
        (self.source.get() != u16::MAX).then(|| Peer(self.source.get()))
    }

    fn accepts(&self, from: Peer, tag: I32) -> bool {
        self.peer().is_none_or(|peer| peer == from) && (self.tag.get() == -1 || self.tag == tag)
    }
}

impl Header for Silent {
    const NAME: &str = "Silent";
    type Pattern = Select;
}

impl Pattern<Silent> for Select {
    fn matches(&self, from: Peer, header: &Silent) -> bool {
        self.accepts(from, header.0)
    }

    fn source(&self) -> Option<Peer> {
        self.peer()
    }
}

impl Header for Coarse {
    const NAME: &str = "Coarse";
    type Pattern = Select;
}

impl Pattern<Coarse> for Select {
    const CLASSES: usize = 2;

    fn matches(&self, from: Peer, header: &Coarse) -> bool {
        self.accepts(from, header.0)
    }

    fn source(&self) -> Option<Peer> {
        self.peer()
    }

    fn class(&self) -> (usize, u32) {
        match self.tag.get() {
            -1 => (1, 7),
            tag => (0, tag as u32 % 2),
        }
    }

    fn key(class: usize, _: Peer, header: &Coarse) -> u32 {
        if class == 1 {
            7
        } else {
            header.0.get() as u32 % 2
        }
    }
}

impl Protocol for Silent {
    fn header(tag: i32) -> Self {
        Silent(I32::new(tag))
    }

    fn pattern(source: Option<u16>, tag: Option<i32>) -> Select {
        Select::new(source, tag)
    }
}

impl Protocol for Coarse {
    fn header(tag: i32) -> Self {
        Coarse(I32::new(tag))
    }

    fn pattern(source: Option<u16>, tag: Option<i32>) -> Select {
        Select::new(source, tag)
    }
}
