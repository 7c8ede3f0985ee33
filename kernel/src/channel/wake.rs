//! What ends a sleep: [`Wake`]. For who sleeps for two channels at once, as a channel made of two does.

/// What wakes a channel, or a network, that has nothing to do: descriptors of the system, and a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wake {
    /// Readable when something may have come. Below zero: none.
    pub readable: [i32; 6],
    /// Writable when something that was full may have room. Below zero: none.
    pub writable: [i32; 4],
    /// Nanoseconds until a timer ends; `u64::MAX`: there is none. 0: there is something to do at once.
    pub within: u64,
}

/// Nanoseconds that a channel sleeps at most while another one, which would not wake it, has to be looked at too.
pub const NAP: u64 = 400_000;

impl Wake {
    /// The timer alone.
    pub const fn within(within: u64) -> Self {
        Wake {
            readable: [-1; 6],
            writable: [-1; 4],
            within,
        }
    }

    /// When one of these descriptors is readable.
    pub fn by<const N: usize>(descriptors: [i32; N]) -> Self {
        const { assert!(N <= 6) };
        let mut wake = Self::within(u64::MAX);
        wake.readable[..N].copy_from_slice(&descriptors);
        wake
    }

    /// Also when one of these is writable, if something is `full`.
    pub fn room<const N: usize>(mut self, full: bool, descriptors: [i32; N]) -> Self {
        const { assert!(N <= 4) };
        if full {
            self.writable[..N].copy_from_slice(&descriptors);
        }
        self
    }

    /// The same, within that time.
    pub fn at_most(self, within: u64) -> Self {
        let within = self.within.min(within);
        Wake { within, ..self }
    }

    /// Whichever comes first. `None` if they have too many descriptors together.
    pub fn or(mut self, other: Wake) -> Option<Self> {
        add(&mut self.readable, other.readable)?;
        add(&mut self.writable, other.writable)?;
        Some(self.at_most(other.within))
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
        let one = Wake::by([3]).room(true, [3]).at_most(50);
        let other = Wake::by([4, 5]).room(true, [4]).at_most(70);
        let both = one.or(other).expect("three descriptors");
        assert_eq!(both.readable, [3, 4, 5, -1, -1, -1]);
        assert_eq!((both.writable, both.within), ([3, 4, -1, -1], 50));
        assert_eq!(both.or(Wake::within(7)), Some(both.at_most(7)));
        let many = both.or(both).expect("six descriptors");
        assert_eq!(many.or(one), None);
    }
}
