//! The partners of a rank and their order. Source: the EPOS thesis, sections 2.2 and 4.4.
//!
//! A [`Topology`] is a container over the ranks 0 to n - 1. A network contributes two orders, a *line* and a *tree*;
//! the circle is the line closed, and every order that a network does not define follows from its routing ([`Links`]
//! needs nothing else). Collective operations know topologies by these traits alone, so a new shape works with every
//! operation at once.
//!
//! | network | line | tree | circle |
//! | --- | --- | --- | --- |
//! | [`Linear`], [`Ring`] | the two sides by turns, farthest first | along the links | ascending |
//! | [`Mesh`], [`Torus`] | farthest first | along the links | to and fro, row by row |
//! | [`Hypercube`] | farthest first | binomial, along the links | Gray code |
//! | [`Complete`], [`Star`], [`Bus`] | ascending from the root | binomial | ascending |
//! | [`TreeNetwork`], a network that is a tree itself | farthest first | along the links | ascending |
//! | [`Nested`], any in any | upper line, each host replaced by its own | upper tree over the leaders | host by host |
//!
//! Trees that belong to no network are [`Rooted`] [`Shape`]s; [`TwoLevel`] is the one that knows which ranks are close.

mod circle;
mod complete_star_bus;
mod folded_ranks;
mod grid;
mod hypercube;
mod line;
mod metrics;
mod nested;
mod rank_range;
mod routed_tree;
mod tree;
mod tree_shapes;
mod two_level;

pub use circle::Circle;
pub use complete_star_bus::{Bus, Complete, Others, Star, TreeNetwork};
pub use folded_ranks::{FoldedRanks, FoldedRole};
pub use grid::{Grid, Mesh, Torus};
pub use hypercube::{CubeTree, Hypercube};
pub use line::{BothSides, Linear, Ring};
pub use metrics::NetworkMetrics;
pub use nested::{Nested, NestedLine, NestedTree};
pub use rank_range::RankRange;
pub use routed_tree::{FarthestFirst, Links, Routed, UpstreamRanks};
pub use tree::{Children, Contiguous, Ranges, Rooted, Shape, Tree};
pub use tree_shapes::{Binomial, Blocked, Chain, Kary, Sequential};
pub use two_level::TwoLevel;

/// A network as collective operations see it. The caller ensures that ranks and roots are below [`Topology::ranks`].
pub trait Topology: Copy {
    /// The order of all other ranks, as seen from a root.
    type Line: Iterator<Item = usize> + Clone;
    /// A tree below a root.
    type Tree: Tree;

    /// Returns the number of ranks: 1 or more.
    fn ranks(&self) -> usize;

    /// Returns the next rank on the way between two different ranks: the last one is `to` itself.
    fn toward(&self, from: usize, to: usize) -> usize;

    /// Returns all ranks but the root, in the order in which the root serves them: distant ranks wait least, and the
    /// routes of successive messages diverge early.
    fn line(&self, root: usize) -> Self::Line;

    /// Returns the tree below `root`, as `rank` sees it.
    fn tree(&self, rank: usize, root: usize) -> Self::Tree;

    /// Returns the number of links on the way between two ranks.
    fn hops(&self, from: usize, to: usize) -> usize {
        let (mut at, mut hops) = (from, 0);
        while at != to {
            at = self.toward(at, to);
            hops += 1;
        }
        hops
    }

    /// Returns the rank at a position of the circle. Neighbours in the network should have neighbouring positions.
    fn at(&self, place: usize) -> usize {
        place
    }

    /// Returns the position of a rank on the circle: the inverse of [`Topology::at`].
    fn place(&self, rank: usize) -> usize {
        rank
    }
}
