//! Trees that no formula gives: one rank's parent and children, and the two-level tree of sites. Only the schedules of
//! broadcast and reduce use it.

use super::prepare::Call;
use crate::error::Error;
use crate::settings::SITES;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ops::Range;
use pombo_collective::topology::{Binomial, Rooted, Tree};

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

/// The sites of the job's ranks, as `POMBO_SITES` lists them.
struct SiteList(Option<Vec<u32>>);

impl Default for SiteList {
    fn default() -> Self {
        SiteList(SITES.text().and_then(parse_sites))
    }
}

/// Parses a list of sites.
pub(crate) fn parse_sites(text: &str) -> Option<Vec<u32>> {
    text.split(',').map(|site| site.parse().ok()).collect()
}

impl Call<'_> {
    /// Returns the two-level tree of MagPIe (Kielmann et al., 1999): the root serves the first rank of every other site,
    /// and a binomial tree each site. Without `POMBO_SITES` every host is a site.
    pub(super) fn two_level(&mut self) -> Result<ListedTree, Error> {
        let sites = self.sites()?;
        let position = self.position;
        Ok(two_level(position.rank, position.root, &sites))
    }

    /// Returns the site of every rank of the communicator.
    fn sites(&mut self) -> Result<Vec<u32>, Error> {
        let ranks = self.position.ranks;
        let peers = self.record()?.peers.clone();
        let listed: &SiteList = self.world.objects.extensions.get();
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
