//! What ends a sleep: [`WaitSet`]. For who sleeps for two channels at once, as a channel made of two does.

/// What wakes a channel, or a network, that has nothing to do: descriptors of the system, and a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitSet {
    /// Readable when something may have come. Below zero: none.
    pub readable: [i32; 6],
    /// Writable when something that was full may have room. Below zero: none.
    pub writable: [i32; 4],
    /// Nanoseconds until a timer ends; `u64::MAX`: there is none. 0: there is something to do at once.
    pub timeout: u64,
}

/// Nanoseconds that a channel sleeps at most while another one, which would not wake it, has to be looked at too.
pub const SHORT_SLEEP: u64 = 400_000;

impl WaitSet {
    /// The timer alone.
    pub const fn timeout(timeout: u64) -> Self {
        WaitSet {
            readable: [-1; 6],
            writable: [-1; 4],
            timeout,
        }
    }

    /// When one of these descriptors is readable.
    pub fn readable<const N: usize>(descriptors: [i32; N]) -> Self {
        const { assert!(N <= 6) };
        let mut wake = Self::timeout(u64::MAX);
        wake.readable[..N].copy_from_slice(&descriptors);
        wake
    }

    /// Also when one of these is writable, if something is `full`.
    pub fn writable<const N: usize>(mut self, full: bool, descriptors: [i32; N]) -> Self {
        const { assert!(N <= 4) };
        if full {
            self.writable[..N].copy_from_slice(&descriptors);
        }
        self
    }

    /// The same, within that time.
    pub fn at_most(self, timeout: u64) -> Self {
        let timeout = self.timeout.min(timeout);
        WaitSet { timeout, ..self }
    }

    /// Whichever comes first. `None` if they have too many descriptors together.
    pub fn or(mut self, other: WaitSet) -> Option<Self> {
        add(&mut self.readable, other.readable)?;
        add(&mut self.writable, other.writable)?;
        Some(self.at_most(other.timeout))
    }
}

fn add(all: &mut [i32], more: impl IntoIterator<Item = i32>) -> Option<()> {
    for descriptor in more.into_iter().filter(|descriptor| *descriptor >= 0) {
        *all.iter_mut().find(|place| **place < 0)? = descriptor;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_two_wakes() {
        let one = WaitSet::readable([3]).writable(true, [3]).at_most(50);
        let other = WaitSet::readable([4, 5]).writable(true, [4]).at_most(70);
        let both = one.or(other).expect("three descriptors");
        assert_eq!(both.readable, [3, 4, 5, -1, -1, -1]);
        assert_eq!((both.writable, both.timeout), ([3, 4, -1, -1], 50));
        assert_eq!(both.or(WaitSet::timeout(7)), Some(both.at_most(7)));
        let many = both.or(both).expect("six descriptors");
        assert_eq!(many.or(one), None);
    }
}
