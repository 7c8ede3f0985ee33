//! The channel below MPI: shared memory among the ranks of a host, UDP or raw Ethernet
//! between hosts. `init` makes it of what `place` has found out, `World` holds
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
mod join;
#[cfg(feature = "hosts")]
mod loss;
#[cfg(feature = "hosts")]
mod near_and_far;
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
pub(crate) use join::{Joined, join};

use crate::hosts::Hosts;
use core::fmt;
use pombo_kernel::{Channel, Node};
use pombo_netdrivers::shm::{RankState, Shm};

/// To every rank of a job of up to so many: its rank is its node.
#[cfg(feature = "hosts")]
pub type Way<const RANKS: usize> = pombo_kernel::channel::Composite<
    Shm,
    Far<RANKS>,
    pombo_kernel::aspect::Cap<RANKS>,
    pombo_netdrivers::Growing,
>;

/// To every rank of a job: its rank is its node.
#[cfg(not(feature = "hosts"))]
pub type Way<const RANKS: usize> = Shm;

/// What such a channel tells and does beside messages. Shared memory alone has it, and memory beside a network.
pub(crate) trait WorldChannel: Channel {
    /// The memory that the ranks of this host share.
    fn memory(&mut self) -> &mut Shm;

    /// Has everything that this rank sent arrived, and has it told others what has arrived here?
    fn is_settled(&mut self) -> bool;

    /// Goes in good order.
    fn leave(&mut self);

    /// Tells the others that this rank ends because that one has.
    fn blame(&mut self, other: Node);

    /// Because of whom that rank has ended, if it has said so.
    fn blamed(&mut self, hosts: &Hosts, node: Node) -> Option<Node>;

    /// Has that rank, which has gone, done so in good order?
    fn has_finished(&mut self, hosts: &Hosts, node: Node) -> bool;

    /// What is known of a failure of the network, behind the system's words for that error number.
    fn explain(&self, errno: i32, to: &mut dyn fmt::Write) -> fmt::Result;

    /// What has become of frames between hosts so far.
    fn traffic(&self) -> Traffic;
}

/// All ranks share one host.
impl WorldChannel for Shm {
    #[inline]
    fn memory(&mut self) -> &mut Shm {
        self
    }

    fn is_settled(&mut self) -> bool {
        true
    }

    fn leave(&mut self) {
        Shm::finish(self);
    }

    fn blame(&mut self, other: Node) {
        // Only an unknown rank is refused.
        let _ = self.segment().blame(self.node().index(), other.0);
    }

    fn blamed(&mut self, hosts: &Hosts, node: Node) -> Option<Node> {
        let place = hosts.place(node)?;
        self.segment().blamed(place).map(Node)
    }

    fn has_finished(&mut self, hosts: &Hosts, node: Node) -> bool {
        let state = hosts.place(node).map(|place| self.segment().state(place));
        matches!(state, Some(Ok(RankState::Finished)))
    }

    fn explain(&self, _: i32, _: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
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
