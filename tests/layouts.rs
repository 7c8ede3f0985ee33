//! Random layouts against the simplest model: a list of all values of an item with their displacements.

use pombo_kernel::aspect::{Cap, Element, Static, Storage};
use pombo_kernel::layout::{BasicType, Entry, Layout, Part};
use pombo_kernel::{Error, LayoutSink, LayoutSource, Sink, Source};
use proptest::prelude::*;

type Table = <pombo_netdrivers::HeapStorage as Storage>::Slice<Entry<Element>, Cap<100_000>>;
type HeapLayout = Layout<Table>;

/// How a layout is made.
#[derive(Clone, Debug)]
enum Recipe {
    Value(Element),
    /// Runs of values, each with the bytes in front of it, except of the first one, and their number.
    Runs(Vec<(u32, u32, Element)>),
    Repeated(Box<Recipe>, u64, i64),
    Consecutive(Box<Recipe>, u64),
    Parts(Vec<(i64, u64, Recipe)>),
    SameParts(Vec<(i64, u64)>, Box<Recipe>),
    Resized(Box<Recipe>, i64, i64),
    Padded(Box<Recipe>),
}

/// An item as a list of values.
#[derive(Clone, Debug, Default)]
struct Model {
    values: Vec<(i64, Element)>,
    /// Lower and upper bounds of all copies that have bounds, and whether they were set.
    bounds: Option<(i64, i64, bool)>,
}

impl Model {
    fn add(&mut self, other: &Model, offset: i64) {
        let moved = |&(at, element): &(i64, Element)| (at + offset, element);
        self.values.extend(other.values.iter().map(moved));
        let Some((low, high, set)) = other.bounds else {
            return;
        };
        let (low, high) = (low + offset, high + offset);
        self.bounds = Some(match self.bounds {
            None => (low, high, set),
            Some((_, _, false)) if set => (low, high, true),
            Some((own_low, own_high, true)) if !set => (own_low, own_high, true),
            Some((own_low, own_high, _)) => (own_low.min(low), own_high.max(high), set),
        });
    }

    fn extent(&self) -> i64 {
        self.bounds.map_or(0, |(low, high, _)| high - low)
    }

    /// The bytes of a message: for each the displacement of its value, and which byte of that it is.
    fn bytes(&self, items: u64) -> Vec<(i64, u64, Element)> {
        let mut bytes = Vec::new();
        for item in 0..items as i64 {
            for &(at, element) in &self.values {
                let at = at + item * self.extent();
                bytes.extend((0..element.packed_size()).map(|phase| (at, phase, element)));
            }
        }
        bytes
    }
}

fn build(recipe: &Recipe) -> (HeapLayout, Model) {
    let mut model = Model::default();
    let layout = match recipe {
        Recipe::Value(element) => {
            model.values.push((0, *element));
            model.bounds = Some((0, element.size() as i64, false));
            HeapLayout::of(*element)
        }
        Recipe::Runs(runs) => {
            let (mut placed, mut end) = (Vec::new(), 0);
            for (place, &(gap, count, element)) in runs.iter().enumerate() {
                end += if place == 0 { 0 } else { gap };
                placed.push((i64::from(end), element, u64::from(count)));
                for _ in 0..count {
                    model.values.push((end.into(), element));
                    end += element.size() as u32;
                }
            }
            let alignment = runs.iter().map(|(.., element)| element.alignment()).max();
            let end = u64::from(end).next_multiple_of(alignment.expect("a run"));
            model.bounds = Some((0, end as i64, false));
            HeapLayout::of_runs(&placed).and_then(Layout::padded)
        }
        Recipe::Repeated(inner, count, stride) => {
            let (layout, inner) = build(inner);
            (0..*count as i64).for_each(|copy| model.add(&inner, copy * stride));
            layout.repeated(*count, *stride)
        }
        Recipe::Consecutive(inner, count) => {
            let (layout, inner) = build(inner);
            (0..*count as i64).for_each(|copy| model.add(&inner, copy * inner.extent()));
            layout.repeated(*count, layout.bounds().extent())
        }
        Recipe::Parts(parts) => {
            let built: Vec<_> = parts.iter().map(|(_, _, inner)| build(inner)).collect();
            for ((offset, count, _), (_, inner)) in parts.iter().zip(&built) {
                let copies = 0..*count as i64;
                copies.for_each(|copy| model.add(inner, offset + copy * inner.extent()));
            }
            let together = parts.iter().zip(&built);
            HeapLayout::of_parts(
                together
                    .map(|((offset, count, _), (layout, _))| Part::items(*offset, *count, layout)),
            )
        }
        Recipe::SameParts(parts, inner) => {
            let (layout, inner) = build(inner);
            for (offset, count) in parts {
                let copies = 0..*count as i64;
                copies.for_each(|copy| model.add(&inner, offset + copy * inner.extent()));
            }
            let parts = parts.iter();
            HeapLayout::of_parts(parts.map(|(offset, count)| Part::items(*offset, *count, &layout)))
        }
        Recipe::Resized(inner, low, extent) => {
            let (layout, inner) = build(inner);
            (model.values, model.bounds) = (inner.values, Some((*low, low + extent, true)));
            layout.resized(*low, *extent)
        }
        Recipe::Padded(inner) => {
            let (layout, inner) = build(inner);
            model = inner;
            let alignment = model.values.iter().map(|(_, element)| element.alignment());
            if let (Some((low, high, false)), Some(alignment)) = (model.bounds, alignment.max()) {
                let extent = (high - low) as u64;
                let padded = extent.next_multiple_of(alignment) as i64;
                model.bounds = Some((low, low + padded, false));
            }
            layout.padded()
        }
    };
    (layout.expect("small numbers"), model)
}

