//! What C functions are given: checked here, and made what the facade takes.

use crate::errors::FatalError;
use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr::slice_from_raw_parts;
use pombo_basic::{SharedBytes, Status as Found};
use pombo_mpi::c_arguments::OutPointer;
use pombo_mpi::constants::*;
use pombo_mpi::datatype::dense_sizes;
use pombo_mpi::status::Status;

/// The address of a result or of a value that the call reads.
pub(crate) type Out<T> = Option<OutPointer<T>>;

/// Returns an address that must not be null.
pub(crate) fn given<T>(place: Out<T>) -> Result<OutPointer<T>, FatalError> {
    place.ok_or(FatalError::Null)
}

/// The start of a message buffer. The C caller promises its memory until the operation is complete (MPI 5.0, sections 3.2.2
/// and 3.7.2): what is sent is not changed, and what is received is not used by others.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Buffer(*const c_void);

impl Buffer {
    /// Returns the bytes of the buffer.
    pub(crate) fn bytes(
        self,
        count: c_int,
        datatype: Datatype,
    ) -> Result<SharedBytes<'static>, FatalError> {
        let size = size_of(datatype)?;
        let Ok(count) = usize::try_from(count) else {
            return Err(FatalError::Count);
        };
        if count == 0 {
            return Ok(SharedBytes::nothing());
        }
        if self.0.is_null() || self.is_in_place() {
            return Err(FatalError::Buffer);
        }
        let cells = slice_from_raw_parts(self.0.cast::<Cell<u8>>(), count * size);
        // SAFETY: the C caller has promised the memory until the operation is complete (see the type), after which nothing
        // here uses it; its thread alone calls MPI meanwhile. An int times at most 32 does not overflow.
        Ok(SharedBytes::from_cells(unsafe { &*cells }))
    }

    /// Returns whether it is `MPI_IN_PLACE`.
    pub(crate) fn is_in_place(self) -> bool {
        self.0 == MPI_IN_PLACE.cast_const()
    }
}

/// The bytes of an item of the datatypes whose items have no gaps, by their handles; 0 for others.
static SIZES: [u8; 240] = dense_sizes();

/// Returns the bytes of an item.
pub(crate) fn size_of(datatype: Datatype) -> Result<usize, FatalError> {
    let size = SIZES.get(datatype.0.wrapping_sub(MPI_DATATYPE_NULL.0));
    match size {
        Some(size) if *size > 0 => Ok(usize::from(*size)),
        _ => Err(FatalError::Datatype),
    }
}

/// Returns the rank to send to or to receive from; `None` for `MPI_PROC_NULL`.
pub(crate) fn rank(rank: c_int) -> Result<Option<usize>, FatalError> {
    match usize::try_from(rank) {
        Ok(rank) => Ok(Some(rank)),
        Err(_) if rank == MPI_PROC_NULL => Ok(None),
        Err(_) => Err(FatalError::Rank),
    }
}

/// Returns the number of a tag.
pub(crate) fn tag(tag: c_int) -> Result<u32, FatalError> {
    u32::try_from(tag).map_err(|_| FatalError::Tag)
}

/// Refuses all communicators but that of all ranks.
pub(crate) fn check(comm: Comm) -> Result<(), FatalError> {
    match comm {
        MPI_COMM_WORLD => Ok(()),
        _ => Err(FatalError::Comm),
    }
}

/// Returns the status of a message.
pub(crate) fn received(found: Found) -> Status {
    Status::received(
        found.source as c_int,
        found.tag as c_int,
        found.bytes as u64,
    )
}
