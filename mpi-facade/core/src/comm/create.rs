//! Calls that create and free communicators. Source: MPI 5.0, chapter 7.

use crate::collective::{self, Buffer, Collective, Reduced};
use crate::comm::{Boards, CommRecord};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::hosts::HostLayout;
use crate::runtime::world::{self, CommError, World};
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::c_int;
use pombo_kernel::Peer;
use pombo_netdrivers::shm::collective::REGIONS;

/// Returns this rank, as `MPI_Comm_rank`.
#[inline]
pub fn rank(comm: Comm) -> Result<c_int, CommError> {
    world::local(|comms| Ok(comms.get(comm)?.rank as c_int))
}

/// Returns the number of ranks, as `MPI_Comm_size`.
#[inline]
pub fn size(comm: Comm) -> Result<c_int, CommError> {
    world::local(|comms| Ok(comms.get(comm)?.size() as c_int))
}

/// Duplicates a communicator, as `MPI_Comm_dup`.
pub fn duplicate(comm: Comm) -> Result<Comm, CommError> {
    let agreed = agree(comm)?;
    world::with(|world| {
        let record = world.comms.get(comm)?.duplicate(agreed.context);
        Ok(insert(world, record, agreed))
    })
}

/// Splits a communicator, as `MPI_Comm_split`: ranks of one colour, ordered by key and then by rank. Returns
/// `MPI_COMM_NULL` for `MPI_UNDEFINED`.
pub fn split(comm: Comm, colour: c_int, key: c_int) -> Result<Comm, CommError> {
    if colour < 0 && colour != MPI_UNDEFINED {
        let error = Error::Argument {
            class: Class::Arg,
            name: "color",
            must: "0 or more, or MPI_UNDEFINED",
        };
        return Err(CommError::new(error, comm));
    }
    let ranks = size(comm)? as usize;
    let mut all: Vec<[c_int; 2]> = vec![[0; 2]; ranks];
    let mut own = [colour, key];
    let (send, receive) = (
        Buffer::of(&mut own, 1, MPI_INT),
        Buffer::of(&mut all, ranks, MPI_INT),
    );
    collective::allgather(send, receive, comm).run()?;
    // Ranks of different colours exchange no messages, so one new context serves all colours.
    let agreed = agree(comm)?;
    if colour == MPI_UNDEFINED {
        return Ok(Comm::NULL);
    }
    world::with(|world| {
        let record = world.comms.get(comm)?;
        let mut members = Vec::<(c_int, Peer)>::with_capacity(all.len());
        for (&[theirs, key], &peer) in all.iter().zip(&*record.peers) {
            if theirs == colour {
                // Ranks with equal keys stay in rank order.
                let at = members.partition_point(|&(other, _)| other <= key);
                members.insert(at, (key, peer));
            }
        }
        let (handler, context) = (record.handler, agreed.context);
        let peers: Vec<Peer> = members.into_iter().map(|(_, peer)| peer).collect();
        let (own, ranks) = (world.kernel.me(), world.kernel.peers());
        let layout = HostLayout::of(&world.hosts, &peers, own);
        let mut record = CommRecord::new(context, own, peers, ranks, handler);
        record.host_layout = layout;
        Ok(insert(world, record, agreed))
    })
}

/// What the ranks have agreed on for a new communicator.
struct Agreed {
    context: u32,
    /// The region of shared memory that it may use, and the number of its first operation there.
    area: Option<(usize, u64)>,
    /// Whether it may have a multicast group.
    multicast: bool,
}

/// Adds a new communicator.
fn insert(world: &mut World, mut record: CommRecord, agreed: Agreed) -> Comm {
    let Agreed {
        area, multicast, ..
    } = agreed;
    if let Some((area, first)) = area
        && record.size() > 1
    {
        record.boards = collective::enter(world, &record.peers, area, first);
    }
    if let Some(layout) = record.host_layout.as_ref().filter(|_| multicast) {
        record.multicast = collective::open_group(world, record.context, layout.leaders());
    }
    world.comms.insert(record)
}

/// Frees a communicator, as `MPI_Comm_free`.
pub fn free(comm: Comm) -> Result<(), CommError> {
    // The standard calls it collective; no rank has to wait, as contexts are never reused.
    world::with(|world| {
        let boards = world.comms.get(comm).map(|record| record.boards);
        let context = world.comms.get(comm).map(|record| record.context);
        world.comms.free(comm)?;
        if let Ok(context) = context {
            collective::close_group(world, context);
        }
        if let Ok(Boards::Area(area)) = boards {
            world.shm().leave_group(area.into());
        }
        Ok(())
    })
}

/// Says that a region of shared memory is not free.
const TAKEN: u64 = u64::MAX;

/// Agrees on a context that no member has used, the largest next one of all, and on a region of shared memory that is
/// free in all members.
fn agree(comm: Comm) -> Result<Agreed, CommError> {
    let mut all = world::with(|world| {
        world.comms.get(comm)?;
        let mut own = [0; 2 + REGIONS];
        own[0] = u64::from(world.comms.next_context);
        own[1] = u64::from(!collective::has_group_room(world));
        for (first, area) in own[2..].iter_mut().zip(collective::areas(world)) {
            *first = area.unwrap_or(TAKEN);
        }
        Ok(own)
    })?;
    let largest = Reduced::in_place(&mut all, MPI_UINT64_T, MPI_MAX);
    collective::allreduce(largest, comm).run()?;
    let [next, full, areas @ ..] = all;
    let area = areas.iter().position(|first| *first != TAKEN);
    let area = area.map(|area| (area, areas[area]));
    world::with(|world| {
        // The context is doubled in the message header, so it must fit 31 bits.
        let next = next as u32;
        if next >= u32::MAX / 2 {
            let error = Error::Argument {
                class: Class::Other,
                name: "communicator",
                must: "one of the first 2147483647 of a job: contexts are not used again",
            };
            return Err(CommError::new(error, comm));
        }
        world.comms.next_context = next + 1;
        Ok(Agreed {
            context: next,
            area,
            multicast: full == 0,
        })
    })
}
