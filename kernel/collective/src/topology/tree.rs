//! Trees over ranks: what a tree is, and how a shape becomes one.

use super::RankRange;
use core::ops::Range;

/// A tree over the ranks, as one rank sees it.
pub trait Tree: Clone {
    /// The children. A root that sends serves them from the front, one that receives from the back.
    type Children: DoubleEndedIterator<Item = usize> + Clone;

    /// Returns the parent; `None` at the root.
    fn parent(&self) -> Option<usize>;

    /// Returns the children, the one that needs most time first.
    fn children(&self) -> Self::Children;
}

/// A tree in which the descendants of a rank directly follow it: every subtree is one range of ranks, and the ranges of
/// the children follow their parent from the last child to the first.
///
/// So the data of a subtree is one piece, and a reduction to rank 0 keeps its operands in order.
pub trait Ranges: Tree {
    /// Returns the range of a rank and its descendants.
    fn rank_range(&self, rank: usize) -> RankRange;
}

/// A shape for trees: pure arithmetic on ranks that are counted from the root, which is 0.
pub trait Shape: Copy {
    /// Returns the parent of a rank that is not the root.
    fn parent(&self, rank: usize, ranks: usize) -> usize;

    /// Returns the number of children of a rank.
    fn degree(&self, rank: usize, ranks: usize) -> usize;

    /// Returns the child `index`, from 0 to the degree - 1, the one that needs most time first.
    fn child(&self, rank: usize, ranks: usize, index: usize) -> usize;
}

/// A shape whose trees are [`Ranges`].
pub trait Contiguous: Shape {
    /// Returns the number of ranks in the subtree of a rank, itself included.
    fn size(&self, rank: usize, ranks: usize) -> usize;
}

/// A shape applied to some ranks, with any of them as the root.
#[derive(Clone, Copy, Debug)]
pub struct Rooted<S> {
    shape: S,
    /// The rank, counted from the root.
    relative: usize,
    ranks: usize,
    root: usize,
}

impl<S: Shape> Rooted<S> {
    /// Creates the tree as `rank` of `ranks` sees it. `rank` and `root` are below `ranks`.
    #[inline]
    pub const fn new(shape: S, rank: usize, ranks: usize, root: usize) -> Self {
        let relative = if rank >= root {
            rank - root
        } else {
            rank + ranks - root
        };
        Rooted {
            shape,
            relative,
            ranks,
            root,
        }
    }

    #[inline]
    const fn absolute(&self, relative: usize) -> usize {
        let rank = relative + self.root;
        if rank >= self.ranks {
            rank - self.ranks
        } else {
            rank
        }
    }
}

impl<S: Shape> Tree for Rooted<S> {
    type Children = Children<S>;

    #[inline]
    fn parent(&self) -> Option<usize> {
        (self.relative != 0).then(|| self.absolute(self.shape.parent(self.relative, self.ranks)))
    }

    #[inline]
    fn children(&self) -> Children<S> {
        Children {
            tree: *self,
            left: 0..self.shape.degree(self.relative, self.ranks),
        }
    }
}

impl<S: Contiguous> Ranges for Rooted<S> {
    fn rank_range(&self, rank: usize) -> RankRange {
        let relative = Rooted::new(self.shape, rank, self.ranks, self.root).relative;
        RankRange::new(rank, self.shape.size(relative, self.ranks), self.ranks)
    }
}

/// The children of one rank of a [`Rooted`] tree.
#[derive(Clone, Debug)]
pub struct Children<S> {
    tree: Rooted<S>,
    left: Range<usize>,
}

impl<S: Shape> Children<S> {
    #[inline]
    fn child(&self, index: usize) -> usize {
        let Rooted {
            shape,
            relative,
            ranks,
            ..
        } = self.tree;
        self.tree.absolute(shape.child(relative, ranks, index))
    }
}

impl<S: Shape> Iterator for Children<S> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.left.next().map(|index| self.child(index))
    }
}

impl<S: Shape> DoubleEndedIterator for Children<S> {
    #[inline]
    fn next_back(&mut self) -> Option<usize> {
        self.left.next_back().map(|index| self.child(index))
    }
}
