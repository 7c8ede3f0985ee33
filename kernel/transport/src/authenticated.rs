//! Authenticates frames by the job's key, over any [`Network`] with contiguous frames. It is for programs that share
//! the wire with others; without a key frames pass unchanged, at the cost of one comparison each.
//!
//! A header precedes every frame: a tag of SipHash-2-4 under the key, the number of the frame at its source, and its
//! destination. The tag covers these, the source, the epoch of the job, and of the frame either every byte
//! ([`Coverage::Whole`]) or its first [`COVERED_HEADERS`] bytes, its length, and a checksum of the rest, XXH64
//! ([`Coverage::Headers`]), which takes a fraction of the time. A receiver accepts each number of a source once, and
//! none far below the highest accepted.
//!
//! So forged, replayed and damaged frames are counted and dropped. An attacker who intercepts frames, or overtakes
//! them, can under [`Coverage::Headers`] still replace the bytes behind the headers of a frame that it has seen by
//! others of the same checksum; under [`Coverage::Whole`] it cannot. Nothing prevents an attacker from reading frames
//! or from flooding the wire; and peers of one job trust each other.

use crate::ContiguousFrame;
use alloc::vec::Vec;
use core::hash::Hasher;
use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, MIN_MTU, Network};
use siphasher::sip::SipHasher24;
use xxhash_rust::xxh64::Xxh64;

/// A network whose frames carry tags if there is a key.
pub struct Authenticated<N> {
    inner: N,
    /// The authenticator; `None`: frames pass unchanged.
    tags: Option<Authenticator>,
}

/// Writes and checks tags.
struct Authenticator {
    me: Peer,
    /// The hash state after the input that all frames have in common.
    keyed: Tag,
    /// The number of the last frame sent.
    number: u64,
    replay: Vec<ReplayWindow>,
    counts: AuthenticatedCounts,
    /// Buffer for frames of many parts; as long as a frame of the network below.
    scratch: Vec<u8>,
}

/// The key of tags: equal at all peers of a job, with another `domain` for each of its networks.
#[derive(Clone, Copy)]
pub struct Key {
    /// The secret of the job.
    pub secret: [u8; 16],
    /// The epoch of the job: a secret is never used twice with the same epoch.
    pub epoch: u64,
    /// The number of the network among those of a peer.
    pub domain: u8,
}

/// The bytes of a frame that a tag covers: equal at all peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// The first [`COVERED_HEADERS`] bytes, the length, and a checksum of the rest.
    Headers,
    /// Every byte.
    Whole,
}

/// Number of bytes of a frame that every tag covers directly: the headers of a channel and of a message, and short
/// messages.
pub const COVERED_HEADERS: usize = 64;

impl Key {
    /// Returns a tag of these bytes, by which a process proves once that it knows the key.
    pub fn tag(&self, bytes: &[u8]) -> [u8; TAG] {
        let mut keyed = self.hasher();
        keyed.write(bytes);
        keyed.finish().to_le_bytes()
    }

    fn hasher(&self) -> SipHasher24 {
        let mut keyed = SipHasher24::new_with_key(&self.secret);
        keyed.write(&self.epoch.to_le_bytes());
        keyed.write(&[self.domain]);
        keyed
    }
}

/// Counters of dropped frames: zero without a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct AuthenticatedCounts {
    /// Frames whose tag is not that of this job, network, source, and destination.
    pub forged: u64,
    /// Frames that arrived before, or may have.
    pub replayed: u64,
}

/// Length in bytes of the header of every frame: tag, number and destination.
pub const HEADER_LEN: usize = 16;
const TAG: usize = 8;
/// Bound of frame numbers, which have 48 bits; the destination takes the other 16.
const NUMBER_LIMIT: u64 = 1 << 48;
/// The destination of broadcast frames.
const EVERYBODY: u16 = u16::MAX;
/// Largest number of parts of a frame that are sent without a copy.
const MAX_PARTS: usize = 8;
/// Number of bytes that are read at a time if a part is not contiguous.
const CHUNK: usize = 256;

/// The replay window of a source: the highest number accepted, and a bitmap of those below it.
#[derive(Clone, Copy, Default)]
struct ReplayWindow {
    highest: u64,
    seen: u128,
}

impl ReplayWindow {
    /// Accepts a number; returns false if it may have been accepted before. Numbers begin at 1.
    fn take(&mut self, number: u64) -> bool {
        if number > self.highest {
            let ahead = number - self.highest;
            // The old highest number becomes one of the bitmap.
            self.seen = match u32::try_from(ahead) {
                Ok(ahead) if ahead <= u128::BITS => {
                    let moved = self.seen.checked_shl(ahead).unwrap_or(0);
                    moved | 1 << (ahead - 1)
                }
                _ => 0,
            };
            self.highest = number;
            return true;
        }
        let back = self.highest - number;
        if back == 0 || back > u64::from(u128::BITS) {
            return false;
        }
        let bit = 1 << (back - 1);
        let fresh = self.seen & bit == 0;
        self.seen |= bit;
        fresh
    }
}

