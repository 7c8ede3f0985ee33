//! Blocking calls of ranks on several hosts, in parts: inside every host, between the hosts, and inside every host
//! again. They apply only where some host has several ranks; `data_movement` and `reductions` call them.
//!
//! One rank leads each host: the root leads its own host where that saves a step, else the host's first rank. A part is
//! an operation like any other on fewer ranks: over shared memory inside a host, by messages or multicast between
//! hosts. Every reduction operation commutes, so ranks may be placed anywhere; only all-gather needs them in order.

use super::Buffer;
use super::flat_movement::{allgather_on_host, broadcast_by_messages, broadcast_on_host, collect};
use super::flat_reductions::{Reduced, allreduce_by_messages, reduce_by_messages, reduce_on_host};
use super::host_roles::HostRoles;
use super::layout::{Cut, Layout};
use super::operation::PreparedOperation;
use super::prepare::{Call, CallError};
use super::schedule::Steps;
use super::scratch::Scratch;
use crate::constants::{MPI_BOR, MPI_BYTE};
use crate::hosts::HostLayout;
use crate::user_buffer::UserAddress;
use alloc::vec::Vec;
use core::mem::ManuallyDrop;
use pombo_collective as schedules;
use pombo_kernel::Source;

/// Runs `MPI_Bcast`.
pub(super) fn broadcast(call: &mut Call<'_>, buffer: Buffer<'_>) -> Result<bool, CallError> {
    let region = buffer.region(call.datatypes(), 1)?;
    let cast = call.uses_multicast(Source::len(&region))?;
    let roles = HostRoles::of(call)?;
    let (leader, before) = match cast {
        true => roles.multicast_leader(),
        false => (roles.leader(), None),
    };
    if let Some(root) = before {
        roles.enter_host(call, root);
        broadcast_on_host(call, buffer)?;
    }
    if roles.local_rank() == leader {
        roles.enter_leaders(call);
        let ready = match cast {
            true => {
                let cast = Steps::Multicast(call.multicast(roles.root_host(), region)?);
                PreparedOperation::plain(cast, Layout::nothing(), Layout::nothing())
            }
            false => broadcast_by_messages(call, buffer)?,
        };
        call.run_part(ready)?;
    }
    if before.is_none() {
        roles.enter_host(call, leader);
        broadcast_on_host(call, buffer)?;
    }
    Ok(true)
}

/// Runs `MPI_Reduce`.
pub(super) fn reduce(call: &mut Call<'_>, reduced: Reduced<'_>) -> Result<bool, CallError> {
    let roles = HostRoles::of(call)?;
    let leads = roles.local_rank() == roles.leader();
    let (mut inside, mut outside) = (reduced, reduced);
    // After a failure a message may still arrive in this memory, so it is then leaked.
    let mut sum = ManuallyDrop::new(Scratch::default());
    let partial;
    if leads && !roles.is_alone() {
        outside.input = UserAddress::IN_PLACE;
        if !roles.is_on_root_host() {
            let input = reduced.input(call.datatypes())?;
            let (scratch, like) = call.pool().like(&input)?;
            *sum = scratch;
            partial = like.region(schedules::Buffer::Work.block(0));
            inside.output = partial.as_address();
            outside.input = inside.output;
        }
    }
    if !roles.is_alone() {
        roles.enter_host(call, roles.leader());
        reduce_on_host(call, inside)?;
    }
    if leads {
        roles.enter_leaders(call);
        let ready = reduce_by_messages(call, outside)?;
        call.run_part(ready)?;
    }
    let sum = ManuallyDrop::into_inner(sum);
    call.pool().give([sum, Scratch::default()]);
    Ok(true)
}

/// Runs `MPI_Allreduce`.
pub(super) fn allreduce(call: &mut Call<'_>, reduced: Reduced<'_>) -> Result<bool, CallError> {
    let roles = HostRoles::of(call)?;
    let (mut inside, mut outside) = (reduced, reduced);
    if !roles.is_alone() {
        outside.input = UserAddress::IN_PLACE;
        if roles.local_rank() > 0 && reduced.is_in_place() {
            inside.input = reduced.output;
        }
        roles.enter_host(call, 0);
        reduce_on_host(call, inside)?;
    }
    if roles.local_rank() == 0 {
        roles.enter_leaders(call);
        let ready = allreduce_by_messages(call, outside)?;
        call.run_part(ready)?;
    }
    roles.enter_host(call, 0);
    broadcast_on_host(call, reduced.at(reduced.output))?;
    Ok(true)
}

/// Runs `MPI_Barrier` as an all-reduce: no rank has the sum before every rank has contributed.
pub(super) fn barrier(call: &mut Call<'_>) -> Result<bool, CallError> {
    let mut nothing = [0_u8];
    allreduce(call, Reduced::in_place(&mut nothing, MPI_BYTE, MPI_BOR))
}

/// Runs `MPI_Allgather`, where the ranks of every host are consecutive.
pub(super) fn allgather(
    call: &mut Call<'_>,
    send: Buffer<'_>,
    receive: Buffer<'_>,
) -> Result<bool, CallError> {
    let roles = HostRoles::of(call)?;
    let mut ends = call.host_layout()?.map_or_else(Vec::new, HostLayout::ends);
    let ranks = call.position.ranks;
    let all = receive.blocks(call.datatypes(), ranks)?;
    let each = all.items() / ranks;
    let start = roles
        .own_host()
        .checked_sub(1)
        .map_or(0, |before| ends[before]);
    let offset = ((start * each) as isize).wrapping_mul(all.shape().extent());
    ends.iter_mut().for_each(|end| *end *= each);
    let mut own = send;
    if !roles.is_alone() {
        roles.enter_host(call, 0);
        let here = receive.address.offset(offset);
        let receive = Buffer {
            address: here,
            ..receive
        };
        allgather_on_host(call, send, receive)?;
        own.address = UserAddress::IN_PLACE;
    }
    if roles.local_rank() == 0 {
        roles.enter_leaders(call);
        let ready = collect(call, own, all.cut(Cut::At(ends.into())))?;
        call.run_part(ready)?;
    }
    roles.enter_host(call, 0);
    let count = receive.count.saturating_mul(ranks as i64);
    broadcast_on_host(call, Buffer { count, ..receive })?;
    Ok(true)
}
