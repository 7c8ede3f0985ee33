//! MPI's header over the kernel: context and tag; the source is the peer. Source: MPI 5.0, section 3.2.3.

use pombo_kernel::aspect::{Buffered, Homogeneous, NoDatatypes, Rendezvous, Unobserved};
use pombo_kernel::header::fold;
use pombo_kernel::matching::Adaptive;
use pombo_kernel::{Capacities, Composition, Header, Pattern, Peer};
use pombo_netdrivers::HeapStorage;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What travels in front of every message.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct MpiHeader {
    /// Tells communicators apart, and point-to-point from collective traffic.
    pub context: U32,
    /// The tag, 0 to `MPI_TAG_UB`.
    pub tag: U32,
}

/// What a receive wants.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct MpiPattern {
    /// The tag may be any.
    header: MpiHeader,
    source: U16,
}

/// Stands for any tag; above every tag.
const ANY_TAG: u32 = u32::MAX;
/// Stands for any source; above every peer.
const ANY_SOURCE: u16 = u16::MAX;

impl MpiHeader {
    /// Of a message in a context.
    pub fn new(context: u32, tag: u32) -> Self {
        MpiHeader {
            context: U32::new(context),
            tag: U32::new(tag),
        }
    }
}

impl MpiPattern {
    /// `None` stands for any.
    pub fn new(context: u32, source: Option<Peer>, tag: Option<u32>) -> Self {
        MpiPattern {
            header: MpiHeader::new(context, tag.unwrap_or(ANY_TAG)),
            source: U16::new(source.map_or(ANY_SOURCE, |peer| peer.0)),
        }
    }
}

impl MpiPattern {
    /// Of what communicator, and whether of its collective traffic.
    pub(crate) fn context(&self) -> u32 {
        self.header.context.get()
    }
}

impl Header for MpiHeader {
    const NAME: &str = "MPI";
    type Pattern = MpiPattern;
}

impl Pattern<MpiHeader> for MpiPattern {
    /// Source and tag, each named or any.
    const CLASSES: usize = 4;

    #[inline]
    fn matches(&self, from: Peer, header: &MpiHeader) -> bool {
        let wanted = &self.header;
        wanted.context == header.context
            && (wanted.tag == header.tag || wanted.tag.get() == ANY_TAG)
            && (self.source.get() == from.0 || self.source.get() == ANY_SOURCE)
    }

    #[inline]
    fn source(&self) -> Option<Peer> {
        let source = self.source.get();
        (source != ANY_SOURCE).then_some(Peer(source))
    }

    /// For the communicator's sake.
    fn stand_in(&self) -> Option<MpiHeader> {
        Some(self.header)
    }

    #[inline]
    fn class(&self) -> (usize, u32) {
        let any_source = self.source.get() == ANY_SOURCE;
        let any_tag = self.header.tag.get() == ANY_TAG;
        let class = usize::from(any_source) | usize::from(any_tag) << 1;
        let key = Self::key(class, Peer(self.source.get()), &self.header);
        (class, key)
    }

    #[inline]
    fn key(class: usize, from: Peer, header: &MpiHeader) -> u32 {
        let source = if class & 1 == 0 { from.0.into() } else { 0 };
        let tag = if class & 2 == 0 { header.tag.get() } else { 0 };
        fold([header.context.get(), source, tag])
    }
}

/// Most ranks of a world.
pub const RANKS: usize = 1024;
/// The longest message in bytes that is sent without an announce; `POMBO_EAGER_LIMIT` lowers it.
pub const EAGER: usize = 8192;
/// Unexpected messages that a rank keeps for each peer, at most; `POMBO_UNEXPECTED_CREDIT` lowers it. A peer that has used
/// them up keeps its messages itself, so a rank never holds more than ranks x credit x eager limit bytes.
pub const CREDIT: u32 = 128;

/// Bytes that copies of messages take in a rank, at most, each with [`pombo_kernel::facade::COPY_OVERHEAD`]: standard
/// sends of up to [`EAGER`] bytes that would wait for their receives go on as copies. `POMBO_SEND_BUFFER_BYTES` says
/// otherwise.
pub const SEND_BUFFER_BYTES: usize = 64 << 20;

/// The composition of the MPI library: large counts, rendezvous, tables that grow up to a million requests, copies of
/// short sends.
pub type MpiComposition = Composition<
    U64,
    Rendezvous<EAGER>,
    Adaptive,
    HeapStorage,
    Capacities<{ 1 << 20 }, { 64 * RANKS }, EAGER, RANKS>,
    Unobserved,
    NoDatatypes,
    Homogeneous,
    Buffered,
>;

/// What every rank of a job must share; the memory file carries it.
pub const FINGERPRINT: u64 = pombo_kernel::fingerprint::<MpiHeader, MpiComposition>();
