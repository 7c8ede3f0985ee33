//! How the ranks of a job on several hosts set up groups: they open sockets, exchange addresses, and test whether
//! frames reach all ranks. MPI's start does so; in builds without feature `groups-at-start` the first blocking collective
//! call in which all ranks wait for each other, as a call of the start brings it to programs that never broadcast.

use super::root_queues::{open_group, table};
use crate::collective::layout::Layout;
use crate::collective::operation::PreparedOperation;
use crate::collective::prepare::Call;
use crate::collective::schedule::Steps;
use crate::collective::selection::selector;
use crate::comm::Multicast;
use crate::constants::Comm;
use crate::datatype::Shape;
use crate::message_header;
use crate::runtime::world::{CommError, World};
use crate::user_buffer::UserAddress;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use pombo_collective::allgather_recursive_doubling;
use pombo_job::groups::{MulticastAddress, MulticastKind, MulticastSocket, RANKS};
use pombo_kernel::channel::GroupId;
use pombo_kernel::{Network, Peer};
use pombo_netdrivers::tuning::CAST_TRIAL;
use static_assertions::const_assert;

const_assert!(message_header::RANKS >= RANKS);

/// The group of all ranks during the test.
const TRIAL_GROUP: GroupId = GroupId(0);

/// The tag of the exchange of addresses: the calls of the program have lower ones.
const TAG: u32 = u32::MAX - 1;

/// Opens groups for `comm`, if it is that of all ranks and has not entered yet, and for the communicators that its ranks
/// make from now on. All ranks must call it in the same order with their other calls on it, and wait for each other.
///
/// # Errors
/// A rank is gone; the communicator then has no group.
#[cold]
pub(crate) fn enter(world: &mut World, comm: Comm) -> Result<(), CommError> {
    let entered = &mut world.objects.comms.get(comm)?.multicast;
    if *entered != Multicast::NotEntered {
        return Ok(());
    }
    *entered = Multicast::None;
    for kind in [MulticastKind::Group, MulticastKind::Segment] {
        let Some((ranks, socket)) = open_socket(world) else {
            return Ok(());
        };
        let own = socket.as_ref().map(MulticastSocket::address);
        let addresses = exchange(world, comm, own.unwrap_or_default())?;
        let heard = join(world, socket, &addresses, kind) && try_reach(world, ranks)?;
        let all_heard = exchange(world, comm, [heard.into(); 8])?;
        let all_heard = all_heard.iter().all(|heard| *heard == [1; 8]);
        adopt(world, comm, all_heard)?;
        if all_heard {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns what every rank has said, in the order of ranks.
fn exchange(
    world: &mut World,
    comm: Comm,
    own: MulticastAddress,
) -> Result<Vec<MulticastAddress>, CommError> {
    let mut call = Call::internal(world, comm, TAG)?;
    let (rank, ranks) = (call.position.rank, call.position.ranks);
    let mut all = vec![own; ranks];
    let bytes = size_of_val(&all[..]);
    let region = UserAddress::of(&mut all).region(bytes, Shape::BYTE);
    let output = Layout::vector(region).evenly(ranks);
    let steps = Steps::of(allgather_recursive_doubling(rank, ranks));
    let ready = PreparedOperation::plain(steps, output.block(rank), output);
    call.begin(ready)?.run(world)?;
    Ok(all)
}

/// Keeps the groups if all ranks have received each other's frames.
fn adopt(world: &mut World, comm: Comm, all: bool) -> Result<(), CommError> {
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
    let record = world.objects.comms.get(comm)?;
    let leaders = record
        .host_layout
        .as_ref()
        .map(|layout| layout.leaders().clone());
    if let (context, Some(leaders)) = (record.context, leaders) {
        let multicast = open_group(world, context, &leaders);
        world.objects.comms.get(comm)?.multicast = multicast;
    }
    Ok(())
}

/// Returns the number of ranks, and this rank's socket if it has one; `None` where no rank needs one.
fn open_socket(world: &mut World) -> Option<(usize, Option<MulticastSocket>)> {
    let ranks = world.kernel.peers();
    let wanted = selector(&mut world.objects).wants_multicast();
    if world.hosts.is_single() || ranks > RANKS || !wanted {
        return None;
    }
    let me = world.kernel.me();
    Some((ranks, MulticastSocket::open(world.kernel.channel_mut(), me)))
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
            far.set_groups(Box::new(groups));
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
    let end = groups.network().now().saturating_add(CAST_TRIAL);
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
