//! A rank's requests to its channel, in addition to messages.

use super::traffic::Traffic;
use crate::host_map::Hosts;
use pombo_kernel::channel::GroupId;
use pombo_kernel::text::WriteText;
use pombo_kernel::{Channel, Peer};
use pombo_netdrivers::deaths::DeathSource;
use pombo_netdrivers::shm::Shm;

/// A channel to every rank of a job, where a rank is its peer: shared memory alone, or with a network.
pub trait WorldChannel: Channel {
    /// Returns the channel of the ranks of this host, which share memory.
    fn memory(&mut self) -> &mut Shm;

    /// Returns whether everything that this rank sent has arrived, and its reports of what arrived here have been sent.
    fn is_settled(&mut self) -> bool;

    /// Returns whether everything that this rank sent to groups has arrived. Their members must not leave before.
    fn has_settled_groups(&self) -> bool;

    /// Returns whether everything that this rank sent to that group has arrived, or there is no such group.
    fn has_settled_group(&self, group: GroupId) -> bool;

    /// Returns whether anything that this rank sent to another host has not been acknowledged there: it may still make
    /// its receiver go on.
    fn has_frames_under_way(&self) -> bool;

    /// Leaves the job in good order.
    fn leave(&mut self);

    /// Returns the sources of deaths: that of this host, whose peers are places among the host's ranks, and that of
    /// other hosts, whose peers are the ranks.
    fn death_sources(&self) -> (&dyn DeathSource, Option<&dyn DeathSource>);

    /// Reports to the others that this rank ends because that one has ended.
    fn report_root_cause(&self, other: Peer) {
        let (local, remote) = self.death_sources();
        for source in [Some(local), remote].into_iter().flatten() {
            source.report_root_cause(other);
        }
    }

    /// Returns the rank because of which that rank has ended, if it reported one.
    fn root_cause_of(&self, hosts: &Hosts, peer: Peer) -> Option<Peer> {
        let (source, peer) = source_of(self, hosts, peer)?;
        source.root_cause_of(peer)
    }

    /// Returns whether that rank has been there: its process has joined, or has ended. The places of
    /// `pombo run --spare` are ranks that have not, until `pombo join` fills them; what is sent to one of them waits.
    fn has_started(&self, hosts: &Hosts, peer: Peer) -> bool {
        source_of(self, hosts, peer).is_some_and(|(source, peer)| source.has_started(peer))
    }

    /// Returns whether that ended rank has left in good order.
    fn has_finished(&self, hosts: &Hosts, peer: Peer) -> bool {
        source_of(self, hosts, peer).is_some_and(|(source, peer)| source.has_finished(peer))
    }

    /// Writes what is known of a failure of the network, after the system's text for that error number.
    fn explain(&self, errno: i32, to: &mut dyn WriteText);

    /// Returns the counters of frames between hosts.
    fn traffic(&self) -> Traffic;
}

/// Returns the source that knows of that rank's end, and the rank's peer number there.
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

/// A job whose ranks share one host.
#[cfg(not(feature = "hosts"))]
impl WorldChannel for alloc::boxed::Box<Shm> {
    #[inline]
    fn memory(&mut self) -> &mut Shm {
        self
    }

    fn is_settled(&mut self) -> bool {
        true
    }

    fn has_settled_groups(&self) -> bool {
        true
    }

    fn has_settled_group(&self, _: GroupId) -> bool {
        true
    }

    fn has_frames_under_way(&self) -> bool {
        false
    }

    fn leave(&mut self) {
        Shm::finish(self);
    }

    fn death_sources(&self) -> (&dyn DeathSource, Option<&dyn DeathSource>) {
        (self.deaths(), None)
    }

    fn explain(&self, _: i32, _: &mut dyn WriteText) {}

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}
