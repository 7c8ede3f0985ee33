//! The two-level tree of MagPIe: wide-area links between coordinators, local links below each of them. Source:
//! Kielmann et al., "MagPIe: MPI's collective communication operations for clustered wide area systems", 1999.

use super::{Binomial, Shape, Tree};
use core::iter::Chain;
use core::ops::Range;

/// The tree over ranks in sites, as one rank sees it. The root sends to the coordinator of every other site, so a
/// message crosses one wide-area link at most; below each coordinator hangs a binomial tree over its site. The
/// coordinator of a site is its lowest rank, in the root's site the root.
///
/// The ranks of a site need not be consecutive. Nothing is stored: each step looks through the map of sites.
#[derive(Clone, Copy, Debug)]
pub struct TwoLevel<'a> {
    /// The site of every rank.
    site_of: &'a [usize],
    rank: usize,
    root: usize,
}

impl<'a> TwoLevel<'a> {
    /// Creates the tree below `root` as `rank` sees it. Both are below the length of `site_of`, which has the site of
    /// every rank; sites have any numbers, those without ranks do no harm.
    pub const fn new(site_of: &'a [usize], rank: usize, root: usize) -> Self {
        TwoLevel {
            site_of,
            rank,
            root,
        }
    }

    /// Returns the ranks of this rank's site, ascending.
    fn members(&self) -> impl Iterator<Item = usize> + use<'a> {
        let own = self.site_of[self.rank];
        let ranks = self.site_of.iter().enumerate();
        ranks.filter_map(move |(rank, site)| (*site == own).then_some(rank))
    }

    /// Returns the coordinator of this rank's site.
    fn coordinator(&self) -> usize {
        if self.site_of[self.rank] == self.site_of[self.root] {
            return self.root;
        }
        self.members().next().unwrap_or(self.rank)
    }

    /// Returns the position of a member among the members of the site.
    fn position(&self, member: usize) -> usize {
        self.members().take_while(|rank| *rank < member).count()
    }

    /// Returns the rank at a distance behind the coordinator on the circle of the site's members.
    fn at(&self, distance: usize) -> usize {
        let members = self.members().count();
        let place = (self.position(self.coordinator()) + distance) % members;
        self.members().nth(place).unwrap_or(self.rank)
    }

    /// Returns this rank's distance behind the coordinator, and the number of members.
    fn relative(&self) -> (usize, usize) {
        let members = self.members().count();
        let first = self.position(self.coordinator());
        let own = self.position(self.rank);
        ((own + members - first) % members, members)
    }
}

impl<'a> Tree for TwoLevel<'a> {
    type Children = Chain<Coordinators<'a>, Members<'a>>;

    fn parent(&self) -> Option<usize> {
        match self.relative() {
            (0, _) => (self.rank != self.root).then_some(self.root),
            (distance, members) => Some(self.at(Binomial.parent(distance, members))),
        }
    }

    /// Returns the coordinators, ascending, then the children in the own site.
    fn children(&self) -> Self::Children {
        let (distance, members) = self.relative();
        let ranks = if self.rank == self.root {
            0..self.site_of.len()
        } else {
            0..0
        };
        let coordinators = Coordinators { tree: *self, ranks };
        coordinators.chain(Members {
            tree: *self,
            distance,
            members,
            indices: 0..Binomial.degree(distance, members),
        })
    }
}

/// The coordinators of all sites but the root's.
#[derive(Clone, Debug)]
pub struct Coordinators<'a> {
    tree: TwoLevel<'a>,
    /// The ranks still to be looked at.
    ranks: Range<usize>,
}

impl Coordinators<'_> {
    fn is_child(tree: &TwoLevel<'_>, rank: usize) -> bool {
        let other = TwoLevel { rank, ..*tree };
        rank != tree.root && other.coordinator() == rank
    }
}

impl Iterator for Coordinators<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let Self { tree, ranks } = self;
        ranks.find(|&rank| Self::is_child(tree, rank))
    }
}

impl DoubleEndedIterator for Coordinators<'_> {
    fn next_back(&mut self) -> Option<usize> {
        let Self { tree, ranks } = self;
        ranks.rfind(|&rank| Self::is_child(tree, rank))
    }
}

/// The children in the own site.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    tree: TwoLevel<'a>,
    distance: usize,
    members: usize,
    indices: Range<usize>,
}

impl Members<'_> {
    fn at(&self, index: usize) -> usize {
        let child = Binomial.child(self.distance, self.members, index);
        self.tree.at(child)
    }
}

impl Iterator for Members<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.indices.next().map(|index| self.at(index))
    }
}

impl DoubleEndedIterator for Members<'_> {
    fn next_back(&mut self) -> Option<usize> {
        self.indices.next_back().map(|index| self.at(index))
    }
}
