//! The datatypes of parts of arrays. Source: MPI 5.0, sections 5.1.3 and 5.1.4.

use super::construction::Construction;
use super::constructors::{make, number, too_large};
use super::type_layout::{Piece, TypeLayout};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::runtime::world::CommError;
use alloc::vec::Vec;
use core::ffi::c_int;

/// Makes a box inside an array, as `MPI_Type_create_subarray`. All slices have one element for each dimension.
pub fn subarray(
    sizes: &[i64],
    subsizes: &[i64],
    starts: &[i64],
    order: c_int,
    old: Datatype,
    large: bool,
) -> Result<Datatype, CommError> {
    make(|datatypes| {
        if sizes.is_empty() {
            return Err(invalid("ndims", "at least 1"));
        }
        for ((&size, &part), &start) in sizes.iter().zip(subsizes).zip(starts) {
            if size < 1 || part < 1 || part > size {
                return Err(invalid(
                    "array_of_subsizes",
                    "1 to the array's size in that dimension",
                ));
            }
            if start < 0 || start > size - part {
                return Err(invalid(
                    "array_of_starts",
                    "so that the part ends inside the array",
                ));
            }
        }
        let dimensions = sizes.len() as i64;
        let made = Construction::new(MPI_COMBINER_SUBARRAY, large)
            .integers(&[dimensions])
            .counts(sizes)
            .counts(subsizes)
            .counts(starts)
            .integers(&[order.into()]);
        let layout = of_indices(&*datatypes.layout(old)?, sizes, order, |dimension| {
            let (start, part) = (starts[dimension], subsizes[dimension]);
            Ok(Indices::cyclic(start, part, i64::MAX, start + part))
        })?;
        Ok((layout, made.datatype(datatypes.argument(old)?)))
    })
}

/// The distribution of an array over a grid of processes. All slices have one element for each dimension.
#[derive(Clone, Copy, Debug)]
pub struct Distributed<'a> {
    /// Number of processes, and the one whose part is wanted.
    pub size: i64,
    /// See `size`.
    pub rank: i64,
    /// Number of items of the array.
    pub sizes: &'a [i64],
    /// `MPI_DISTRIBUTE_BLOCK` and its like.
    pub distributions: &'a [i64],
    /// The arguments of the distributions.
    pub arguments: &'a [i64],
    /// Number of processes of the grid.
    pub processes: &'a [i64],
    /// `MPI_ORDER_C` or `MPI_ORDER_FORTRAN`; the grid of processes has always C's order.
    pub order: c_int,
}

/// Makes a process's part of a distributed array, as `MPI_Type_create_darray`.
pub fn darray(part: Distributed<'_>, old: Datatype, large: bool) -> Result<Datatype, CommError> {
    make(|datatypes| {
        let dimensions = part.sizes.len();
        if dimensions == 0 {
            return Err(invalid("ndims", "at least 1"));
        }
        let all = part.processes.iter().try_fold(1_i64, |all, &processes| {
            (processes > 0).then(|| all.checked_mul(processes))?
        });
        if all != Some(part.size) {
            return Err(invalid(
                "array_of_psizes",
                "positive numbers whose product is the number of processes",
            ));
        }
        if !(0..part.size).contains(&part.rank) {
            return Err(invalid("rank", "0 to the number of processes less 1"));
        }
        let made = Construction::new(MPI_COMBINER_DARRAY, large)
            .integers(&[part.size, part.rank, dimensions as i64])
            .counts(part.sizes)
            .integers(part.distributions)
            .integers(part.arguments)
            .integers(part.processes)
            .integers(&[part.order.into()]);
        // The place of the process in the grid, in C's order.
        let (mut places, mut rest) = (Vec::new(), part.rank);
        for &processes in part.processes.iter().rev() {
            places.push(rest % processes);
            rest /= processes;
        }
        places.reverse();
        let layout = of_indices(
            &*datatypes.layout(old)?,
            part.sizes,
            part.order,
            |dimension| part.indices(dimension, places[dimension]),
        )?;
        Ok((layout, made.datatype(datatypes.argument(old)?)))
    })
}

impl Distributed<'_> {
    /// Returns the indices of a process in a dimension.
    fn indices(&self, dimension: usize, place: i64) -> Result<Indices, Error> {
        let (size, processes) = (self.sizes[dimension], self.processes[dimension]);
        let argument = self.arguments[dimension];
        if size < 1 {
            return Err(invalid("array_of_gsizes", "positive"));
        }
        let default = argument == i64::from(MPI_DISTRIBUTE_DFLT_DARG);
        if argument < 1 && !default {
            return Err(invalid(
                "array_of_dargs",
                "positive, or MPI_DISTRIBUTE_DFLT_DARG",
            ));
        }
        let distribution = self.distributions[dimension];
        let block = match (c_int::try_from(distribution), default) {
            (Ok(MPI_DISTRIBUTE_NONE), _) if processes == 1 => size,
            (Ok(MPI_DISTRIBUTE_BLOCK), true) => {
                size.div_euclid(processes) + i64::from(size % processes != 0)
            }
            (Ok(MPI_DISTRIBUTE_BLOCK), false) if argument.saturating_mul(processes) >= size => {
                argument
            }
            (Ok(MPI_DISTRIBUTE_BLOCK), false) => {
                return Err(invalid(
                    "array_of_dargs",
                    "so large that the blocks of all processes cover the array",
                ));
            }
            (Ok(MPI_DISTRIBUTE_CYCLIC), true) => 1,
            (Ok(MPI_DISTRIBUTE_CYCLIC), false) => argument,
            _ => {
                return Err(invalid(
                    "array_of_distribs",
                    "MPI_DISTRIBUTE_BLOCK, _CYCLIC, or _NONE with one process",
                ));
            }
        };
        let first = place.saturating_mul(block);
        let round = block.saturating_mul(processes);
        Ok(Indices::cyclic(first, block, round, size))
    }
}

