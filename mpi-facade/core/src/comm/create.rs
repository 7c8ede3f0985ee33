//! Calls that split and free communicators, and how ranks agree on a new one. Source: MPI 5.0, section 7.4.

use crate::attribute;
use crate::collective::{self, Buffer, Collective, Reduced};
use crate::comm::{Boards, CommRecord, FIRST_SPARE, PARTITIONED};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::hosts::HostLayout;
use crate::runtime::world::{self, CommError, World};
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::mem::replace;
use core::ops::Range;
use pombo_kernel::Peer;
use pombo_netdrivers::shm::collective::REGIONS;

/// Returns this rank, as `MPI_Comm_rank`.
#[inline]
pub fn rank(comm: Comm) -> Result<c_int, CommError> {
    Ok(place(comm)?.0)
}

/// Returns this rank and the number of ranks; once for both where speed does not count.
#[cfg_attr(feature = "fast-paths", inline(always))]
#[cfg_attr(not(feature = "fast-paths"), inline(never))]
fn place(comm: Comm) -> Result<(c_int, c_int), CommError> {
    world::local(|objects| {
        let record = objects.comms.get(comm)?;
        Ok((record.rank as c_int, record.group().len() as c_int))
    })
}

/// Returns the number of ranks, as `MPI_Comm_size`.
#[inline]
pub fn size(comm: Comm) -> Result<c_int, CommError> {
    Ok(place(comm)?.1)
}

/// Splits a communicator, as `MPI_Comm_split`: ranks of one colour, ordered by key and then by rank, in both groups of
/// an intercommunicator. Returns `MPI_COMM_NULL` for `MPI_UNDEFINED`, and for a colour that one of two groups lacks.
pub fn split(comm: Comm, colour: c_int, key: c_int) -> Result<Comm, CommError> {
    if colour < 0 && colour != MPI_UNDEFINED {
        let error = Error::Argument {
            class: Class::Arg,
            name: "color",
            must: "0 or more, or MPI_UNDEFINED",
        };
        return Err(CommError::new(error, comm));
    }
    let ranks = world::local(|objects| Ok(objects.comms.get(comm)?.everybody().len()))?;
    let mut all: Vec<[c_int; 2]> = vec![[0; 2]; ranks];
    let mut own = [colour, key];
    let (send, receive) = (
        Buffer::of(&mut own, 1, MPI_INT),
        Buffer::of(&mut all, ranks, MPI_INT),
    );
    match is_inter(comm)? {
        false => collective::allgather(send, receive, comm).run(),
        true => collective::allgather_both(send, receive, comm).run(),
    }?;
    // Ranks of different colours exchange no messages, so one new context serves all colours.
    let agreed = agree(comm, SPARES)?;
    if colour == MPI_UNDEFINED {
        return Ok(Comm::NULL);
    }
    world::with(|world| {
        let record = world.objects.comms.get(comm)?;
        let of_colour = |group: &[Peer], start: usize| -> Vec<Peer> {
            let mut members = Vec::<(c_int, Peer)>::with_capacity(group.len());
            for (&[theirs, key], &peer) in all[start..].iter().zip(group) {
                if theirs == colour {
                    // Ranks with equal keys stay in rank order.
                    let at = members.partition_point(|&(other, _)| other <= key);
                    members.insert(at, (key, peer));
                }
            }
            members.into_iter().map(|(_, peer)| peer).collect()
        };
        let (start, remote_start) = record.starts();
        let (handler, local) = (record.handler, of_colour(record.group(), start));
        if !record.is_inter() {
            return Ok(make(world, local, handler, agreed));
        }
        let remote = of_colour(&record.peers, remote_start);
        match remote.is_empty() {
            false => Ok(make_inter(world, [local, remote], handler, agreed)),
            true => Ok(Comm::NULL),
        }
    })
}

/// Returns whether a communicator is an intercommunicator, as `MPI_Comm_test_inter`.
pub fn is_inter(comm: Comm) -> Result<bool, CommError> {
    world::local(|objects| Ok(objects.comms.get(comm)?.is_inter()))
}

/// Makes a communicator of these peers, with the error handler of its parent.
pub(super) fn make(
    world: &mut World,
    peers: Vec<Peer>,
    handler: Errhandler,
    agreed: Agreed,
) -> Comm {
    let (own, ranks) = (world.kernel.me(), world.kernel.peers());
    let layout = HostLayout::of(&world.hosts, &peers, own);
    let mut record = CommRecord::new(agreed.context, own, peers, ranks, handler);
    record.host_layout = layout;
    insert(world, record, agreed)
}

/// Makes an intercommunicator of a local and a remote group.
pub(super) fn make_inter(
    world: &mut World,
    groups: [Vec<Peer>; 2],
    handler: Errhandler,
    agreed: Agreed,
) -> Comm {
    let (own, ranks) = (world.kernel.me(), world.kernel.peers());
    let record = CommRecord::new_inter(agreed.context, own, groups, ranks, handler);
    insert(world, record, agreed)
}

