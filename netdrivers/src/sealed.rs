//! Frames that only who has the job's key can write, over any [`Network`]. Whoever builds a program uses it where others
//! share the wire; left out, it costs nothing.
//!
//! In front of every frame stand a tag of SipHash-2-4 under the key, the number of the frame at its source, and for whom
//! it is. The tag covers these, the source, the life of the job, and of the frame either every byte ([`Cover::Whole`]) or
//! its first [`HEADERS`] bytes, its length, and a checksum of the rest ([`Cover::Headers`]), which takes a fraction of the
//! time. A receiver takes each number of a source once, and none far below the highest it has had.
//!
//! So what a stranger invents or sends again is counted and dropped, and so is what was damaged. A stranger who stands
//! in the way of frames, or overtakes them, can under [`Cover::Headers`] still put another content of the same checksum in
//! the place of one that it has seen, behind the headers; under [`Cover::Whole`] it cannot. It may always listen, and keep
//! the wire busy; and nodes of one job trust each other.

use alloc::vec::Vec;
use core::hash::Hasher;
use pombo_kernel::channel::{Arrival, ChannelError, Wake};
use pombo_kernel::checksum::Checksum;
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, MIN_MTU, Network};
use siphasher::sip::SipHasher24;

/// A network whose frames carry tags.
pub struct Sealed<N> {
    inner: N,
    /// Has read what all frames have in common.
    begun: Tag,
    /// Of the next frame.
    number: u64,
    heard: Vec<Heard>,
    counts: SealedCounts,
    /// For frames of many pieces.
    room: Vec<u8>,
}

/// What tags are made with: the same at all nodes of a job, and for each of its networks another `domain`.
#[derive(Clone, Copy)]
pub struct Key {
    /// Nobody else knows it.
    pub secret: [u8; 16],
    /// The life of the job: a secret never meets the same one twice.
    pub epoch: u64,
    /// Which of the networks of a node.
    pub domain: u8,
}

/// What of a frame a tag covers: the same at all nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cover {
    /// Its first [`HEADERS`] bytes, its length, and a checksum of the rest.
    Headers,
    /// Every byte.
    Whole,
}

/// Bytes of a frame that every tag covers itself: the headers of a channel and of a message, and short messages.
pub const HEADERS: usize = 64;

impl Key {
    /// A tag of these bytes, for who has to show once that it knows the key.
    pub fn tag(&self, bytes: &[u8]) -> [u8; TAG] {
        let mut begun = self.begun();
        begun.write(bytes);
        begun.finish().to_le_bytes()
    }

    fn begun(&self) -> SipHasher24 {
        let mut begun = SipHasher24::new_with_key(&self.secret);
        begun.write(&self.epoch.to_le_bytes());
        begun.write(&[self.domain]);
        begun
    }
}

/// What was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SealedCounts {
    /// Frames whose tag is not that of this job, network, source, and way.
    pub forged: u64,
    /// Frames that were here before, or may have been.
    pub replayed: u64,
}

/// Bytes in front of every frame: tag, number and destination.
pub const HEAD: usize = 16;
const TAG: usize = 8;
/// Numbers have 48 bits; the destination takes the rest.
const NUMBERS: u64 = 1 << 48;
/// The destination of what is for all.
const ALL: u16 = u16::MAX;
/// Pieces of a frame that stay where they are.
const PIECES: usize = 8;
/// Bytes read at once where they do not lie in place.
const CHUNK: usize = 256;

/// Which numbers of a source have come: the highest, and those below it.
#[derive(Clone, Copy, Default)]
struct Heard {
    highest: u64,
    below: u128,
}

