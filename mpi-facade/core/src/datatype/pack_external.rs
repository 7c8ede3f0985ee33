//! Packing of items in the representation "external32", which all MPI libraries share: values without gaps, most
//! significant byte first, of the sizes that the standard lists. Source: MPI 5.0, sections 5.3 and 14.5.2.

use super::datatypes::Datatypes;
use super::pack::place;
use super::predefined::{Element, predefined};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::objects::Objects;
use crate::packed_message::PackedMessage;
use crate::runtime::world::{self, CommError};
use crate::user_buffer::{Region, UserAddress};
use alloc::vec::Vec;
use pombo_kernel::{Sink, Source};

/// Returns the number of bytes that items take in a representation, as `MPI_Pack_external_size`.
pub fn pack_external_size(
    representation: &[u8],
    count: i64,
    datatype: Datatype,
) -> Result<u64, CommError> {
    check(representation)?;
    world::local(|objects| {
        let items = objects.datatypes.shape(datatype)?.items(count)?;
        Ok(Values::of(&objects.datatypes, datatype)?.bytes(items) as u64)
    })
}

/// Packs items into `room` bytes from `position`, as `MPI_Pack_external`. Returns the position behind them.
pub fn pack_external(
    representation: &[u8],
    items: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    packed: UserAddress<'_>,
    room: i64,
    position: i64,
) -> Result<i64, CommError> {
    check(representation)?;
    world::local(|Objects { datatypes, .. }| {
        let from = items.checked(datatypes, count, datatype)?;
        let values = Values::of(datatypes, datatype)?;
        let count = datatypes.shape(datatype)?.items(count)?;
        let (mut into, end) = part(
            datatypes,
            packed,
            values.bytes(count),
            room,
            position,
            "outsize",
        )?;
        let mut native = PackedMessage::of(&from)?;
        let native = native.region();
        values.each(count, |value, inside, outside| {
            value.write(&native, inside, &mut into, outside)
        })?;
        Ok(end)
    })
}

/// Unpacks items from `room` packed bytes from `position`, as `MPI_Unpack_external`. Returns the position behind them.
pub fn unpack_external(
    representation: &[u8],
    packed: UserAddress<'_>,
    room: i64,
    position: i64,
    items: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
) -> Result<i64, CommError> {
    check(representation)?;
    world::local(|Objects { datatypes, .. }| {
        let into = items.checked(datatypes, count, datatype)?;
        let values = Values::of(datatypes, datatype)?;
        let count = datatypes.shape(datatype)?.items(count)?;
        let (from, end) = part(
            datatypes,
            packed,
            values.bytes(count),
            room,
            position,
            "insize",
        )?;
        let mut native = PackedMessage::of(&into)?;
        let mut native = native.region();
        values.each(count, |value, inside, outside| {
            value.read(&from, outside, &mut native, inside);
            Ok(())
        })?;
        native.copy_to(&into);
        Ok(end)
    })
}

/// Returns that many bytes of the packed buffer from `position`, and the position behind them. `name` is that of the
/// argument `room`.
fn part(
    datatypes: &Datatypes,
    packed: UserAddress<'_>,
    bytes: usize,
    room: i64,
    position: i64,
    name: &'static str,
) -> Result<(Region, i64), Error> {
    let start = place(room, position)?;
    if bytes > room as usize - start {
        return Err(Error::Argument {
            class: Class::Truncate,
            name,
            must: "at least the position and what MPI_Pack_external_size gives",
        });
    }
    let all = packed.checked(datatypes, bytes as i64, MPI_BYTE)?;
    Ok((all.moved(start), (start + bytes) as i64))
}

fn check(representation: &[u8]) -> Result<(), Error> {
    match representation {
        b"external32" => Ok(()),
        _ => Err(Error::Argument {
            class: Class::Arg,
            name: "datarep",
            must: "external32, the only representation that MPI defines for this call",
        }),
    }
}

/// The values of an item, in the order of its data.
struct Values(Vec<Run>);

/// Consecutive values of one kind.
struct Run {
    count: usize,
    value: Value,
}

