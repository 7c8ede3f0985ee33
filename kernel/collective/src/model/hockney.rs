//! Hockney's model: start-up time and time per byte. Source: ECCLib, chapter 4.

/// The time of one message of n bytes: a + b n, plus a constant for every hop beyond the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hockney {
    /// Start-up of a message, in nanoseconds.
    pub start: u64,
    /// Transmission of 1000 bytes, in nanoseconds.
    pub kilobyte: u64,
    /// Delay of every hop beyond the first, in nanoseconds.
    pub hop: u64,
}

impl Hockney {
    /// Returns the time of one message of `bytes` bytes over `hops` hops, in nanoseconds; 0 hops count as 1.
    pub const fn message(&self, bytes: u64, hops: u64) -> u64 {
        self.start + self.kilobyte * bytes / 1000 + self.hop * hops.saturating_sub(1)
    }

    /// Returns the time of a broadcast to `others` ranks, one after the other, in nanoseconds.
    pub const fn broadcast_line(&self, bytes: u64, others: u64) -> u64 {
        others * self.message(bytes, 1)
    }

    /// Returns the time of a broadcast to `others` ranks by a tree in which every rank that has the message forwards
    /// it, in nanoseconds.
    pub const fn broadcast_tree(&self, bytes: u64, others: u64) -> u64 {
        let rounds = (others + 1).next_power_of_two().ilog2();
        rounds as u64 * self.message(bytes, 1)
    }

    /// Returns the time of a broadcast on a shared medium, in nanoseconds.
    pub const fn broadcast_physical(&self, bytes: u64) -> u64 {
        self.message(bytes, 1)
    }

    /// Returns the time of a broadcast on a shared medium that each of `others` ranks acknowledges, plus `again` for
    /// retransmission, in nanoseconds.
    pub const fn broadcast_reliable(&self, bytes: u64, others: u64, again: u64) -> u64 {
        others * self.start + self.kilobyte * bytes / 1000 + again
    }

    /// Returns the time of a gather or scatter with `bytes` bytes for each of `others` ranks, in nanoseconds.
    pub const fn fan(&self, bytes: u64, others: u64) -> u64 {
        others * self.message(bytes, 1)
    }

    /// Returns the time of a barrier of `ranks` ranks in nanoseconds: gather and broadcast of nothing along the line,
    /// or by trees if `trees`.
    pub const fn barrier(&self, ranks: u64, trees: bool) -> u64 {
        let others = ranks.saturating_sub(1);
        match trees {
            true => 2 * self.broadcast_tree(0, others),
            false => 2 * self.broadcast_line(0, others),
        }
    }
}
