//! Programs that ask again and again whether something is over, instead of waiting for it: where ranks share
//! processors, the others get a turn. For the calls that do not wait.

use crate::forsaken;
use crate::header::Wanted;
use crate::world::{Fault, World};
use core::mem::replace;
use pombo_kernel::Error;
use pombo_kernel::channel::Channel;

/// So many answers that nothing is over are worth a look at the time.
const FEW: u32 = 32;
/// Nanoseconds: a program that gets a few of them in less does nothing else meanwhile.
const BUSY: u64 = 64_000;
/// Looks in vain after which a rank may sleep.
const SLEEPY: u32 = 2;
/// Nanoseconds that a call then takes at most, where nothing arrives.
const NAP: u64 = 100_000;

impl World {
    /// Lets messages come and go, for a call that does not wait.
    #[inline]
    pub(crate) fn glance(&mut self) -> Result<(), Fault> {
        self.kernel.check_messages()?;
        self.progress(&mut 0);
        Ok(())
    }

    /// Looks for a message without waiting for one. Where a probe has found one that its sender keeps, the sender is
    /// asked again before the answer is no: that takes until it is in a call.
    pub(crate) fn look_for<R>(
        &mut self,
        wanted: Wanted,
        mut look: impl FnMut(&mut World) -> Result<Option<R>, Fault>,
    ) -> Result<Option<R>, Fault> {
        self.glance()?;
        let told = self.kernel.has_told(&wanted);
        let mut found = look(self)?;
        if told && found.is_none() {
            found = self.until(|world| {
                let asking = world.kernel.is_asking(&wanted);
                let found = look(world)?;
                Ok((found.is_some() || !asking).then_some(found))
            })?;
        }
        if found.is_none() {
            if forsaken::is_due_once(self) {
                forsaken::check(self, wanted)?;
            }
            self.in_vain()?;
        }
        Ok(found)
    }

    /// The call's answer is that nothing is over, after a [`World::glance`].
    #[inline]
    pub(crate) fn in_vain(&mut self) -> Result<(), Fault> {
        self.looks.asked.0 += 1;
        match self.looks.asked.0 {
            FEW => self.give_way(),
            _ => Ok(()),
        }
    }

    #[cold]
    fn give_way(&mut self) -> Result<(), Fault> {
        let channel = self.kernel.channel_mut();
        let now = channel.now();
        let (_, since) = replace(&mut self.looks.asked, (0, now));
        if now.saturating_sub(since) < BUSY {
            channel.wait_within(SLEEPY, NAP).map_err(Error::from)?;
            self.looks.asked.1 = channel.now();
        }
        Ok(())
    }
}
