//! Groups of processes.

use crate::arguments::{Array, InOut, Out};
use core::ffi::c_int;
use pombo_mpi::constants::*;
use pombo_mpi::group;

mpi! {
    fn MPI_Group_size(group: Group, size: Out<c_int>) {
        out!(size = group::size(group)?);
        Ok(())
    }

    fn MPI_Group_rank(group: Group, rank: Out<c_int>) {
        out!(rank = group::rank(group)?);
        Ok(())
    }

    fn MPI_Group_translate_ranks(
        group1: Group,
        n: c_int,
        ranks1: *mut c_int,
        group2: Group,
        ranks2: *mut c_int,
    ) {
        let mut translated = Array::of(n, ranks2, "ranks2")?;
        let ranks = Array::of(n, ranks1, "ranks1")?.values();
        for (index, rank) in group::translate_ranks(group1, &ranks, group2)?.into_iter().enumerate() {
            translated.set(index, rank);
        }
        Ok(())
    }

    fn MPI_Group_compare(group1: Group, group2: Group, result: Out<c_int>) {
        out!(result = group::compare(group1, group2)?);
        Ok(())
    }

    fn MPI_Group_union(group1: Group, group2: Group, newgroup: Out<Group>) {
        out!(newgroup = group::union(group1, group2)?);
        Ok(())
    }

    fn MPI_Group_intersection(group1: Group, group2: Group, newgroup: Out<Group>) {
        out!(newgroup = group::intersection(group1, group2)?);
        Ok(())
    }

    fn MPI_Group_difference(group1: Group, group2: Group, newgroup: Out<Group>) {
        out!(newgroup = group::difference(group1, group2)?);
        Ok(())
    }

    fn MPI_Group_incl(group: Group, n: c_int, ranks: *mut c_int, newgroup: Out<Group>) {
        out!(newgroup = group::include(group, &Array::of(n, ranks, "ranks")?.values())?);
        Ok(())
    }

    fn MPI_Group_excl(group: Group, n: c_int, ranks: *mut c_int, newgroup: Out<Group>) {
        out!(newgroup = group::exclude(group, &Array::of(n, ranks, "ranks")?.values())?);
        Ok(())
    }

    fn MPI_Group_range_incl(group: Group, n: c_int, ranges: *mut [c_int; 3], newgroup: Out<Group>) {
        out!(newgroup = group::include_ranges(group, &Array::of(n, ranges, "ranges")?.values())?);
        Ok(())
    }

    fn MPI_Group_range_excl(group: Group, n: c_int, ranges: *mut [c_int; 3], newgroup: Out<Group>) {
        out!(newgroup = group::exclude_ranges(group, &Array::of(n, ranges, "ranges")?.values())?);
        Ok(())
    }

    fn MPI_Group_free(group: InOut<Group>) {
        group::free(group.get())?;
        out!(group = Group::NULL);
        Ok(())
    }
}
