//! Who is gone: one interface for whatever tells of it. Nobody asks a process itself, which may compute for hours: the
//! system knows when one ends. On one host it says so by process descriptors, to the launcher or to ranks without one,
//! and the segment carries it; between hosts the end of a connection says it, in the package above.
//!
//! A channel polls its source and reports [`Event::PeerLost`](pombo_kernel::channel::Event::PeerLost); whoever has the
//! channel asks the source how that peer has ended.

use pombo_kernel::header::Peer;

/// Tells which peers of a channel are gone.
pub trait DeathSource {
    /// Looks, if it is time to, and names every peer that has gone since the last look; maybe others of the gone again.
    /// The time is that of [`wait::now`](crate::wait::now).
    fn poll_deaths(&mut self, now: u64, gone: &mut dyn FnMut(Peer));

    /// The nanoseconds that whoever polls may sleep: so long a death stays unnoticed. `u64::MAX`: a death ends the
    /// sleep.
    fn max_sleep(&self) -> u64;

    /// Has that peer, which is gone, left in good order?
    fn has_finished(&self, peer: Peer) -> bool;

    /// Because of whom that peer has gone, if it has said so: a number as [`DeathSource::report_root_cause`] got it.
    fn root_cause_of(&self, peer: Peer) -> Option<Peer>;

    /// Tells all others that this process goes because of that one. The number is the caller's, here it means nothing.
    fn report_root_cause(&self, other: Peer);
}
