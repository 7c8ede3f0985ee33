//! Packing of items in the representation "external32", which all MPI libraries share: values without gaps, most
//! significant byte first, of the sizes that the standard lists. Source: MPI 5.0, sections 5.3 and 14.5.2.

use super::datatypes::Datatypes;
use super::pack::place;
use super::predefined::{Element, predefined};
use super::representation::{MOST, from_message, to_message};
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
        let mut native = PackedMessage::as_it_is(&from)?;
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
        let mut native = PackedMessage::as_it_is(&into)?;
        let mut native = native.region();
        values.each(count, |value, inside, outside| {
            value.read(&from, outside, &mut native, inside);
            Ok(())
        })?;
        native.copy_unconverted(&into);
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
    element: Element,
    external: usize,
    conversion: Conversion,
}

#[derive(Clone, Copy, PartialEq)]
enum Conversion {
    /// To as many bytes.
    Whole,
    /// Of an integer to fewer bytes.
    Signed,
    Unsigned,
}

impl Values {
    fn of(datatypes: &Datatypes, datatype: Datatype) -> Result<Self, Error> {
        let layout = datatypes.layout(datatype)?;
        let runs = layout.value_runs().map(|(datatype, bytes)| {
            let value = Value::of(datatype);
            let count = bytes as usize / value.element.size();
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
                    inside += value.element.size();
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
        let (external, conversion) = match datatype {
            MPI_LONG => (4, Conversion::Signed),
            MPI_UNSIGNED_LONG => (4, Conversion::Unsigned),
            MPI_WCHAR => (2, Conversion::Unsigned),
            _ => (element.size(), Conversion::Whole),
        };
        Value {
            element,
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
        let value = &mut bytes[..self.element.size()];
        native.copy_out(inside, value);
        to_message(self.element, value);
        let (dropped, kept) = value.split_at(value.len() - self.external);
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
        let value = &mut bytes[..self.element.size()];
        let (missing, given) = value.split_at_mut(self.element.size() - self.external);
        from.copy_out(outside, given);
        if self.conversion == Conversion::Signed && given[0] >= 0x80 {
            missing.fill(0xff);
        }
        from_message(self.element, value);
        native.copy_in(inside, value);
    }
}
