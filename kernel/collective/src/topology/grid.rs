//! Ranks in a grid of any number of dimensions, open or closed at the borders.

use super::{FarthestFirst, NetworkMetrics, Routed, Topology};

/// A grid of `D` dimensions; rank 1 is next to rank 0 in the last of them. If `CLOSED`, the last rank of every row has
/// a link to the first.
#[derive(Clone, Copy, Debug)]
pub struct Grid<const D: usize, const CLOSED: bool> {
    extents: [usize; D],
}

/// A grid that is open at its borders.
pub type Mesh<const D: usize> = Grid<D, false>;
/// A grid whose rows are rings.
pub type Torus<const D: usize> = Grid<D, true>;

impl<const D: usize, const CLOSED: bool> Grid<D, CLOSED> {
    /// Creates a grid of these extents, each 1 or more.
    pub const fn new(extents: [usize; D]) -> Self {
        Grid { extents }
    }

    /// Returns the metrics of the grid. The bisection is that of even extents; others cannot be halved by a straight
    /// cut.
    pub const fn metrics(&self) -> NetworkMetrics {
        let (mut figures, mut ranks, mut longest) = (NetworkMetrics::ALONE, 1, 1);
        let mut d = 0;
        while d < D {
            ranks *= self.extents[d];
            if self.extents[d] > longest {
                longest = self.extents[d];
            }
            d += 1;
        }
        d = 0;
        while d < D {
            let extent = self.extents[d];
            // A ring of two ranks has no second link.
            let closed = CLOSED && extent > 2;
            if extent > 1 {
                figures.diameter += if closed { extent / 2 } else { extent - 1 };
                figures.connectivity += if closed { 2 } else { 1 };
                figures.cost += ranks / extent * if closed { extent } else { extent - 1 };
            }
            d += 1;
        }
        if ranks > 1 {
            figures.bisection = ranks / longest * if CLOSED && longest > 2 { 2 } else { 1 };
        }
        figures
    }

    /// Returns the coordinates of a rank, dimension by dimension.
    const fn coordinates(&self, mut rank: usize) -> [usize; D] {
        let mut coordinates = [0; D];
        let mut d = D;
        while d > 0 {
            d -= 1;
            coordinates[d] = rank % self.extents[d];
            rank /= self.extents[d];
        }
        coordinates
    }

    fn rank(&self, coordinates: [usize; D]) -> usize {
        let rows = self.extents.iter().zip(coordinates);
        rows.fold(0, |rank, (extent, at)| rank * extent + at)
    }

    /// Returns the steps upwards and the steps downwards from one coordinate to another, for each direction that is
    /// open.
    fn ways(extent: usize, from: usize, to: usize) -> (usize, usize) {
        if CLOSED {
            let up = (to + extent - from) % extent;
            return (up, extent - up);
        }
        if to >= from {
            (to - from, usize::MAX)
        } else {
            (usize::MAX, from - to)
        }
    }
}

impl<const D: usize, const CLOSED: bool> Topology for Grid<D, CLOSED> {
    type Line = FarthestFirst<Self>;
    type Tree = Routed<Self>;

    fn ranks(&self) -> usize {
        self.extents.iter().product()
    }

    /// Routes dimension by dimension, each in the shorter direction.
    fn toward(&self, from: usize, to: usize) -> usize {
        let (mut at, target) = (self.coordinates(from), self.coordinates(to));
        let rows = at.iter_mut().zip(target).zip(self.extents);
        for ((at, target), extent) in rows {
            if *at != target {
                let (up, down) = Self::ways(extent, *at, target);
                *at = (*at + if up <= down { 1 } else { extent - 1 }) % extent;
                break;
            }
        }
        self.rank(at)
    }

    fn line(&self, root: usize) -> FarthestFirst<Self> {
        FarthestFirst::new(*self, root)
    }

    fn tree(&self, rank: usize, root: usize) -> Routed<Self> {
        Routed::new(*self, rank, root)
    }

    fn hops(&self, from: usize, to: usize) -> usize {
        let ends = self.coordinates(from).into_iter().zip(self.coordinates(to));
        let rows = ends.zip(self.extents).filter(|((a, b), _)| a != b);
        rows.map(|((a, b), extent)| {
            let (up, down) = Self::ways(extent, a, b);
            up.min(down)
        })
        .sum()
    }

    /// Every other row runs backwards, so neighbours on the circle are neighbours in the grid.
    fn at(&self, place: usize) -> usize {
        let (mut at, mut rows) = (self.coordinates(place), 0);
        for (at, extent) in at.iter_mut().zip(self.extents) {
            let straight = *at;
            if rows % 2 == 1 {
                *at = extent - 1 - *at;
            }
            rows = rows * extent + straight;
        }
        self.rank(at)
    }

    fn place(&self, rank: usize) -> usize {
        let rows = self.coordinates(rank).into_iter().zip(self.extents);
        rows.fold(0, |rows, (at, extent)| {
            let straight = if rows % 2 == 1 { extent - 1 - at } else { at };
            rows * extent + straight
        })
    }
}
