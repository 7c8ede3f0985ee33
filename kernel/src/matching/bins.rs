//! A hash table of places whose bins double with the number of groups. Only [`Indexed`](super::indexed) uses it.
//!
//! Places with the same hash form a group, a queue in arrival order whose first member is the leader. A bin is a chain
//! of group leaders. So entries with equal keys together cost one step, and entries with different keys spread over the
//! bins; there are never more groups than bins until there are as many bins as the composition has entries.
//!
//! A place may be in several groups, one per lane. Its membership in a lane has the number place x LANES + lane.
//!
//! Invariant: a leader's `prev` is the last member of its group (itself if the group has no other); a follower's `prev`
//! is the member before it. A place outside all groups has no `prev`.

use super::Search;
use crate::aspect::{Capacity, Slice, Storage};
use crate::slab::NONE;

/// The value of [`Link::chain`] in a member that does not lead its group.
const FOLLOWER: u32 = NONE - 1;

/// The membership of a place in a lane.
#[derive(Clone, Copy)]
pub(super) struct Link {
    hash: u32,
    /// In a leader, the next group of the bin.
    chain: u32,
    next: u32,
    prev: u32,
}

/// The link of a place outside all groups.
const OUT: Link = Link {
    hash: 0,
    chain: FOLLOWER,
    next: NONE,
    prev: NONE,
};

/// Up to `K::N` bins for up to `K::N` places.
pub(super) struct Bins<S: Storage, K: Capacity, const LANES: usize> {
    /// The first group of every bin.
    heads: S::Slice<u32, K>,
    links: S::Slice<[Link; LANES], K>,
    groups: usize,
}

impl<S: Storage, K: Capacity, const LANES: usize> Bins<S, K, LANES> {
    const NUMBERS_FIT: () = assert!(
        K::N <= FOLLOWER as usize / LANES,
        "too many entries for bins: compose fewer, or the linear matcher"
    );

    pub(super) fn new() -> Self {
        const { Self::NUMBERS_FIT };
        Bins {
            heads: S::Slice::new(),
            links: S::Slice::new(),
            groups: 0,
        }
    }

    /// Appends a place to its groups, one per lane. `start` is the initial number of bins. Returns `None` if the
    /// storage violates its contract: the bins are then unusable until they are cleared.
    #[inline(never)]
    pub(super) fn insert(
        &mut self,
        place: u32,
        hashes: [Option<u32>; LANES],
        start: usize,
    ) -> Option<()> {
        while self.links.as_ref().len() <= place as usize {
            self.links.push([OUT; LANES]).ok()?;
        }
        for (member, hash) in (place * LANES as u32..).zip(hashes) {
            match hash {
                Some(hash) => self.enter(member, hash, start)?,
                None => *self.link_mut(member)? = OUT,
            }
        }
        Some(())
    }

    /// Removes a place from its groups.
    #[inline(never)]
    pub(super) fn remove(&mut self, place: u32) {
        for member in (place * LANES as u32..).take(LANES) {
            self.leave(member);
        }
    }

    /// Returns the first place of a group for which `wanted` is true. The search goes beyond the leader only for
    /// different keys with one hash, which are rare.
    #[inline]
    pub(super) fn first(&self, hash: u32, wanted: impl Fn(u32) -> bool) -> Search<u32> {
        let Search { found, mut steps } = self.group(hash);
        let mut at = found.unwrap_or(NONE);
        while let Some(link) = self.link(at) {
            let place = at / LANES as u32;
            if wanted(place) {
                return Search {
                    found: Some(place),
                    steps,
                };
            }
            steps += usize::from(link.next != NONE);
            at = link.next;
        }
        Search { found: None, steps }
    }

