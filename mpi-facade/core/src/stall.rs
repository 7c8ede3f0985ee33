//! What a call that waits or asks in vain does now and then. A short standard send that waits for its receive goes on
//! as a copy, and is over: programs count on it that such a send does not wait. A receive from anybody ends for which
//! nobody is left.

use crate::constants::Request;
use crate::forsaken;
use crate::output::{self, Line};
use crate::request;
use crate::world::World;
use pombo_kernel::Error;

/// Sends that had to wait because the room for copies is used up.
#[derive(Default)]
pub(crate) struct Stall {
    /// Looks in a row that found no room.
    looks: u32,
}

/// So many of them, and the user is told, once: what comes next is a sleep.
const PATIENCE: u32 = 2;

/// Looks after the requests that the call waits for.
#[cold]
pub(crate) fn attend(world: &mut World, requests: &[Request]) {
    for ticket in requests.iter().filter_map(|it| request::ticket(*it)) {
        match world.kernel.detach(ticket) {
            Ok(true) if world.stall.looks < PATIENCE => world.stall.looks = 0,
            Err(Error::Full) => complain(world),
            _ => {}
        }
    }
    forsaken::end(world, requests);
}

/// A send waits for its receive, as there is no room for its copy.
fn complain(world: &mut World) {
    world.stall.looks = world.stall.looks.saturating_add(1);
    if world.stall.looks != PATIENCE {
        return;
    }
    let rank = world.kernel.node();
    output::error(&Line::of(format_args!(
        "pombo: rank {rank} waits in a send until its receive is posted: all POMBO_SEND_BUFFER_BYTES are taken by short \
         messages that nobody has received yet"
    )));
}
