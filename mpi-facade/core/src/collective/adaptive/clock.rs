//! Tells whether what arrives now may have waited while this rank was not in a call. Only `tree` uses it.

use crate::runtime::world::World;
use pombo_kernel::Channel;
use pombo_netdrivers::tuning::LATENCY_NOISE;

/// Polls of a wait that may bring what has arrived before it.
const FIRST_POLLS: u32 = 2;

/// The time of the last poll, and the wait that it belongs to.
#[derive(Default)]
pub(super) struct Clock {
    pub(super) now: u64,
    wait: u32,
    /// Polls since that wait began.
    polls: u32,
    was_away: bool,
}

impl Clock {
    /// Notes a poll.
    pub(super) fn note(&mut self, world: &World) {
        let (now, wait) = (world.kernel.channel().now(), world.idle_counts.waits);
        if wait != self.wait {
            self.was_away = now.saturating_sub(self.now) > LATENCY_NOISE;
            (self.wait, self.polls) = (wait, 0);
        }
        self.polls = self.polls.saturating_add(1);
        self.now = now;
    }

    /// Returns whether a frame that is seen now may have arrived long before.
    pub(super) fn is_doubtful(&self) -> bool {
        self.was_away && self.polls <= FIRST_POLLS
    }
}