/// A value: its sizes, and what becomes of it where they differ.
#[derive(Clone, Copy)]
struct Value {
    native: usize,
    external: usize,
    conversion: Conversion,
}

#[derive(Clone, Copy, PartialEq)]
enum Conversion {
    /// Of the order of bytes alone.
    Order,
    /// Of an integer to fewer bytes.
    Signed,
    Unsigned,
    /// Of the 80 bits of the x87 unit to binary128.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    Extended,
}

/// Most bytes of a value.
const MOST: usize = 16;

impl Values {
    fn of(datatypes: &Datatypes, datatype: Datatype) -> Result<Self, Error> {
        let layout = datatypes.layout(datatype)?;
        let runs = layout.value_runs().map(|(datatype, bytes)| {
            let value = Value::of(datatype);
            let count = bytes as usize / value.native;
            Run { count, value }
        });
        Ok(Values(runs.collect()))
    }

    /// Returns the bytes of that many items, which are at most those in memory.
    fn bytes(&self, items: usize) -> usize {
        let runs = self.0.iter();
        let item: usize = runs.map(|run| run.count * run.value.external).sum();
        items * item
    }

    /// Calls `convert` for each value of that many items, with its places in both representations.
    fn each(
        &self,
        items: usize,
        mut convert: impl FnMut(Value, usize, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut inside, mut outside) = (0, 0);
        for _ in 0..items {
            for Run { count, value } in &self.0 {
                for _ in 0..*count {
                    convert(*value, inside, outside)?;
                    inside += value.native;
                    outside += value.external;
                }
            }
        }
        Ok(())
    }
}

impl Value {
    /// Returns how a predefined datatype's values are represented; a complex number has two.
    fn of(datatype: Datatype) -> Self {
        let element = predefined(datatype).map_or(Element::U8, |known| known.element);
        let native = element.size();
        let (external, conversion) = match (datatype, element) {
            (MPI_LONG, _) => (4, Conversion::Signed),
            (MPI_UNSIGNED_LONG, _) => (4, Conversion::Unsigned),
            (MPI_WCHAR, _) => (2, Conversion::Unsigned),
            #[cfg(target_arch = "x86_64")]
            (_, Element::LongDouble) => (native, Conversion::Extended),
            _ => (native, Conversion::Order),
        };
        Value {
            native,
            external,
            conversion,
        }
    }

    /// Converts a value of this machine.
    fn write(
        self,
        native: &Region,
        inside: usize,
        into: &mut Region,
        outside: usize,
    ) -> Result<(), Error> {
        let mut bytes = [0; MOST];
        let value = &mut bytes[..self.native];
        native.copy_out(inside, value);
        if self.conversion == Conversion::Extended {
            let quad = quad_of_extended(u128::from_ne_bytes(bytes));
            into.copy_in(outside, &quad.to_be_bytes());
            return Ok(());
        }
        reverse(value);
        let (dropped, kept) = value.split_at(self.native - self.external);
        let is_negative = self.conversion == Conversion::Signed && kept[0] >= 0x80;
        let sign = if is_negative { 0xff } else { 0 };
        if dropped.iter().any(|byte| *byte != sign) {
            return Err(Error::Argument {
                class: Class::Conversion,
                name: "inbuf",
                must: "values that external32 can hold: 4 bytes of a long, 2 of a wide character",
            });
        }
        into.copy_in(outside, kept);
        Ok(())
    }

    /// Converts a value to that of this machine.
    fn read(self, from: &Region, outside: usize, native: &mut Region, inside: usize) {
        let mut bytes = [0; MOST];
        let start = self.native - self.external;
        from.copy_out(outside, &mut bytes[start..self.native]);
        if self.conversion == Conversion::Extended {
            let extended = extended_of_quad(u128::from_be_bytes(bytes));
            native.copy_in(inside, &extended.to_ne_bytes());
            return;
        }
        if self.conversion == Conversion::Signed && bytes[start] >= 0x80 {
            bytes[..start].fill(0xff);
        }
        let value = &mut bytes[..self.native];
        reverse(value);
        native.copy_in(inside, value);
    }
}

