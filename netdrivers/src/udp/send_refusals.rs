//! Frames that this host itself refuses to send: a rule of its firewall or a route forbids them, often only for a
//! moment. So they count as lost, and only a long refusal is an error. Only `udp` uses it.

use alloc::vec::Vec;
use core::net::SocketAddr;

use super::address::SockAddr;
use super::socket::SendOutcome;
use crate::wait::now;
use pombo_kernel::channel::ChannelError;

/// The present refusals, by address.
pub(super) struct RefusalTracker {
    active: Vec<Refusal>,
    /// Nanoseconds until a refusal is an error.
    limit: u64,
    /// The address whose refusal was an error.
    failed: Option<SocketAddr>,
}

struct Refusal {
    to: SockAddr,
    first: u64,
    last: u64,
}

/// Seconds for which a destination may be refused, by default.
pub(super) const LIMIT: u32 = 10;
/// A refusal that follows the one before after more than this multiple of the limit starts a new interval: frames that
/// matter are sent again much sooner.
const UNRELATED_AFTER: u64 = 2;

impl RefusalTracker {
    pub(super) fn new() -> Self {
        let mut refused = RefusalTracker {
            active: Vec::new(),
            limit: 0,
            failed: None,
        };
        refused.set_limit(LIMIT);
        refused
    }

    pub(super) fn set_limit(&mut self, seconds: u32) {
        self.limit = u64::from(seconds) * 1_000_000_000;
    }

    /// Returns the address at which frames were refused for so long that it is an error.
    pub(super) fn failed(&self) -> Option<SocketAddr> {
        self.failed
    }

    /// Records the outcome of a frame.
    ///
    /// # Errors
    /// [`ChannelError::Device`]: all frames to that address were refused until the limit was over.
    #[inline]
    pub(super) fn note(&mut self, to: &SockAddr, taken: SendOutcome) -> Result<(), ChannelError> {
        match taken {
            SendOutcome::Sent if self.active.is_empty() => Ok(()),
            SendOutcome::Lost => Ok(()),
            SendOutcome::Sent => {
                self.active.retain(|refusal| !refusal.to.is_same(to));
                Ok(())
            }
            SendOutcome::Refused(errno) => self.refuse(to, errno, now()),
        }
    }

    #[cold]
    fn refuse(&mut self, to: &SockAddr, errno: i32, now: u64) -> Result<(), ChannelError> {
        let mut active = self.active.iter_mut();
        let Some(refusal) = active.find(|refusal| refusal.to.is_same(to)) else {
            self.active.push(Refusal {
                to: *to,
                first: now,
                last: now,
            });
            return Ok(());
        };
        if now.saturating_sub(refusal.last) > UNRELATED_AFTER * self.limit {
            refusal.first = now;
        }
        refusal.last = now;
        if now.saturating_sub(refusal.first) < self.limit {
            return Ok(());
        }
        self.failed = to.address();
        Err(ChannelError::Device(errno))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(port: u16) -> SockAddr {
        SockAddr::new(SocketAddr::from(([10, 0, 0, 1], port)))
    }

    #[test]
    fn what_is_refused_for_long_is_an_error_and_named() {
        let (mut refused, end) = (RefusalTracker::new(), u64::from(LIMIT));
        for second in 0..end {
            assert_eq!(refused.refuse(&at(1), libc::EPERM, second * SECOND), Ok(()));
        }
        assert_eq!(refused.failed(), None);
        // Each destination has an interval of its own.
        assert_eq!(refused.refuse(&at(2), libc::EPERM, end * SECOND), Ok(()));
        let failed = refused.refuse(&at(1), libc::EACCES, end * SECOND);
        assert_eq!(failed, Err(ChannelError::Device(libc::EACCES)));
        assert_eq!(refused.failed(), at(1).address());
    }

    #[test]
    fn what_passes_is_none() {
        let (mut refused, end) = (RefusalTracker::new(), u64::from(LIMIT));
        assert_eq!(refused.refuse(&at(1), libc::EPERM, 0), Ok(()));
        assert_eq!(refused.note(&at(2), SendOutcome::Sent), Ok(()));
        assert_eq!(refused.note(&at(1), SendOutcome::Sent), Ok(()));
        assert_eq!(refused.refuse(&at(1), libc::EPERM, end * SECOND), Ok(()));
        // No frame was sent for a long time.
        let late = (1 + 3 * end) * SECOND;
        assert_eq!(refused.refuse(&at(1), libc::EPERM, late), Ok(()));
        assert_eq!(refused.failed(), None);
    }
}