    /// Removes all places and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.heads.as_mut().fill(NONE);
        self.groups = 0;
    }

    /// Returns the leader of a group, and the number of leaders visited.
    #[inline]
    fn group(&self, hash: u32) -> Search<u32> {
        let head = self.heads.as_ref().get(self.bin(hash));
        let mut at = head.copied().unwrap_or(NONE);
        let mut steps = 0;
        while let Some(link) = self.link(at) {
            steps += 1;
            if link.hash == hash {
                return Search {
                    found: Some(at),
                    steps,
                };
            }
            at = link.chain;
        }
        Search { found: None, steps }
    }

    fn enter(&mut self, member: u32, hash: u32, start: usize) -> Option<()> {
        let Some(leader) = self.group(hash).found else {
            self.grow(start);
            *self.link_mut(member)? = Link {
                hash,
                chain: NONE,
                next: NONE,
                prev: member,
            };
            self.groups += 1;
            // The new group goes behind the older groups of its bin, so that a group that is never empty has few before
            // it.
            return self.rechain(hash, NONE, member);
        };
        let last = core::mem::replace(&mut self.link_mut(leader)?.prev, member);
        self.link_mut(last)?.next = member;
        *self.link_mut(member)? = Link {
            hash,
            chain: FOLLOWER,
            next: NONE,
            prev: last,
        };
        Some(())
    }

    fn leave(&mut self, member: u32) -> Option<()> {
        let Link {
            hash,
            chain,
            next,
            prev,
        } = core::mem::replace(self.link_mut(member)?, OUT);
        if prev == NONE {
            return None;
        }
        if chain == FOLLOWER {
            self.link_mut(prev)?.next = next;
            // The successor of the last member is the leader in this respect.
            let behind = if next == NONE {
                self.group(hash).found?
            } else {
                next
            };
            self.link_mut(behind)?.prev = prev;
            return Some(());
        }
        if next == NONE {
            self.groups -= 1;
            return self.rechain(hash, member, chain);
        }
        let heir = self.link_mut(next)?;
        heir.chain = chain;
        heir.prev = prev;
        self.rechain(hash, member, next)
    }

    /// Replaces the link to `old` in a bin's chain.
    fn rechain(&mut self, hash: u32, old: u32, new: u32) -> Option<()> {
        let bin = self.bin(hash);
        let head = self.heads.as_mut().get_mut(bin)?;
        if *head == old {
            *head = new;
            return Some(());
        }
        let mut at = *head;
        loop {
            let link = self.link_mut(at)?;
            if link.chain == old {
                link.chain = new;
                return Some(());
            }
            at = link.chain;
        }
    }

    /// Doubles the bins, up to the bound, if there are as many groups as bins.
    fn grow(&mut self, start: usize) {
        let before = self.heads.as_ref().len();
        if self.groups < before {
            return;
        }
        let more = if before == 0 { start } else { before };
        for _ in 0..more {
            if self.heads.push(NONE).is_err() {
                break;
            }
        }
        if self.heads.as_ref().len() > before {
            self.rehang(before);
        }
    }

    /// Distributes the groups in the first `before` bins over all bins. It builds one chain first, because a bin that
    /// gets groups may not have been emptied yet. The order is reversed twice, so older groups stay before younger
    /// ones.
    fn rehang(&mut self, before: usize) {
        let mut all = NONE;
        for bin in 0..before {
            let Some(head) = self.heads.as_mut().get_mut(bin) else {
                return;
            };
            let mut at = core::mem::replace(head, NONE);
            while let Some(link) = self.link_mut(at) {
                let next = core::mem::replace(&mut link.chain, all);
                all = at;
                at = next;
            }
        }
        while let Some(&Link { hash, chain, .. }) = self.link(all) {
            let bin = self.bin(hash);
            if let Some(head) = self.heads.as_mut().get_mut(bin) {
                let behind = core::mem::replace(head, all);
                if let Some(link) = self.link_mut(all) {
                    link.chain = behind;
                }
            }
            all = chain;
        }
    }

    /// Returns the bin of a hash by scaling, so that any number of bins works.
    #[inline]
    fn bin(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.heads.as_ref().len() as u64) >> u32::BITS) as usize
    }

    #[inline]
    fn link(&self, member: u32) -> Option<&Link> {
        self.links.as_ref().as_flattened().get(member as usize)
    }

    #[inline]
    fn link_mut(&mut self, member: u32) -> Option<&mut Link> {
        self.links
            .as_mut()
            .as_flattened_mut()
            .get_mut(member as usize)
    }
}

/// Maps a key of a class to a hash that is spread over the whole range: the exclusive or of both halves of a product, as
/// either half alone lets keys at some equal distances, as tags in turn, fall into few bins.
#[inline]
pub(super) const fn hash(class: usize, key: u32) -> u32 {
    let key = key ^ 0x9e37_79b9_u32.wrapping_mul(class as u32 + 1);
    let product = (key as u64).wrapping_mul(0xa076_1d64_78bd_642f);
    (product >> 32) as u32 ^ product as u32
}

#[cfg(test)]
mod tests {
    use super::hash;
    use crate::header::fold;

    /// There are as many keys as bins: at random, a search would visit 1.5 of them on average.
    #[test]
    fn keys_of_equal_distances_spread_over_the_bins() {
        const N: u32 = 64;
        for distance in (1..3000).chain((12..26).map(|bit| 1 << bit)) {
            for (class, is_folded) in (0..4).flat_map(|class| [(class, false), (class, true)]) {
                let mut bins = [0; N as usize];
                for at in 0..N {
                    let key = at.wrapping_mul(distance);
                    let key = if is_folded { fold([3, 1, key]) } else { key };
                    bins[((u64::from(hash(class, key)) * u64::from(N)) >> 32) as usize] += 1;
                }
                let visits: u32 = bins.iter().map(|len| len * (len + 1) / 2).sum();
                assert!(
                    visits <= 3 * N,
                    "distance {distance}, class {class}, folded {is_folded}: {visits}"
                );
            }
        }
    }
}
