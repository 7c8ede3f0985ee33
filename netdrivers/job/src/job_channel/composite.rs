//! Shared memory beside a network and its groups, as one channel. `job_channel` only.

use super::groups::{self, JobGroups};
use super::inter_host::InterHost;
use super::traffic::Traffic;
use super::world_channel::WorldChannel;
use crate::host_map::Hosts;
use core::fmt;
use pombo_kernel::aspect::Cap;
use pombo_kernel::{Channel, Peer};
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::shm::Shm;
use pombo_transport::multicast::{BufferProvider, NoBuffers};
use pombo_transport::{Composite, WithMulticast};

/// To every rank of a job of up to so many: its rank is its peer. `B` shows users' memory to the groups between hosts.
pub type JobChannel<const RANKS: usize, B = NoBuffers> =
    Composite<Shm, WithMulticast<InterHost<RANKS>, JobGroups, B>, Cap<RANKS>, HeapStorage>;

impl<const RANKS: usize, B: BufferProvider + 'static> WorldChannel for JobChannel<RANKS, B> {
    #[inline]
    fn memory(&mut self) -> &mut Shm {
        self.local_mut()
    }

    fn is_settled(&mut self) -> bool {
        self.remote_mut()
            .is_none_or(|far| far.channel_mut().is_settled())
    }

    fn has_settled_groups(&mut self) -> bool {
        self.remote().is_none_or(|far| {
            far.error().is_some() || far.groups().is_none_or(JobGroups::is_settled)
        })
    }

    fn leave(&mut self) {
        self.local_mut().finish();
        if let Some(far) = self.remote_mut() {
            far.channel_mut().finish();
        }
    }

    fn report_root_cause(&mut self, other: Peer) {
        self.local_mut().report_root_cause(other);
        if let Some(far) = self.remote() {
            far.channel().failure_detector().report_root_cause(other);
        }
    }

    fn root_cause_of(&mut self, hosts: &Hosts, peer: Peer) -> Option<Peer> {
        match hosts.share_host(self.me(), peer) {
            true => self.local_mut().root_cause_of(hosts, peer),
            false => self
                .remote()?
                .channel()
                .failure_detector()
                .root_cause_of(peer),
        }
    }

    fn has_finished(&mut self, hosts: &Hosts, peer: Peer) -> bool {
        match hosts.share_host(self.me(), peer) {
            true => self.local_mut().has_finished(hosts, peer),
            false => self
                .remote()
                .is_some_and(|far| far.channel().failure_detector().has_finished(peer)),
        }
    }

    fn explain(&self, errno: i32, to: &mut dyn fmt::Write) -> fmt::Result {
        match self.remote() {
            Some(far) => far.channel().link().inner().explain(errno, to),
            None => Ok(()),
        }
    }

    fn traffic(&self) -> Traffic {
        let Some(far) = self.remote() else {
            return Traffic::default();
        };
        let groups = far.groups().map(groups::traffic).unwrap_or_default();
        far.channel().traffic() + groups
    }
}
