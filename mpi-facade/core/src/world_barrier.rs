//! The barrier of all ranks of the world at its end, by point-to-point messages alone: a program without collective calls
//! links none. `MPI_Finalize` calls it.

use crate::constants::MPI_COMM_WORLD;
use crate::datatype::Shape;
use crate::kernel::Posted;
use crate::message_header::{MpiHeader, MpiPattern};
use crate::p2p::with_room;
use crate::runtime::world::{CommError, World};
use crate::status::Status;
use crate::user_buffer::UserAddress;
use pombo_kernel::{Mode, Peer};

/// Context of collective messages of `MPI_COMM_WORLD`.
const CONTEXT: u32 = 1;
/// The tag of these messages: collective operations have lower ones, and the exchange of numbers the next one.
const TAG: u32 = u32::MAX - 2;
/// A standard send may be complete while a copy of it waits here, and a rank at its end would leave with it. Without
/// rendezvous no message waits for its receive, and a rank flushes its frames before it leaves.
const MODE: Mode = if cfg!(feature = "rendezvous") {
    Mode::Synchronous
} else {
    Mode::Standard
};

/// Returns when all ranks have called it: messages go up a binary tree and down again.
///
/// # Errors
/// A rank is gone.
#[cold]
pub(crate) fn world_barrier(world: &mut World) -> Result<(), CommError> {
    let me = world.kernel.me().index();
    pass_children(world, me, Direction::From)?;
    if let Some(parent) = me.checked_sub(1).map(|above| above / 2) {
        pass(world, parent, Direction::To)?;
        pass(world, parent, Direction::From)?;
    }
    pass_children(world, me, Direction::To)
}

/// Passes a message from or to each of the ranks below in the tree.
#[inline(never)]
fn pass_children(world: &mut World, me: usize, direction: Direction) -> Result<(), CommError> {
    for child in 2 * me + 1..world.kernel.peers().min(2 * me + 3) {
        pass(world, child, direction)?;
    }
    Ok(())
}

/// Whether a message comes or goes.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    From,
    To,
}

/// Passes an empty message from or to another rank.
#[inline(never)]
fn pass(world: &mut World, other: usize, direction: Direction) -> Result<(), CommError> {
    with_room(world, |world| {
        let (peer, mut nothing) = (Peer(other as u16), [0_u64; 0]);
        let region = UserAddress::of(&mut nothing).region(0, Shape::BYTE);
        let posted = match direction {
            Direction::From => {
                let pattern = MpiPattern::new(CONTEXT, Some(peer), Some(TAG));
                Posted::receive(world, pattern, region, MPI_COMM_WORLD)
            }
            Direction::To => {
                let header = MpiHeader::new(CONTEXT, TAG);
                Posted::send(world, MODE, peer, header, region, MPI_COMM_WORLD)
            }
        };
        posted.begun()?.wait(&mut { Status::EMPTY })
    })
}
