//! The events that end a sleep: [`WaitSet`]. Callers that sleep for two channels at once need it, such as a composite
//! channel.

/// The events that wake an idle channel or network: descriptors of the operating system, and a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitSet {
    /// Descriptors that become readable when a frame may have arrived. Negative: none.
    pub readable: [i32; 6],
    /// Descriptors that become writable when a full queue may have room. Negative: none.
    pub writable: [i32; 4],
    /// Nanoseconds until a timer expires; `u64::MAX`: no timer. 0: there is work now.
    pub timeout: u64,
}

/// Nanoseconds that a channel sleeps at most while another one, which would not wake it, must be polled too.
pub const SHORT_SLEEP: u64 = 400_000;

impl WaitSet {
    /// Creates a set with a timer only.
    pub const fn timeout(timeout: u64) -> Self {
        WaitSet {
            readable: [-1; 6],
            writable: [-1; 4],
            timeout,
        }
    }

    /// Creates a set of descriptors that become readable.
    pub fn readable<const N: usize>(descriptors: [i32; N]) -> Self {
        const { assert!(N <= 6) };
        let mut wake = Self::timeout(u64::MAX);
        wake.readable[..N].copy_from_slice(&descriptors);
        wake
    }

    /// Adds descriptors that become writable, if something is `full`.
    pub fn writable<const N: usize>(mut self, full: bool, descriptors: [i32; N]) -> Self {
        const { assert!(N <= 4) };
        if full {
            self.writable[..N].copy_from_slice(&descriptors);
        }
        self
    }

    /// Limits the timer to `timeout` ns.
    pub fn at_most(self, timeout: u64) -> Self {
        let timeout = self.timeout.min(timeout);
        WaitSet { timeout, ..self }
    }

    /// Returns the union of both sets; `None` if they have too many descriptors together.
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
