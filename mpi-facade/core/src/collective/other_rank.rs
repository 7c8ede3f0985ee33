//! The other of two ranks of a host, and whether it has sent everything. `direct` and `operation` ask.

use crate::runtime::world::World;

/// The other rank of an operation, and the operation's number over shared memory.
#[derive(Clone, Copy)]
pub(super) struct OtherRank {
    pub(super) area: u8,
    pub(super) rank: usize,
    pub(super) number: u64,
}

impl OtherRank {
    /// Returns whether it has sent everything that it sends in the operation; if not, a sleep ends when it has.
    pub(super) fn has_left(self, world: &mut World) -> bool {
        let group = world.shm().group(self.area.into());
        group.is_some_and(|mut group| group.has_left(self.rank, self.number))
    }

    /// Ends the wait that [`OtherRank::has_left`] has begun.
    pub(super) fn end_wait(self, world: &mut World) {
        if let Some(mut group) = world.shm().group(self.area.into()) {
            group.end_wait();
        }
    }
}
