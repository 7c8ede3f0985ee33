//! How the ranks of a job on several hosts set up groups: they open sockets, exchange addresses, and test whether
//! frames reach all ranks. Only `init` uses it.

use super::root_queues::{open_group, table};
use crate::collective::selection::Selector;
use crate::collective::{self, Buffer, Collective, Reduced};
use crate::constants::*;
use crate::header;
use crate::runtime::world::{self, CommError, World};
use alloc::vec;
use alloc::vec::Vec;
use pombo_job::groups::{MulticastAddress, MulticastKind, MulticastSocket, RANKS};
use pombo_kernel::channel::GroupId;
use pombo_kernel::{Network, Peer};

const _: () = assert!(header::RANKS >= RANKS);

/// The group of all ranks during the test.
const TRIAL_GROUP: GroupId = GroupId(0);
/// Nanoseconds that ranks wait for each other's first frames.
const TRIAL: u64 = 1_000_000_000;

/// Opens groups for the communicators of this job, if its ranks are on several hosts.
pub(crate) fn open() -> Result<(), CommError> {
    for kind in [MulticastKind::Group, MulticastKind::Segment] {
        let Some((ranks, socket)) = world::with(|world| Ok(open_socket(world)))? else {
            return Ok(());
        };
        let addresses = exchange(ranks, socket.as_ref())?;
        let heard = world::with(|world| match join(world, socket, &addresses, kind) {
            true => try_reach(world, ranks),
            false => Ok(false),
        })?;
        let all = all_have(heard)?;
        world::with(|world| adopt(world, all))?;
        if all {
            return Ok(());
        }
    }
    Ok(())
}

/// Keeps the groups if all ranks have received each other's frames.
fn adopt(world: &mut World, all: bool) -> Result<(), CommError> {
    match table(world).filter(|_| all) {
        Some(table) => {
            // The group was open until now, so this cannot fail.
            let _ = table.close(TRIAL_GROUP);
        }
        None => {
            let far = world.kernel.channel_mut().remote_mut();
            drop(far.and_then(|far| far.take_groups()));
            return Ok(());
        }
    }
    let record = world.comms.get(MPI_COMM_WORLD)?;
    let leaders = record
        .host_layout
        .as_ref()
        .map(|layout| layout.leaders().clone());
    if let (context, Some(leaders)) = (record.context, leaders) {
        let multicast = open_group(world, context, &leaders);
        world.comms.get(MPI_COMM_WORLD)?.multicast = multicast;
    }
    Ok(())
}

/// Returns the number of ranks, and this rank's socket if it has one; `None` where no rank needs one.
fn open_socket(world: &mut World) -> Option<(usize, Option<MulticastSocket>)> {
    let ranks = world.kernel.peers();
    let wanted = world.extensions.get::<Selector>().wants_multicast();
    if world.hosts.is_single() || ranks > RANKS || !wanted {
        return None;
    }
    let me = world.kernel.me();
    Some((ranks, MulticastSocket::open(world.kernel.channel_mut(), me)))
}

fn exchange(
    ranks: usize,
    socket: Option<&MulticastSocket>,
) -> Result<Vec<MulticastAddress>, CommError> {
    let mut own = socket.map(MulticastSocket::address).unwrap_or_default();
    let mut all = vec![[0; 8]; ranks];
    let (send, receive) = (
        Buffer::of(&mut own, 1, MPI_BYTE),
        Buffer::of(&mut all, ranks, MPI_BYTE),
    );
    collective::allgather(send, receive, MPI_COMM_WORLD).run()?;
    Ok(all)
}

/// Gives the channel its groups. Returns false without a socket, or if the host lacks this kind of multicast.
fn join(
    world: &mut World,
    socket: Option<MulticastSocket>,
    addresses: &[MulticastAddress],
    kind: MulticastKind,
) -> bool {
    let me = world.kernel.me();
    let groups = socket.and_then(|socket| socket.join(me, addresses, kind));
    match (groups, world.kernel.channel_mut().remote_mut()) {
        (Some(groups), Some(far)) => {
            far.set_groups(groups);
            true
        }
        _ => false,
    }
}

/// Sends a frame to all ranks. Returns true if this rank has received those of all others, and they have received its
/// own.
fn try_reach(world: &mut World, ranks: usize) -> Result<bool, CommError> {
    let me = world.kernel.me();
    let peers = || (0..ranks).map(|peer| Peer(peer as u16));
    let mut missing: Vec<Peer> = peers().filter(|peer| *peer != me).collect();
    let Some(groups) = table(world) else {
        return Ok(false);
    };
    let end = groups.network().now().saturating_add(TRIAL);
    let opened = groups.open(TRIAL_GROUP, peers());
    if opened.is_err() || groups.send(TRIAL_GROUP, &&b"?"[..]).is_err() {
        return Ok(false);
    }
    world.until(|world| {
        let far = world.kernel.channel().remote();
        let failed = far.is_none_or(|far| far.error().is_some());
        let Some(groups) = table(world).filter(|_| !failed) else {
            return Ok(Some(false));
        };
        let mut heard = |peer| groups.receive(TRIAL_GROUP, peer, &mut [0; 1][..]);
        missing.retain(|peer| !matches!(heard(*peer), Ok(Some(_))));
        let all = missing.is_empty() && groups.is_settled();
        let over = groups.network().now() >= end;
        // If frames go to each rank alone, a broadcast along a tree is faster.
        Ok((all || over).then(|| all && !groups.is_unicast_only()))
    })
}

/// Returns whether all ranks pass `true`.
fn all_have(own: bool) -> Result<bool, CommError> {
    let mut all = [u32::from(own)];
    let least = Reduced::in_place(&mut all, MPI_UINT32_T, MPI_MIN);
    collective::allreduce(least, MPI_COMM_WORLD).run()?;
    Ok(all == [1])
}