impl<N: Network> Authenticated<N> {
    /// Creates an authenticated network over `inner`, which must not pad frames; without a key it behaves as `inner`.
    ///
    /// # Errors
    /// [`ChannelError::TooLong`]: the frames of `inner` are too short for the tag.
    pub fn new(inner: N, under: Option<(Key, Coverage)>) -> Result<Self, ChannelError> {
        let tags = under.map(|(key, cover)| Authenticator::new(&inner, key, cover));
        let tags = tags.transpose()?;
        Ok(Authenticated { inner, tags })
    }

    /// Returns the network below.
    pub fn inner(&self) -> &N {
        &self.inner
    }

    /// Returns the counters of dropped frames.
    pub fn counts(&self) -> AuthenticatedCounts {
        let tags = self.tags.as_ref();
        tags.map_or_else(AuthenticatedCounts::default, |tags| tags.counts)
    }

    #[inline]
    fn send(
        &mut self,
        to: u16,
        parts: &[Part<'_>],
        transmit: impl FnOnce(&mut N, &[Part<'_>]) -> Result<(), ChannelError>,
    ) -> Result<(), ChannelError> {
        match &mut self.tags {
            None => transmit(&mut self.inner, parts),
            Some(tags) => tags.send(to, parts, |parts| transmit(&mut self.inner, parts)),
        }
    }
}

impl Authenticator {
    fn new(network: &impl Network, key: Key, cover: Coverage) -> Result<Self, ChannelError> {
        let limit = network.mtu();
        if limit < MIN_MTU + HEADER_LEN {
            return Err(ChannelError::TooLong { limit });
        }
        Ok(Authenticator {
            me: network.me(),
            keyed: Tag::new(key, cover),
            number: 0,
            replay: alloc::vec![ReplayWindow::default(); network.peers()],
            counts: AuthenticatedCounts::default(),
            scratch: alloc::vec![0; limit],
        })
    }

    fn send(
        &mut self,
        to: u16,
        parts: &[Part<'_>],
        transmit: impl FnOnce(&[Part<'_>]) -> Result<(), ChannelError>,
    ) -> Result<(), ChannelError> {
        let (limit, len) = (self.scratch.len() - HEADER_LEN, Part::total(parts));
        if len > limit {
            return Err(ChannelError::TooLong { limit });
        }
        let number = self.number + 1;
        if number >= NUMBER_LIMIT {
            return Err(ChannelError::Device(EOVERFLOW));
        }
        let number_and_destination = number | u64::from(to) << 48;
        let mut tag = self.keyed.for_frame(self.me, number_and_destination);
        parts.iter().for_each(|part| tag.add_part(part));
        let mut head = [0; HEADER_LEN];
        head[..TAG].copy_from_slice(&tag.end().to_le_bytes());
        head[TAG..].copy_from_slice(&number_and_destination.to_le_bytes());
        let mut all = [Part::Bytes(&head); MAX_PARTS + 1];
        let pieces = if let Some(places) = all.get_mut(1..=parts.len()) {
            places.copy_from_slice(parts);
            parts.len()
        } else {
            let mut end = 0;
            for part in parts {
                part.copy_to(0, &mut self.scratch[end..end + part.len()]);
                end += part.len();
            }
            all[1] = Part::Bytes(&self.scratch[..end]);
            1
        };
        transmit(&all[..=pieces])?;
        // A refused frame leaves its number to the next one: no peer has seen it.
        self.number = number;
        Ok(())
    }

    /// Returns the content of an authentic frame for this peer that has not been accepted before.
    fn open<'a>(&mut self, frame: ContiguousFrame<'a>) -> Option<ContiguousFrame<'a>> {
        let source = self.replay.get_mut(frame.from().index());
        let verified = self.keyed.verify(frame, self.me);
        let Some(((number, rest), source)) = verified.zip(source) else {
            self.counts.forged += 1;
            return None;
        };
        if !source.take(number) {
            self.counts.replayed += 1;
            return None;
        }
        Some(rest)
    }
}

/// `errno` of a value that is too large.
const EOVERFLOW: i32 = 75;

/// The state of a tag, computed incrementally over the bytes of a frame.
#[derive(Clone)]
struct Tag {
    keyed: SipHasher24,
    /// Number of bytes that the tag still covers directly.
    left: usize,
    /// The checksum of the bytes behind them: 64 bits, which no CRC of 32 has, at the speed of memory.
    rest: Xxh64,
}

impl Tag {
    fn new(key: Key, cover: Coverage) -> Self {
        let mut keyed = key.hasher();
        keyed.write(&[cover as u8]);
        Tag {
            keyed,
            left: match cover {
                Coverage::Headers => COVERED_HEADERS,
                Coverage::Whole => usize::MAX,
            },
            rest: Xxh64::new(0),
        }
    }

    /// Returns the state at the start of a frame.
    fn for_frame(&self, from: Peer, number_and_destination: u64) -> Self {
        let mut tag = self.clone();
        tag.keyed.write(&from.0.to_le_bytes());
        tag.keyed.write(&number_and_destination.to_le_bytes());
        tag
    }

    fn add(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.left));
        if !first.is_empty() {
            self.left -= first.len();
            self.keyed.write(first);
        }
        if !rest.is_empty() {
            self.rest.update(rest);
        }
    }

    fn add_part(&mut self, part: &Part<'_>) {
        if let Part::Bytes(bytes) = part {
            return self.add(bytes);
        }
        let mut chunk = [0; CHUNK];
        for at in (0..part.len()).step_by(CHUNK) {
            let chunk = &mut chunk[..CHUNK.min(part.len() - at)];
            part.copy_to(at, chunk);
            self.add(chunk);
        }
    }

    /// Finishes the tag. A checksum of the rest, which includes its length, follows the covered headers.
    fn end(mut self) -> u64 {
        if self.left == 0 {
            self.keyed.write(&self.rest.digest().to_le_bytes());
        }
        self.keyed.finish()
    }
    /// Returns the number of an authentic frame for that peer, and the content behind its header.
    fn verify<'a>(
        &self,
        frame: ContiguousFrame<'a>,
        me: Peer,
    ) -> Option<(u64, ContiguousFrame<'a>)> {
        let (tag, bytes) = frame.bytes().split_first_chunk()?;
        let (number_and_destination, bytes) = bytes.split_first_chunk()?;
        let number_and_destination = u64::from_le_bytes(*number_and_destination);
        let to = (number_and_destination >> 48) as u16;
        let mut own = self.for_frame(frame.from(), number_and_destination);
        own.add(bytes);
        // The comparison takes constant time, so its duration does not show how many bytes are right.
        let same = own.end() == u64::from_le_bytes(*tag);
        let rest = ContiguousFrame::new(frame.from(), bytes);
        (same && (to == me.0 || to == EVERYBODY))
            .then_some((number_and_destination % NUMBER_LIMIT, rest))
    }
}

impl<N> Network for Authenticated<N>
where
    N: for<'a> Network<Frame<'a> = ContiguousFrame<'a>>,
{
    type Frame<'a> = ContiguousFrame<'a>;

    pombo_kernel::forward_network! { inner: me, peers, set_corked, wait, wait_sources, #[inline] now }

    #[inline]
    fn is_checked(&self) -> bool {
        self.tags.is_some() || self.inner.is_checked()
    }

    fn mtu(&self) -> usize {
        let head = self.tags.as_ref().map_or(0, |_| HEADER_LEN);
        self.inner.mtu() - head
    }

    #[inline]
    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.send(to.0, parts, |inner, parts| inner.transmit(to, parts))
    }

    #[inline]
    fn poll(&mut self, mut f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        let Authenticated { inner, tags } = self;
        let mut any = false;
        inner.poll(|frame| {
            let frame = match tags {
                None => Some(frame),
                Some(tags) => tags.open(frame),
            };
            if let Some(frame) = frame {
                any = true;
                f(frame);
            }
        })?;
        Ok(any)
    }
}

impl<N> Broadcast for Authenticated<N>
where
    N: Broadcast + for<'a> Network<Frame<'a> = ContiguousFrame<'a>>,
{
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.send(EVERYBODY, parts, N::broadcast)
    }
}

#[cfg(test)]
mod tests {
    use super::ReplayWindow;
    use alloc::collections::BTreeSet;

    #[test]
    fn each_number_is_taken_once_and_none_far_behind() {
        let mut replay = ReplayWindow::default();
        let (mut taken, mut highest) = (BTreeSet::new(), 0);
        let mut random = 1_u64;
        for _ in 0..100_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let number = 1 + (highest + random % 400).saturating_sub((random >> 20) % 397);
            let expected = number + 128 >= highest && !taken.contains(&number);
            assert_eq!(replay.take(number), expected, "{number} after {highest}");
            if expected {
                taken.insert(number);
                highest = highest.max(number);
            }
            // Most steps go back and forth in one range of numbers.
            if (random >> 40).is_multiple_of(50) {
                highest += random % 300;
                assert_eq!(replay.take(highest), taken.insert(highest));
            }
        }
        assert!(!replay.take(0) && replay.take(u64::MAX) && !replay.take(u64::MAX));
    }
}
