//! Reproducible randomness. The generator is `rand_pcg`'s PCG32: its name fixes its algorithm, so a seed has the same
//! meaning on every machine and with every version of the crate.

use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// A generator of pseudo-random choices. Not for secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeededRng(Pcg32);

impl SeededRng {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self::stream(seed, 0)
    }

    /// Creates one of many independent generators with the same seed.
    pub fn stream(seed: u64, number: u64) -> Self {
        let mut pcg = Pcg32::new(seed, number);
        // The first numbers of seeds that differ in one bit are similar.
        pcg.next_u32();
        Self(pcg)
    }

    /// Returns a number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        // The upper half of the product deviates from uniformity by less than n / 2^64.
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Returns an index of a list of that length.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns whether an event of this rate occurs.
    pub fn chance(&mut self, rate: Rate) -> bool {
        // A rate of zero takes no number, so a fault that is off does not change the others.
        rate != Rate::NEVER && self.below(MILLION) < u64::from(rate.0)
    }
}

const MILLION: u64 = 1_000_000;

/// The probability of an event, in parts per million.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Rate(u32);

impl Rate {
    /// The rate of an event that never occurs.
    pub const NEVER: Rate = Rate(0);
    /// The rate of an event that always occurs.
    pub const ALWAYS: Rate = Rate(MILLION as u32);

    /// Creates a rate from parts per million; more than a million counts as a million.
    pub const fn ppm(parts: u32) -> Self {
        if parts < Self::ALWAYS.0 {
            Rate(parts)
        } else {
            Self::ALWAYS
        }
    }

    /// Creates a rate from per cent; more than a hundred counts as a hundred.
    pub const fn percent(parts: u32) -> Self {
        Self::ppm(parts.saturating_mul(10_000))
    }
}