/// Types that travel as they are, and one that is widened.
const NATIVE: &[Element] = &[Element::Byte, Element::I16, Element::I32, Element::F64];
const ALL: &[Element] = &[
    Element::Byte,
    Element::I16,
    Element::F64,
    Element::NarrowInt,
];

/// A number of copies: rarely none.
fn count(most: u64) -> impl Strategy<Value = u64> {
    prop_oneof![9 => 1..=most, 1 => Just(0)]
}

fn recipe(elements: &'static [Element]) -> impl Strategy<Value = Recipe> {
    let value = prop::sample::select(elements).prop_map(Recipe::Value);
    let run = (0..9_u32, 1..4_u32, prop::sample::select(elements));
    let runs = prop::collection::vec(run, 1..4).prop_map(Recipe::Runs);
    prop_oneof![3 => value, 1 => runs].prop_recursive(6, 40, 4, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let places = prop::collection::vec((-60..60_i64, count(2)), 1..5);
        let regular = prop::collection::vec((0..6_i64).prop_map(|place| (8 * place, 1)), 1..6);
        let parts = prop::collection::vec((-60..60_i64, count(3), inner.clone()), 1..4);
        prop_oneof![
            2 => (boxed(), count(4), -40..40_i64).prop_map(|(i, c, s)| Recipe::Repeated(i, c, s)),
            1 => (boxed(), count(4)).prop_map(|(i, c)| Recipe::Consecutive(i, c)),
            3 => parts.prop_map(Recipe::Parts),
            2 => (places, boxed()).prop_map(|(p, i)| Recipe::SameParts(p, i)),
            1 => (regular, boxed()).prop_map(|(p, i)| Recipe::SameParts(p, i)),
            1 => (boxed(), -20..20_i64, -30..60_i64).prop_map(|(i, l, e)| Recipe::Resized(i, l, e)),
            1 => boxed().prop_map(Recipe::Padded),
        ]
    })
}

/// All bytes of these blocks, as [`Model::bytes`].
fn walked(layout: &HeapLayout, items: u64, offset: u64, len: u64) -> Vec<(i64, u64, Element)> {
    let mut bytes = Vec::new();
    for block in layout.blocks(items, offset, len) {
        let (size, packed) = (block.element.size(), block.element.packed_size());
        assert!(block.len > 0 && block.count > 0);
        for piece in 0..block.count as i64 {
            let start = block.displacement + piece * block.stride;
            let phases = block.phase..block.phase + block.len;
            bytes.extend(phases.map(|phase| {
                let value = start + (phase / packed * size) as i64;
                (value, phase % packed, block.element)
            }));
        }
    }
    bytes
}

