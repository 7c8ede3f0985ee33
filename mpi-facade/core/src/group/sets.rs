//! Groups that are made of others, and comparisons. Source: MPI 5.0, section 7.3.

use super::{insert, member, members};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::runtime::world::{self, CommError};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::c_int;
use pombo_kernel::Peer;

/// Compares two groups, as `MPI_Group_compare`.
pub fn compare(one: Group, other: Group) -> Result<c_int, CommError> {
    world::local(|objects| {
        let (one, other) = (members(objects, one)?, members(objects, other)?);
        Ok(match similarity(&one, &other) {
            MPI_CONGRUENT => MPI_IDENT,
            other => other,
        })
    })
}

/// Compares two lists of peers: `MPI_CONGRUENT` if they are equal, `MPI_SIMILAR` if only the order differs.
pub(crate) fn similarity(one: &[Peer], other: &[Peer]) -> c_int {
    if one == other {
        return MPI_CONGRUENT;
    }
    let (mut one, mut other) = (one.to_vec(), other.to_vec());
    one.sort_unstable();
    other.sort_unstable();
    match one == other {
        true => MPI_SIMILAR,
        false => MPI_UNEQUAL,
    }
}

/// Returns the union, as `MPI_Group_union`: all of the first group, then those of the second that are not in the first.
pub fn union(one: Group, other: Group) -> Result<Group, CommError> {
    combine(one, other, |one, other| {
        let known = sorted(one);
        let more = other.iter().filter(|peer| !contains(&known, peer));
        one.iter().chain(more).copied().collect()
    })
}

/// Returns the intersection, as `MPI_Group_intersection`, in the order of the first group.
pub fn intersection(one: Group, other: Group) -> Result<Group, CommError> {
    combine(one, other, |one, other| {
        let known = sorted(other);
        let both = one.iter().filter(|peer| contains(&known, peer));
        both.copied().collect()
    })
}

/// Returns the difference, as `MPI_Group_difference`, in the order of the first group.
pub fn difference(one: Group, other: Group) -> Result<Group, CommError> {
    combine(one, other, |one, other| {
        let known = sorted(other);
        let rest = one.iter().filter(|peer| !contains(&known, peer));
        rest.copied().collect()
    })
}

/// Returns the group of these ranks in this order, as `MPI_Group_incl`.
pub fn include(group: Group, ranks: &[c_int]) -> Result<Group, CommError> {
    select(group, ranks.iter().copied().map(Ok), true)
}

/// Returns the group without these ranks, as `MPI_Group_excl`.
pub fn exclude(group: Group, ranks: &[c_int]) -> Result<Group, CommError> {
    select(group, ranks.iter().copied().map(Ok), false)
}

/// Returns the group of the ranks of these ranges, as `MPI_Group_range_incl`.
pub fn include_ranges(group: Group, ranges: &[[c_int; 3]]) -> Result<Group, CommError> {
    select(group, ranges.iter().flat_map(|range| each_of(*range)), true)
}

/// Returns the group without the ranks of these ranges, as `MPI_Group_range_excl`.
pub fn exclude_ranges(group: Group, ranges: &[[c_int; 3]]) -> Result<Group, CommError> {
    select(
        group,
        ranges.iter().flat_map(|range| each_of(*range)),
        false,
    )
}

/// Makes a group of two.
fn combine(
    one: Group,
    other: Group,
    of: impl FnOnce(&[Peer], &[Peer]) -> Rc<[Peer]>,
) -> Result<Group, CommError> {
    world::local(|objects| {
        let (one, other) = (members(objects, one)?, members(objects, other)?);
        Ok(insert(objects, of(&one, &other)))
    })
}

/// Makes the group of the members with these ranks, or of all others. The ranks must be valid and different.
fn select(
    group: Group,
    ranks: impl Iterator<Item = Result<c_int, Error>>,
    chosen: bool,
) -> Result<Group, CommError> {
    world::local(|objects| {
        let all = members(objects, group)?;
        let mut is_named = vec![false; all.len()];
        let mut named = Vec::new();
        for rank in ranks {
            let rank = rank?;
            named.push(member(&all, rank)?);
            if core::mem::replace(&mut is_named[rank as usize], true) {
                return Err(Error::Argument {
                    class: Class::Rank,
                    name: "ranks",
                    must: "ranks of which each stands there once",
                }
                .into());
            }
        }
        let rest = || all.iter().zip(&is_named).filter(|(_, named)| !**named);
        let made = match chosen {
            true => named.into(),
            false => rest().map(|(peer, _)| *peer).collect(),
        };
        Ok(insert(objects, made))
    })
}

/// Iterates over the ranks of a range: first, last and stride.
fn each_of([first, last, stride]: [c_int; 3]) -> impl Iterator<Item = Result<c_int, Error>> {
    let [first, last, stride] = [first, last, stride].map(i64::from);
    let wrong = (stride == 0).then_some(Err(Error::Argument {
        class: Class::Arg,
        name: "ranges",
        must: "triples whose stride is not 0",
    }));
    // A range whose last rank lies before the first has none.
    let steps = match stride {
        0 => -1,
        ..0 => (first - last).div_euclid(-stride),
        _ => (last - first).div_euclid(stride),
    };
    let ranks = (0..=steps).map(move |step| Ok((first + step * stride) as c_int));
    wrong.into_iter().chain(ranks)
}

fn sorted(peers: &[Peer]) -> Vec<Peer> {
    let mut sorted = peers.to_vec();
    sorted.sort_unstable();
    sorted
}

fn contains(sorted: &[Peer], peer: &Peer) -> bool {
    sorted.binary_search(peer).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(range: [c_int; 3]) -> Option<Vec<c_int>> {
        each_of(range).collect::<Result<_, _>>().ok()
    }

    #[test]
    fn ranges_name_every_stride_th_rank_in_both_directions() {
        assert_eq!(ranks([1, 7, 3]), Some(vec![1, 4, 7]));
        assert_eq!(ranks([1, 6, 3]), Some(vec![1, 4]));
        assert_eq!(ranks([6, 1, -2]), Some(vec![6, 4, 2]));
        assert_eq!(ranks([3, 3, -9]), Some(vec![3]));
        assert_eq!(ranks([2, 1, 1]), Some(vec![]));
        assert_eq!(ranks([1, 2, -1]), Some(vec![]));
        assert_eq!(ranks([0, 1, 0]), None);
    }
}