impl Heard {
    /// False if it may have come before. Numbers begin at 1.
    fn take(&mut self, number: u64) -> bool {
        if number > self.highest {
            let ahead = number - self.highest;
            // The old highest becomes one of those below.
            self.below = match u32::try_from(ahead) {
                Ok(ahead) if ahead <= u128::BITS => {
                    let moved = self.below.checked_shl(ahead).unwrap_or(0);
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
        let fresh = self.below & bit == 0;
        self.below |= bit;
        fresh
    }
}

impl<N: Network> Sealed<N> {
    /// Over that network, which carries frames as long as they were sent.
    ///
    /// # Errors
    /// [`ChannelError::TooLong`]: its frames are too short for the tag.
    pub fn new(inner: N, key: Key, cover: Cover) -> Result<Self, ChannelError> {
        let limit = inner.mtu();
        if limit < MIN_MTU + HEAD {
            return Err(ChannelError::TooLong { limit });
        }
        Ok(Sealed {
            heard: alloc::vec![Heard::default(); inner.nodes()],
            inner,
            begun: Tag::under(key, cover),
            number: 0,
            counts: SealedCounts::default(),
            room: alloc::vec![0; limit],
        })
    }

    /// The network below.
    pub fn inner(&self) -> &N {
        &self.inner
    }

    /// What was dropped so far.
    pub fn counts(&self) -> SealedCounts {
        self.counts
    }

    fn send(
        &mut self,
        to: u16,
        parts: &[Part<'_>],
        give: impl FnOnce(&mut N, &[Part<'_>]) -> Result<(), ChannelError>,
    ) -> Result<(), ChannelError> {
        let (limit, len) = (self.mtu(), Part::total(parts));
        if len > limit {
            return Err(ChannelError::TooLong { limit });
        }
        let number = self.number + 1;
        if number >= NUMBERS {
            return Err(ChannelError::Device(EOVERFLOW));
        }
        let way = number | u64::from(to) << 48;
        let mut tag = self.begun.of(self.inner.node(), way);
        parts.iter().for_each(|part| tag.add_part(part));
        let mut head = [0; HEAD];
        head[..TAG].copy_from_slice(&tag.end().to_le_bytes());
        head[TAG..].copy_from_slice(&way.to_le_bytes());
        let mut all = [Part::Bytes(&head); PIECES + 1];
        if let Some(places) = all.get_mut(1..=parts.len()) {
            places.copy_from_slice(parts);
            give(&mut self.inner, &all[..=parts.len()])?;
        } else {
            let mut end = 0;
            for part in parts {
                part.copy_to(0, &mut self.room[end..end + part.len()]);
                end += part.len();
            }
            all[1] = Part::Bytes(&self.room[..end]);
            give(&mut self.inner, &all[..2])?;
        }
        // A frame that was not taken leaves its number to the next: nobody has seen it.
        self.number = number;
        Ok(())
    }
}

/// Value too large, as the system says it.
const EOVERFLOW: i32 = 75;

/// A tag that grows with the bytes of a frame.
#[derive(Clone, Copy)]
struct Tag {
    keyed: SipHasher24,
    /// Bytes that the tag itself still covers.
    left: usize,
    /// Of those behind.
    rest: Checksum,
}

impl Tag {
    fn under(key: Key, cover: Cover) -> Self {
        let mut keyed = key.begun();
        keyed.write(&[cover as u8]);
        Tag {
            keyed,
            left: match cover {
                Cover::Headers => HEADERS,
                Cover::Whole => usize::MAX,
            },
            rest: Checksum::new(0),
        }
    }

    /// Of a frame.
    fn of(&self, from: Node, way: u64) -> Self {
        let mut tag = *self;
        tag.keyed.write(&from.0.to_le_bytes());
        tag.keyed.write(&way.to_le_bytes());
        tag
    }

    fn add(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.left));
        if !first.is_empty() {
            self.left -= first.len();
            self.keyed.write(first);
        }
        if !rest.is_empty() {
            self.rest.add(rest);
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

    /// Where the headers are whole a checksum of what stands behind them follows, which counts its bytes.
    fn end(mut self) -> u64 {
        if self.left == 0 {
            self.keyed.write(&self.rest.wide().to_le_bytes());
        }
        self.keyed.finish()
    }
}

/// Is it a frame of the job for that node? Its number.
fn open<A: Arrival>(frame: &A, begun: &Tag, me: Node) -> Option<u64> {
    let (tag, way) = frame.head(HEAD)?.split_first_chunk()?;
    let way = u64::from_le_bytes(*way.first_chunk()?);
    let to = (way >> 48) as u16;
    let mut own = begun.of(frame.from(), way);
    frame.pieces(HEAD, frame.len() - HEAD, |piece| own.add(piece));
    // Both as one number each: how long it takes does not tell how much was right.
    let same = own.end() == u64::from_le_bytes(*tag);
    (same && (to == me.0 || to == ALL)).then_some(way % NUMBERS)
}

/// A frame behind its tag.
#[derive(Clone, Copy, Debug)]
pub struct Unsealed<A>(A);

impl<A: Arrival> Arrival for Unsealed<A> {
    #[inline]
    fn from(&self) -> Node {
        self.0.from()
    }

    #[inline]
    fn len(&self) -> usize {
        self.0.len() - HEAD
    }

    #[inline]
    fn head(&self, n: usize) -> Option<&[u8]> {
        self.0.head(HEAD + n)?.get(HEAD..)
    }

    #[inline]
    fn pieces(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        self.0.pieces(HEAD + offset, len, f);
    }
}

impl<N: Network> Network for Sealed<N> {
    type Frame<'a> = Unsealed<N::Frame<'a>>;

    #[inline]
    fn is_checked(&self) -> bool {
        true
    }

    fn node(&self) -> Node {
        self.inner.node()
    }

    fn nodes(&self) -> usize {
        self.inner.nodes()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu() - HEAD
    }

    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.send(to.0, parts, |inner, parts| inner.transmit(to, parts))
    }

    fn gather(&mut self, on: bool) {
        self.inner.gather(on);
    }

    fn poll(&mut self, mut f: impl FnMut(Self::Frame<'_>)) -> Result<bool, ChannelError> {
        let me = self.inner.node();
        let Sealed {
            inner,
            begun,
            heard,
            counts,
            ..
        } = self;
        let mut any = false;
        inner.poll(|frame| {
            let source = heard.get_mut(frame.from().index());
            let fresh = open(&frame, begun, me).zip(source);
            match fresh.map(|(number, source)| source.take(number)) {
                Some(true) => {
                    any = true;
                    f(Unsealed(frame));
                }
                Some(false) => counts.replayed += 1,
                None => counts.forged += 1,
            }
        })?;
        Ok(any)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        self.inner.wait(idle, until)
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        self.inner.wakes_by()
    }

    fn now(&self) -> u64 {
        self.inner.now()
    }
}

impl<N: Broadcast> Broadcast for Sealed<N> {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.send(ALL, parts, N::broadcast)
    }
}

#[cfg(test)]
mod tests {
    use super::Heard;
    use alloc::collections::BTreeSet;

    #[test]
    fn each_number_is_taken_once_and_none_far_behind() {
        let mut heard = Heard::default();
        let (mut taken, mut highest) = (BTreeSet::new(), 0);
        let mut dice = 1_u64;
        for _ in 0..100_000 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = 1 + (highest + dice % 400).saturating_sub((dice >> 20) % 397);
            let expected = number + 128 >= highest && !taken.contains(&number);
            assert_eq!(heard.take(number), expected, "{number} after {highest}");
            if expected {
                taken.insert(number);
                highest = highest.max(number);
            }
            // Most steps go back and forth in one place.
            if (dice >> 40).is_multiple_of(50) {
                highest += dice % 300;
                assert_eq!(heard.take(highest), taken.insert(highest));
            }
        }
        assert!(!heard.take(0) && heard.take(u64::MAX) && !heard.take(u64::MAX));
    }
}