proptest! {
    /// Checks size, bounds and numbers of values, and that any range of bytes is walked as the model lists it.
    #[test]
    fn a_layout_is_its_list_of_values(
        recipe in recipe(ALL),
        items in count(3),
        cut in any::<(u16, u16)>(),
    ) {
        let (layout, model) = build(&recipe);
        let bytes = model.bytes(items);
        let each = model.bytes(1).len() as u64;
        prop_assert_eq!(layout.size(), each);
        prop_assert_eq!(layout.elements(), model.values.len() as u64);
        let bounds = layout.bounds();
        let expected = model.bounds.map_or((0, 0), |(low, high, _)| (low, high));
        prop_assert_eq!((bounds.lower, bounds.upper), expected);
        let first = model.values.iter().map(|(at, _)| *at).min();
        let end = model.values.iter().map(|(at, element)| at + element.size() as i64).max();
        let true_bounds = (first.unwrap_or(0), end.unwrap_or(0));
        prop_assert_eq!((bounds.true_lower, bounds.true_upper), true_bounds);
        prop_assert_eq!(&walked(&layout, items, 0, u64::MAX), &bytes);
        let offset = usize::from(cut.0) % (bytes.len() + 1);
        let len = usize::from(cut.1) % (bytes.len() - offset + 1);
        let range = walked(&layout, items, offset as u64, len as u64);
        prop_assert_eq!(&range[..], &bytes[offset..offset + len]);
        let whole = bytes[..offset].iter().filter(|(_, phase, element)| phase + 1 == element.packed_size());
        prop_assert_eq!(layout.elements_in(offset as u64), whole.count() as u64);
        if layout.is_contiguous() {
            let in_order = bytes.iter().zip(0_i64..).all(|((at, phase, element), place)| {
                at + *phase as i64 == place && element.size() == element.packed_size()
            });
            prop_assert!(in_order || bytes.iter().any(|(_, _, e)| e.size() != e.packed_size()));
        }
    }

    /// Checks that what is gathered in any pieces is what the model lists, and that scattering puts it back and writes
    /// nothing else.
    #[test]
    fn data_goes_out_and_comes_back(
        recipe in recipe(NATIVE),
        items in count(2),
        step in 1..40_usize,
        swapped: bool,
    ) {
        let (layout, model) = build(&recipe);
        let bytes = model.bytes(items);
        let (first, end) = layout.reach(items);
        let (origin, len) = ((-first).max(0) as usize, (end - first).max(end) as usize);
        let memory: Vec<u8> = (0..len).map(|at| (at * 7 + 3) as u8).collect();
        let source = LayoutSource::new(&memory, origin, items as usize, &layout).expect("it fits");
        prop_assert_eq!(source.len(), bytes.len());
        let place = |(at, phase, element): &(i64, u64, Element)| {
            let phase = if swapped { element.size() - 1 - phase } else { *phase };
            (origin as i64 + at) as usize + phase as usize
        };
        let mut message = vec![0; bytes.len()];
        for (offset, piece) in (0..).step_by(step).zip(message.chunks_mut(step)) {
            match swapped {
                true => source.copy_out_swapped(offset, piece),
                false => source.copy_out(offset, piece),
            }
        }
        let expected: Vec<u8> = bytes.iter().map(|byte| memory[place(byte)]).collect();
        prop_assert_eq!(&message, &expected);
        let mut back = vec![0xAA; len];
        let mut sink = LayoutSink::new(&mut back, origin, items as usize, &layout).expect("it fits");
        for (offset, piece) in (0..).step_by(step).zip(message.chunks(step)) {
            match swapped {
                true => sink.copy_in_swapped(offset, piece),
                false => sink.copy_in(offset, piece),
            }
        }
        let mut expected = vec![0xAA; len];
        for (byte, value) in bytes.iter().zip(&message) {
            expected[place(byte)] = *value;
        }
        prop_assert_eq!(back, expected);
        if !bytes.is_empty() {
            let short = LayoutSource::new(&memory[..len - 1], origin, items as usize, &layout);
            prop_assert_eq!(short.map(drop), Err(Error::OutOfBounds));
        }
    }
}

/// Checks that regular data takes one entry, however it was described.
#[test]
fn regular_data_is_one_block() {
    let value = HeapLayout::of(Element::F64).expect("a value");
    let row = value.repeated(100, 8).expect("a row");
    assert!(row.is_contiguous());
    let matrix = row.repeated(50, 800).expect("a matrix");
    assert!(matrix.is_contiguous());
    let column = value.repeated(50, 800).expect("a column");
    let places = (0..50).map(|row| Part::items(row * 800, 1, &value));
    let listed = HeapLayout::of_parts(places).expect("a list");
    for layout in [&column, &listed] {
        let blocks: Vec<_> = layout.blocks(1, 0, u64::MAX).collect();
        assert_eq!(blocks.len(), 1);
        assert_eq!(
            (blocks[0].len, blocks[0].count, blocks[0].stride),
            (8, 50, 800)
        );
    }
    // An array of structures of one value and padding is regular too.
    let padded = value.resized(0, 16).expect("room");
    assert_eq!(padded.blocks(1000, 0, u64::MAX).count(), 1);
}

