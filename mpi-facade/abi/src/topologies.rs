//! Topologies of communicators.

use crate::arguments::{Array, Out};
use alloc::vec::Vec;
use core::ffi::c_int;
use pombo_mpi::constants::*;
use pombo_mpi::error::{Class, Error};
use pombo_mpi::topology::cartesian::{self, Dimension};
use pombo_mpi::topology::dist_graph::{self, DistGraph, Edge, Edges};
use pombo_mpi::topology::{dims, graph, kind};

/// Returns the dimensions of a grid.
fn grid(ndims: c_int, sizes: *mut c_int, periods: *mut c_int) -> Result<Vec<Dimension>, Error> {
    let sizes = Array::list(ndims, sizes, "dims")?.values();
    let periods = Array::list(ndims, periods, "periods")?.values();
    let both = sizes.into_iter().zip(periods);
    let dimension = |(ranks, period)| Dimension {
        ranks,
        is_periodic: period != 0,
    };
    Ok(both.map(dimension).collect())
}

/// Returns the arrays that describe a graph.
fn whole_graph(
    nnodes: c_int,
    index: *mut c_int,
    edges: *mut c_int,
) -> Result<(Vec<c_int>, Vec<c_int>), Error> {
    let index = Array::list(nnodes, index, "index")?.values();
    // The length of `edges` is known only if `index` is right.
    let last = match graph::is_index(&index) {
        true => index.last().copied().unwrap_or(0),
        false => 0,
    };
    let edges = Array::list(last, edges, "edges")?.values();
    Ok((index, edges))
}

/// Returns the weights of edges; `None` for `MPI_UNWEIGHTED`.
fn weights(degree: c_int, weights: *mut c_int) -> Result<Option<Vec<c_int>>, Error> {
    const NAME: &str = "weights";
    match weights {
        MPI_UNWEIGHTED => Ok(None),
        MPI_WEIGHTS_EMPTY if degree > 0 => Err(Error::Argument {
            class: Class::Arg,
            name: NAME,
            must: "an array, as there are edges",
        }),
        MPI_WEIGHTS_EMPTY => Ok(Some(Vec::new())),
        weights => Ok(Some(Array::list(degree, weights, NAME)?.values())),
    }
}

/// Returns the edges at one side of a rank.
fn edges(degree: c_int, ranks: *mut c_int, weight: *mut c_int) -> Result<Edges, Error> {
    Ok(Edges {
        ranks: Array::list(degree, ranks, "sources or destinations")?.values(),
        weights: weights(degree, weight)?,
    })
}

/// Writes the edges at one side of a rank.
fn write_edges(
    edges: Edges,
    most: c_int,
    ranks: *mut c_int,
    weights: *mut c_int,
) -> Result<(), Error> {
    Array::list(most, ranks, "sources or destinations")?.write(edges.ranks);
    match edges.weights {
        Some(values) if ![MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY].contains(&weights) => {
            Array::list(most, weights, "weights")?.write(values);
            Ok(())
        }
        _ => Ok(()),
    }
}

mpi! {
    fn MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) {
        let mut array = Array::list(ndims, dims, "dims")?;
        let mut sizes = array.values();
        dims::create(nnodes, &mut sizes)?;
        array.write(sizes);
        Ok(())
    }

    fn MPI_Topo_test(comm: Comm, status: Out<c_int>) {
        out!(status = kind(comm)?);
        Ok(())
    }

    fn MPI_Cart_create(
        comm_old: Comm,
        ndims: c_int,
        dims: *mut c_int,
        periods: *mut c_int,
        _reorder: c_int,
        comm_cart: Out<Comm>,
    ) {
        out!(comm_cart = cartesian::new(comm_old, grid(ndims, dims, periods)?)?);
        Ok(())
    }

    fn MPI_Cart_map(
        comm: Comm,
        ndims: c_int,
        dims: *mut c_int,
        periods: *mut c_int,
        newrank: Out<c_int>,
    ) {
        out!(newrank = cartesian::map(comm, grid(ndims, dims, periods)?)?);
        Ok(())
    }

    fn MPI_Cartdim_get(comm: Comm, ndims: Out<c_int>) {
        out!(ndims = cartesian::dimensions(comm)?);
        Ok(())
    }

    fn MPI_Cart_get(
        comm: Comm,
        maxdims: c_int,
        dims: *mut c_int,
        periods: *mut c_int,
        coords: *mut c_int,
    ) {
        let (grid, coordinates) = cartesian::get(comm)?;
        let mut sizes = Array::list(maxdims, dims, "dims")?;
        let mut are_periodic = Array::list(maxdims, periods, "periods")?;
        let mut places = Array::list(maxdims, coords, "coords")?;
        sizes.write(grid.iter().map(|dimension| dimension.ranks));
        are_periodic.write(grid.iter().map(|dimension| dimension.is_periodic.into()));
        places.write(coordinates);
        Ok(())
    }

    fn MPI_Cart_rank(comm: Comm, coords: *mut c_int, rank: Out<c_int>) {
        let ndims = cartesian::dimensions(comm)?;
        let coordinates = Array::list(ndims, coords, "coords")?.values();
        out!(rank = cartesian::rank_at(comm, &coordinates)?);
        Ok(())
    }

    fn MPI_Cart_coords(comm: Comm, rank: c_int, maxdims: c_int, coords: *mut c_int) {
        let coordinates = cartesian::coordinates(comm, rank)?;
        if (maxdims as i64) < coordinates.len() as i64 {
            return Err(Error::Argument {
                class: Class::Arg,
                name: "maxdims",
                must: "at least the number of dimensions",
            }.into());
        }
        Array::list(maxdims, coords, "coords")?.write(coordinates);
        Ok(())
    }

    fn MPI_Cart_shift(
        comm: Comm,
        direction: c_int,
        disp: c_int,
        rank_source: Out<c_int>,
        rank_dest: Out<c_int>,
    ) {
        let (source, destination) = cartesian::shift(comm, direction, disp)?;
        out!(rank_source = source, rank_dest = destination);
        Ok(())
    }

    fn MPI_Cart_sub(comm: Comm, remain_dims: *mut c_int, newcomm: Out<Comm>) {
        let ndims = cartesian::dimensions(comm)?;
        let remain = Array::list(ndims, remain_dims, "remain_dims")?.values();
        let remain: Vec<bool> = remain.into_iter().map(|remains| remains != 0).collect();
        out!(newcomm = cartesian::sub(comm, &remain)?);
        Ok(())
    }
}

