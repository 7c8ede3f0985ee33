//! Trees as one rank's parent and children: those that no formula gives, such as the two-level tree of sites, and those
//! that are computed from times of messages. Only the schedules of broadcast and reduce use it.

use super::algorithm::Algorithm;
use super::prepare::Call;
use super::schedule::Position;
use super::tree_form::{Form, best_block, table};
use crate::error::Error;
use crate::settings::SITES;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ops::Range;
use pombo_collective::model::{Hold, OptimalTree};
use pombo_collective::topology::{Binomial, Rooted, Shape, Tree};
use pombo_job::settings::whole;
use pombo_kernel::Peer;
use pombo_kernel::text::fields;

/// One rank's place in a tree.
#[derive(Clone, Debug)]
pub(super) struct ListedTree {
    pub(super) parent: Option<usize>,
    /// The child that needs most time first.
    pub(super) children: Rc<[usize]>,
}

/// The children of a [`ListedTree`].
#[derive(Clone)]
pub(super) struct Children {
    all: Rc<[usize]>,
    left: Range<usize>,
}

impl Tree for ListedTree {
    type Children = Children;

    fn parent(&self) -> Option<usize> {
        self.parent
    }

    fn children(&self) -> Children {
        Children {
            all: self.children.clone(),
            left: 0..self.children.len(),
        }
    }
}

impl Iterator for Children {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left.next().map(|place| self.all[place])
    }
}

impl DoubleEndedIterator for Children {
    fn next_back(&mut self) -> Option<usize> {
        self.left.next_back().map(|place| self.all[place])
    }
}

/// Most trees that are kept for later calls.
const KEPT: usize = 8;

/// The trees of the last calls, so that a program that repeats its calls does not compute the same tree each time.
#[derive(Default)]
struct RecentTrees {
    trees: [Option<(Key, ListedTree)>; KEPT],
    /// The place of the next new one.
    next: usize,
}

/// What a tree depends on.
struct Key {
    /// The ranks of the operation: the same memory, which this holds.
    peers: Rc<[Peer]>,
    rank: usize,
    root: usize,
    algorithm: Algorithm,
    times: Hold,
}

impl Key {
    fn is(&self, other: &Key) -> bool {
        let rest = |key: &Key| (key.rank, key.root, key.algorithm, key.times);
        Rc::ptr_eq(&self.peers, &other.peers) && rest(self) == rest(other)
    }
}

/// The sites of the job's ranks, as `POMBO_SITES` lists them.
struct SiteList(Option<Vec<u32>>);

/// Parses a list of sites.
pub(crate) fn parse_sites(text: &str) -> Option<Vec<u32>> {
    fields(text, b',')
        .map(|site| u32::try_from(whole(site.as_bytes())?).ok())
        .collect()
}

impl ListedTree {
    fn of<S: Shape>(shape: S, position: Position) -> ListedTree {
        let Position { rank, ranks, root } = position;
        let tree = Rooted::new(shape, rank, ranks, root);
        ListedTree {
            parent: tree.parent(),
            children: tree.children().collect(),
        }
    }
}