/// Checks that data is not taken for regular, and that equal parts share their description.
#[test]
fn irregular_data_is_as_many_blocks_as_needed() {
    let value = HeapLayout::of(Element::I32).expect("a value");
    let [near, far] = [8, 12].map(|stride| value.repeated(2, stride).expect("a column"));
    let columns = HeapLayout::of_parts([Part::items(0, 1, &near), Part::items(16, 1, &far)]);
    let columns = columns.expect("two columns");
    let displacements: Vec<_> = walked(&columns, 1, 0, 16)
        .iter()
        .map(|byte| byte.0)
        .collect();
    assert_eq!(
        displacements
            .chunks(4)
            .map(|value| value[0])
            .collect::<Vec<_>>(),
        [0, 8, 16, 28]
    );
    let places = [0, 100, 250].map(|offset| Part::items(offset, 2, &columns));
    type Small = Layout<<Static as Storage>::Slice<Entry<Element>, Cap<5>>>;
    let small = Small::of(Element::I32).expect("a value");
    let [near, far] = [8, 12].map(|stride| small.repeated(2, stride).expect("a column"));
    let columns = Small::of_parts([Part::items(0, 1, &near), Part::items(16, 1, &far)]);
    let columns = columns.expect("two columns");
    let shared = Small::of_parts([0, 100, 250].map(|offset| Part::items(offset, 2, &columns)));
    let shared = shared.expect("two entries for the columns, three for their places");
    let whole = HeapLayout::of_parts(places).expect("there is room");
    let blocks = |layout: &Small| layout.blocks(1, 0, u64::MAX).collect::<Vec<_>>();
    assert_eq!(
        blocks(&shared),
        whole.blocks(1, 0, u64::MAX).collect::<Vec<_>>()
    );
    let full = Small::of_parts([0, 100, 250, 300].map(|offset| Part::items(offset, 2, &columns)));
    assert_eq!(full.map(drop), Err(Error::Full));
}

#[test]
fn runs_are_the_layout_of_the_same_parts() {
    type Small = Layout<heapless::Vec<Entry<Element>, 8>>;
    let runs = [
        (8, Element::F64, 2),
        (24, Element::F64, 1),
        (36, Element::F64, 0),
        (40, Element::I16, 3),
        (0, Element::I16, 1),
    ];
    for end in 0..=runs.len() {
        let runs = &runs[..end];
        let parts = runs.iter().map(|&(offset, element, values)| {
            let value = Small::of(element).expect("a value");
            (
                offset,
                value
                    .repeated(values, value.bounds().extent())
                    .expect("a run"),
            )
        });
        let parts: Vec<_> = parts.collect();
        let parts = parts
            .iter()
            .map(|(offset, run)| Part::items(*offset, 1, run));
        let expected = Small::of_parts(parts).expect("a layout");
        let layout = Small::of_runs(runs).expect("a layout");
        assert_eq!(format!("{layout:?}"), format!("{expected:?}"));
    }
    let long = (0, Element::F64, 1 << 59);
    assert_eq!(
        Small::of_runs(&[long; 3]).map(drop),
        Err(Error::LayoutOverflow)
    );
    for (offset, values) in [(i64::MAX - 7, 1), (0, 1 << 61)] {
        let layout = Small::of_runs(&[(offset, Element::F64, values)]);
        assert_eq!(layout.map(drop), Err(Error::LayoutOverflow));
    }
}

/// Checks the bounds: what does not fit is an error and no panic.
#[test]
fn numbers_that_do_not_fit_are_refused() {
    let value = HeapLayout::of(Element::F64).expect("a value");
    let overflow =
        |layout: Result<HeapLayout, Error>| layout.map(drop) == Err(Error::LayoutOverflow);
    assert!(overflow(value.repeated(1 << 61, 8)));
    assert!(overflow(value.repeated(3, i64::MAX)));
    assert!(overflow(value.repeated(3, i64::MIN)));
    assert!(overflow(
        HeapLayout::of(Element::F64).and_then(|value| value.resized(i64::MAX, 1))
    ));
    let far = HeapLayout::of_parts([Part::items(i64::MAX - 7, 1, &value)]);
    assert!(overflow(far));
    let small = HeapLayout::of(Element::I16).expect("a value");
    let mut nested = Ok(value);
    let mut depth = 0;
    while let Ok(layout) = &nested {
        depth += 1;
        let parts = [
            Part::items(0, 1, layout),
            Part::items(100 * depth, 1, &small),
        ];
        nested = HeapLayout::of_parts(parts);
    }
    let deepest = pombo_kernel::layout::MAX_DEPTH as i64;
    assert!(overflow(nested) && depth == deepest + 2);
}
