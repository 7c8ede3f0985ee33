//! Which broadcasts use multicast, and how they begin.

use super::operation::MulticastOperation;
use super::root_queues::{begin, group_of};
use crate::collective::prepare::Call;
use crate::collective::selection::Conditions;
use crate::collective::{Algorithm, Operation};
use crate::comm::Multicast;
use crate::error::Error;
use crate::user_buffer::Region;
use pombo_kernel::Peer;

impl Call<'_> {
    /// Returns whether a broadcast of `bytes` bytes between the hosts uses multicast. All ranks get the same answer.
    pub(in crate::collective) fn uses_multicast(&mut self, bytes: usize) -> Result<bool, Error> {
        let in_order = self.in_order;
        let record = self.record()?;
        let Some(layout) = record
            .host_layout
            .as_ref()
            .filter(|_| record.multicast == Multicast::Group && in_order)
        else {
            return Ok(false);
        };
        let conditions = Conditions {
            ranks: layout.leaders().len(),
            several_hosts: true,
            multicast: true,
            asked: record.algorithms[Operation::Bcast as usize],
            ..Conditions::default()
        };
        Ok(self.selector().select(Operation::Bcast, bytes, conditions) == Algorithm::Multicast)
    }

    /// Prepares the broadcast of a region among the first ranks of all hosts; this rank is one of them.
    pub(in crate::collective) fn multicast(
        &mut self,
        host: usize,
        region: Region,
    ) -> Result<MulticastOperation, Error> {
        let record = self.record()?;
        let first = record.host_layout.as_ref().map(|layout| layout.leaders());
        let root = first.and_then(|first| first.get(host).copied());
        let (group, root) = (group_of(record.context), root.unwrap_or(Peer(0)));
        let is_own = self.world.kernel.me() == root;
        let mut operation = MulticastOperation::new(group, (root, is_own), region)?;
        operation.number = begin(self.world, group, root)?;
        Ok(operation)
    }
}