/// What the ranks have agreed on for a new communicator.
pub(super) struct Agreed {
    /// Its context.
    pub(super) context: u32,
    /// Its spare contexts.
    pub(super) spares: Range<u32>,
    /// The region of shared memory that it may use, and the number of its first operation there.
    area: Option<(usize, u64)>,
    /// Whether it may have a multicast group.
    multicast: bool,
}

/// Adds a new communicator.
pub(super) fn insert(world: &mut World, mut record: CommRecord, agreed: Agreed) -> Comm {
    let Agreed {
        area,
        multicast,
        spares,
        ..
    } = agreed;
    record.spare_contexts = spares;
    if let Some((area, first)) = area
        && record.size() > 1
        && !record.is_inter()
    {
        record.boards = collective::enter(world, &record.peers, area, first);
    }
    if let Some(layout) = record.host_layout.as_ref().filter(|_| multicast) {
        record.multicast = collective::open_group(world, record.context, layout.leaders());
    }
    world.objects.comms.insert(record)
}

/// Frees a communicator after this rank has sent all its messages, as `MPI_Comm_disconnect`.
pub fn disconnect(comm: Comm) -> Result<(), CommError> {
    world::with(|world| {
        world.objects.comms.check_free(comm)?;
        world.until(|world| Ok(world.kernel.is_flushed().then_some(())))
    })?;
    free(comm)
}

/// Frees a communicator, as `MPI_Comm_free`. Its attributes are deleted first; it stays if the function of one fails.
pub fn free(comm: Comm) -> Result<(), CommError> {
    world::with(|world| Ok(world.objects.comms.check_free(comm)?))?;
    attribute::delete_all(comm)?;
    // The standard calls it collective; no rank has to wait, as contexts are never reused.
    world::with(|world| {
        let record = world.objects.comms.get(comm)?;
        // Persistent requests may still use the communicator, but only by messages.
        let (boards, context) = (replace(&mut record.boards, Boards::None), record.context);
        world.objects.comms.free(comm)?;
        collective::close_group(world, context);
        if let Boards::Area(area) = boards {
            world.shm().leave_group(area.into());
        }
        Ok(())
    })
}

/// Says that a region of shared memory is not free.
const TAKEN: u64 = u64::MAX;

/// Spare contexts of a new communicator.
pub(super) const SPARES: u32 = 64;

/// Agrees on a context that no member has used, the largest next one of all; on `spares` further ones; and on a region
/// of shared memory that is free in all members.
pub(super) fn agree(comm: Comm, spares: u32) -> Result<Agreed, CommError> {
    let largest = largest_offer(comm)?;
    accept(comm, largest, spares)
}

/// What a process can offer for a new communicator; the largest numbers of all processes suit all of them.
pub(super) type Offer = [u64; 3 + REGIONS];

/// Returns the largest numbers of all members, of both groups of an intercommunicator.
pub(super) fn largest_offer(comm: Comm) -> Result<Offer, CommError> {
    let mut all = world::with(|world| {
        world.objects.comms.get(comm)?;
        collective::enter_multicast(world, comm)?;
        let mut own = [0; 3 + REGIONS];
        own[0] = u64::from(world.objects.comms.next_context);
        own[1] = u64::from(!collective::has_group_room(world));
        own[2] = u64::from(world.objects.comms.next_spare);
        for (first, area) in own[3..].iter_mut().zip(collective::areas(world)) {
            *first = area.unwrap_or(TAKEN);
        }
        Ok(own)
    })?;
    let largest = Reduced::in_place(&mut all, MPI_UINT64_T, MPI_MAX);
    match is_inter(comm)? {
        false => collective::allreduce(largest, comm).run(),
        true => collective::allreduce_both(largest, comm).run(),
    }?;
    Ok(all)
}

/// Takes what suits all members.
pub(super) fn accept(comm: Comm, largest: Offer, spares: u32) -> Result<Agreed, CommError> {
    let [next, full, spare, areas @ ..] = largest;
    let area = areas.iter().position(|first| *first != TAKEN);
    let area = area.map(|area| (area, areas[area]));
    world::with(|world| {
        let (next, spare) = (next as u32, spare as u32);
        if next >= FIRST_SPARE {
            let error = Error::Argument {
                class: Class::Other,
                name: "communicator",
                must: "one of the first 536870910 of a job: contexts are not used again",
            };
            return Err(CommError::new(error, comm));
        }
        let comms = &mut world.objects.comms;
        comms.next_context = next + 1;
        // Without spare contexts, duplicates synchronise.
        let end = spare.saturating_add(spares);
        comms.next_spare = if end < PARTITIONED { end } else { spare };
        Ok(Agreed {
            context: next,
            spares: spare..comms.next_spare,
            area,
            multicast: full == 0,
        })
    })
}
