//! Tests every operation on every datatype against arithmetic on `i128`, aligned and unaligned.

extern crate std;
use super::*;
use core::mem::align_of;
use datatype::Element;
use names::Shown;
use std::format;
use std::vec;
use std::vec::Vec;
use zerocopy::{FromBytes, IntoBytes};

const OPS: [Op; 14] = [
    MPI_SUM,
    MPI_MIN,
    MPI_MAX,
    MPI_PROD,
    MPI_BAND,
    MPI_BOR,
    MPI_BXOR,
    MPI_LAND,
    MPI_LOR,
    MPI_LXOR,
    MPI_MINLOC,
    MPI_MAXLOC,
    MPI_REPLACE,
    MPI_NO_OP,
];

/// Number of items: enough for whole vectors and a remainder, of any element.
const COUNT: usize = 67;
const UNTOUCHED: u8 = 0xa5;

/// An item as integers: one, or two of a pair or a complex number.
type Item = [i128; 2];

/// Returns offsets and machine types of an item's parts.
fn parts(known: &Predefined) -> Vec<(usize, Element)> {
    let element = known.element;
    match known.family {
        Family::Complex | Family::Twin => vec![(0, element), (element.size(), element)],
        Family::Indexed => vec![(0, element), (known.index_offset(), Element::I32)],
        _ => vec![(0, element)],
    }
}

/// Returns the significant bytes of a value.
fn encode(value: i128, element: Element) -> Vec<u8> {
    match element {
        Element::F32 => (value as f32).to_ne_bytes().to_vec(),
        Element::F64 => (value as f64).to_ne_bytes().to_vec(),
        #[cfg(target_arch = "x86_64")]
        Element::LongDouble => long_double::LongDouble::from(value as i64)
            .to_bytes()
            .to_vec(),
        _ => value.to_le_bytes()[..element.size()].to_vec(),
    }
}

/// Returns the result as an integer type wraps it.
fn wrapped(value: i128, element: Element) -> i128 {
    match element {
        Element::I8 => value as i8 as i128,
        Element::U8 => value as u8 as i128,
        Element::I16 => value as i16 as i128,
        Element::U16 => value as u16 as i128,
        Element::I32 => value as i32 as i128,
        Element::U32 => value as u32 as i128,
        Element::I64 => value as i64 as i128,
        Element::U64 => value as u64 as i128,
        _ => value,
    }
}

fn model(op: Op, family: Family, a: Item, b: Item) -> Item {
    let lower = a[1].min(b[1]);
    let place = |wins: bool| match (a[0] == b[0], wins) {
        (true, _) => [a[0], lower],
        (false, true) => a,
        (false, false) => b,
    };
    let truths = (a[0] != 0, b[0] != 0);
    let one = |value: i128| [value, 0];
    match op {
        MPI_SUM => [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])],
        MPI_PROD if family == Family::Complex => {
            [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
        }
        MPI_PROD => one(a[0].wrapping_mul(b[0])),
        MPI_MAX => one(a[0].max(b[0])),
        MPI_MIN => one(a[0].min(b[0])),
        MPI_BAND => one(a[0] & b[0]),
        MPI_BOR => one(a[0] | b[0]),
        MPI_BXOR => one(a[0] ^ b[0]),
        MPI_LAND => one((truths.0 && truths.1).into()),
        MPI_LOR => one((truths.0 || truths.1).into()),
        MPI_LXOR => one((truths.0 != truths.1).into()),
        MPI_MAXLOC => place(a[0] > b[0]),
        MPI_MINLOC => place(a[0] < b[0]),
        MPI_REPLACE => a,
        _ => b,
    }
}

/// A small random generator with a fixed seed, so that failures are reproducible.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns an item: wide for integers; small and odd for floating point, so that results are exact and no zero has
    /// a sign; from few values for pairs and logical values, so that some are equal.
    fn item(&mut self, known: &Predefined) -> Item {
        let element = known.element;
        core::array::from_fn(|_| {
            let wide = (self.next() as i128) << 64 | self.next() as i128;
            match known.family {
                Family::Indexed | Family::Twin => wide.rem_euclid(5) - 2,
                Family::Logical => wide.rem_euclid(3),
                Family::Floating | Family::Complex => 2 * wide.rem_euclid(500) - 499,
                _ if self.next().is_multiple_of(8) => 0,
                _ => wrapped(wide, element),
            }
        })
    }
}

/// Returns memory of items behind `skew` bytes, with a pattern in gaps and padding.
fn memory(items: &[Item], known: &Predefined, skew: usize) -> Vec<u128> {
    let mut words =
        vec![u128::from_ne_bytes([UNTOUCHED; 16]); items.len() * known.extent().div_ceil(16) + 1];
    for (i, item) in items.iter().enumerate() {
        for ((offset, element), value) in parts(known).into_iter().zip(item) {
            let bytes = encode(*value, element);
            let at = skew + i * known.extent() + offset;
            bytes_of(&mut words)[at..at + bytes.len()].copy_from_slice(&bytes);
        }
    }
    words
}

fn bytes_of(words: &mut [u128]) -> &mut [u8] {
    words.as_mut_bytes()
}

fn region<T: FromBytes>(memory: &mut [T], items: usize, known: &'static Predefined) -> Region {
    let (datatype, _) = datatype::all()
        .find(|(_, other)| other.name() == known.name())
        .unwrap();
    let shape = Datatypes::new().shape(datatype).unwrap();
    UserAddress::of(memory).region(items, shape)
}

