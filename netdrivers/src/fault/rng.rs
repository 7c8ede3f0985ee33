//! Chance that can be repeated. The generator is `rand_pcg`'s PCG32: its algorithm is fixed by its name, so a seed
//! means the same on every machine and with every version of the crate.

use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// A generator of pseudo-random choices. Not for secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeededRng(Pcg32);

impl SeededRng {
    /// The choices of that seed.
    pub fn new(seed: u64) -> Self {
        Self::stream(seed, 0)
    }

    /// One of many sequences of choices with the same seed: how much of one is used does not change another.
    pub fn stream(seed: u64, number: u64) -> Self {
        let mut pcg = Pcg32::new(seed, number);
        // Seeds that differ in one bit still look alike in the first number.
        pcg.next_u32();
        Self(pcg)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        // The upper half of a product: uneven by less than n / 2^64.
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// An index of a list of that length.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Does what happens at this rate happen now?
    pub fn chance(&mut self, rate: Rate) -> bool {
        // Without a rate no number is used, so a fault that is off changes no other.
        rate != Rate::NEVER && self.below(MILLION) < u64::from(rate.0)
    }
}

const MILLION: u64 = 1_000_000;

/// How often something happens, in parts per million.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Rate(u32);

impl Rate {
    /// It never happens.
    pub const NEVER: Rate = Rate(0);
    /// It always happens.
    pub const ALWAYS: Rate = Rate(MILLION as u32);

    /// Parts per million; more than a million counts as that.
    pub const fn ppm(parts: u32) -> Self {
        if parts < Self::ALWAYS.0 {
            Rate(parts)
        } else {
            Self::ALWAYS
        }
    }

    /// Per cent; more than a hundred counts as that.
    pub const fn percent(parts: u32) -> Self {
        Self::ppm(parts.saturating_mul(10_000))
    }
}
