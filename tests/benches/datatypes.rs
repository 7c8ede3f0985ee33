//! Measures gathering a message from user memory and scattering it, for each level of datatypes, beside a plain copy.
//! All data stays in one core's caches.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use pombo_kernel::aspect::{Cap, Element, Static, Storage};
use pombo_kernel::layout::{Entry, Layout, Part};
use pombo_kernel::memory::{Items, LayoutSink, LayoutSource, Values, ValuesMut};
use pombo_kernel::{Sink, Source};
use zerocopy::IntoBytes;

/// Bytes of a message: one value, the size of a frame, more than the first-level cache.
const SIZES: [usize; 3] = [8, 4 << 10, 64 << 10];
/// Pieces of a message of irregular layout.
const PIECES: usize = 8;
/// Bytes of a frame's payload: longer messages are split.
const FRAME: usize = 4 << 10;

type Table = <Static as Storage>::Slice<Entry<Element>, Cap<PIECES>>;

/// Returns the layout of so many values in pieces at growing distances.
fn pieces(values: usize) -> Layout<Table> {
    let value = Layout::of(Element::F64).expect("a value");
    let each = values.div_ceil(PIECES);
    let pieces = (0..PIECES).take_while(|piece| piece * each < values);
    let places = pieces.map(|piece| {
        let count = each.min(values - piece * each) as u64;
        Part::items((8 * piece * (each + piece)) as i64, count, &value)
    });
    Layout::of_parts(places).expect("room for the pieces")
}

/// Returns the layout of so many values with as many between them.
fn column(values: usize) -> Layout<Table> {
    let value = Layout::<Table>::of(Element::F64).expect("a value");
    value.repeated(values as u64, 16).expect("it is short")
}

fn gather(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, source: &dyn Source) {
    let mut frame = [0; FRAME];
    group.bench_function(name, |b| {
        b.iter(|| {
            let source = black_box(source);
            for offset in (0..source.len()).step_by(FRAME) {
                let len = FRAME.min(source.len() - offset);
                source.copy_out(offset, black_box(&mut frame[..len]));
            }
        });
    });
}

fn swap(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, source: &dyn Source) {
    let mut frame = [0; FRAME];
    group.bench_function(name, |b| {
        b.iter(|| {
            let source = black_box(source);
            for offset in (0..source.len()).step_by(FRAME) {
                let len = FRAME.min(source.len() - offset);
                source.copy_out_swapped(offset, black_box(&mut frame[..len]));
            }
        });
    });
}

fn scatter(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, sink: &mut dyn Sink) {
    let frame = [1; FRAME];
    group.bench_function(name, |b| {
        b.iter(|| {
            let sink = black_box(&mut *sink);
            for offset in (0..sink.len()).step_by(FRAME) {
                let len = FRAME.min(sink.len() - offset);
                sink.copy_in(offset, black_box(&frame[..len]));
            }
        });
    });
}

fn gathers(c: &mut Criterion) {
    for size in SIZES {
        let values = vec![1.0_f64; size / 8];
        let bytes = vec![1_u8; size];
        let spread = vec![1.0_f64; 2 * values.len() + PIECES * PIECES];
        let (pieces, column) = (pieces(values.len()), column(values.len()));
        let irregular = LayoutSource::new(spread.as_bytes(), 0, 1, &pieces).expect("it fits");
        let every_other = LayoutSource::new(spread.as_bytes(), 0, 1, &column).expect("it fits");
        let mut group = c.benchmark_group(format!("gather {size} B"));
        group.throughput(Throughput::Bytes(size as u64));
        gather(&mut group, "bytes", &&*bytes);
        gather(&mut group, "values", &Values::of(&values));
        gather(&mut group, "items", &Items::new(Values::of(&values), 4));
        gather(&mut group, "eight pieces", &irregular);
        gather(&mut group, "every other value", &every_other);
        swap(&mut group, "values, other byte order", &Values::of(&values));
        group.finish();
    }
}

fn scatters(c: &mut Criterion) {
    for size in SIZES {
        let mut values = vec![0.0_f64; size / 8];
        let mut bytes = vec![0_u8; size];
        let mut group = c.benchmark_group(format!("scatter {size} B"));
        group.throughput(Throughput::Bytes(size as u64));
        scatter(&mut group, "bytes", &mut &mut *bytes);
        scatter(&mut group, "values", &mut ValuesMut::of(&mut values));
        let mut spread = vec![0.0_f64; 2 * values.len() + PIECES * PIECES];
        let (pieces, column) = (pieces(values.len()), column(values.len()));
        for (name, layout) in [("eight pieces", &pieces), ("every other value", &column)] {
            let sink = LayoutSink::new(spread.as_mut_bytes(), 0, 1, layout);
            scatter(&mut group, name, &mut sink.expect("it fits"));
        }
        group.finish();
    }
}

/// Returns short measuring times, because there are many measurements.
fn brief() -> Criterion {
    let warm_up = Duration::from_millis(100);
    let measurement = Duration::from_millis(400);
    Criterion::default()
        .warm_up_time(warm_up)
        .measurement_time(measurement)
}

criterion_group! {
    name = benches;
    config = brief();
    targets = gathers, scatters
}
criterion_main!(benches);
