//! A set of packets of a window: packet p is bit p modulo [`WINDOW`]. Only `multicast` uses it.

/// Largest number of packets in flight.
pub(super) const WINDOW: u32 = 256;
pub(super) const WORDS: usize = WINDOW as usize / 64;

/// A set of packets; the lowest and the highest are less than [`WINDOW`] apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct PacketBitmap(pub(super) [u64; WORDS]);

impl PacketBitmap {
    pub(super) fn has(&self, packet: u32) -> bool {
        let at = packet % WINDOW;
        self.0[at as usize / 64] >> (at % 64) & 1 != 0
    }

    pub(super) fn set(&mut self, packet: u32) {
        let at = packet % WINDOW;
        self.0[at as usize / 64] |= 1 << (at % 64);
    }

    pub(super) fn clear(&mut self, packet: u32) {
        let at = packet % WINDOW;
        self.0[at as usize / 64] &= !(1 << (at % 64));
    }

    pub(super) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn or(&self, other: &PacketBitmap) -> PacketBitmap {
        PacketBitmap(core::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    /// Returns the packets of the set from `from` on, if all lie within a window from there.
    pub(super) fn from(&self, from: u32) -> impl Iterator<Item = u32> + use<> {
        let first = from % WINDOW / 64;
        let bitmap = *self;
        // The first word is visited twice: its upper part first, its lower part at the end.
        (0..=WORDS as u32).flat_map(move |i| {
            let word = (first + i) % WORDS as u32;
            let edge = u64::MAX << (from % 64);
            let mask = match i {
                0 => edge,
                _ if i as usize == WORDS => !edge,
                _ => u64::MAX,
            };
            let mut rest = bitmap.0[word as usize] & mask;
            core::iter::from_fn(move || {
                let at = rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
                let bit = word * 64 + at;
                (at < 64).then(|| from + (bit + WINDOW - from % WINDOW) % WINDOW)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    #[test]
    fn sets_are_walked_in_order() {
        for from in [0, 1, 63, 64, 100, 255, 256, 1000, 70_000] {
            let packets: Vec<u32> = (from..from + WINDOW).filter(|p| p % 7 < 3).collect();
            let mut bitmap = PacketBitmap::default();
            packets.iter().for_each(|p| bitmap.set(*p));
            assert_eq!(bitmap.from(from).collect::<Vec<_>>(), packets);
            assert_eq!(bitmap.count() as usize, packets.len());
            for p in from..from + WINDOW {
                assert_eq!(bitmap.has(p), p % 7 < 3);
                bitmap.clear(p);
            }
            assert_eq!(bitmap, PacketBitmap::default());
        }
    }
}
