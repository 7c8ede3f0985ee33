//! What a rank asks of its channel beside messages.

use super::traffic::Traffic;
use crate::host_map::Hosts;
use core::fmt;
use pombo_kernel::{Channel, Peer};
use pombo_netdrivers::shm::{RankState, Shm};

/// A channel to every rank of a job, whose rank is its peer: shared memory alone, or beside a network.
pub trait WorldChannel: Channel {
    /// The memory that the ranks of this host share.
    fn memory(&mut self) -> &mut Shm;

    /// Has everything that this rank sent arrived, and has it told others what has arrived here?
    fn is_settled(&mut self) -> bool;

    /// Has everything arrived that this rank sent to groups? Their members have to be there until then.
    fn has_settled_groups(&mut self) -> bool;

    /// Goes in good order.
    fn leave(&mut self);

    /// Tells the others that this rank ends because that one has.
    fn report_root_cause(&mut self, other: Peer);

    /// Because of whom that rank has ended, if it has said so.
    fn root_cause_of(&mut self, hosts: &Hosts, peer: Peer) -> Option<Peer>;

    /// Has that rank, which has gone, done so in good order?
    fn has_finished(&mut self, hosts: &Hosts, peer: Peer) -> bool;

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

    fn has_settled_groups(&mut self) -> bool {
        true
    }

    fn leave(&mut self) {
        Shm::finish(self);
    }

    fn report_root_cause(&mut self, other: Peer) {
        // Only an unknown rank is refused.
        let _ = self.segment().set_root_cause(self.me().index(), other.0);
    }

    fn root_cause_of(&mut self, hosts: &Hosts, peer: Peer) -> Option<Peer> {
        let place = hosts.place(peer)?;
        self.segment().root_cause(place).map(Peer)
    }

    fn has_finished(&mut self, hosts: &Hosts, peer: Peer) -> bool {
        let state = hosts.place(peer).map(|place| self.segment().state(place));
        matches!(state, Some(Ok(RankState::Finished)))
    }

    fn explain(&self, _: i32, _: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}
