//! What every call does before its operation can begin.

use super::exchange::Buffers as Memory;
use super::layout::Layout;
use super::schedule::{Stand, Steps};
use super::scratch::{Pool, Scratch};
use super::{Algorithm, Operation, Prepared};
use crate::constants::Comm;
use crate::error::Error;
use crate::world::{self, Fault, World};
use core::ffi::c_int;
use pombo_kernel::collective::Segments;

/// Long messages go through chains in segments of so many bytes.
const SEGMENT: usize = 32 << 10;

/// A call while it is being prepared.
pub(super) struct Call<'w> {
    world: &'w mut World,
    pub(super) stand: Stand,
}

/// Prepares a call without a root.
pub(super) fn prepare(
    comm: Comm,
    call: impl FnOnce(&mut Call<'_>) -> Result<Ready, Error>,
) -> Result<Prepared, Fault> {
    prepare_rooted(comm, 0, call)
}

/// Prepares a call with a root.
pub(super) fn prepare_rooted(
    comm: Comm,
    root: c_int,
    call: impl FnOnce(&mut Call<'_>) -> Result<Ready, Error>,
) -> Result<Prepared, Fault> {
    world::with(|world| {
        let group = world.comms.get(comm)?;
        let root = group.root(root).map_err(Fault::on(comm))?;
        let stand = Stand {
            rank: group.rank,
            ranks: group.size(),
            root,
        };
        let mut place = Call { world, stand };
        let ready = call(&mut place).map_err(Fault::on(comm))?;
        Prepared::new(world, comm, ready.steps, ready.memory, ready.scratch)
    })
}

/// Everything that an operation needs.
pub(super) struct Ready {
    pub(super) steps: Steps,
    pub(super) memory: Memory,
    pub(super) scratch: [Scratch; 2],
}

impl Ready {
    /// Without temporary memory.
    pub(super) fn plain(steps: Steps, input: Layout, output: Layout) -> Ready {
        let memory = Memory {
            input,
            output,
            ..Memory::nothing()
        };
        Ready {
            steps,
            memory,
            scratch: Default::default(),
        }
    }
}

impl Call<'_> {
    /// The algorithm for an operation of so many bytes.
    pub(super) fn pick(&self, operation: Operation, bytes: usize) -> Algorithm {
        let choices = &self.world.collectives.choices;
        choices.pick(operation, self.stand.ranks, bytes)
    }

    /// Where temporary memory comes from.
    pub(super) fn pool(&mut self) -> &mut Pool {
        &mut self.world.collectives.pool
    }
}

/// A vector cut as an algorithm wants it, and into how many blocks.
pub(super) fn cut(vector: Layout, algorithm: Algorithm, ranks: usize) -> (Layout, usize) {
    let blocks = match algorithm {
        Algorithm::Chain => {
            let most = SEGMENT / vector.shape().size().max(1);
            Segments::at_most(vector.items(), most).blocks().max(1)
        }
        Algorithm::Scattered | Algorithm::Ring => ranks,
        Algorithm::Halving => 1 << ranks.ilog2(),
        _ => 1,
    };
    (vector.evenly(blocks), blocks)
}
