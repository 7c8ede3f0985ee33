//! Intercommunicators: how two groups become one, and one intracommunicator becomes of both. Source: MPI 5.0, section
//! 7.6.
//!
//! In an intercommunicator's record the peers are those of the remote group, so that messages take the same path as in
//! an intracommunicator.

use super::create::{Offer, SPARES, accept, agree, largest_offer, make, make_inter};
use crate::collective::{self, Buffer, Collective, Reduced};
use crate::constants::*;
use crate::error::{Class, Error};
use crate::p2p::{self, Side};
use crate::runtime::world::{self, CommError};
use crate::status::Status;
use crate::user_buffer::UserAddress;
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::c_int;
use pombo_kernel::Peer;

/// Makes an intercommunicator of two groups, as `MPI_Intercomm_create`. The leaders exchange what they have over
/// `peer_comm`, which like `remote_leader` counts at the leaders only, and each tells its group.
pub fn create(
    local_comm: Comm,
    local_leader: c_int,
    peer_comm: Comm,
    remote_leader: c_int,
    tag: c_int,
) -> Result<Comm, CommError> {
    let failure = CommError::on(local_comm);
    let (local, handler, is_leader, processes) = world::with(|world| {
        let processes = world.kernel.peers();
        let record = world.objects.comms.get(local_comm)?;
        record.check_intra().map_err(&failure)?;
        record.peer(local_leader).map_err(&failure)?;
        let is_leader = record.rank == local_leader as usize;
        Ok((record.peers.to_vec(), record.handler, is_leader, processes))
    })?;
    let offer = largest_offer(local_comm)?;
    let mut remote = vec![0; HEAD + processes];
    let mut exchanged = Ok(());
    if is_leader {
        let own = message(&offer, &local, processes);
        let done = exchange(own, &mut remote, peer_comm, remote_leader, tag);
        exchanged = done.map_err(|failed| failure(failed.error));
        if let Err(failed) = &exchanged {
            remote[FAILED] = failed.error.class() as u64;
        }
    }
    let told = Buffer::of(&mut remote, 1, MPI_UINT64_T);
    collective::broadcast(told, local_leader, local_comm).run()?;
    exchanged?;
    let (largest, members) = read(&remote, offer).map_err(&failure)?;
    if local.iter().any(|peer| members.contains(peer)) {
        return Err(failure(wrong(
            Class::Comm,
            "local_comm",
            "of processes that are not in the remote group",
        )));
    }
    let agreed = accept(local_comm, largest, SPARES)?;
    world::with(|world| Ok(make_inter(world, [local, members], handler, agreed)))
}

/// The words of a leader's message: the class of an error (told to the group only), the number of members, the offer,
/// and the members.
const FAILED: usize = 0;
const MEMBERS: usize = 1;
const OFFER: usize = 2;
const HEAD: usize = OFFER + size_of::<Offer>() / size_of::<u64>();

/// Returns the message of a leader. All have one length, as no leader knows the size of the other group.
fn message(offer: &Offer, group: &[Peer], processes: usize) -> Vec<u64> {
    let mut message = vec![0, group.len() as u64];
    message.extend(offer);
    message.extend(group.iter().map(|peer| u64::from(peer.0)));
    message.resize(HEAD + processes, 0);
    message
}

/// Returns what suits both groups, and the members of the remote one.
fn read(message: &[u64], own: Offer) -> Result<(Offer, Vec<Peer>), Error> {
    if let Some(class) =
        Class::from_code(message[FAILED] as c_int).filter(|it| *it != Class::Success)
    {
        return Err(wrong(
            class,
            "peer_comm, remote_leader or tag",
            "right at the local leader",
        ));
    }
    let mut offer = own;
    for (own, remote) in offer.iter_mut().zip(&message[OFFER..]) {
        *own = (*own).max(*remote);
    }
    let (members, processes) = (message[MEMBERS] as usize, message.len() - HEAD);
    let is_peer = |peer: &&u64| (**peer as usize) < processes;
    let group = message[HEAD..].iter().take(members).take_while(is_peer);
    let group: Vec<Peer> = group.map(|peer| Peer(*peer as u16)).collect();
    match group.len() == members && members > 0 {
        true => Ok((offer, group)),
        false => Err(wrong(
            Class::Tag,
            "tag",
            "one that no other message of peer_comm has",
        )),
    }
}

/// Exchanges the messages of both leaders.
fn exchange(
    mut own: Vec<u64>,
    remote: &mut [u64],
    peer_comm: Comm,
    remote_leader: c_int,
    tag: c_int,
) -> Result<(), CommError> {
    let failure = CommError::on(peer_comm);
    world::with(|world| {
        let me = world.kernel.me();
        let leader = world
            .objects
            .comms
            .get(peer_comm)?
            .peer(remote_leader)
            .map_err(&failure)?;
        match leader == me {
            false => Ok(()),
            true => Err(failure(wrong(
                Class::Rank,
                "remote_leader",
                "another process than the local leader",
            ))),
        }
    })?;
    let count = own.len() as i64;
    let side = |buf| Side {
        buf,
        count,
        datatype: MPI_UINT64_T,
        partner: remote_leader,
        tag,
    };
    let (send, receive) = (
        side(UserAddress::of(&mut own)),
        side(UserAddress::of(remote)),
    );
    p2p::exchange(send, receive, peer_comm, &mut { Status::EMPTY })
}

/// Makes an intracommunicator of both groups, as `MPI_Intercomm_merge`: the one that passes `high` comes second. If
/// both pass the same, the group whose first member has the lower number is first.
pub fn merge(comm: Comm, high: bool) -> Result<Comm, CommError> {
    let failure = CommError::on(comm);
    let is_second = world::local(|objects| {
        let record = objects.comms.get(comm)?;
        record.check_inter().map_err(&failure)?;
        Ok(record.starts().0 > 0)
    })?;
    // For each group, whether any member passes low and whether any passes high.
    let mut passed = [0_u64; 4];
    passed[2 * usize::from(is_second) + usize::from(high)] = 1;
    let any = Reduced::in_place(&mut passed, MPI_UINT64_T, MPI_MAX);
    collective::allreduce_both(any, comm).run()?;
    if matches!(passed, [1, 1, ..] | [.., 1, 1]) {
        return Err(failure(wrong(
            Class::Arg,
            "high",
            "the same in all processes of a group",
        )));
    }
    let agreed = agree(comm, SPARES)?;
    world::with(|world| {
        let record = world.objects.comms.get(comm)?;
        let (mut everybody, handler) = (record.everybody(), record.handler);
        if passed == [0, 1, 1, 0] {
            let (start, remote_start) = record.starts();
            everybody.rotate_left(start.max(remote_start));
        }
        Ok(make(world, everybody, handler, agreed))
    })
}

/// Returns the number of ranks of the remote group, as `MPI_Comm_remote_size`.
pub fn remote_size(comm: Comm) -> Result<c_int, CommError> {
    world::local(|objects| {
        let record = objects.comms.get(comm)?;
        record.check_inter().map_err(CommError::on(comm))?;
        Ok(record.size() as c_int)
    })
}

fn wrong(class: Class, name: &'static str, must: &'static str) -> Error {
    Error::Argument { class, name, must }
}
