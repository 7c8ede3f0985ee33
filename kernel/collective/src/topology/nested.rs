//! Any topology in the nodes of any other: hosts in a network, then ranks in a host.

use super::{Topology, Tree};
use core::iter::Chain;

/// `upper` over as many nodes as there are `lower` topologies; the ranks of a node follow each other. The first rank
/// of a node speaks for it, in the root's node the root itself.
#[derive(Clone, Copy, Debug)]
pub struct Nested<'a, U, L> {
    upper: U,
    lower: &'a [L],
}

impl<'a, U: Topology, L: Topology> Nested<'a, U, L> {
    /// One lower topology for every rank of the upper one; `None` for more or fewer.
    pub fn new(upper: U, lower: &'a [L]) -> Option<Self> {
        (upper.ranks() == lower.len()).then_some(Nested { upper, lower })
    }

    /// Rank 0 of a node.
    fn first(&self, node: usize) -> usize {
        self.lower[..node].iter().map(Topology::ranks).sum()
    }

    /// The node of a rank, and its number there.
    fn split(&self, rank: usize) -> (usize, usize) {
        let (mut node, mut inside) = (0, rank);
        while inside >= self.lower[node].ranks() {
            inside -= self.lower[node].ranks();
            node += 1;
        }
        (node, inside)
    }

    /// Who speaks for a node: its number there.
    fn speaker(&self, node: usize, root: (usize, usize)) -> usize {
        if node == root.0 { root.1 } else { 0 }
    }
}

impl<'a, U: Topology, L: Topology> Topology for Nested<'a, U, L> {
    type Line = NestedLine<'a, U, L>;
    type Tree = NestedTree<'a, U, L>;

    fn ranks(&self) -> usize {
        self.first(self.lower.len())
    }

    /// To the first rank of the node, from there to the first rank of the other.
    fn toward(&self, from: usize, to: usize) -> usize {
        let ((here, inside), (there, target)) = (self.split(from), self.split(to));
        let lower = self.lower[here];
        if here == there {
            return self.first(here) + lower.toward(inside, target);
        }
        match inside {
            0 => self.first(self.upper.toward(here, there)),
            _ => self.first(here) + lower.toward(inside, 0),
        }
    }

    fn line(&self, root: usize) -> NestedLine<'a, U, L> {
        let (node, inside) = self.split(root);
        NestedLine {
            nested: *self,
            nodes: Some(self.upper.line(node)),
            within: None,
            own: (node, inside),
        }
    }

    fn tree(&self, rank: usize, root: usize) -> NestedTree<'a, U, L> {
        let (root, (node, inside)) = (self.split(root), self.split(rank));
        NestedTree {
            nested: *self,
            root,
            node,
            inside,
            upper: self.upper.tree(node, root.0),
            lower: self.lower[node].tree(inside, self.speaker(node, root)),
        }
    }

    fn at(&self, place: usize) -> usize {
        // Nodes on the upper circle, in each the lower one.
        let (mut node, mut inside) = (0, place);
        loop {
            let lower = &self.lower[self.upper.at(node)];
            if inside < lower.ranks() {
                return self.first(self.upper.at(node)) + lower.at(inside);
            }
            inside -= lower.ranks();
            node += 1;
        }
    }

    fn place(&self, rank: usize) -> usize {
        let (node, inside) = self.split(rank);
        let before = (0..self.upper.place(node)).map(|place| self.lower[self.upper.at(place)]);
        before.map(|lower| lower.ranks()).sum::<usize>() + self.lower[node].place(inside)
    }
}

/// The upper line with every node replaced by its ranks in the order of their own line, the one that speaks for them
/// last, because it is the nearest. The root's own node comes at the end.
#[derive(Clone)]
pub struct NestedLine<'a, U: Topology, L: Topology> {
    nested: Nested<'a, U, L>,
    /// Nodes still to come; none when it is the root's own turn.
    nodes: Option<U::Line>,
    /// First rank of the node, its line, and who speaks for it.
    within: Option<(usize, L::Line, Option<usize>)>,
    own: (usize, usize),
}

impl<U: Topology, L: Topology> Iterator for NestedLine<'_, U, L> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            if let Some((first, line, speaker)) = &mut self.within
                && let Some(inside) = line.next().or_else(|| speaker.take())
            {
                return Some(*first + inside);
            }
            let (node, from, speaker) = match self.nodes.as_mut()?.next() {
                Some(node) => (node, 0, Some(0)),
                None => {
                    self.nodes = None;
                    (self.own.0, self.own.1, None)
                }
            };
            let line = self.nested.lower[node].line(from);
            self.within = Some((self.nested.first(node), line, speaker));
        }
    }
}

/// The upper tree over those that speak for a node, and below each of them the lower tree of its node.
#[derive(Clone)]
pub struct NestedTree<'a, U: Topology, L: Topology> {
    nested: Nested<'a, U, L>,
    root: (usize, usize),
    node: usize,
    inside: usize,
    upper: U::Tree,
    lower: L::Tree,
}

impl<'a, U: Topology, L: Topology> NestedTree<'a, U, L> {
    fn speaker_of(&self, node: usize) -> usize {
        self.nested.first(node) + self.nested.speaker(node, self.root)
    }

    fn speaks(&self) -> bool {
        self.inside == self.nested.speaker(self.node, self.root)
    }
}

impl<'a, U: Topology, L: Topology> Tree for NestedTree<'a, U, L> {
    type Children = Chain<Heads<'a, U, L>, Members<L>>;

    fn parent(&self) -> Option<usize> {
        if self.speaks() {
            return self.upper.parent().map(|node| self.speaker_of(node));
        }
        let first = self.nested.first(self.node);
        self.lower.parent().map(|inside| first + inside)
    }

    fn children(&self) -> Self::Children {
        let heads = Heads {
            nodes: self.speaks().then(|| self.upper.children()),
            tree: self.clone(),
        };
        heads.chain(Members {
            first: self.nested.first(self.node),
            inside: self.lower.children(),
        })
    }
}

/// Those right below that speak for other nodes.
#[derive(Clone)]
pub struct Heads<'a, U: Topology, L: Topology> {
    nodes: Option<<U::Tree as Tree>::Children>,
    tree: NestedTree<'a, U, L>,
}

impl<U: Topology, L: Topology> Iterator for Heads<'_, U, L> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let node = self.nodes.as_mut()?.next()?;
        Some(self.tree.speaker_of(node))
    }
}

impl<U: Topology, L: Topology> DoubleEndedIterator for Heads<'_, U, L> {
    fn next_back(&mut self) -> Option<usize> {
        let node = self.nodes.as_mut()?.next_back()?;
        Some(self.tree.speaker_of(node))
    }
}

/// Those right below in the same node.
#[derive(Clone)]
pub struct Members<L: Topology> {
    first: usize,
    inside: <L::Tree as Tree>::Children,
}

impl<L: Topology> Iterator for Members<L> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.inside.next().map(|inside| self.first + inside)
    }
}

impl<L: Topology> DoubleEndedIterator for Members<L> {
    fn next_back(&mut self) -> Option<usize> {
        self.inside.next_back().map(|inside| self.first + inside)
    }
}