fn run(op: Op, datatype: Datatype, known: &'static Predefined, skew: usize) {
    let reduction = check(&Datatypes::new(), op, datatype).unwrap();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ datatype.0 as u64 ^ (op.0 as u64) << 32);
    let a: Vec<Item> = (0..COUNT).map(|_| numbers.item(known)).collect();
    let b: Vec<Item> = (0..COUNT).map(|_| numbers.item(known)).collect();
    let expected: Vec<Item> = a
        .iter()
        .zip(&b)
        .map(|(a, b)| model(op, known.family, *a, *b))
        .collect();

    let (mut input, mut inout) = (memory(&a, known, skew), memory(&b, known, skew));
    let before = input.clone();
    let from = region(&mut bytes_of(&mut input)[skew..], COUNT, known);
    let to = region(&mut bytes_of(&mut inout)[skew..], COUNT, known);
    reduction.apply_predefined(&from, &to, &to);
    assert_eq!(input, before);
    let mut expected = memory(&expected, known, skew);
    if known.element == Element::LongDouble {
        // The six bytes behind each value are padding and may change.
        blank_padding(&mut expected, known, skew);
        blank_padding(&mut inout, known, skew);
    }
    assert!(
        bytes_of(&mut inout) == bytes_of(&mut expected),
        "{} {} skew {skew}",
        Shown(op),
        known.name()
    );
}

fn blank_padding(words: &mut [u128], known: &Predefined, skew: usize) {
    let bytes = bytes_of(words);
    for start in (0..COUNT).map(|i| skew + i * known.extent()) {
        for (offset, element) in parts(known)
            .into_iter()
            .filter(|part| part.1 == Element::LongDouble)
        {
            bytes[start + offset + 10..start + offset + element.size()].fill(0);
        }
    }
}

/// Returns whether reductions support an element: not half and quadruple precision, nor `long double` where it is not
/// the x87's.
fn has_arithmetic(element: Element) -> bool {
    match element {
        Element::F16 | Element::F128 => false,
        Element::LongDouble => cfg!(target_arch = "x86_64"),
        _ => true,
    }
}

#[test]
fn every_operation_on_every_datatype() {
    let mut runs = 0;
    for (datatype, known) in datatype::all() {
        for op in OPS {
            let moves_only = is_for_windows_only(op) && known.family != Family::Indexed;
            if !takes(op, known.family) {
                assert_eq!(
                    check(&Datatypes::new(), op, datatype).err(),
                    Some(Error::Reduction { op, datatype })
                );
            } else if !has_arithmetic(known.element) && !moves_only && op != MPI_NO_OP {
                assert_eq!(
                    check(&Datatypes::new(), op, datatype).err(),
                    Some(Error::Unsupported { name: known.name() })
                );
            } else {
                runs += 1;
                run(op, datatype, known, 0);
                run(op, datatype, known, 1);
            }
        }
    }
    assert!(runs > 400, "{runs}");
}

#[test]
fn input_and_result_may_be_the_same_memory() {
    let mut values: Vec<f64> = (0..COUNT as i32).map(f64::from).collect();
    let reduction = check(&Datatypes::new(), MPI_SUM, MPI_DOUBLE).unwrap();
    let known = datatype::predefined(MPI_DOUBLE).unwrap();
    let memory = region(&mut values, COUNT, known);
    reduction.apply_predefined(&memory, &memory, &memory);
    assert!(
        values
            .iter()
            .enumerate()
            .all(|(i, value)| *value == 2.0 * i as f64)
    );
}

#[test]
#[cfg(target_arch = "x86_64")]
fn long_double_keeps_all_its_bits() {
    use long_double::LongDouble;
    use number::Number;
    let large = LongDouble::from(i64::MAX - 1);
    let sum = large.plus(LongDouble::from(1));
    assert_eq!(sum.to_bytes(), LongDouble::from(i64::MAX).to_bytes());
    assert!(sum.exceeds(large) && !large.exceeds(sum) && !large.equals(sum));
    assert_eq!(sum.minus(large).to_bytes(), LongDouble::from(1).to_bytes());
    assert_eq!(align_of::<LongDouble>(), 16);
}

#[test]
fn what_is_no_number_wins_against_nothing() {
    let reduction = check(&Datatypes::new(), MPI_MAX, MPI_FLOAT).unwrap();
    let (mut input, mut inout) = ([f32::NAN, 1.0], [2.0, 3.0f32]);
    let known = datatype::predefined(MPI_FLOAT).unwrap();
    let (from, to) = (region(&mut input, 2, known), region(&mut inout, 2, known));
    reduction.apply_predefined(&from, &to, &to);
    assert_eq!(inout, [2.0, 3.0]);
}

#[test]
fn unknown_handles_are_named() {
    assert_eq!(
        check(&Datatypes::new(), MPI_SUM, Datatype(9)).err(),
        Some(Error::Handle {
            kind: Kind::Datatype,
            got: 9
        })
    );
    assert_eq!(
        check(&Datatypes::new(), MPI_OP_NULL, MPI_INT).err(),
        Some(Error::Handle {
            kind: Kind::Op,
            got: MPI_OP_NULL.0
        })
    );
}

#[test]
fn operations_have_the_names_of_their_constants() {
    macro_rules! check {
        ($($op:ident)*) => {$(
            assert_eq!(format!("{}", Shown($op)), stringify!($op));
        )*};
    }
    check! {
        MPI_SUM MPI_MIN MPI_MAX MPI_PROD MPI_BAND MPI_BOR MPI_BXOR MPI_LAND MPI_LOR MPI_LXOR MPI_MINLOC MPI_MAXLOC
        MPI_REPLACE MPI_NO_OP
    }
    assert_eq!(
        format!("{}", Shown(MPI_OP_NULL)),
        format!("operation {:#x}", MPI_OP_NULL.0)
    );
}
