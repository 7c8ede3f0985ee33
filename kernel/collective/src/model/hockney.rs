//! Hockney's model: start-up time and time per byte. Source: ECCLib, chapter 4.

/// The time of one message of n bytes: a + b n, plus a constant for every hop beyond the first. Numbers of equations are
/// those of the source; all times are nanoseconds.
///
/// `nodes` is the source's K, 1 or more: the ranks that take part, root included. Where the source lets a root send to
/// itself too, a caller whose root does not passes one less. The logarithms of trees are rounded up, as rounds are
/// whole. A gather costs what the scatter of the same kind costs, except by physical broadcast, which cannot gather.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hockney {
    /// Start-up of a message, in nanoseconds.
    pub start: u64,
    /// Transmission of 1000 bytes, in nanoseconds.
    pub kilobyte: u64,
    /// Delay of every hop beyond the first, in nanoseconds.
    pub hop: u64,
}

/// Returns the logarithm to base 2, rounded up; that of 0 is 0.
const fn log2(number: u64) -> u64 {
    number.next_power_of_two().ilog2() as u64
}

impl Hockney {
    /// Returns the time of one message of `bytes` bytes over `hops` hops; 0 hops count as 1. Equations 4.1 and 4.2.
    pub const fn message(&self, bytes: u64, hops: u64) -> u64 {
        self.start + self.transmission(bytes) + self.hop * hops.saturating_sub(1)
    }

    /// Returns the time of one message while `senders` ranks, itself included, send on the same medium, each of which
    /// has 1/S of its bandwidth. Equation 4.3.
    pub const fn message_shared(&self, bytes: u64, senders: u64) -> u64 {
        self.start + self.transmission(bytes) * senders
    }

    /// Returns b n without the start-up.
    const fn transmission(&self, bytes: u64) -> u64 {
        self.kilobyte * bytes / 1000
    }

    /// Returns the time of a broadcast to one rank after the other. Equation 4.4.
    pub const fn broadcast_line(&self, bytes: u64, nodes: u64) -> u64 {
        nodes * self.message(bytes, 1)
    }

    /// Returns the time of a broadcast by a tree whose ranks serve their children at the same time. Equation 4.5.
    pub const fn broadcast_tree(&self, bytes: u64, nodes: u64) -> u64 {
        log2(nodes) * self.message(bytes, 1)
    }

    /// Returns the time of a broadcast by a binary tree whose ranks serve one child after the other. Equation 4.6.
    pub const fn broadcast_tree_one_port(&self, bytes: u64, nodes: u64) -> u64 {
        2 * self.broadcast_tree(bytes, nodes)
    }

    /// Returns the time of an ideal broadcast on a shared medium. Equation 4.7.
    pub const fn broadcast_physical(&self, bytes: u64) -> u64 {
        self.message(bytes, 1)
    }

    /// Returns the time of a broadcast on a shared medium that synchronises with each of `nodes` ranks, plus `again` for
    /// retransmission. Equation 4.8.
    pub const fn broadcast_reliable(&self, bytes: u64, nodes: u64, again: u64) -> u64 {
        nodes * self.start + self.transmission(bytes) + again
    }

    /// Returns the time of a scatter of `bytes` bytes in all to one rank after the other. Equation 4.9.
    pub const fn scatter_line(&self, bytes: u64, nodes: u64) -> u64 {
        nodes * self.message(bytes / nodes, 1)
    }

    /// Returns an approximation, the time of a scatter of `bytes` bytes in all by a binary tree whose ranks serve their
    /// children at the same time: [`scatter_tree_one_port_roughly`](Self::scatter_tree_one_port_roughly) without its
    /// factors of 2. Equations 4.10 and 4.32.
    pub const fn scatter_tree_roughly(&self, bytes: u64, nodes: u64) -> u64 {
        log2(nodes) * self.start + self.transmission(bytes / nodes * (nodes - 1))
    }

    /// Returns an approximation of [`scatter_tree_one_port`](Self::scatter_tree_one_port), which counts every slice but
    /// the root's twice, and so is never below it for full trees. Equations 4.11 and 4.31.
    pub const fn scatter_tree_one_port_roughly(&self, bytes: u64, nodes: u64) -> u64 {
        2 * log2(nodes) * self.start + self.transmission(2 * (bytes / nodes) * (nodes - 1))
    }

    /// Returns the time of a scatter of `bytes` bytes in all by a binary tree whose ranks serve one child after the
    /// other. Equations 4.29 and 4.30.
    pub const fn scatter_tree_one_port(&self, bytes: u64, nodes: u64) -> u64 {
        2 * log2(nodes) * self.start + self.transmission(Self::tree_volume(nodes, bytes / nodes))
    }

    /// Returns F(K, M): the bytes that follow each other when slices of `slice` bytes are scattered by a full binary
    /// tree. Other numbers of nodes count as the next full tree. Equations 4.14 and 4.28.
    pub const fn tree_volume(nodes: u64, slice: u64) -> u64 {
        let levels = log2(nodes + 1);
        2 * slice * ((1 << levels) - (levels + 1))
    }

    /// Returns the time of a scatter that broadcasts all `bytes` bytes to all ranks on a shared medium. Equation 4.12.
    pub const fn scatter_physical(&self, bytes: u64, nodes: u64) -> u64 {
        nodes * self.start + self.transmission(bytes)
    }

    /// Returns the time of a reduction that gathers in the time `gather`, then computes for the time `operation`.
    /// Equation 4.33.
    pub const fn reduce_gather(gather: u64, operation: u64) -> u64 {
        gather + operation
    }

    /// Returns the time of a reduction along a chain that cuts the data into `nodes` pieces; the operation takes
    /// `operation` for one piece. Equation 4.34.
    pub const fn reduce_chain(&self, bytes: u64, nodes: u64, operation: u64) -> u64 {
        (nodes - 1) * (self.message(bytes / nodes, 1) + operation)
    }

    /// Returns the time of a reduction by a binary tree whose ranks receive from their children at the same time; the
    /// operation takes `operation` for one of `nodes` pieces. Equation 4.35.
    pub const fn reduce_tree(&self, bytes: u64, nodes: u64, operation: u64) -> u64 {
        (log2(nodes + 1) - 1) * (self.message(bytes / nodes, 1) + operation)
    }

    /// Returns the time of a barrier as a gather of `gather` and a broadcast of `broadcast`, both of nothing. Equation
    /// 4.37.
    pub const fn barrier_gather_broadcast(gather: u64, broadcast: u64) -> u64 {
        gather + broadcast
    }

    /// Returns the time of a barrier by a token that goes once round a ring. Equation 4.38.
    pub const fn barrier_ring(&self, nodes: u64) -> u64 {
        nodes * self.message(0, 1)
    }

    /// Returns the time of a barrier whose root exchanges messages with one rank after the other. Equation 4.39.
    pub const fn barrier_line(&self, nodes: u64) -> u64 {
        2 * (nodes - 1) * self.message(0, 1)
    }

    /// Returns the time of a barrier in which pairs of ranks at distances 1, 2, 4 and so on exchange messages. Equation
    /// 4.40.
    pub const fn barrier_butterfly(&self, nodes: u64) -> u64 {
        log2(nodes) * (2 * self.message(0, 1))
    }
}
