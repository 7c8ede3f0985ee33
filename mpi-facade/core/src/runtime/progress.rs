//! How a call waits: progress outside the kernel, and the loop around it.

use super::world::{Progress, World};
use crate::error::CommError;
use crate::explanation;
use pombo_netdrivers::tuning::SLEEPING_AFTER;

impl World {
    /// Registers a function that is called whenever a call waits or polls, until it returns false.
    pub(crate) fn register(&mut self, progress: Progress) {
        self.active.push(progress);
    }

    /// Returns whether operations that the kernel does not know are under way.
    #[inline]
    pub(crate) fn makes_progress_outside(&self) -> bool {
        !self.active.is_empty()
    }

    /// Notes that a call begins to wait, or polls once.
    #[inline]
    pub(crate) fn begin_wait(&mut self) {
        if self.makes_progress_outside() {
            self.idle_counts.waits = self.idle_counts.waits.wrapping_add(1);
        }
    }

    /// Progresses operations that the kernel does not know. `idle` counts consecutive polls without a message.
    #[inline]
    pub(crate) fn progress(&mut self, idle: &mut u32) {
        if self.makes_progress_outside() {
            let came = *idle == 0;
            self.run_progress(idle, came);
        }
    }

    #[inline(never)]
    fn run_progress(&mut self, idle: &mut u32, mut came: bool) {
        let mut place = 0;
        while let Some(progress) = self.active.get(place).copied() {
            came |= *idle == 0;
            match progress(self, idle, came) {
                true => place += 1,
                false => drop(self.active.remove(place)),
            }
        }
    }

    /// Makes progress until `over` returns a value.
    pub(crate) fn until<R>(
        &mut self,
        over: impl FnMut(&mut World) -> Result<Option<R>, CommError>,
    ) -> Result<R, CommError> {
        self.until_after(0, over)
    }

    /// Does what [`World::until`] does, starting from a count of polls without success.
    #[inline]
    pub(crate) fn until_after<R>(
        &mut self,
        looks: u32,
        mut over: impl FnMut(&mut World) -> Result<Option<R>, CommError>,
    ) -> Result<R, CommError> {
        let (mut idle, mut came) = (looks, true);
        self.idle_counts.waiting = 0;
        self.begin_wait();
        loop {
            if let Some(result) = over(self)? {
                return Ok(result);
            }
            if self.makes_progress_outside() {
                self.run_progress(&mut idle, came);
            }
            self.kernel.advance(&mut idle)?;
            came = idle == 0;
            idle = idle.max(looks);
            self.idle_counts.waiting = idle;
            if idle >= SLEEPING_AFTER {
                explanation::attend(self, idle, |_| ());
            }
        }
    }
}
