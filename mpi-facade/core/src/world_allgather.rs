//! The exchange of a number by all ranks of the world, by point-to-point messages alone. The set-up of multicast calls
//! it.

use crate::constants::*;
use crate::datatype::Shape;
use crate::kernel::Posted;
use crate::message_header::{MpiHeader, MpiPattern};
use crate::runtime::world::{CommError, World};
use crate::status::Status;
use crate::user_buffer::UserAddress;
use alloc::vec;
use alloc::vec::Vec;
use pombo_kernel::{Mode, Peer};

/// Context of collective messages of `MPI_COMM_WORLD`.
const CONTEXT: u32 = 1;
/// The tag of these messages: collective operations have lower ones.
const TAG: u32 = u32::MAX - 1;

/// Returns the numbers of all ranks, in the order of ranks, when all ranks have called it: Bruck's algorithm, a round for
/// each doubling.
///
/// # Errors
/// A rank is gone.
#[cold]
pub(crate) fn world_allgather(world: &mut World, own: u64) -> Result<Vec<u64>, CommError> {
    let (me, ranks) = (world.kernel.me().index(), world.kernel.peers());
    let peer = |steps: usize| Peer(((me + steps) % ranks) as u16);
    // In the order of ranks from this one on.
    let mut all = vec![own.to_le(); ranks];
    let mut known = 1;
    while known < ranks {
        let count = known.min(ranks - known);
        let (have, missing) = all.split_at_mut(known);
        let bytes = |numbers: &mut [u64]| UserAddress::of(numbers).region(8 * count, Shape::BYTE);
        let pattern = MpiPattern::new(CONTEXT, Some(peer(known)), Some(TAG));
        let receive = Posted::receive(world, pattern, bytes(missing), MPI_COMM_WORLD);
        let mut receive = receive.begun()?;
        let (to, header) = (peer(ranks - known), MpiHeader::new(CONTEXT, TAG));
        let world = receive.world();
        // A standard send may be complete while a copy of it waits here, and a rank at its end would leave with it.
        Posted::send(
            world,
            Mode::Synchronous,
            to,
            header,
            bytes(have),
            MPI_COMM_WORLD,
        )
        .begun()?
        .wait_sent()?;
        receive.wait(&mut { Status::EMPTY })?;
        known += count;
    }
    all.rotate_right(me);
    all.iter_mut().for_each(|own| *own = u64::from_le(*own));
    Ok(all)
}
