//! Packing of items into contiguous memory, as messages do it. Source: MPI 5.0, section 5.2.

use super::shape::Shape;
use crate::constants::{Comm, Datatype};
use crate::error::{Class, Error};
use crate::runtime::world::{self, CommError};
use crate::user_buffer::UserAddress;
use pombo_kernel::Source;

/// Returns the largest number of bytes that items take when packed, as `MPI_Pack_size`.
pub fn pack_size(count: i64, datatype: Datatype, comm: Comm) -> Result<u64, CommError> {
    world::local(|objects| {
        objects.comms.get(comm)?;
        let shape = objects
            .datatypes
            .shape(datatype)
            .map_err(CommError::on(comm))?;
        let items = shape.items(count).map_err(CommError::on(comm))?;
        Ok((items * shape.size()) as u64)
    })
}

/// Packs items into `room` bytes from `position`, as `MPI_Pack`. Returns the position behind them.
pub fn pack(
    items: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    packed: UserAddress<'_>,
    room: i64,
    position: i64,
    comm: Comm,
) -> Result<i64, CommError> {
    world::local(|objects| {
        objects.comms.get(comm)?;
        let failure = CommError::on(comm);
        let from = items
            .checked(&objects.datatypes, count, datatype)
            .map_err(&failure)?;
        let (bytes, start) = (Source::len(&from), place(room, position).map_err(&failure)?);
        if bytes > room as usize - start {
            return Err(failure(Error::Argument {
                class: Class::Truncate,
                name: "outsize",
                must: "at least the position and what MPI_Pack_size gives",
            }));
        }
        let into = packed
            .checked(&objects.datatypes, bytes as i64, crate::constants::MPI_BYTE)
            .map_err(&failure)?;
        from.copy_to(&into.moved(start));
        Ok((start + bytes) as i64)
    })
}

/// Unpacks items from `room` packed bytes from `position`, as `MPI_Unpack`. Returns the position behind them.
pub fn unpack(
    packed: UserAddress<'_>,
    room: i64,
    position: i64,
    items: UserAddress<'_>,
    count: i64,
    datatype: Datatype,
    comm: Comm,
) -> Result<i64, CommError> {
    world::local(|objects| {
        objects.comms.get(comm)?;
        let failure = CommError::on(comm);
        let into = items
            .checked(&objects.datatypes, count, datatype)
            .map_err(&failure)?;
        let (bytes, start) = (Source::len(&into), place(room, position).map_err(&failure)?);
        if bytes > room as usize - start {
            return Err(failure(Error::Truncated {
                sent: bytes as u64,
                room: (room as usize - start) as u64,
                source: None,
                tag: None,
            }));
        }
        let from = packed
            .checked(&objects.datatypes, bytes as i64, crate::constants::MPI_BYTE)
            .map_err(&failure)?;
        from.moved(start).copy_to(&into);
        Ok((start + bytes) as i64)
    })
}

/// Checks a position in a packed buffer.
pub(super) fn place(room: i64, position: i64) -> Result<usize, Error> {
    let room = Shape::BYTE.items(room)?;
    usize::try_from(position)
        .ok()
        .filter(|place| *place <= room)
        .ok_or(Error::Argument {
            class: Class::Arg,
            name: "position",
            must: "0 to the bytes of the packed buffer",
        })
}
