//! Two protocols, and a communicator for the first one, which the cases share.
#![allow(dead_code, unused_imports, reason = "each case uses a part of it")]

pub use pombo_kernel::aspect::{Eager, Rendezvous, Static};
pub use pombo_kernel::channel::SelfChannel;
pub use pombo_kernel::matching::Linear;
pub use pombo_kernel::{
    Channel, Communicator, Composition, Config, Endpoint, Envelope, Error, Header, Lent, Peer,     Pattern, Port, Scope, Capacities, Ticket,
};
pub use zerocopy::little_endian::U32;
pub use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The header of the communicator.
#[derive(Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Tag(pub u8);

impl Header for Tag {
    const NAME: &str = "Tag";
    type Pattern = Tag;
}

impl Pattern<Tag> for Tag {
    fn matches(&self, _: Peer, header: &Tag) -> bool {
        self == header
    }

    fn source(&self) -> Option<Peer> {
        None
    }
}

/// Another header: as many bytes, another meaning.
#[derive(Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct OtherHeader(pub u8);

impl Header for OtherHeader {
    const NAME: &str = "OtherHeader";
    type Pattern = OtherHeader;
}

impl Pattern<OtherHeader> for OtherHeader {
    fn matches(&self, _: Peer, header: &OtherHeader) -> bool {
        self == header
    }

    fn source(&self) -> Option<Peer> {
        None
    }
}

pub type Off = Composition<U32, Eager, Linear, Static, Capacities<8, 8, 64, 2>>;
pub type Comm<'buf, L> = Communicator<Tag, L, Lent<'buf>, Off>;
