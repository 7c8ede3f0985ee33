//! Grids, as arithmetic of ranks and coordinates. Ranks are in row-major order: the last coordinate changes fastest.

use super::arguments::wrong;
use crate::constants::MPI_PROC_NULL;
use crate::error::{Class, Error};
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::c_int;

/// A grid.
#[derive(Clone, Debug)]
pub(crate) struct Cartesian(pub(super) Vec<Dimension>);

/// A dimension of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dimension {
    /// Number of ranks in this dimension.
    pub ranks: c_int,
    /// Whether the last of them is a neighbour of the first.
    pub is_periodic: bool,
}

impl Cartesian {
    /// Checks dimensions for a communicator of that many ranks. A dimension of 0 makes a grid without ranks, as MPICH's
    /// users have it: `MPI_Cart_map` for too few ranks.
    pub(super) fn new(dimensions: Vec<Dimension>, size: usize) -> Result<Self, Error> {
        if dimensions.iter().any(|dimension| dimension.ranks < 0) {
            return Err(wrong(Class::Dims, "dims", "0 or more"));
        }
        let grid = Cartesian(dimensions);
        match grid.ranks() {
            Some(ranks) if ranks <= size => Ok(grid),
            _ => Err(wrong(
                Class::Arg,
                "dims",
                "a grid of at most as many ranks as the communicator has",
            )),
        }
    }

    /// Returns the number of ranks; `None` if no type holds it.
    pub(super) fn ranks(&self) -> Option<usize> {
        let sizes = self.0.iter().map(|dimension| dimension.ranks as usize);
        sizes.into_iter().try_fold(1, usize::checked_mul)
    }

    pub(super) fn coordinates(&self, rank: usize) -> Vec<c_int> {
        let mut coordinates = vec![0; self.0.len()];
        let mut rest = rank;
        for (coordinate, dimension) in coordinates.iter_mut().zip(&self.0).rev() {
            *coordinate = (rest % dimension.ranks as usize) as c_int;
            rest /= dimension.ranks as usize;
        }
        coordinates
    }

    /// Returns the rank at coordinates; `None` outside of the grid.
    pub(super) fn rank(&self, coordinates: impl IntoIterator<Item = i64>) -> Option<c_int> {
        let mut rank = 0;
        for (dimension, coordinate) in self.0.iter().zip(coordinates) {
            let ranks = i64::from(dimension.ranks);
            let inside = match dimension.is_periodic {
                true => coordinate.rem_euclid(ranks),
                false if (0..ranks).contains(&coordinate) => coordinate,
                false => return None,
            };
            rank = rank * ranks + inside;
        }
        Some(rank as c_int)
    }

    /// Returns the rank that is `steps` further in a dimension; `MPI_PROC_NULL` outside of the grid.
    pub(super) fn shifted(&self, rank: usize, direction: usize, steps: i64) -> c_int {
        let coordinates = self.coordinates(rank).into_iter().enumerate();
        let moved = coordinates.map(|(at, coordinate)| match at == direction {
            true => i64::from(coordinate) + steps,
            false => coordinate.into(),
        });
        self.rank(moved).unwrap_or(MPI_PROC_NULL)
    }

    /// Returns the neighbours of a rank: those before and behind it in each dimension.
    pub(super) fn neighbours(&self, rank: usize) -> Vec<c_int> {
        let directions = 0..self.0.len();
        let both =
            directions.flat_map(|at| [self.shifted(rank, at, -1), self.shifted(rank, at, 1)]);
        both.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid_of(dimensions: &[(c_int, bool)]) -> Cartesian {
        let dimension = |&(ranks, is_periodic)| Dimension { ranks, is_periodic };
        Cartesian(dimensions.iter().map(dimension).collect())
    }

    #[test]
    fn ranks_and_coordinates_are_inverse() {
        let grid = grid_of(&[(3, false), (1, true), (4, true)]);
        assert_eq!(grid.ranks(), Some(12));
        for rank in 0..12 {
            let coordinates = grid.coordinates(rank);
            assert_eq!(coordinates, [rank as c_int / 4, 0, rank as c_int % 4]);
            let again = grid.rank(coordinates.into_iter().map(i64::from));
            assert_eq!(again, Some(rank as c_int));
        }
        assert_eq!(grid.rank([2, -7, -1]), Some(11));
        assert_eq!(grid.rank([3, 0, 0]), None);
        assert_eq!(grid.neighbours(0), [MPI_PROC_NULL, 4, 0, 0, 3, 1]);
    }

    #[test]
    fn a_grid_without_dimensions_has_one_rank() {
        let grid = grid_of(&[]);
        assert_eq!((grid.ranks(), grid.rank([])), (Some(1), Some(0)));
        assert!(grid.coordinates(0).is_empty() && grid.neighbours(0).is_empty());
    }

    #[test]
    fn grids_must_fit() {
        let of = |ranks| {
            let is_periodic = false;
            vec![Dimension { ranks, is_periodic }; 3]
        };
        assert!(Cartesian::new(of(2), 8).is_ok());
        assert_eq!(Cartesian::new(of(2), 7).unwrap_err().class(), Class::Arg);
        assert_eq!(
            Cartesian::new(of(0), 7).map(|grid| grid.ranks()),
            Ok(Some(0))
        );
        assert_eq!(Cartesian::new(of(-1), 7).unwrap_err().class(), Class::Dims);
        assert!(Cartesian::new(of(c_int::MAX), usize::MAX).is_err());
    }
}
