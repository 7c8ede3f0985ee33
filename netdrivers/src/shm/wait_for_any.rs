//! Waits of a thread that has several ranks of a segment: one that stands for the processes of another machine.

use core::cell::RefCell;
use core::time::Duration;

use super::channel::Shm;
use super::event_count::Park;
use super::sync::AtomicU32;
use super::wake_socket::{PollPark, WakeSocket};
use crate::tuning::{MAX_SOCKET_SLEEP, SHORT_SLEEP};
use crate::wait::{sleep, wait_fds};
use pombo_kernel::channel::WaitSet;

impl Shm {
    /// Sleeps until one of these ranks, which are this thread's, has an event, or `other` does. A rank whose frames are to
    /// stay in its rings must not be among them: they end the sleep.
    pub fn wait_for_any(ranks: &mut [&mut Shm], other: WaitSet) {
        let Some(first) = ranks.first_mut() else {
            // Whatever the result, the caller polls again.
            let _ = wait_fds(other);
            return;
        };
        let futex = first.park;
        let Some(wake_socket) = first.wake_socket.take().or_else(WakeSocket::open) else {
            return sleep(other.timeout.min(SHORT_SLEEP));
        };
        let park = PollPark {
            futex,
            wake_socket: &wake_socket,
            sources: other,
            max_sleep: MAX_SOCKET_SLEEP,
        };
        AllAsleep::of(ranks, &park).sleep_next(None);
        ranks[0].wake_socket = Some(wake_socket);
    }
}

/// Parks a rank once all ranks behind it have marked themselves asleep at the same socket, and have no event.
struct AllAsleep<'a, 'b, 'c> {
    behind: RefCell<&'a mut [&'b mut Shm]>,
    park: &'a PollPark<'c>,
}

impl<'a, 'b, 'c> AllAsleep<'a, 'b, 'c> {
    fn of(ranks: &'a mut [&'b mut Shm], park: &'a PollPark<'c>) -> Self {
        AllAsleep {
            behind: RefCell::new(ranks),
            park,
        }
    }

    /// Returns false if no rank is behind.
    fn sleep_next(&self, limit: Option<Duration>) -> bool {
        let limit = limit.map_or(u64::MAX, |limit| limit.as_nanos() as u64);
        match self.behind.borrow_mut().split_first_mut() {
            Some((next, behind)) => next.sleep(&AllAsleep::of(behind, self.park), limit),
            None => return false,
        }
        true
    }
}

impl Park for AllAsleep<'_, '_, '_> {
    fn light_fence(&self) {
        self.park.light_fence();
    }

    fn heavy_fence(&self) -> bool {
        self.park.heavy_fence()
    }

    fn wake_socket(&self) -> u32 {
        self.park.wake_socket()
    }

    fn sleep(&self, word: &AtomicU32, value: u32, limit: Option<Duration>) {
        if !self.sleep_next(limit) {
            self.park.sleep(word, value, limit);
        }
    }

    fn wake(&self, word: &AtomicU32, wake_socket: u32) {
        self.park.wake(word, wake_socket);
    }
}
