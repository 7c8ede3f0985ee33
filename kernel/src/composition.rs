//! Compositions by type parameters, and the one that the Cargo features select. The only file that looks at features.

use crate::aspect::{
    Buffering, Cap, Capacity, Datatypes, Homogeneous, Length, NoDatatypes, Observer,
    Representation, Storage, Transfer, Unbuffered, Unobserved,
};
use crate::config::{Config, Sizes};
use crate::envelope::{self, EnvelopeFormat};
use crate::matching::Matcher;
use core::marker::PhantomData;

/// A composition given by type parameters. The families after the sizes are off unless named.
pub struct Composition<
    L,
    T,
    M,
    S,
    Z,
    O = Unobserved,
    D = NoDatatypes,
    R = Homogeneous,
    B = Unbuffered,
>(PhantomData<(L, T, M, S, Z, O, D, R, B)>);

impl<L: Length, T: Transfer, M, S, Z, O, D, R, B> EnvelopeFormat
    for Composition<L, T, M, S, Z, O, D, R, B>
{
    type Length = L;
    type Transfer = T;
}

impl<L, T, M, S, Z, O, D, R, B> Config for Composition<L, T, M, S, Z, O, D, R, B>
where
    L: Length,
    T: Transfer,
    M: Matcher,
    S: Storage,
    Z: Sizes,
    O: Observer,
    D: Datatypes,
    R: Representation,
    B: Buffering,
{
    type Matcher = M;
    type Storage = S;
    type Sizes = Z;
    type Observer = O;
    type Datatypes = D;
    type Representation = R;
    type Buffering = B;
}

/// Sizes given by type parameters.
pub struct Capacities<
    const OPERATIONS: usize,
    const POOL: usize,
    const CELL: usize,
    const PEERS: usize,
>;

impl<const OPERATIONS: usize, const POOL: usize, const CELL: usize, const PEERS: usize> Sizes
    for Capacities<OPERATIONS, POOL, CELL, PEERS>
{
    type Operations = Cap<OPERATIONS>;
    type Pool = Cap<POOL>;
    type Cell = Cap<CELL>;
    type Peers = Cap<PEERS>;
}

#[cfg(feature = "rendezvous")]
type SelectedTransfer = crate::aspect::Rendezvous;
#[cfg(not(feature = "rendezvous"))]
type SelectedTransfer = crate::aspect::Eager;

#[cfg(feature = "datatypes-full")]
type SelectedDatatypes = crate::aspect::Full;
#[cfg(all(feature = "datatypes-contiguous", not(feature = "datatypes-full")))]
type SelectedDatatypes = crate::aspect::Contiguous;
#[cfg(all(feature = "datatypes-basic", not(feature = "datatypes-contiguous")))]
type SelectedDatatypes = crate::aspect::Basic;
#[cfg(not(feature = "datatypes-basic"))]
type SelectedDatatypes = NoDatatypes;

#[cfg(feature = "heterogeneous")]
type SelectedRepresentation = crate::aspect::Heterogeneous;
#[cfg(not(feature = "heterogeneous"))]
type SelectedRepresentation = Homogeneous;

#[cfg(feature = "buffering")]
type SelectedBuffering = crate::aspect::Buffered;
#[cfg(not(feature = "buffering"))]
type SelectedBuffering = Unbuffered;

#[cfg(feature = "observer")]
type SelectedObserver = crate::aspect::Counting;
#[cfg(not(feature = "observer"))]
type SelectedObserver = Unobserved;

/// The composition that the Cargo features select: a small static one.
pub type Selected = Composition<
    zerocopy::little_endian::U32,
    SelectedTransfer,
    crate::matching::Linear,
    crate::aspect::Static,
    Capacities<16, 32, 256, 8>,
    SelectedObserver,
    SelectedDatatypes,
    SelectedRepresentation,
    SelectedBuffering,
>;

/// Header, length and peer of a message in the composition `C`: see [`envelope::Envelope`].
pub type Envelope<H, C = Selected> = envelope::Envelope<H, C>;

/// Returns a number that two peers must share to interoperate: it covers the header's name and size, the length type,
/// the transfer policy, the byte order where values are not converted, and the layout of the frames. Drivers compare it when a job starts. It is equal in programs that
/// were built separately, even with different compilers.
pub const fn fingerprint<H: crate::Header, C: Config>() -> u64 {
    const FRAMES: u64 = 3;
    let parts = [
        FRAMES,
        size_of::<H>() as u64,
        size_of::<H::Pattern>() as u64,
        size_of::<C::Length>() as u64,
        <C::Transfer as Transfer>::RENDEZVOUS as u64,
        <C::Transfer as Transfer>::HINTS as u64,
        (<C::Transfer as Transfer>::EARLY_FRAMES > 0) as u64,
        <C::Representation as Representation>::CONVERTS as u64,
        <C::Representation as Representation>::CANONICAL as u64,
        (!<C::Representation as Representation>::CONVERTS
            && <C::Representation as Representation>::BIG_ENDIAN) as u64,
        <<C::Sizes as Sizes>::Pool as Capacity>::N as u64,
        <<C::Sizes as Sizes>::Cell as Capacity>::N as u64,
    ];
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < parts.len() {
        hash = stir(hash, parts[i]);
        i += 1;
    }
    let name = H::NAME.as_bytes();
    let mut i = 0;
    while i < name.len() {
        hash = stir(hash, name[i] as u64);
        i += 1;
    }
    hash
}

/// Computes a step of FNV-1a, which is not for security.
const fn stir(hash: u64, part: u64) -> u64 {
    (hash ^ part).wrapping_mul(0x0000_0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{Header, Pattern, Peer};
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

    macro_rules! header {
        ($name:ident, $called:literal) => {
            #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
            #[repr(C)]
            struct $name(u8);

            impl Header for $name {
                const NAME: &str = $called;
                type Pattern = $name;
            }

            impl Pattern<$name> for $name {
                fn matches(&self, _from: Peer, header: &$name) -> bool {
                    self.0 == header.0
                }

                fn source(&self) -> Option<Peer> {
                    None
                }
            }
        };
    }

    header!(Topic, "topic");
    header!(Port, "port");
    // The same header as in another program.
    header!(Again, "topic");

    #[test]
    fn unlike_headers_of_one_size_differ() {
        let topic = fingerprint::<Topic, Selected>();
        assert_ne!(topic, fingerprint::<Port, Selected>());
        assert_eq!(topic, fingerprint::<Again, Selected>());
    }
}
