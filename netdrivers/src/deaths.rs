//! Detection of dead peers: one interface for all sources. No source asks the process itself, which may compute for
//! hours: the system knows when it ends. On one host it reports that by process descriptors, to the launcher or to
//! ranks without one, and the segment carries it; between hosts the end of a connection reports it, in the package
//! above.
//!
//! A channel polls its source and reports [`Event::PeerLost`](pombo_kernel::channel::Event::PeerLost); the owner of the
//! channel asks the source how that peer has ended.

use pombo_kernel::header::Peer;

/// Reports which peers of a channel are dead.
pub trait DeathSource {
    /// Checks for deaths, if it is time to, and names every peer that has died since the last check; it may repeat
    /// others. `now` is the time of [`wait::now`](crate::wait::now).
    fn poll_deaths(&mut self, now: u64, gone: &mut dyn FnMut(Peer));

    /// Returns the longest sleep in nanoseconds of the polling rank, for which a death may stay undetected; `u64::MAX`:
    /// a death ends the sleep.
    fn max_sleep(&self) -> u64;

    /// Returns whether that peer has been there: its process has attached, or has ended. Places of a job that processes
    /// may join later have peers that have not.
    fn has_started(&self, peer: Peer) -> bool;

    /// Returns whether that peer counts as dead because it does not answer: its process may be alive. Other dead peers
    /// are known to have ended.
    fn is_unreachable(&self, peer: Peer) -> bool;

    /// Returns whether that dead peer has ended in good order.
    fn has_finished(&self, peer: Peer) -> bool;

    /// Returns the peer because of which that peer has ended, if it reported one by [`DeathSource::report_root_cause`].
    fn root_cause_of(&self, peer: Peer) -> Option<Peer>;

    /// Reports to all others that this process ends because of that peer. The meaning of the number is the caller's.
    fn report_root_cause(&self, other: Peer);
}
