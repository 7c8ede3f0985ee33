//! Sends what is due and computes the deadline. Called by the owner of a [`Sender`].

use super::Sender;
use crate::multicast::GroupSizes;
use pombo_kernel::aspect::Storage;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Source as Bytes;
use pombo_kernel::network::Broadcast;

impl<Z: GroupSizes, S: Storage> Sender<Z, S> {
    /// Sends what may be sent now, until the device has no room. `message` is the message that [`Sender::send`] has
    /// begun; small ones are not read. Returns whether all receivers have everything.
    ///
    /// # Errors
    /// The errors of the network, except that it has no room.
    pub fn send_due<N: Broadcast>(
        &mut self,
        network: &mut N,
        message: &impl Bytes,
    ) -> Result<bool, ChannelError> {
        let now = network.now();
        self.blocked = false;
        while !self.is_done() && (self.train || message.len() == self.len) {
            let Some(next_frame) = self.next_frame(now) else {
                return Ok(false);
            };
            match self.emit(&next_frame, network, message, now) {
                Ok(()) => {}
                Err(ChannelError::Full) => {
                    self.blocked = true;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(self.is_done())
    }

    /// Returns the time in ns at which [`Sender::send_due`] must be called next; a full device reports room by itself.
    pub fn deadline(&self) -> u64 {
        match self.blocked || self.is_done() {
            true => u64::MAX,
            false => self.retry_at(),
        }
    }
}