mpi! {
    fn MPI_Graph_create(
        comm_old: Comm,
        nnodes: c_int,
        index: *mut c_int,
        edges: *mut c_int,
        _reorder: c_int,
        comm_graph: Out<Comm>,
    ) {
        let (index, edges) = whole_graph(nnodes, index, edges)?;
        out!(comm_graph = graph::new(comm_old, index, edges)?);
        Ok(())
    }

    fn MPI_Graph_map(
        comm: Comm,
        nnodes: c_int,
        index: *mut c_int,
        edges: *mut c_int,
        newrank: Out<c_int>,
    ) {
        let (index, edges) = whole_graph(nnodes, index, edges)?;
        out!(newrank = graph::map(comm, index, edges)?);
        Ok(())
    }

    fn MPI_Graphdims_get(comm: Comm, nnodes: Out<c_int>, nedges: Out<c_int>) {
        let (index, edges) = graph::get(comm)?;
        out!(nnodes = index.len() as c_int, nedges = edges.len() as c_int);
        Ok(())
    }

    fn MPI_Graph_get(
        comm: Comm,
        maxindex: c_int,
        maxedges: c_int,
        index: *mut c_int,
        edges: *mut c_int,
    ) {
        let (all_index, all_edges) = graph::get(comm)?;
        Array::list(maxindex, index, "index")?.write(all_index);
        Array::list(maxedges, edges, "edges")?.write(all_edges);
        Ok(())
    }

    fn MPI_Graph_neighbors_count(comm: Comm, rank: c_int, nneighbors: Out<c_int>) {
        out!(nneighbors = graph::neighbours(comm, rank)?.len() as c_int);
        Ok(())
    }

    fn MPI_Graph_neighbors(comm: Comm, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int) {
        let all = graph::neighbours(comm, rank)?;
        Array::list(maxneighbors, neighbors, "neighbors")?.write(all);
        Ok(())
    }
}

mpi! {
    fn MPI_Dist_graph_create_adjacent(
        comm_old: Comm,
        indegree: c_int,
        sources: *mut c_int,
        sourceweights: *mut c_int,
        outdegree: c_int,
        destinations: *mut c_int,
        destweights: *mut c_int,
        _info: Info,
        _reorder: c_int,
        comm_dist_graph: Out<Comm>,
    ) {
        let graph = DistGraph {
            incoming: edges(indegree, sources, sourceweights)?,
            outgoing: edges(outdegree, destinations, destweights)?,
        };
        out!(comm_dist_graph = dist_graph::new_adjacent(comm_old, graph)?);
        Ok(())
    }

    fn MPI_Dist_graph_create(
        comm_old: Comm,
        n: c_int,
        sources: *mut c_int,
        degrees: *mut c_int,
        destinations: *mut c_int,
        weight: *mut c_int,
        _info: Info,
        _reorder: c_int,
        comm_dist_graph: Out<Comm>,
    ) {
        let sources = Array::list(n, sources, "sources")?.values();
        let degrees = Array::list(n, degrees, "degrees")?.values();
        let sum = degrees.iter().try_fold(0, |sum: c_int, &degree| {
            sum.checked_add(degree).filter(|_| degree >= 0)
        });
        let sum = sum.ok_or(Error::Argument {
            class: Class::Arg,
            name: "degrees",
            must: "not negative, and an int in sum",
        })?;
        let destinations = Array::list(sum, destinations, "destinations")?.values();
        let weights = weights(sum, weight)?;
        let repeated = sources.iter().zip(degrees).flat_map(|(&source, degree)| {
            core::iter::repeat_n(source, degree as usize)
        });
        let edges = repeated.zip(destinations).enumerate();
        let edge = |(place, (source, destination))| Edge {
            source,
            destination,
            weight: weights.as_ref().map_or(0, |weights: &Vec<c_int>| weights[place]),
        };
        let edges: Vec<Edge> = edges.map(edge).collect();
        out!(comm_dist_graph = dist_graph::new(comm_old, &edges, weights.is_some())?);
        Ok(())
    }

    fn MPI_Dist_graph_neighbors_count(
        comm: Comm,
        indegree: Out<c_int>,
        outdegree: Out<c_int>,
        weighted: Out<c_int>,
    ) {
        let graph = dist_graph::get(comm)?;
        out!(
            indegree = graph.incoming.ranks.len() as c_int,
            outdegree = graph.outgoing.ranks.len() as c_int,
            weighted = graph.is_weighted().into(),
        );
        Ok(())
    }

    fn MPI_Dist_graph_neighbors(
        comm: Comm,
        maxindegree: c_int,
        sources: *mut c_int,
        sourceweights: *mut c_int,
        maxoutdegree: c_int,
        destinations: *mut c_int,
        destweights: *mut c_int,
    ) {
        let DistGraph { incoming, outgoing } = dist_graph::get(comm)?;
        write_edges(incoming, maxindegree, sources, sourceweights)?;
        write_edges(outgoing, maxoutdegree, destinations, destweights)?;
        Ok(())
    }
}
