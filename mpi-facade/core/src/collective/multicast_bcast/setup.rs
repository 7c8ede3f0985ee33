//! How the ranks of a job over several hosts come by groups: they open sockets, exchange addresses, and try whether
//! frames for all arrive. `init` only.

use super::table::{self, LentMemory, MulticastBcast, RANKS, Table};
use crate::collective::selection::Selector;
use crate::collective::{self, Buffer, Collective, Reduced};
use crate::constants::*;
use crate::header::RANKS as MOST;
use crate::runtime::world::{self, CommError, World};
use alloc::vec;
use alloc::vec::Vec;
use pombo_job::multicast_setup::{MulticastAddress, MulticastKind, MulticastSocket};
use pombo_kernel::{Network, Peer};
use pombo_transport::multicast::SenderConfig;
use pombo_transport::reliable::Timing;

const _: () = assert!(MOST >= RANKS);

/// All ranks are in it, until the trial is over.
const TRIAL_GROUP: u32 = 0;
/// Nanoseconds that ranks wait for each other's first frames.
const TRIAL: u64 = 1_000_000_000;

/// Opens groups for the communicators of this job, if its ranks are on several hosts.
pub(crate) fn open() -> Result<(), CommError> {
    for kind in [MulticastKind::Group, MulticastKind::Segment] {
        let Some((ranks, socket)) = world::with(|world| Ok(open_socket(world)))? else {
            return Ok(());
        };
        let addresses = exchange(ranks, socket.as_ref())?;
        let table = world::with(|world| Ok(join(world, socket, &addresses, kind)))?;
        let tried = match table {
            Some(table) => world::with(|world| try_reach(world, table, ranks))?,
            None => None,
        };
        if all_have(tried.is_some())? {
            return world::with(|world| adopt(world, tried));
        }
    }
    Ok(())
}

/// All ranks have heard each other.
fn adopt(world: &mut World, tried: Option<Table>) -> Result<(), CommError> {
    if let Some(mut table) = tried {
        // It was open until now.
        let _ = table.close(TRIAL_GROUP);
        *world.extensions.get() = MulticastBcast::new(table);
        world.register(table::progress);
    }
    let World {
        comms, extensions, ..
    } = world;
    let record = comms.get(MPI_COMM_WORLD)?;
    if let Some(layout) = &record.host_layout {
        record.multicast = extensions
            .get::<MulticastBcast>()
            .enter(record.context, layout.leaders());
    }
    Ok(())
}

/// How many ranks there are, and this one's socket if it has one. `None` where no rank needs one.
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
    let bytes = |address: *mut MulticastAddress| Buffer {
        address: address.cast(),
        count: size_of::<MulticastAddress>() as i64,
        datatype: MPI_BYTE,
    };
    let (send, receive) = (bytes(&raw mut own), bytes(all.as_mut_ptr()));
    // SAFETY: a card here, one of every rank there.
    unsafe { collective::allgather(send, receive, MPI_COMM_WORLD).run()? };
    Ok(all)
}

fn join(
    world: &mut World,
    socket: Option<MulticastSocket>,
    addresses: &[MulticastAddress],
    kind: MulticastKind,
) -> Option<Table> {
    let (me, socket) = (world.kernel.me(), socket?);
    let room = socket.room()?;
    let (network, epoch) = socket.join(me, addresses, kind)?;
    let config = SenderConfig {
        // Others send as well.
        window: (room / 2).clamp(16, 256) as u16,
        ..SenderConfig::default()
    };
    // Frames of one sender stay in order on one segment.
    let timing = Timing {
        overtakers: 1,
        ..Timing::default()
    };
    Some(Table::with(network, epoch, config, timing))
}

/// Every rank says something to all. The table, if this rank has heard of all, and all of it.
fn try_reach(
    world: &mut World,
    mut table: Table,
    ranks: usize,
) -> Result<Option<Table>, CommError> {
    let me = world.kernel.me();
    let peers = || (0..ranks).map(|peer| Peer(peer as u16));
    let mut missing: Vec<Peer> = peers().filter(|peer| *peer != me).collect();
    let end = table.network().now().saturating_add(TRIAL);
    let opened = table.open(TRIAL_GROUP, peers());
    if opened.is_err() || table.send(TRIAL_GROUP, &&b"?"[..]).is_err() {
        return Ok(None);
    }
    // Of the kind that the calls use, so that the groups are compiled once.
    let mut nothing = LentMemory::default();
    let heard = world.until(|world| {
        let polled = table.poll(&mut nothing);
        if let Some(far) = world.kernel.channel_mut().remote_mut() {
            far.wakes_also_by(table.wait_sources());
        }
        let mut heard = |peer| table.receive(TRIAL_GROUP, peer, &mut [0; 1][..]);
        missing.retain(|peer| !matches!(heard(*peer), Ok(Some(_))));
        let all = missing.is_empty() && table.is_settled();
        let over = polled.is_err() || table.network().now() >= end;
        Ok((all || over).then_some(all))
    })?;
    // What reaches them one by one is better sent along a tree.
    Ok((heard && !table.is_unicast_only()).then_some(table))
}

/// Do all ranks say yes?
fn all_have(own: bool) -> Result<bool, CommError> {
    let mut all = u32::from(own);
    let least = Reduced {
        input: MPI_IN_PLACE,
        output: (&raw mut all).cast(),
        count: 1,
        datatype: MPI_UINT32_T,
        op: MPI_MIN,
    };
    // SAFETY: one unsigned int.
    unsafe { collective::allreduce(least, MPI_COMM_WORLD).run()? };
    Ok(all == 1)
}
