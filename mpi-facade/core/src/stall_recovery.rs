//! What a call that waits or asks in vain does now and then. A short standard send that waits for its receive goes on
//! as a copy, and is over: programs count on it that such a send does not wait. A receive from anybody ends for which
//! nobody is left.

use crate::any_source_failure;
use crate::constants::Request;
use crate::request::ticket;
use crate::runtime::world::World;
use pombo_job::log::{self, LogLine};
use pombo_kernel::Error;

/// Looks in a row that found no room for a copy, and the user is told, once: what comes next is a sleep.
const WARN_AFTER: u32 = 2;

/// Looks after the requests that the call waits for.
#[cold]
pub(crate) fn check(world: &mut World, requests: &[Request]) {
    for ticket in requests.iter().filter_map(|it| ticket(*it)) {
        match world.kernel.detach(ticket) {
            Ok(true) if world.idle_counts.stalled < WARN_AFTER => world.idle_counts.stalled = 0,
            Err(Error::Full) => warn(world),
            _ => {}
        }
    }
    any_source_failure::fail_orphaned(world, requests);
}

/// A send waits for its receive, as there is no room for its copy.
fn warn(world: &mut World) {
    world.idle_counts.stalled = world.idle_counts.stalled.saturating_add(1);
    if world.idle_counts.stalled != WARN_AFTER {
        return;
    }
    let rank = world.kernel.me();
    log::error(&LogLine::of(format_args!(
        "pombo: rank {rank} waits in a send until its receive is posted: all POMBO_SEND_BUFFER_BYTES are taken by short \
         messages that nobody has received yet"
    )));
}
