//! Back-off for programs that test repeatedly instead of waiting: where ranks share processors, such a call yields to
//! the others at intervals. Only calls that do not wait use it.

use crate::any_source_failure;
use crate::message_header::MpiPattern;
use crate::runtime::world::{CommError, World};
use core::mem::replace;
use pombo_kernel::Error;
use pombo_kernel::channel::Channel;
use pombo_netdrivers::tuning::{BUSY_TESTS_TIME, NO_SLEEP_POLLS, TEST_SLEEP, TESTS_PER_CLOCK};

impl World {
    /// Makes progress, for a call that does not wait.
    #[inline]
    pub(crate) fn make_progress(&mut self) -> Result<(), CommError> {
        self.kernel.check_messages()?;
        self.begin_wait();
        self.progress(&mut 0);
        Ok(())
    }

    /// Probes for a message without waiting for one. Where an earlier probe has found one that its sender keeps, the
    /// sender is queried again before the answer is no: that waits until the sender is in a call.
    pub(crate) fn probe_for<R>(
        &mut self,
        pattern: MpiPattern,
        mut look: impl FnMut(&mut World) -> Result<Option<R>, CommError>,
    ) -> Result<Option<R>, CommError> {
        self.make_progress()?;
        let told = self.kernel.has_answer(&pattern);
        let mut found = look(self)?;
        if told && found.is_none() {
            found = self.until(|world| {
                let asking = world.kernel.is_asking(&pattern);
                let found = look(world)?;
                Ok((found.is_some() || !asking).then_some(found))
            })?;
        }
        if found.is_none() {
            if any_source_failure::is_due_once(self) {
                any_source_failure::check(self, pattern)?;
            }
            self.test_backoff()?;
        }
        Ok(found)
    }

    /// Backs off if due, in a call that returns "not complete" after a [`World::make_progress`].
    #[inline]
    pub(crate) fn test_backoff(&mut self) -> Result<(), CommError> {
        self.idle_counts.untested.0 += 1;
        match self.idle_counts.untested.0 {
            TESTS_PER_CLOCK => self.yield_processor(),
            _ => Ok(()),
        }
    }

    #[cold]
    fn yield_processor(&mut self) -> Result<(), CommError> {
        let channel = self.kernel.channel_mut();
        let now = channel.now();
        let (_, since) = replace(&mut self.idle_counts.untested, (0, now));
        if now.saturating_sub(since) < BUSY_TESTS_TIME {
            channel
                .wait_timeout(NO_SLEEP_POLLS, TEST_SLEEP)
                .map_err(Error::from)?;
            self.idle_counts.untested.1 = channel.now();
        }
        Ok(())
    }
}