/// Converts between the order of bytes of this machine and the external one.
fn reverse(value: &mut [u8]) {
    if cfg!(target_endian = "little") {
        value.reverse();
    }
}

/// Bits of the fraction of binary128, and of the x87 unit's numbers behind the bit before the point.
const QUAD: u32 = 112;
const EXTENDED: u32 = 63;
const EXPONENTS: u128 = 0x7fff;

/// Converts the 80 bits of the x87 unit to binary128, which has the same exponents and can hold all their values.
fn quad_of_extended(extended: u128) -> u128 {
    let sign = extended >> (EXTENDED + 16) & 1;
    let mut exponent = extended >> (EXTENDED + 1) & EXPONENTS;
    let fraction = extended & ((1 << EXTENDED) - 1);
    // Only the unit knows numbers with the lowest exponent that are not denormal.
    if exponent == 0 && extended >> EXTENDED & 1 == 1 {
        exponent = 1;
    }
    sign << (QUAD + 15) | exponent << QUAD | fraction << (QUAD - EXTENDED)
}

/// Converts binary128 to the nearest number of 80 bits, to the even one of two.
fn extended_of_quad(quad: u128) -> u128 {
    const SURPLUS: u32 = QUAD - EXTENDED;
    let sign = quad >> (QUAD + 15);
    // Exponent and fraction together, so that a carry comes into the exponent.
    let magnitude = quad & ((1 << (QUAD + 15)) - 1);
    let infinity = EXPONENTS << QUAD;
    let mut kept = magnitude >> SURPLUS;
    if magnitude > infinity {
        // It stays no number, whatever bits are lost.
        kept |= 1 << (EXTENDED - 1);
    } else {
        let lost = magnitude & ((1 << SURPLUS) - 1);
        let half = 1 << (SURPLUS - 1);
        kept += u128::from(lost > half || lost == half && kept & 1 == 1);
    }
    let (exponent, fraction) = (kept >> EXTENDED, kept & ((1 << EXTENDED) - 1));
    let before_the_point = u128::from(exponent != 0) << EXTENDED;
    sign << (EXTENDED + 16) | exponent << (EXTENDED + 1) | before_the_point | fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of 80 bits: sign and exponent, then the bit before the point and the fraction.
    const fn extended(head: u16, fraction: u64) -> u128 {
        (head as u128) << 64 | fraction as u128
    }

    #[test]
    fn long_doubles_survive() {
        for (own, quad) in [
            (extended(0, 0), 0),
            (extended(0x3fff, 1 << 63), 0x3fff << 112),
            (extended(0xc000, 3 << 62), 0xc000_8000 << 96),
            (extended(0x7fff, 1 << 63), 0x7fff << 112),
            (extended(0, 1), 1 << 49),
            (extended(0x7ffe, u64::MAX), (0x7fff << 112) - (1 << 49)),
        ] {
            assert_eq!(quad_of_extended(own), quad, "{own:x}");
            assert_eq!(extended_of_quad(quad), own, "{quad:x}");
        }
    }

    #[test]
    fn what_does_not_fit_is_rounded_to_even() {
        let one = 0x3fff_u128 << 112;
        for (lost, fraction) in [
            (0, 0),
            (1 << 48, 0),
            ((1 << 48) + 1, 1),
            (1 << 49 | 1 << 48, 2),
            ((1 << 49) - 1, 1),
        ] {
            assert_eq!(
                extended_of_quad(one | lost),
                extended(0x3fff, 1 << 63 | fraction),
                "{lost:x}"
            );
        }
        // The next number up has another exponent, or is infinite.
        assert_eq!(
            extended_of_quad((0x4000 << 112) - 1),
            extended(0x4000, 1 << 63)
        );
        assert_eq!(
            extended_of_quad((0x7fff << 112) - 1),
            extended(0x7fff, 1 << 63)
        );
        let nan = extended_of_quad((0x7fff << 112) + 1);
        assert_eq!(nan, extended(0x7fff, 3 << 62));
        // The number that only the unit knows.
        assert_eq!(quad_of_extended(extended(0, 1 << 63)), 1 << 112);
    }
}
