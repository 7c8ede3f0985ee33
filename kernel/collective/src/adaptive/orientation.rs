//! The tree as one process sees it, for any root.
//!
//! A broadcast needs no orientation: the parent is the neighbour that sends the first message, and each process hands it
//! on over its other branches. Neither does a reduction: a process that is not the root waits until all branches but
//! one have delivered, and the one that is left leads to the parent. Who has to know the parent beforehand learns it
//! from a wave: the root of coming operations claims to be it, by one message on each link of the tree.

use super::link::{EdgeState, Link};
use super::machine::{Machine, Stage, expect};
use super::{AdaptiveError, Kind, Message};
use crate::topology::Tree;

/// The root that has claimed to be it, and the link in its direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Oriented {
    /// The number of the root.
    pub root: u32,
    /// The index of the link towards the root; `None` at the root.
    pub parent: Option<usize>,
}

impl Machine<'_> {
    /// Tells the tree that this process is the root of coming operations.
    pub(super) fn claim_root(&mut self) {
        self.orient(self.state.me, None);
    }

    pub(super) fn on_root(&mut self, link: usize, message: &Message) -> Result<(), AdaptiveError> {
        let stands = matches!(self.state.stage, Stage::Idle | Stage::Waiting | Stage::Wave);
        expect(stands && self.links[link].is_branch())?;
        self.orient(message.low.get(), Some(link));
        Ok(())
    }

    fn orient(&mut self, root: u32, parent: Option<usize>) {
        self.state.oriented = Some(Oriented { root, parent });
        self.post_to_branches(parent, Message::new(Kind::Root).with_round(root));
    }
}

/// The tree below some root, as one process sees it. Its ranks are the numbers of the processes.
///
/// A process serves its children over the heaviest links first: what takes most time begins first.
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveTree<'a> {
    links: &'a [Link],
    parent: Option<usize>,
}

impl<'a> AdaptiveTree<'a> {
    pub(super) fn new(links: &'a [Link], parent: Option<usize>) -> Self {
        AdaptiveTree { links, parent }
    }
}

impl<'a> Tree for AdaptiveTree<'a> {
    type Children = AdaptiveChildren<'a>;

    fn parent(&self) -> Option<usize> {
        let parent = self.parent.and_then(|parent| self.links.get(parent));
        parent.map(|link| link.neighbour as usize)
    }

    fn children(&self) -> AdaptiveChildren<'a> {
        AdaptiveChildren {
            tree: *self,
            below: (u64::MAX, u32::MAX),
            above: None,
        }
    }
}

/// The children of a process in an [`AdaptiveTree`].
#[derive(Clone, Debug)]
pub struct AdaptiveChildren<'a> {
    tree: AdaptiveTree<'a>,
    /// Weight and neighbour of the last link from the front.
    below: (u64, u32),
    /// Weight and neighbour of the last link from the back.
    above: Option<(u64, u32)>,
}

impl AdaptiveChildren<'_> {
    /// Returns the links that neither end has returned.
    fn left(&self) -> impl Iterator<Item = (u64, u32)> {
        let links = self.tree.links.iter().enumerate();
        links
            .filter(|&(index, link)| {
                link.state == EdgeState::Branch && Some(index) != self.tree.parent
            })
            .map(|(_, link)| (link.weight, link.neighbour))
            .filter(|&key| key < self.below && self.above.is_none_or(|above| key > above))
    }
}

impl Iterator for AdaptiveChildren<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.below = self.left().max()?;
        Some(self.below.1 as usize)
    }
}

impl DoubleEndedIterator for AdaptiveChildren<'_> {
    fn next_back(&mut self) -> Option<usize> {
        self.above = Some(self.left().min()?);
        self.above.map(|(_, neighbour)| neighbour as usize)
    }
}
