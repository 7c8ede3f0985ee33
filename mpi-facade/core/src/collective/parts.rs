//! How the ranks of a call lie on their hosts, and who of them carries out which part of it. `levels` and `flat_moves`
//! only.

use super::call::{Call, Part};
use super::schedule::Stand;
use crate::error::Error;
use alloc::rc::Rc;
use pombo_kernel::Node;

/// What the parts of one operation have in common.
pub(super) struct Parts {
    near: Rc<[Node]>,
    first: Rc<[Node]>,
    /// This rank's host, and its place there.
    own: (usize, usize),
    /// The root's host, and its place there.
    root: (usize, usize),
    /// The root's node.
    node: Node,
}

impl Parts {
    pub(super) fn of(call: &mut Call<'_>) -> Result<Parts, Error> {
        let Stand { rank, root, .. } = call.stand;
        let group = call.group()?;
        let node = group.node(root as i32)?;
        let levels = group.levels.as_ref();
        // Whoever asks has looked.
        let levels = levels.ok_or(pombo_kernel::Error::NoSuchNode(node))?;
        Ok(Parts {
            near: levels.near().clone(),
            first: levels.first().clone(),
            own: levels.place(rank),
            root: levels.place(root),
            node,
        })
    }

    /// Is nobody else of the communicator on this host?
    pub(super) fn alone(&self) -> bool {
        self.near.len() == 1
    }

    /// Is the root on this host?
    pub(super) fn at_root(&self) -> bool {
        self.own.0 == self.root.0
    }

    /// The place of the root if it is on this host, else of the first rank.
    pub(super) fn speaker(&self) -> usize {
        if self.at_root() { self.root.1 } else { 0 }
    }

    /// What is next is among the ranks of this host.
    pub(super) fn near(&self, call: &mut Call<'_>, root: usize) {
        self.go(call, true, self.near.clone(), (self.own.1, root));
    }

    /// What is next is between those that speak for their hosts, to or from the root itself.
    pub(super) fn far(&self, call: &mut Call<'_>) {
        let mut speakers = self.first.clone();
        if self.root.1 > 0 {
            let all = self.first.iter().enumerate();
            let speaker = |(host, node): (usize, &Node)| match host == self.root.0 {
                true => self.node,
                false => *node,
            };
            speakers = all.map(speaker).collect();
        }
        self.go(call, false, speakers, (self.own.0, self.root.0));
    }

    fn go(&self, call: &mut Call<'_>, near: bool, nodes: Rc<[Node]>, stand: (usize, usize)) {
        call.stand = Stand {
            rank: stand.0,
            ranks: nodes.len(),
            root: stand.1,
        };
        call.part = Some(Part { nodes, near });
    }

    /// The place of the one who sends to the other hosts or hears from them, and of the root if it has to tell that
    /// one first.
    pub(super) fn casters(&self) -> (usize, Option<usize>) {
        let before = self.at_root() && self.root.1 > 0;
        (0, before.then_some(self.root.1))
    }

    /// The number of this rank's host.
    pub(super) fn here(&self) -> usize {
        self.own.0
    }

    /// The number of the root's host.
    pub(super) fn host(&self) -> usize {
        self.root.0
    }

    /// This rank's place on its host.
    pub(super) fn place(&self) -> usize {
        self.own.1
    }
}
