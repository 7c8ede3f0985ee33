//! Calls on grids. Source: MPI 5.0, sections 8.5.1 and 8.5.5 to 8.5.7.

use super::arguments::{known_rank, wrong};
use super::calls::{NONE, colour, create, rank_and_size, with};
use super::grid::Cartesian;
pub use super::grid::Dimension;
use super::kinds::Topology;
use crate::constants::*;
use crate::error::{Class, Error};
use crate::runtime::world::CommError;
use alloc::vec::Vec;
use core::ffi::c_int;

fn grid(topology: &Topology) -> Result<&Cartesian, Error> {
    match topology {
        Topology::Cartesian(grid) => Ok(grid),
        _ => Err(NONE),
    }
}

/// Makes a communicator with a grid, as `MPI_Cart_create`: null at ranks beyond the grid.
pub fn new(comm: Comm, dimensions: Vec<Dimension>) -> Result<Comm, CommError> {
    let (rank, size) = rank_and_size(comm)?;
    let grid = Cartesian::new(dimensions, size).map_err(CommError::on(comm))?;
    let ranks = grid.ranks().unwrap_or(0);
    create(comm, colour(rank, ranks), 0, Topology::Cartesian(grid))
}

/// Returns this rank's place in a grid that could be made, as `MPI_Cart_map`.
pub fn map(comm: Comm, dimensions: Vec<Dimension>) -> Result<c_int, CommError> {
    let (rank, size) = rank_and_size(comm)?;
    let grid = Cartesian::new(dimensions, size).map_err(CommError::on(comm))?;
    Ok(match rank < grid.ranks().unwrap_or(0) {
        true => rank as c_int,
        false => MPI_UNDEFINED,
    })
}

/// Returns the number of dimensions, as `MPI_Cartdim_get`.
pub fn dimensions(comm: Comm) -> Result<c_int, CommError> {
    with(comm, |topology, _| Ok(grid(topology)?.0.len() as c_int))
}

/// Returns the dimensions and this rank's coordinates, as `MPI_Cart_get`.
pub fn get(comm: Comm) -> Result<(Vec<Dimension>, Vec<c_int>), CommError> {
    with(comm, |topology, rank| {
        let grid = grid(topology)?;
        Ok((grid.0.clone(), grid.coordinates(rank)))
    })
}

/// Returns the rank at coordinates, as `MPI_Cart_rank`.
pub fn rank_at(comm: Comm, coordinates: &[c_int]) -> Result<c_int, CommError> {
    with(comm, |topology, _| {
        let rank = grid(topology)?.rank(coordinates.iter().copied().map(i64::from));
        rank.ok_or(wrong(
            Class::Arg,
            "coords",
            "inside the grid where it is not periodic",
        ))
    })
}

/// Returns the coordinates of a rank, as `MPI_Cart_coords`.
pub fn coordinates(comm: Comm, rank: c_int) -> Result<Vec<c_int>, CommError> {
    with(comm, |topology, _| {
        let grid = grid(topology)?;
        let rank = known_rank(rank, grid.ranks().unwrap_or(0))?;
        Ok(grid.coordinates(rank))
    })
}

/// Returns the ranks that this rank receives from and sends to in a shift, as `MPI_Cart_shift`.
pub fn shift(comm: Comm, direction: c_int, steps: c_int) -> Result<(c_int, c_int), CommError> {
    with(comm, |topology, rank| {
        let grid = grid(topology)?;
        let direction = usize::try_from(direction).ok();
        let direction = direction.filter(|&direction| direction < grid.0.len());
        let direction =
            direction.ok_or(wrong(Class::Arg, "direction", "a dimension of the grid"))?;
        let steps = i64::from(steps);
        Ok((
            grid.shifted(rank, direction, -steps),
            grid.shifted(rank, direction, steps),
        ))
    })
}

/// Makes communicators of the parts of a grid that keep some dimensions, as `MPI_Cart_sub`.
pub fn sub(comm: Comm, remain: &[bool]) -> Result<Comm, CommError> {
    let (part, colour, key) = with(comm, |topology, rank| {
        let grid = grid(topology)?;
        let (mut part, mut colour, mut key) = (Vec::new(), 0, 0);
        let coordinates = grid.coordinates(rank);
        for ((dimension, coordinate), &remains) in grid.0.iter().zip(coordinates).zip(remain) {
            let place = match remains {
                true => {
                    part.push(*dimension);
                    &mut key
                }
                false => &mut colour,
            };
            *place = *place * dimension.ranks + coordinate;
        }
        Ok((Cartesian(part), colour, key))
    })?;
    create(comm, colour, key, Topology::Cartesian(part))
}
