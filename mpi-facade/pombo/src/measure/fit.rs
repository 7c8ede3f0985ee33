//! Few straight pieces through measured points. Only `measure` uses it.

/// Times of one size of message, in nanoseconds: t_hold, t_end, and of the operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) bytes: u64,
    pub(super) times: [f64; 3],
}

/// Times below this many nanoseconds differ by noise alone.
const NOISE: f64 = 10.0;

/// Returns the fewest of the points, in order of their sizes, between which straight lines miss no point by more than the
/// tolerance, a part of that point's time; and the largest such part. The first and the last point are always among
/// them.
pub(super) fn knots(points: &[Point], tolerance: f64) -> (Vec<Point>, f64) {
    let Some(last) = points.len().checked_sub(1) else {
        return (Vec::new(), 0.0);
    };
    // For each point: how many pieces lead to it, the largest miss on the way, and where the last piece begins.
    let mut best = vec![(0_usize, 0.0_f64, 0_usize)];
    for end in 1..=last {
        let from = |begin: usize| {
            let (pieces, missed, _) = best[begin];
            let miss = (begin + 1..end).map(|at| miss(points, begin, end, at));
            let miss = miss.fold(0.0, f64::max);
            (miss <= tolerance).then_some((pieces + 1, missed.max(miss), begin))
        };
        let ways = (0..end).filter_map(from);
        // The way from the point before has no point between, so there is one.
        let way = ways.min_by(|one, other| {
            (one.0, one.1)
                .partial_cmp(&(other.0, other.1))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        best.push(way.unwrap_or((end, 0.0, end - 1)));
    }
    let (mut chosen, mut at) = (vec![points[last]], last);
    while at > 0 {
        at = best[at].2;
        chosen.push(points[at]);
    }
    chosen.reverse();
    (chosen, best[last].1)
}

/// Returns by which part of its time the line between two points misses another one at most.
fn miss(points: &[Point], begin: usize, end: usize, at: usize) -> f64 {
    let parts = (0..3).map(|kind| {
        let measured = points[at].times[kind];
        let line = between(&points[begin], &points[end], points[at].bytes, kind);
        ((line - measured).abs() - NOISE).max(0.0) / measured.max(1.0)
    });
    parts.fold(0.0, f64::max)
}

fn between(one: &Point, other: &Point, bytes: u64, kind: usize) -> f64 {
    let part = (bytes - one.bytes) as f64 / (other.bytes - one.bytes) as f64;
    one.times[kind] + part * (other.times[kind] - one.times[kind])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(bytes: u64, time: f64) -> Point {
        Point {
            bytes,
            times: [time, 2.0 * time, 0.5 * time],
        }
    }

    /// 100 ns and 1 ns for each byte up to 8192, then 5000 ns more.
    fn eager_and_rendezvous(bytes: u64) -> Point {
        let more = if bytes > 8192 { 5000.0 } else { 0.0 };
        point(bytes, 100.0 + bytes as f64 + more)
    }

    #[test]
    fn the_pieces_of_synthetic_times() {
        let sizes = [0, 64, 1024, 4096, 8192, 8193, 16384, 65536, 1 << 20];
        let points = sizes.map(eager_and_rendezvous);
        let (knots, missed) = knots(&points, 0.05);
        let found: Vec<u64> = knots.iter().map(|knot| knot.bytes).collect();
        assert_eq!(found, [0, 8192, 8193, 1 << 20]);
        assert!(missed < 1e-9, "{missed}");
    }

    #[test]
    fn a_tolerance_saves_pieces_and_is_told() {
        let points = [point(0, 1000.0), point(50, 1080.0), point(100, 1100.0)];
        let (few, missed) = knots(&points, 0.05);
        assert_eq!(few.len(), 2);
        // 1050 instead of 1080 and twice as much; the noise is off.
        assert!((missed - 50.0 / 2160.0).abs() < 1e-9, "{missed}");
        assert_eq!(knots(&points, 0.01).0.len(), 3);
    }

    #[test]
    fn few_points() {
        assert_eq!(knots(&[], 0.1).0, []);
        assert_eq!(knots(&[point(3, 5.0)], 0.1).0, [point(3, 5.0)]);
    }

    proptest! {
        /// No choice of fewer knots is within the tolerance, and the chosen one is.
        #[test]
        fn fewest_of_all_choices(times in prop::collection::vec(20.0..2000.0_f64, 2..9), tolerance in 0.0..0.5_f64) {
            let points: Vec<Point> = (0..).zip(&times).map(|(at, &time)| point(at * 100, time)).collect();
            let (chosen, missed) = knots(&points, tolerance);
            prop_assert!(missed <= tolerance);
            let last = points.len() - 1;
            let inner = last.saturating_sub(1);
            let choices = (0_u32..1 << inner).map(|bits| {
                let is_in = |at: &usize| *at == 0 || *at == last || bits >> (at - 1) & 1 == 1;
                (0..points.len()).filter(is_in).collect::<Vec<usize>>()
            });
            let fits = |choice: &Vec<usize>| choice.windows(2).all(|ends| {
                (ends[0] + 1..ends[1]).all(|at| miss(&points, ends[0], ends[1], at) <= tolerance)
            });
            let fewest = choices.filter(fits).map(|choice| choice.len()).min();
            prop_assert_eq!(Some(chosen.len()), fewest);
        }
    }
}
