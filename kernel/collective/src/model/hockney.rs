//! Start-up and time for each byte. Source: ECCLib, chapter 4.

/// A network as it looks to one message: a + b n, and more for every hop beyond the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hockney {
    /// Start-up of a message, in nanoseconds.
    pub start: u64,
    /// A thousand bytes on the way, in nanoseconds.
    pub kilobyte: u64,
    /// Every hop beyond the first, in nanoseconds.
    pub hop: u64,
}

impl Hockney {
    /// One message of so many bytes over so many hops; 0 counts as 1.
    pub const fn message(&self, bytes: u64, hops: u64) -> u64 {
        self.start + self.kilobyte * bytes / 1000 + self.hop * hops.saturating_sub(1)
    }

    /// A broadcast to so many others, one after the other.
    pub const fn broadcast_line(&self, bytes: u64, others: u64) -> u64 {
        others * self.message(bytes, 1)
    }

    /// A broadcast to so many others by a tree in which everybody who has the message sends it on.
    pub const fn broadcast_tree(&self, bytes: u64, others: u64) -> u64 {
        let rounds = (others + 1).next_power_of_two().ilog2();
        rounds as u64 * self.message(bytes, 1)
    }

    /// A broadcast on a medium that everybody hears.
    pub const fn broadcast_physical(&self, bytes: u64) -> u64 {
        self.message(bytes, 1)
    }

    /// The same, with an answer from each of so many others and so much time spent on sending again.
    pub const fn broadcast_reliable(&self, bytes: u64, others: u64, again: u64) -> u64 {
        others * self.start + self.kilobyte * bytes / 1000 + again
    }

    /// Gather or scatter of so many bytes for each of so many others.
    pub const fn fan(&self, bytes: u64, others: u64) -> u64 {
        others * self.message(bytes, 1)
    }

    /// A barrier of so many ranks: gather and broadcast of nothing along the line, or by trees if there are any.
    pub const fn barrier(&self, ranks: u64, trees: bool) -> u64 {
        let others = ranks.saturating_sub(1);
        match trees {
            true => 2 * self.broadcast_tree(0, others),
            false => 2 * self.broadcast_line(0, others),
        }
    }
}
