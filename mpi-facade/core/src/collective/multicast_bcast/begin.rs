//! Which broadcasts go over the network's own, and their beginning.

use super::operation::MulticastOperation;
use super::table::{self, MulticastBcast};
use crate::collective::prepare::Call;
use crate::collective::selection::Conditions;
use crate::collective::{Algorithm, Operation};
use crate::error::Error;
use crate::user_buffer::Region;
use pombo_kernel::Peer;

impl Call<'_> {
    /// Does a broadcast of so many bytes between the hosts go over the network's own? All ranks get the same answer.
    pub(in crate::collective) fn uses_multicast(&mut self, bytes: usize) -> Result<bool, Error> {
        let record = self.record()?;
        let Some(layout) = record.host_layout.as_ref().filter(|_| record.multicast) else {
            return Ok(false);
        };
        let conditions = Conditions {
            ranks: layout.leaders().len(),
            several_hosts: true,
            multicast: true,
            ..Conditions::default()
        };
        Ok(self.selector().select(Operation::Bcast, bytes, conditions) == Algorithm::Multicast)
    }

    /// The broadcast of this region among the first ranks of all hosts, of which this is one.
    pub(in crate::collective) fn multicast(
        &mut self,
        host: usize,
        region: Region,
    ) -> Result<MulticastOperation, Error> {
        let record = self.record()?;
        let first = record.host_layout.as_ref().map(|layout| layout.leaders());
        let root = first.and_then(|first| first.get(host).copied());
        let (group, root) = (table::number(record.context), root.unwrap_or(Peer(0)));
        // They are sent in the order of the calls, not in that in which they can begin.
        let groups = self.world.extensions.get::<MulticastBcast>().open()?;
        let number = groups.map(|groups| groups.begin(group, root));
        Ok(MulticastOperation::new(
            group,
            root,
            region,
            number.unwrap_or(0),
        ))
    }
}
