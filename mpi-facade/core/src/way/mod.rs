//! The channel below MPI: shared memory among the ranks of a host, UDP or raw Ethernet
//! between hosts. `place` makes it, `World` holds
//! it; whoever wants the memory or the network alone asks here.
//!
//! A job on one host pays a comparison for the network that is not there. Without the feature `hosts` there is none.

#[cfg(feature = "hosts")]
mod address;
#[cfg(feature = "hosts")]
mod far;
#[cfg(feature = "hosts")]
pub(crate) mod groups;
#[cfg(feature = "hosts")]
mod guests;
#[cfg(feature = "hosts")]
pub(crate) mod loss;
#[cfg(feature = "hosts")]
mod opening;
#[cfg(feature = "hosts")]
mod segment;
#[cfg(feature = "hosts")]
mod vigil;
#[cfg(feature = "hosts")]
mod wire;

#[cfg(feature = "hosts")]
pub use far::Far;
#[cfg(feature = "hosts")]
pub(crate) use opening::open;
#[cfg(feature = "hosts")]
pub use segment::Why;

use crate::hosts::Hosts;
use core::fmt;
use pombo_kernel::{Channel, Node};
use pombo_netdrivers::shm::{RankState, Shm};

/// To every rank of `MPI_COMM_WORLD`: its rank is its node.
#[cfg(feature = "hosts")]
pub type Way = pombo_kernel::channel::Composite<
    Shm,
    Far,
    pombo_kernel::aspect::Cap<{ crate::header::RANKS }>,
    pombo_netdrivers::Growing,
>;

/// To every rank of `MPI_COMM_WORLD`: its rank is its node.
#[cfg(not(feature = "hosts"))]
pub type Way = Shm;

/// Where all ranks share one host.
pub(crate) fn of_one_host(near: Shm) -> Way {
    #[cfg(feature = "hosts")]
    return Way::alone(near);
    #[cfg(not(feature = "hosts"))]
    near
}

/// The memory that the ranks of this host share.
#[inline]
pub(crate) fn near(way: &mut Way) -> &mut Shm {
    #[cfg(feature = "hosts")]
    return way.near_mut();
    #[cfg(not(feature = "hosts"))]
    way
}

/// Has everything that this rank sent arrived, and has it told others what has arrived here?
pub(crate) fn is_settled(way: &mut Way) -> bool {
    #[cfg(feature = "hosts")]
    return way.far_mut().is_none_or(Far::is_settled);
    #[cfg(not(feature = "hosts"))]
    {
        let _ = way;
        true
    }
}

/// Goes in good order.
pub(crate) fn finish(way: &mut Way) {
    near(way).finish();
    #[cfg(feature = "hosts")]
    if let Some(far) = way.far_mut() {
        far.finish();
    }
}

/// Tells the others that this rank ends because that one has.
pub(crate) fn blame(way: &mut Way, other: Node) {
    let near = near(way);
    // Only an unknown rank is refused.
    let _ = near.segment().blame(near.node().index(), other.0);
    #[cfg(feature = "hosts")]
    if let Some(far) = way.far() {
        far.vigil().blame(other);
    }
}

/// Because of whom that rank has ended, if it has said so.
pub(crate) fn blamed(way: &mut Way, hosts: &Hosts, node: Node) -> Option<Node> {
    let own = way.node();
    if hosts.are_near(own, node) {
        let members = hosts.members(hosts.of(own)).iter();
        let place = members.clone().position(|member| *member == node)?;
        return near(way).segment().blamed(place).map(Node);
    }
    #[cfg(feature = "hosts")]
    return way.far()?.vigil().blamed(node);
    #[cfg(not(feature = "hosts"))]
    None
}

/// Has that rank, which has gone, done so in good order?
pub(crate) fn has_finished(way: &mut Way, hosts: &Hosts, node: Node) -> bool {
    let own = way.node();
    if hosts.are_near(own, node) {
        let mut members = hosts.members(hosts.of(own)).iter();
        let place = members.position(|member| *member == node);
        let state = place.map(|place| near(way).segment().state(place));
        return matches!(state, Some(Ok(RankState::Finished)));
    }
    #[cfg(feature = "hosts")]
    return way.far().is_some_and(|far| far.vigil().has_finished(node));
    #[cfg(not(feature = "hosts"))]
    false
}

/// What is known of a failure of the network, behind the system's words for that error number.
pub(crate) fn explain(way: &Way, errno: i32, to: &mut dyn fmt::Write) -> fmt::Result {
    #[cfg(feature = "hosts")]
    if let Some(far) = way.far() {
        return far.wire().explain(errno, to);
    }
    let _ = (way, errno, to);
    Ok(())
}

/// What became of the frames between hosts. Those in memory are not counted: nothing becomes of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Frames that left for the first time, reports among them.
    pub frames: u64,
    /// Frames that left again.
    pub resent: u64,
    /// Frames that repair others of a group.
    pub repairs: u64,
    /// Frames that arrived again.
    pub duplicates: u64,
    /// Frames that arrived and found no place, or were lost on purpose.
    pub dropped: u64,
    /// Frames that were not believed.
    pub rejected: u64,
}

/// So far.
pub(crate) fn traffic(way: &mut Way) -> Traffic {
    #[cfg(feature = "hosts")]
    return way.far().map(Far::traffic).unwrap_or_default();
    #[cfg(not(feature = "hosts"))]
    {
        let _ = way;
        Traffic::default()
    }
}
