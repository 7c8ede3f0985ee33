//! Definitions that the kernel's system tests share: an MPI-like header, memory that the test owns, small compositions.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "each test uses a part of it"
)]

use pombo_kernel::aspect::{Eager, Rendezvous, Static};
use pombo_kernel::header::fold;
use pombo_kernel::matching::Linear;
use pombo_kernel::{
    Capacities, Communicator, Composition, Config, Header, Memory, Pattern, Peer, Sink, Source,
};
use pombo_netdrivers::{HeapStorage, Loopback, loopback};
use pombo_testing::{AdversarialChannel, Profile};
use zerocopy::little_endian::{I32, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A header of context and tag, as MPI's; the source is the peer.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Tagged {
    pub context: U16,
    pub tag: I32,
}

/// A pattern in which -1 as tag or 65535 as source matches any.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Wanted {
    pub context: U16,
    pub source: U16,
    pub tag: I32,
}

impl Header for Tagged {
    const NAME: &str = "Tagged";
    type Pattern = Wanted;
}

impl Pattern<Tagged> for Wanted {
    const CLASSES: usize = 4;

    fn matches(&self, from: Peer, header: &Tagged) -> bool {
        self.context == header.context
            && self.source().is_none_or(|peer| peer == from)
            && (self.tag.get() == -1 || self.tag == header.tag)
    }

    fn source(&self) -> Option<Peer> {
        (self.source.get() != u16::MAX).then(|| Peer(self.source.get()))
    }

    fn class(&self) -> (usize, u32) {
        let class = 2 * usize::from(self.tag.get() == -1) + usize::from(self.source().is_none());
        let header = Tagged {
            context: self.context,
            tag: self.tag,
        };
        (class, Self::key(class, Peer(self.source.get()), &header))
    }

    fn key(class: usize, from: Peer, header: &Tagged) -> u32 {
        let source = if class & 1 == 0 { from.0.into() } else { 0 };
        let tag = if class & 2 == 0 { header.tag.get() } else { 0 };
        fold([header.context.get().into(), source, tag as u32])
    }
}

pub fn tagged(tag: i32) -> Tagged {
    Tagged {
        context: U16::new(1),
        tag: I32::new(tag),
    }
}

pub fn wanted(source: Option<u16>, tag: Option<i32>) -> Wanted {
    Wanted {
        context: U16::new(1),
        source: U16::new(source.unwrap_or(u16::MAX)),
        tag: I32::new(tag.unwrap_or(-1)),
    }
}

/// Memory of vectors that move through the communicator.
pub struct Owned;

pub struct Bytes(pub Vec<u8>);

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

/// The smallest composition, except for operations, of which 4 would be too few for tests.
pub type Tiny = Composition<U32, Rendezvous<16>, Linear, Static, Capacities<512, 4, 64, 4>>;
/// A composition without rendezvous.
pub type Plain = Composition<U32, Eager, Linear, Static, Capacities<512, 64, 64, 4>>;
/// The composition of a hosted program.
pub type Hosted =
    Composition<U32, Rendezvous<4096>, Linear, HeapStorage, Capacities<65536, 4096, 4096, 64>>;

pub type Comm<C> = Communicator<Tagged, Loopback, Owned, C>;

/// Polls every rank until nothing moves any more.
pub fn settle<C: Config>(ranks: &mut [Comm<C>]) {
    for _ in 0..1_000_000 {
        let mut moved = false;
        for rank in ranks.iter_mut() {
            moved |= rank.check_messages().expect("loopback does not break");
        }
        if !moved {
            return;
        }
    }
    panic!("the ranks never come to rest");
}

/// Returns adversarial channels for ranks that are polled in turn, with room for `in_flight` short frames per pair.
pub fn adversarial(
    peers: u16,
    in_flight: usize,
    profile: Profile,
    seed: u64,
) -> Vec<AdversarialChannel<Loopback>> {
    let limits = loopback::Limits {
        frame: 128,
        frames_in_flight: in_flight,
    };
    AdversarialChannel::world(Loopback::world_with(peers, limits), profile, seed)
}

/// Polls every rank until nothing is due, under way, or moving.
pub fn settle_adversarial<H: Header, M: Memory, C: Config>(
    ranks: &mut [Communicator<H, AdversarialChannel<Loopback>, M, C>],
) {
    for _ in 0..1_000_000 {
        let mut rest = true;
        for rank in ranks.iter_mut() {
            rest &= !rank.check_messages().expect("this channel does not break");
        }
        // A round without progress has taken everything under way, unless a channel holds something back.
        if rest
            && ranks
                .iter()
                .all(|rank| rank.is_flushed() && rank.channel().is_quiet())
        {
            return;
        }
    }
    panic!("the ranks never come to rest");
}

/// Returns a payload from which the message can be identified.
pub fn payload(id: usize, len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| (id.wrapping_mul(31) ^ i.wrapping_mul(7) ^ (i >> 8)) as u8)
        .collect()
}

/// Returns the number of cases of a property test: `PROPTEST_CASES`, or `default`. A failure prints the case itself, so
/// no file of seeds is kept.
pub fn cases(default: u32) -> proptest::test_runner::Config {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok());
    proptest::test_runner::Config {
        cases: cases.unwrap_or(default),
        failure_persistence: None,
        ..Default::default()
    }
}
