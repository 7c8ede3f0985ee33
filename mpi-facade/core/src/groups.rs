//! Calls that make and free communicators. Source: MPI 5.0, chapter 7.

use crate::collective::{self, Buffer, Reduced};
use crate::comm::Group;
use crate::constants::*;
use crate::error::{Class, Error};
use crate::world::{self, Fault};
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::c_int;
use pombo_kernel::Node;

/// `MPI_Comm_rank`.
#[inline]
pub fn rank(comm: Comm) -> Result<c_int, Fault> {
    world::with(|world| Ok(world.comms.get(comm)?.rank as c_int))
}

/// `MPI_Comm_size`.
#[inline]
pub fn size(comm: Comm) -> Result<c_int, Fault> {
    world::with(|world| Ok(world.comms.get(comm)?.size() as c_int))
}

/// `MPI_Comm_dup`.
pub fn duplicate(comm: Comm) -> Result<Comm, Fault> {
    let context = agree(comm)?;
    world::with(|world| {
        let own = world.kernel.node();
        let all = world.kernel.nodes();
        let group = world.comms.get(comm)?;
        let copy = Group::new(context, own, group.nodes.clone(), all, group.handler);
        Ok(world.comms.insert(copy))
    })
}

/// `MPI_Comm_split`: ranks of one colour, ordered by key and then by rank. `MPI_COMM_NULL` for `MPI_UNDEFINED`.
pub fn split(comm: Comm, colour: c_int, key: c_int) -> Result<Comm, Fault> {
    if colour < 0 && colour != MPI_UNDEFINED {
        let error = Error::Argument {
            class: Class::Arg,
            name: "color",
            must: "0 or more, or MPI_UNDEFINED",
        };
        return Err(Fault { error, comm });
    }
    let ranks = size(comm)? as usize;
    let mut all: Vec<[c_int; 2]> = vec![[0; 2]; ranks];
    let mut own = [colour, key];
    let send = Buffer {
        address: own.as_mut_ptr().cast(),
        count: 2,
        datatype: MPI_INT,
    };
    let receive = Buffer {
        address: all.as_mut_ptr().cast(),
        count: 2,
        datatype: MPI_INT,
    };
    // SAFETY: two ints here, two from every rank there.
    unsafe { collective::allgather(send, receive, comm)?.run()? };
    // Groups of different colours never talk, so one new context serves them all.
    let context = agree(comm)?;
    if colour == MPI_UNDEFINED {
        return Ok(Comm::NULL);
    }
    world::with(|world| {
        let own = world.kernel.node();
        let world_size = world.kernel.nodes();
        let group = world.comms.get(comm)?;
        let mut members: Vec<(c_int, Node)> = all
            .iter()
            .zip(&group.nodes)
            .filter(|([theirs, _], _)| *theirs == colour)
            .map(|([_, key], &node)| (*key, node))
            .collect();
        // The sort is stable: equal keys stay in rank order.
        members.sort_by_key(|&(key, _)| key);
        let nodes = members.into_iter().map(|(_, node)| node).collect();
        let part = Group::new(context, own, nodes, world_size, group.handler);
        Ok(world.comms.insert(part))
    })
}

/// `MPI_Comm_free`.
pub fn free(comm: Comm) -> Result<(), Fault> {
    // The standard calls it collective; nobody has to wait, for contexts are never used again.
    world::with(|world| world.comms.free(comm).map_err(Fault::on(MPI_COMM_WORLD)))
}

/// A context that no member has used: the largest next one of all.
fn agree(comm: Comm) -> Result<u32, Fault> {
    let mut next = world::with(|world| {
        world.comms.get(comm)?;
        Ok(world.comms.next_context)
    })?;
    let largest = Reduced {
        input: MPI_IN_PLACE,
        output: (&raw mut next).cast(),
        count: 1,
        datatype: MPI_UINT32_T,
        op: MPI_MAX,
    };
    // SAFETY: one unsigned int.
    unsafe { collective::allreduce(largest, comm)?.run()? };
    world::with(|world| {
        // The context number doubles on the wire.
        if next >= u32::MAX / 2 {
            let error = Error::Argument {
                class: Class::Other,
                name: "communicator",
                must: "one of the first 2147483647 of a job: contexts are not used again",
            };
            return Err(Fault { error, comm });
        }
        world.comms.next_context = next + 1;
        Ok(next)
    })
}
