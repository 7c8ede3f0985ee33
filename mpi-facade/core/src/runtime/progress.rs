//! How a call waits: what makes progress beside the kernel, and the loop around it.

use super::world::{Progress, World};
use crate::error::CommError;

impl World {
    /// From now on this is called whenever a call waits or looks, until it says that it has nothing left to do.
    pub(crate) fn register(&mut self, progress: Progress) {
        self.active.push(progress);
    }

    /// Lets operations go as far as they can that the kernel does not know. `idle`: how often in a row nothing has come.
    #[inline]
    pub(crate) fn progress(&mut self, idle: &mut u32) {
        if !self.active.is_empty() {
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

    /// Makes progress until `over` gives something.
    pub(crate) fn until<R>(
        &mut self,
        over: impl FnMut(&mut World) -> Result<Option<R>, CommError>,
    ) -> Result<R, CommError> {
        self.until_after(0, over)
    }

    /// As [`World::until`], as if so many looks had been in vain already.
    #[inline]
    pub(crate) fn until_after<R>(
        &mut self,
        looks: u32,
        mut over: impl FnMut(&mut World) -> Result<Option<R>, CommError>,
    ) -> Result<R, CommError> {
        let (mut idle, mut came) = (looks, true);
        self.idle_counts.waiting = 0;
        loop {
            if let Some(result) = over(self)? {
                return Ok(result);
            }
            if !self.active.is_empty() {
                self.run_progress(&mut idle, came);
            }
            self.kernel.advance(&mut idle)?;
            came = idle == 0;
            idle = idle.max(looks);
            self.idle_counts.waiting = idle;
        }
    }
}
