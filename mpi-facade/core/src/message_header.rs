//! MPI's header over the kernel: context and tag; the source is the peer. Source: MPI 5.0, section 3.2.3.

#[cfg(feature = "heterogeneous")]
use pombo_kernel::aspect::Canonical as Values;
#[cfg(not(feature = "heterogeneous"))]
use pombo_kernel::aspect::Homogeneous as Values;
use pombo_kernel::aspect::{Buffered, NoDatatypes, Unobserved};
use pombo_kernel::header::fold;
#[cfg(feature = "fast-paths")]
use pombo_kernel::matching::Adaptive as Matching;
#[cfg(not(feature = "fast-paths"))]
use pombo_kernel::matching::Linear as Matching;
use pombo_kernel::{Capacities, Composition, Header, Pattern, Peer};
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::tuning::FAST_PATHS;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The header of every message.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct MpiHeader {
    /// The context: it identifies the communicator, and point-to-point or collective traffic.
    pub context: U32,
    /// The tag, 0 to `MPI_TAG_UB`.
    pub tag: U32,
}

/// The pattern of a receive or a probe.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct MpiPattern {
    /// The context and the tag, which may be [`ANY_TAG`].
    header: MpiHeader,
    source: U16,
}

/// Matches any tag; it is above every tag.
const ANY_TAG: u32 = u32::MAX;
/// Matches any source; it is above every peer.
const ANY_SOURCE: u16 = u16::MAX;

impl MpiHeader {
    /// Creates the header of a message in a context.
    pub fn new(context: u32, tag: u32) -> Self {
        MpiHeader {
            context: U32::new(context),
            tag: U32::new(tag),
        }
    }
}

impl MpiPattern {
    /// Creates a pattern; `None` matches any source or tag.
    pub fn new(context: u32, source: Option<Peer>, tag: Option<u32>) -> Self {
        MpiPattern {
            header: MpiHeader::new(context, tag.unwrap_or(ANY_TAG)),
            source: U16::new(source.map_or(ANY_SOURCE, |peer| peer.0)),
        }
    }
}

impl MpiPattern {
    /// Returns the context, which says the communicator and whether the message is collective.
    pub(crate) fn context(&self) -> u32 {
        self.header.context.get()
    }

    /// Returns the source and the tag; `None` is any.
    #[cfg(feature = "diagnostics")]
    pub(crate) fn wanted(&self) -> (Option<Peer>, Option<u32>) {
        let tag = self.header.tag.get();
        (self.source(), (tag != ANY_TAG).then_some(tag))
    }
}

impl Header for MpiHeader {
    const NAME: &str = "MPI";
    type Pattern = MpiPattern;
}

impl Pattern<MpiHeader> for MpiPattern {
    /// Four: source and tag are each named or any.
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

    /// Returns a header for a receive that ends without a message, so that its error names the communicator.
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
/// Most bytes of a message that is sent eagerly, without a rendezvous; `POMBO_EAGER_LIMIT` lowers it.
pub const EAGER: usize = 8192;
/// Most unexpected messages that a rank keeps for each peer; `POMBO_UNEXPECTED_CREDIT` lowers it. A peer without credit
/// keeps its messages itself, so a rank never holds more than ranks x credit x eager limit bytes.
pub const CREDIT: u32 = 128;

/// Most bytes that copies of messages take in a rank, each with [`pombo_kernel::facade::COPY_OVERHEAD`]: standard sends
/// of up to [`EAGER`] bytes that would wait for their receives are copied and complete. `POMBO_SEND_BUFFER_BYTES`
/// overrides it.
pub const SEND_BUFFER_BYTES: usize = 64 << 20;

/// Messages above [`EAGER`] are announced first; two frames of their data may follow at once, about what the receiver copies until
/// its request is there.
#[cfg(all(feature = "rendezvous", feature = "fast-paths"))]
type Transfer = pombo_kernel::aspect::EarlyData<EAGER, 2>;
/// Messages above [`EAGER`] are announced first.
#[cfg(all(feature = "rendezvous", not(feature = "fast-paths")))]
type Transfer = pombo_kernel::aspect::Rendezvous<EAGER>;
/// Every message is sent at once, or refused: no other is in this composition.
#[cfg(not(feature = "rendezvous"))]
type Transfer = pombo_kernel::aspect::Eager;

/// The composition of the MPI library: large counts, rendezvous, tables that grow up to a million requests, and copies
/// of short sends. With the feature `heterogeneous` values travel in the form of `datatype::representation`.
pub type MpiComposition = Composition<
    U64,
    Transfer,
    Matching,
    HeapStorage,
    Capacities<{ 1 << 20 }, { 64 * RANKS }, EAGER, RANKS>,
    Unobserved,
    NoDatatypes,
    Values,
    Buffered,
>;

/// The fingerprint of the settings that all ranks of a job must share; the shared-memory file contains it. Without fast
/// paths a rank does not know the long frames that one with them sends.
pub const FINGERPRINT: u64 =
    pombo_kernel::fingerprint::<MpiHeader, MpiComposition>() ^ FAST_PATHS as u64;
