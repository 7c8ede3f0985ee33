//! Which broadcasts go over the network's own, and their beginning.

use super::operation::Cast;
use super::table::{self, Casting};
use crate::collective::call::Call;
use crate::collective::choice::Ground;
use crate::collective::{Algorithm, Operation};
use crate::error::Error;
use crate::memory::Region;
use pombo_kernel::Node;

impl Call<'_> {
    /// Does a broadcast of so many bytes between the hosts go over the network's own? All ranks get the same answer.
    pub(in crate::collective) fn casts(&mut self, bytes: usize) -> Result<bool, Error> {
        let group = self.group()?;
        let Some(levels) = group.levels.as_ref().filter(|_| group.casts) else {
            return Ok(false);
        };
        let ground = Ground {
            ranks: levels.first().len(),
            apart: true,
            cast: true,
            ..Ground::default()
        };
        Ok(self.choices().pick(Operation::Bcast, bytes, ground) == Algorithm::Cast)
    }

    /// The broadcast of this region among the first ranks of all hosts, of which this is one.
    pub(in crate::collective) fn cast(
        &mut self,
        host: usize,
        region: Region,
    ) -> Result<Cast, Error> {
        let group = self.group()?;
        let first = group.levels.as_ref().map(|levels| levels.first());
        let root = first.and_then(|first| first.get(host).copied());
        let (group, root) = (table::number(group.context), root.unwrap_or(Node(0)));
        // They are sent in the order of the calls, not in that in which they can begin.
        let casts = self.world.parts.get::<Casting>().open()?;
        let number = casts.map(|casts| casts.begin(group, root));
        Ok(Cast::new(group, root, region, number.unwrap_or(0)))
    }
}
