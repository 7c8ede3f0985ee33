//! The composite of shared memory and a network with its groups. Only `job_channel` uses it.

use super::channel_queries::WorldChannel;
use super::groups::ServedGroups;
use super::inter_host::InterHost;
use super::traffic::Traffic;
use alloc::boxed::Box;
use pombo_kernel::aspect::Cap;
use pombo_kernel::channel::GroupId;
use pombo_kernel::text::WriteText;
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::deaths::DeathSource;
use pombo_netdrivers::shm::Shm;
use pombo_transport::multicast::{BufferProvider, NoBuffers};
use pombo_transport::{Composite, WithMulticast};

/// The channel to every rank of a job of up to `RANKS` ranks: a rank is its peer. `B` gives the groups between hosts
/// access to users' memory.
pub type JobChannel<const RANKS: usize, B = NoBuffers> =
    Composite<Shm, WithGroups<InterHost<RANKS>, B>, Cap<RANKS>, HeapStorage>;

/// A channel and, once groups are open, these.
type WithGroups<C, B> = WithMulticast<C, Box<dyn ServedGroups<B>>, B>;

impl<const RANKS: usize, B: BufferProvider + 'static> WorldChannel for JobChannel<RANKS, B> {
    #[inline]
    fn memory(&mut self) -> &mut Shm {
        self.local_mut()
    }

    fn is_settled(&mut self) -> bool {
        self.remote_mut()
            .is_none_or(|far| far.channel_mut().is_settled())
    }

    fn has_settled_groups(&self) -> bool {
        self.remote().is_none_or(|far| {
            far.error().is_some() || far.groups().is_none_or(|groups| groups.has_settled())
        })
    }

    fn has_settled_group(&self, group: GroupId) -> bool {
        self.remote().is_none_or(|far| {
            let groups = far.groups();
            far.error().is_some() || groups.is_none_or(|groups| groups.has_settled_group(group))
        })
    }

    fn has_frames_under_way(&self) -> bool {
        let far = self.remote();
        far.is_some_and(|far| far.channel().has_frames_under_way()) || !self.has_settled_groups()
    }

    fn leave(&mut self) {
        self.local_mut().finish();
        if let Some(far) = self.remote_mut() {
            far.channel_mut().finish();
        }
    }

    fn death_sources(&self) -> (&dyn DeathSource, Option<&dyn DeathSource>) {
        let remote = self.remote();
        let remote = remote.map(|far| far.channel().failure_detector() as _);
        (self.local().deaths(), remote)
    }

    fn explain(&self, errno: i32, to: &mut dyn WriteText) {
        if let Some(far) = self.remote() {
            far.channel().link().inner().explain(errno, to);
        }
    }

    fn traffic(&self) -> Traffic {
        let Some(far) = self.remote() else {
            return Traffic::default();
        };
        let groups = far.groups().map(|groups| groups.traffic());
        let groups = groups.unwrap_or_default();
        far.channel().traffic() + groups
    }
}
