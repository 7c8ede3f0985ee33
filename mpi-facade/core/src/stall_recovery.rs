//! What a call that polls without success does at intervals. A short standard send that waits for its receive is copied
//! and completes: programs rely on such a send not waiting. A receive from `MPI_ANY_SOURCE` fails if no sender is left.

use crate::any_source_failure;
use crate::constants::Request;
use crate::explanation;
use crate::request::ticket;
use crate::runtime::world::World;
use pombo_job::log::{self, LogLine};
use pombo_kernel::Error;

/// Consecutive checks without room for a copy after which the user is warned, once; after them the rank sleeps.
const WARN_AFTER: u32 = 2;

/// Checks the requests for which a call has waited through `idle` polls, and answers a question about them.
#[cold]
pub(crate) fn attend(world: &mut World, idle: u32, requests: &[Request]) {
    check(world, requests);
    explanation::attend(world, idle, |world| check(world, requests));
}

/// Checks the requests that the call polls, and adds them to an answer that is being written.
#[cold]
pub(crate) fn check(world: &mut World, requests: &[Request]) {
    for &request in requests {
        explanation::add_request(world, request);
    }
    for ticket in requests.iter().filter_map(|it| ticket(*it)) {
        match world.kernel.detach(ticket) {
            Ok(true) if world.idle_counts.stalled < WARN_AFTER => world.idle_counts.stalled = 0,
            Err(Error::Full) => warn(world),
            _ => {}
        }
    }
    any_source_failure::fail_orphaned(world, requests);
}

/// Warns that a send waits for its receive, as there is no room for its copy.
fn warn(world: &mut World) {
    world.idle_counts.stalled = world.idle_counts.stalled.saturating_add(1);
    if world.idle_counts.stalled != WARN_AFTER {
        return;
    }
    let mut line = LogLine::new();
    line.put("pombo: rank ").put_number(world.kernel.me().0).put(
        " waits in a send until its receive is posted: all POMBO_SEND_BUFFER_BYTES hold short messages that \
         nobody has received",
    );
    log::error(&line);
}
