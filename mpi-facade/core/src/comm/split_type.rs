//! Communicators of the ranks that share a resource. Source: MPI 5.0, section 7.4.2.

use super::create::split;
use crate::constants::*;
use crate::error::{Class, Error};
use crate::info;
use crate::runtime::phase;
use crate::runtime::world::{self, CommError, World};
use core::ffi::c_int;

/// Splits a communicator by a resource, as `MPI_Comm_split_type`: ranks of one host that share its memory. Hosts are the
/// only resource that is known; for others all ranks get `MPI_COMM_NULL`. Of an intercommunicator the result is one,
/// too.
pub fn split_type(comm: Comm, kind: c_int, key: c_int, info: Info) -> Result<Comm, CommError> {
    let on = CommError::on(comm);
    let hardware = info::get(info, b"mpi_hw_resource_type").map_err(&on)?;
    let set = info::get(info, b"mpi_pset_name").map_err(&on)?;
    let is_host = hardware.as_deref() == Some(b"mpi_shared_memory");
    let colour = world::with(|world| {
        let spans_hosts = world.objects.comms.get(comm)?.host_layout.is_some();
        Ok(match kind {
            MPI_UNDEFINED => MPI_UNDEFINED,
            MPI_COMM_TYPE_SHARED => host(world),
            // The result must be smaller than the communicator.
            MPI_COMM_TYPE_HW_UNGUIDED if spans_hosts => host(world),
            MPI_COMM_TYPE_HW_UNGUIDED => MPI_UNDEFINED,
            MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED if is_host => host(world),
            MPI_COMM_TYPE_HW_GUIDED => MPI_UNDEFINED,
            MPI_COMM_TYPE_RESOURCE_GUIDED => match set.as_deref() {
                Some(b"mpi://WORLD") => 0,
                Some(b"mpi://SELF") => phase::rank() as c_int,
                _ => MPI_UNDEFINED,
            },
            _ => {
                return Err(on(Error::Argument {
                    class: Class::Arg,
                    name: "split_type",
                    must: "an MPI_COMM_TYPE_* or MPI_UNDEFINED",
                }));
            }
        })
    })?;
    split(comm, colour, key)
}

/// Returns the number of this process's host.
fn host(world: &World) -> c_int {
    world.hosts.of(world.kernel.me()) as c_int
}
