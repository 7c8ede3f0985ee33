//! How the ranks of a job over several hosts come by groups: they open sockets, exchange addresses, and try whether
//! frames for all arrive. `init` only.

use super::table::{Casting, FRAME, RANKS, Table};
use crate::collective::{self, Buffer, Collective, Reduced};
use crate::constants::*;
use crate::header::RANKS as MOST;
use crate::way;
use crate::world::{self, Fault, World};
use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use pombo_kernel::channel::group::{Habits, NoHands};
use pombo_kernel::channel::reliable::Timing;
use pombo_kernel::{Network, Node};
use pombo_netdrivers::udp::{Bound, Lossy, Udp, multicast_group};

const _: () = assert!(MOST >= RANKS);

/// Nanoseconds that ranks wait for each other's first frames.
const TRIAL: u64 = 1_000_000_000;
/// Bytes that a frame takes of a receiver's buffer, as the system counts, and of a buffer that counts twice.
const COST: usize = 2 * 2304;

/// An address, a port, and whether there is one.
type Card = [u8; 8];

/// Opens groups for the communicators of this job, if its ranks are on several hosts.
pub(crate) fn open() -> Result<(), Fault> {
    let Some((ranks, bound)) = world::with(|world| Ok(bind(world)))? else {
        return Ok(());
    };
    let cards = exchange(ranks, bound.as_ref())?;
    let table = world::with(|world| Ok(join(world, bound, &cards)))?;
    let tried = match table {
        Some(table) => world::with(|world| attempt(world, table, ranks))?,
        None => None,
    };
    if all_have(tried.is_some())? {
        world::with(|world| {
            let host = world.hosts.of(world.kernel.node());
            let near = world.hosts.members(host).len() > 1;
            if let Some(table) = tried {
                world.collectives.casts = Casting::new(table, near);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// How many ranks there are, and this one's socket if it has one. `None` where no rank needs one.
fn bind(world: &mut World) -> Option<(usize, Option<Bound>)> {
    let ranks = world.kernel.nodes();
    let wanted = world.collectives.choices.wants_casts();
    if world.hosts.is_one() || ranks > RANKS || !wanted {
        return None;
    }
    let far = world.kernel.channel_mut().far_mut()?;
    let bound = Udp::bind(far.address()).ok();
    Some((ranks, bound))
}

fn exchange(ranks: usize, bound: Option<&Bound>) -> Result<Vec<Card>, Fault> {
    let mut own: Card = [0; 8];
    if let Some(SocketAddr::V4(address)) = bound.map(Bound::address) {
        own[..4].copy_from_slice(&address.ip().octets());
        own[4..6].copy_from_slice(&address.port().to_le_bytes());
        own[6] = 1;
    }
    let mut all = vec![[0; 8]; ranks];
    let bytes = |address: *mut Card| Buffer {
        address: address.cast(),
        count: size_of::<Card>() as i64,
        datatype: MPI_BYTE,
    };
    let (send, receive) = (bytes(&raw mut own), bytes(all.as_mut_ptr()));
    // SAFETY: a card here, one of every rank there.
    unsafe { collective::allgather(send, receive, MPI_COMM_WORLD).run()? };
    Ok(all)
}

fn join(world: &mut World, bound: Option<Bound>, cards: &[Card]) -> Option<Table> {
    let address = |card: &Card| {
        let &[a, b, c, d, low, high, has, _] = card;
        let address = (Ipv4Addr::new(a, b, c, d), u16::from_le_bytes([low, high]));
        (has == 1).then(|| SocketAddr::from((IpAddr::V4(address.0), address.1)))
    };
    let addresses: Option<Vec<SocketAddr>> = cards.iter().map(address).collect();
    let (me, bound) = (world.kernel.node(), bound?);
    let (room, _) = bound.buffers().ok()?;
    let (job, (loss, seed)) = (
        world.kernel.channel_mut().far_mut()?.job(),
        way::loss().ok()?,
    );
    let frame = bound.mtu().clamp(1, FRAME);
    let cast = bound.join_cast(me, addresses?, multicast_group(job)).ok()?;
    let habits = Habits {
        window: (room / (COST * frame.div_ceil(FRAME))).clamp(16, 256) as u16,
        ..Habits::default()
    };
    // Frames of one sender stay in order on one segment.
    let timing = Timing {
        overtakers: 1,
        ..Timing::default()
    };
    let network = Lossy::new(cast, loss, seed);
    Some(Table::with(network, job as u32, habits, timing))
}

/// Every rank says something to all. The table, if this rank has heard of all, and all of it.
fn attempt(world: &mut World, mut table: Table, ranks: usize) -> Result<Option<Table>, Fault> {
    let me = world.kernel.node();
    let nodes = || (0..ranks).map(|node| Node(node as u16));
    let mut missing: Vec<Node> = nodes().filter(|node| *node != me).collect();
    let end = table.network().now().saturating_add(TRIAL);
    if table.open(0, nodes()).is_err() || table.send(0, &&b"?"[..]).is_err() {
        return Ok(None);
    }
    let heard = world.until(|_| {
        let polled = table.poll(&mut NoHands);
        missing.retain(|node| !matches!(table.receive(0, *node, &mut [0; 1][..]), Ok(Some(_))));
        let all = missing.is_empty() && table.is_settled();
        let over = polled.is_err() || table.network().now() >= end;
        Ok((all || over).then_some(all))
    })?;
    Ok(heard.then_some(table))
}

/// Do all ranks say yes?
fn all_have(own: bool) -> Result<bool, Fault> {
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
