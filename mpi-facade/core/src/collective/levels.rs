//! Blocking calls of ranks on several hosts, in parts: inside every host, between the hosts, inside every host again.
//! Only where some hosts have several ranks; called by `moves` and `reductions`.
//!
//! One rank speaks for each host: the root for its own where that saves a step, else the host's first one. A part is an
//! operation like any other, on fewer ranks: over boards inside a host, between hosts by messages or by the network's
//! own broadcast. Every operation there is commutes, so ranks may lie anywhere; only all-gather wants them in order.

use super::Buffer;
use super::call::{Call, Stop};
use super::flat_moves::{allgather_here, broadcast_by_messages, broadcast_here, collect};
use super::flat_reductions::{Reduced, allreduce_by_messages, reduce_by_messages, reduce_here};
use super::layout::{Cut, Layout};
use super::parts::Parts;
use super::prepared::Ready;
use super::schedule::Steps;
use super::scratch::Scratch;
use crate::constants::{MPI_BOR, MPI_BYTE, MPI_IN_PLACE};
use crate::hosts::Levels;
use alloc::vec::Vec;
use core::mem::ManuallyDrop;
use pombo_collective::Buffer as Name;
use pombo_kernel::Source;

/// `MPI_Bcast`.
pub(super) fn broadcast(call: &mut Call<'_>, buffer: Buffer) -> Result<bool, Stop> {
    let region = buffer.region(1)?;
    let cast = call.casts(Source::len(&region))?;
    let parts = Parts::of(call)?;
    let (speaker, before) = match cast {
        true => parts.casters(),
        false => (parts.speaker(), None),
    };
    if let Some(root) = before {
        parts.near(call, root);
        broadcast_here(call, buffer)?;
    }
    if parts.place() == speaker {
        parts.far(call);
        let ready = match cast {
            true => {
                let cast = Steps::Cast(call.cast(parts.host(), region)?);
                Ready::plain(cast, Layout::nothing(), Layout::nothing())
            }
            false => broadcast_by_messages(call, buffer)?,
        };
        call.carry_out(ready)?;
    }
    if before.is_none() {
        parts.near(call, speaker);
        broadcast_here(call, buffer)?;
    }
    Ok(true)
}

/// `MPI_Reduce`.
pub(super) fn reduce(call: &mut Call<'_>, reduced: Reduced) -> Result<bool, Stop> {
    let parts = Parts::of(call)?;
    let speaks = parts.place() == parts.speaker();
    let (mut inside, mut outside) = (reduced, reduced);
    // If it comes to no good end, a message may still lead here: then it is kept for ever.
    let mut sum = ManuallyDrop::new(Scratch::default());
    if speaks && !parts.alone() {
        outside.input = MPI_IN_PLACE;
        if !parts.at_root() {
            let (scratch, place) = call.pool().like(&reduced.input()?)?;
            inside.output = place.region(Name::Work.block(0)).base().cast();
            outside.input = inside.output;
            *sum = scratch;
        }
    }
    if !parts.alone() {
        parts.near(call, parts.speaker());
        reduce_here(call, inside)?;
    }
    if speaks {
        parts.far(call);
        let ready = reduce_by_messages(call, outside)?;
        call.carry_out(ready)?;
    }
    let sum = ManuallyDrop::into_inner(sum);
    call.pool().give([sum, Scratch::default()]);
    Ok(true)
}

/// `MPI_Allreduce`.
pub(super) fn allreduce(call: &mut Call<'_>, reduced: Reduced) -> Result<bool, Stop> {
    let parts = Parts::of(call)?;
    let (mut inside, mut outside) = (reduced, reduced);
    if !parts.alone() {
        outside.input = MPI_IN_PLACE;
        if parts.place() > 0 && reduced.is_in_place() {
            inside.input = reduced.output;
        }
        parts.near(call, 0);
        reduce_here(call, inside)?;
    }
    if parts.place() == 0 {
        parts.far(call);
        let ready = allreduce_by_messages(call, outside)?;
        call.carry_out(ready)?;
    }
    parts.near(call, 0);
    broadcast_here(call, reduced.at(reduced.output))?;
    Ok(true)
}

/// `MPI_Barrier`: nobody has the sum before everybody came.
pub(super) fn barrier(call: &mut Call<'_>) -> Result<bool, Stop> {
    let mut nothing = 0_u8;
    let reduced = Reduced {
        input: MPI_IN_PLACE,
        output: (&raw mut nothing).cast(),
        count: 1,
        datatype: MPI_BYTE,
        op: MPI_BOR,
    };
    allreduce(call, reduced)
}

/// `MPI_Allgather`, where every host's ranks follow each other.
pub(super) fn allgather(call: &mut Call<'_>, send: Buffer, receive: Buffer) -> Result<bool, Stop> {
    let parts = Parts::of(call)?;
    let mut ends = call.levels()?.map_or_else(Vec::new, Levels::ends);
    let (all, ranks) = (receive.blocks(call.stand.ranks)?, call.stand.ranks);
    let each = all.items() / ranks;
    let start = parts.here().checked_sub(1).map_or(0, |before| ends[before]);
    let offset = (start * each).wrapping_mul(all.shape().extent());
    ends.iter_mut().for_each(|end| *end *= each);
    let mut own = send;
    if !parts.alone() {
        parts.near(call, 0);
        let here = receive.address.wrapping_byte_add(offset);
        let receive = Buffer {
            address: here,
            ..receive
        };
        allgather_here(call, send, receive)?;
        own.address = MPI_IN_PLACE;
    }
    if parts.place() == 0 {
        parts.far(call);
        let ready = collect(call, own, all.cut(Cut::At(ends)))?;
        call.carry_out(ready)?;
    }
    parts.near(call, 0);
    let count = receive.count.saturating_mul(ranks as i64);
    broadcast_here(call, Buffer { count, ..receive })?;
    Ok(true)
}
