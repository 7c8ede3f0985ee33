//! The protocol of kernel and twin: context and tag, as MPI has them; the source is the peer.

use pombo_kernel::aspect::{Eager, Static};
use pombo_kernel::matching::Linear;
use pombo_kernel::{Capacities, Composition, Header, Pattern, Peer};
use zerocopy::little_endian::{I32, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The six bytes of header in front of every message.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub(crate) struct Tagged {
    pub(crate) context: U16,
    pub(crate) tag: I32,
}

/// A pattern in which -1 as tag or 65535 as source matches any.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Wanted {
    pub(crate) context: U16,
    pub(crate) source: U16,
    pub(crate) tag: I32,
}

impl Header for Tagged {
    const NAME: &str = "Tagged";
    type Pattern = Wanted;
}

impl Pattern<Tagged> for Wanted {
    #[inline]
    fn matches(&self, from: Peer, header: &Tagged) -> bool {
        self.context == header.context
            && self.source().is_none_or(|peer| peer == from)
            && (self.tag.get() == -1 || self.tag == header.tag)
    }

    #[inline]
    fn source(&self) -> Option<Peer> {
        (self.source.get() != u16::MAX).then(|| Peer(self.source.get()))
    }
}

pub(crate) fn tagged(tag: i32) -> Tagged {
    Tagged {
        context: U16::new(1),
        tag: I32::new(tag),
    }
}

pub(crate) fn wanted(source: Option<u16>, tag: Option<i32>) -> Wanted {
    Wanted {
        context: U16::new(1),
        source: U16::new(source.unwrap_or(u16::MAX)),
        tag: I32::new(tag.unwrap_or(-1)),
    }
}

pub(crate) const OPERATIONS: usize = 16;
pub(crate) const POOL: usize = 32;
pub(crate) const CELL: usize = 64;
pub(crate) const PEERS: usize = 8;

/// The composition with every aspect off.
pub(crate) type Off =
    Composition<U32, Eager, Linear, Static, Capacities<OPERATIONS, POOL, CELL, PEERS>>;
