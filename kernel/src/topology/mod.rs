//! Who a rank's partners are, and in which order it turns to them. Source: the EPOS thesis, section 4.4.
//!
//! A topology is a container over the ranks 0 to n - 1; its iterators give partners. Collective operations know
//! topologies by these traits alone, so a new shape gives every operation at once.

mod linear;
mod tree;

pub use linear::{Linear, Ring};
pub use tree::Binomial;

/// A tree over the ranks, as one rank sees it.
pub trait Tree: Copy {
    /// The ranks below, in the order in which to turn to them.
    type Children: Iterator<Item = usize> + Clone;

    /// The rank above; `None` at the root.
    fn parent(&self) -> Option<usize>;

    /// The ranks below.
    fn children(&self) -> Self::Children;
}