impl Call<'_> {
    /// Returns the two-level tree of MagPIe (Kielmann et al., 1999): the root serves the first rank of every other site,
    /// and a binomial tree each site. Without `POMBO_SITES` every host is a site.
    pub(super) fn two_level(&mut self) -> Result<ListedTree, Error> {
        self.tree(Algorithm::TwoLevel, Hold { hold: 0, end: 0 })
    }

    /// Returns the tree of an algorithm for messages of these times.
    pub(super) fn tree(&mut self, algorithm: Algorithm, times: Hold) -> Result<ListedTree, Error> {
        let position = self.position;
        let peers = match &self.subgroup {
            Some(subgroup) => subgroup.peers.clone(),
            None => self.record()?.peers.clone(),
        };
        let key = Key {
            peers,
            rank: position.rank,
            root: position.root,
            algorithm,
            times,
        };
        let recent: &mut RecentTrees = self.world.objects.extensions.get();
        let mut known = recent.trees.iter().flatten();
        if let Some((_, tree)) = known.find(|(of, _)| of.is(&key)) {
            return Ok(tree.clone());
        }
        let tree = match algorithm {
            Algorithm::TwoLevel => two_level(position.rank, position.root, &self.sites()?),
            Algorithm::Optimal => {
                let mut table = table(position.ranks);
                ListedTree::of(OptimalTree::new(times, &mut table), position)
            }
            _ => {
                let form = Form::of(algorithm, || best_block(times, position.ranks));
                ListedTree::of(form, position)
            }
        };
        let recent: &mut RecentTrees = self.world.objects.extensions.get();
        recent.trees[recent.next] = Some((key, tree.clone()));
        recent.next = (recent.next + 1) % KEPT;
        Ok(tree)
    }

    /// Returns the site of every rank of the communicator.
    fn sites(&mut self) -> Result<Vec<u32>, Error> {
        let ranks = self.position.ranks;
        let peers = self.record()?.peers.clone();
        let objects = &mut self.world.objects;
        let sites = || objects.environment.text(SITES.name).and_then(parse_sites);
        let listed = objects.extensions.get_or(|| SiteList(sites()));
        if let Some((list, last)) = listed
            .0
            .as_ref()
            .and_then(|list| Some((list, list.last()?)))
        {
            let site = |peer: &pombo_kernel::Peer| *list.get(peer.index()).unwrap_or(last);
            return Ok(peers.iter().map(site).collect());
        }
        let layout = self.host_layout()?;
        let host = |rank| layout.map_or(0, |layout| layout.place(rank).0 as u32);
        Ok((0..ranks).map(host).collect())
    }
}

fn two_level(rank: usize, root: usize, sites: &[u32]) -> ListedTree {
    let members = |site: u32| (0..sites.len()).filter(move |&rank| sites[rank] == site);
    let coordinator = |site: u32| match sites[root] == site {
        true => root,
        false => members(site).next().unwrap_or(root),
    };
    let first = coordinator(sites[rank]);
    // The coordinator is rank 0 of the tree inside its site.
    let inside: Vec<usize> = [first]
        .into_iter()
        .chain(members(sites[rank]).filter(|&member| member != first))
        .collect();
    let own = inside.iter().position(|&member| member == rank);
    let near = Rooted::new(Binomial, own.unwrap_or(0), inside.len(), 0);
    let mut children = Vec::new();
    if rank == root {
        let leads = |&other: &usize| other != root && coordinator(sites[other]) == other;
        children.extend((0..sites.len()).filter(leads));
    }
    children.extend(near.children().map(|child| inside[child]));
    let above = (rank != root).then_some(root);
    ListedTree {
        parent: near.parent().map(|parent| inside[parent]).or(above),
        children: children.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every rank but the root is the child of its parent once, and sites are entered once each.
    #[test]
    fn a_two_level_tree_enters_each_site_once() {
        for sites in [
            &[0, 0, 1, 1, 2, 2][..],
            &[2, 0, 2, 0, 2],
            &[5],
            &[1, 2, 3],
            &[0; 7],
        ] {
            for root in 0..sites.len() {
                let trees = (0..sites.len()).map(|rank| two_level(rank, root, sites));
                let trees: Vec<_> = trees.collect();
                let mut between = 0;
                for (rank, tree) in trees.iter().enumerate() {
                    assert_eq!(tree.parent.is_none(), rank == root);
                    for child in tree.children() {
                        assert_eq!(trees[child].parent, Some(rank));
                        between += usize::from(sites[child] != sites[rank]);
                    }
                    // The way to the root is no circle.
                    let up = core::iter::successors(Some(rank), |&at| trees[at].parent);
                    assert_eq!(up.take(sites.len()).last(), Some(root));
                }
                let edges: usize = trees.iter().map(|tree| tree.children.len()).sum();
                assert_eq!(edges, sites.len() - 1);
                let mut names = sites.to_vec();
                names.sort_unstable();
                names.dedup();
                assert_eq!(between, names.len() - 1);
            }
        }
    }

    #[test]
    fn lists_of_sites() {
        assert_eq!(parse_sites("0,0,3"), Some([0, 0, 3].to_vec()));
        for wrong in ["", "0,", "a", "0 1", "-1"] {
            assert_eq!(parse_sites(wrong), None, "{wrong}");
        }
    }
}
