//! What a rank asks of its channel beside messages.

use super::traffic::Traffic;
use crate::host_map::Hosts;
use core::fmt;
use pombo_kernel::{Channel, Peer};
use pombo_netdrivers::deaths::DeathSource;
use pombo_netdrivers::shm::Shm;

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

    /// What tells of the ends of ranks: of this host's, whose peers are their places there, and of those of other hosts,
    /// whose peers are the ranks.
    fn death_sources(&self) -> (&dyn DeathSource, Option<&dyn DeathSource>);

    /// Tells the others that this rank ends because that one has.
    fn report_root_cause(&self, other: Peer) {
        let (local, remote) = self.death_sources();
        for source in [Some(local), remote].into_iter().flatten() {
            source.report_root_cause(other);
        }
    }

    /// Because of whom that rank has ended, if it has said so.
    fn root_cause_of(&self, hosts: &Hosts, peer: Peer) -> Option<Peer> {
        let (source, peer) = source_of(self, hosts, peer)?;
        source.root_cause_of(peer)
    }

    /// Has that rank, which has gone, done so in good order?
    fn has_finished(&self, hosts: &Hosts, peer: Peer) -> bool {
        source_of(self, hosts, peer).is_some_and(|(source, peer)| source.has_finished(peer))
    }

    /// What is known of a failure of the network, behind the system's words for that error number.
    fn explain(&self, errno: i32, to: &mut dyn fmt::Write) -> fmt::Result;

    /// What has become of frames between hosts so far.
    fn traffic(&self) -> Traffic;
}

/// What knows of that rank's end, and by which number.
fn source_of<'a>(
    channel: &'a (impl WorldChannel + ?Sized),
    hosts: &Hosts,
    rank: Peer,
) -> Option<(&'a dyn DeathSource, Peer)> {
    let (local, remote) = channel.death_sources();
    match remote.filter(|_| !hosts.share_host(channel.me(), rank)) {
        Some(remote) => Some((remote, rank)),
        None => Some((local, Peer(hosts.place(rank)? as u16))),
    }
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

    fn death_sources(&self) -> (&dyn DeathSource, Option<&dyn DeathSource>) {
        (self.deaths(), None)
    }

    fn explain(&self, _: i32, _: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}
