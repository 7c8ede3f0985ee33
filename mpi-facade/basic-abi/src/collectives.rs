//! Collective communication. Source: MPI 5.0, sections 6.3, 6.4 and 6.9.

use crate::arguments::{Buffer, check, rank, size_of};
use crate::errors::Fault;
use crate::world::world;
use core::cell::Cell;
use core::ffi::c_int;
use pombo_basic::{Combining, Operator, SharedBytes};
use pombo_mpi::constants::*;
use zerocopy::{FromBytes, IntoBytes};

mpi! {
    fn MPI_Barrier(comm: Comm) {
        check(comm)?;
        Ok(world()?.barrier()?)
    }

    fn MPI_Bcast(buffer: Buffer, count: c_int, datatype: Datatype, root: c_int, comm: Comm) {
        check(comm)?;
        let bytes = buffer.bytes(count, datatype)?;
        Ok(world()?.bcast(bytes, root_of(root)?)?)
    }
}

fn root_of(root: c_int) -> Result<usize, Fault> {
    usize::try_from(root).map_err(|_| Fault::Rank)
}