/// Indices of one dimension of an array: whole blocks at equal distances, and a shorter one behind them. There may be
/// as many blocks as the array has items, so they are never listed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Indices {
    first: i64,
    /// Indices of a whole block.
    block: i64,
    /// Indices from the begin of one block to that of the next.
    round: i64,
    /// Number of whole blocks.
    whole: i64,
    /// Indices of the shorter block.
    rest: i64,
}

impl Indices {
    /// Returns the indices below `end` in the blocks that begin at `first` and every `round` indices from there.
    fn cyclic(first: i64, block: i64, round: i64, end: i64) -> Self {
        let room = end.saturating_sub(first).max(0);
        let whole = match room >= block {
            true => (room - block) / round + 1,
            false => 0,
        };
        let behind = whole.saturating_mul(round);
        Indices {
            first,
            block,
            round,
            whole,
            rest: room.saturating_sub(behind).max(0),
        }
    }

    /// Returns the layout of the items at these indices, where one lies at every `stride` bytes.
    fn layout(self, item: &TypeLayout, stride: i64) -> Result<TypeLayout, Error> {
        let far = |index: i64| index.checked_mul(stride).ok_or(too_large());
        let run = |index: i64, items: i64| -> Result<_, Error> {
            Ok(Piece {
                offset: far(index)?,
                count: number(items)?,
                stride,
                layout: item,
            })
        };
        let block = item.repeated(number(self.block)?, stride)?;
        let mut pieces = Vec::new();
        match self.whole {
            0 => {}
            1 => pieces.push(run(self.first, self.block)?),
            whole => pieces.push(Piece {
                offset: far(self.first)?,
                count: number(whole)?,
                stride: far(self.round)?,
                layout: &block,
            }),
        }
        if self.rest > 0 {
            let behind = self.first + self.whole.saturating_mul(self.round);
            pieces.push(run(behind, self.rest)?);
        }
        TypeLayout::of_pieces(&pieces)
    }
}

/// Makes the layout of the items of an array whose index is, in each dimension, one of its indices.
fn of_indices(
    old: &TypeLayout,
    sizes: &[i64],
    order: c_int,
    indices: impl Fn(usize) -> Result<Indices, Error>,
) -> Result<TypeLayout, Error> {
    let fortran = match order {
        MPI_ORDER_C => false,
        MPI_ORDER_FORTRAN => true,
        _ => return Err(invalid("order", "MPI_ORDER_C or MPI_ORDER_FORTRAN")),
    };
    let mut stride = old.bounds().extent();
    let mut layout = None;
    for place in 0..sizes.len() {
        // From the dimension whose index changes first to the other end.
        let dimension = match fortran {
            true => place,
            false => sizes.len() - 1 - place,
        };
        let inner = layout.as_ref().unwrap_or(old);
        let next = indices(dimension)?.layout(inner, stride)?;
        number(sizes[dimension])?;
        stride = stride.checked_mul(sizes[dimension]).ok_or(too_large())?;
        layout = Some(next);
    }
    layout.as_ref().unwrap_or(old).resized(0, stride)
}

fn invalid(name: &'static str, must: &'static str) -> Error {
    Error::Argument {
        class: Class::Arg,
        name,
        must,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_its_blocks_and_the_rest() {
        let of = |first, block, round, end| {
            let Indices { whole, rest, .. } = Indices::cyclic(first, block, round, end);
            (whole, rest)
        };
        assert_eq!(of(0, 1, 1, 10), (10, 0));
        assert_eq!(of(2, 2, 6, 10), (2, 0));
        assert_eq!(of(2, 2, 6, 9), (1, 1));
        assert_eq!(of(4, 2, 6, 11), (1, 1));
        assert_eq!(of(4, 2, 6, 5), (0, 1));
        assert_eq!(of(4, 2, 6, 4), (0, 0));
        assert_eq!(of(i64::MAX, 2, i64::MAX, 4), (0, 0));
        assert_eq!(of(0, i64::MAX, i64::MAX, i64::MAX), (1, 0));
        assert_eq!(of(0, 1, 1, i64::MAX), (i64::MAX, 0));
    }
}
