//! What a communicator is: comparison, name and hints. Source: MPI 5.0, sections 7.4.1, 7.4.4 and 7.8.

use crate::comm::CommRecord;
use crate::constants::*;
use crate::group::similarity;
use crate::info;
use crate::runtime::world::{self, CommError};
use alloc::vec::Vec;
use core::ffi::c_int;
use static_assertions::const_assert;

/// Compares two communicators, as `MPI_Comm_compare`: intercommunicators by both groups, of which the less similar
/// counts.
pub fn compare(one: Comm, other: Comm) -> Result<c_int, CommError> {
    world::local(|objects| {
        let of = |record: &mut CommRecord| {
            (
                record.is_inter(),
                record.group().clone(),
                record.peers.clone(),
            )
        };
        let (is_inter, local, remote) = of(objects.comms.get(one)?);
        let (is_other_inter, other_local, other_remote) = of(objects.comms.get(other)?);
        if one == other {
            return Ok(MPI_IDENT);
        }
        if is_inter != is_other_inter {
            return Ok(MPI_UNEQUAL);
        }
        const_assert!(MPI_CONGRUENT < MPI_SIMILAR && MPI_SIMILAR < MPI_UNEQUAL);
        Ok(similarity(&local, &other_local).max(similarity(&remote, &other_remote)))
    })
}

/// Checks that a communicator exists.
pub fn check(comm: Comm) -> Result<(), CommError> {
    world::local(|objects| {
        objects.comms.get(comm)?;
        Ok(())
    })
}

/// Sets a communicator's name, as `MPI_Comm_set_name`; a longer one is truncated.
pub fn set_name(comm: Comm, name: &[u8]) -> Result<(), CommError> {
    let len = name.len().min(MPI_MAX_OBJECT_NAME as usize - 1);
    world::local(|objects| {
        objects.comms.get(comm)?.name = Some(name[..len].into());
        Ok(())
    })
}

/// Returns a communicator's name, as `MPI_Comm_get_name`; empty if it has none.
pub fn name(comm: Comm) -> Result<Vec<u8>, CommError> {
    world::local(|objects| {
        let predefined: &[u8] = match comm {
            MPI_COMM_NULL => return Ok(b"MPI_COMM_NULL".into()),
            MPI_COMM_WORLD => b"MPI_COMM_WORLD",
            MPI_COMM_SELF => b"MPI_COMM_SELF",
            _ => b"",
        };
        let name = &objects.comms.get(comm)?.name;
        Ok(name.as_deref().unwrap_or(predefined).into())
    })
}

/// Sets those of the hints that are known, as `MPI_Comm_set_info`.
pub fn set_info(comm: Comm, info: Info) -> Result<(), CommError> {
    world::local(|objects| {
        let record = objects.comms.get(comm)?;
        let hints = info::hints(info, &objects.environment).map_err(CommError::on(comm))?;
        record.set_hints(&hints);
        Ok(())
    })
}

/// Returns an info object with a communicator's hints, as `MPI_Comm_get_info`.
pub fn info(comm: Comm) -> Result<Info, CommError> {
    let hints = world::local(|objects| Ok(objects.comms.get(comm)?.hints().clone()))?;
    Ok(info::insert(hints))
}
