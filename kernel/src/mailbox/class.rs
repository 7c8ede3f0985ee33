//! Size classes of messages and the memory that they take. All of `mailbox` uses them.
//! Source: DECK-GM, section 4.3 (a message of class c has up to 2^c - 8 bytes) and table 2.

/// The smallest class: messages without a byte.
pub const FIRST_CLASS: u8 = 3;
/// The largest limit that may be chosen: messages of up to 1,048,568 bytes.
pub const LAST_CLASS: u8 = 20;
/// The most buffers that a class may have.
pub const MAX_BUFFERS: usize = 16;
/// Number of classes up to [`LAST_CLASS`].
pub(super) const CLASSES: usize = (LAST_CLASS - FIRST_CLASS + 1) as usize;

/// The classes of a mailbox: which there are, and how many buffers each has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeClasses {
    limit: u8,
    buffers: u8,
}

impl Default for SizeClasses {
    /// Returns the published ones: messages of up to 131,064 bytes, ten buffers of each class.
    fn default() -> Self {
        Self::new(17, 10)
    }
}

impl SizeClasses {
    /// Creates the classes up to `limit`, 3 to [`LAST_CLASS`], with `buffers` buffers each, 1 to [`MAX_BUFFERS`]; other
    /// numbers count as the nearest of these.
    pub const fn new(limit: u8, buffers: usize) -> Self {
        let limit = match limit {
            ..FIRST_CLASS => FIRST_CLASS,
            FIRST_CLASS..=LAST_CLASS => limit,
            _ => LAST_CLASS,
        };
        let buffers = match buffers {
            0 => 1,
            1..=MAX_BUFFERS => buffers as u8,
            _ => MAX_BUFFERS as u8,
        };
        SizeClasses { limit, buffers }
    }

    /// Returns the largest class.
    pub const fn limit(self) -> u8 {
        self.limit
    }

    /// Returns the number of buffers of each class.
    pub const fn buffers(self) -> usize {
        self.buffers as usize
    }

    /// Returns the longest message in bytes that has a class. Longer ones use the large protocol.
    pub const fn longest(self) -> usize {
        room(self.limit)
    }

    /// Returns the class of a message of `len` bytes: the smallest one with room for it.
    pub const fn of(self, len: usize) -> Option<u8> {
        if len > self.longest() {
            return None;
        }
        let class = usize::BITS - (len + 7).leading_zeros();
        Some(class as u8)
    }

    /// Returns the bytes of all buffers of a mailbox when all are provided: the sum of `buffers` x (2^c - 8) over the
    /// classes.
    pub const fn memory(self) -> usize {
        let (mut class, mut sum) = (FIRST_CLASS, 0);
        while class <= self.limit {
            sum += self.buffers() * room(class);
            class += 1;
        }
        sum
    }
}

/// Returns the bytes of a buffer of a class.
pub const fn room(class: u8) -> usize {
    (1 << class) - 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_class_is_the_smallest_with_room(len in 0_usize..2_000_000, limit in 3_u8..=20) {
            let classes = SizeClasses::new(limit, 10);
            let simple = (FIRST_CLASS..=limit).find(|class| room(*class) >= len);
            prop_assert_eq!(classes.of(len), simple);
        }
    }

    /// Table 2 of the paper, in units of 1024 bytes with two decimals, cut off.
    #[test]
    fn the_published_table() {
        let hundredths = |limit| SizeClasses::new(limit, 10).memory() * 100 / 1024;
        let published = [1929, 3921, 7914, 15906, 31898, 63890];
        for (limit, kib) in (10..).zip(published) {
            assert_eq!(hundredths(limit), kib, "{limit}");
        }
        assert_eq!(hundredths(16), 127_882);
        assert_eq!(hundredths(17), 255_875);
    }
}
