//! The job, as a proxy sees it: `proxy` passes on what comes from here and goes there, whatever carries it.

use std::io;
use std::os::fd::RawFd;

use pombo_kernel::channel::WaitSet;

use super::frame_queue::FrameQueue;
use super::wire::End;

/// What comes from a process of the job.
pub(super) enum Said<'a> {
    Frame(&'a [u8]),
    Lost(End),
}

/// What a proxy waits for, beside the job.
pub(super) struct Waits {
    /// The connection to the mirror, if it still says something; else negative.
    pub(super) heard: RawFd,
    /// The same connection, if something waits for room in the system; else negative.
    pub(super) full: RawFd,
    /// Whether what comes for the program can be taken.
    pub(super) may_poll: bool,
    /// Whether frames wait for a process of the job.
    pub(super) has_frames: bool,
}

impl Waits {
    /// Returns these descriptors, and others that become readable.
    pub(super) fn with<const N: usize>(&self, others: [RawFd; N]) -> WaitSet {
        let own = WaitSet::readable([self.heard]).writable(true, [self.full]);
        // There are four at most.
        own.or(WaitSet::readable(others)).unwrap_or(own)
    }
}

/// A place in the job.
pub(super) trait JobSide {
    /// Returns the fingerprint of the job's composition; 0 if no process has attached yet.
    fn fingerprint(&self) -> u64;
    /// Does what has to be done all the time. Returns whether the job is over.
    fn turn(&mut self) -> io::Result<bool>;
    /// The mirror can use the place.
    fn take(&mut self) -> io::Result<()>;
    /// The program has attached, with that fingerprint: until then there are no frames.
    fn attach(&mut self, fingerprint: u64) -> io::Result<()>;
    /// Returns whether the process at that place has attached.
    fn has_started(&self, place: usize) -> bool;
    /// Sends as many of these frames as the process at that place has room for. Returns what they cost.
    fn send(&mut self, to: usize, frames: &mut FrameQueue) -> io::Result<usize>;
    /// Takes some of what has come for the program. Returns whether there was anything.
    fn poll(&mut self, take: &mut dyn FnMut(usize, Said<'_>)) -> io::Result<bool>;
    /// The program has ended. Returns false if that cannot be told yet, as not all has arrived that it sent.
    fn leave(&mut self, in_good_order: bool) -> bool;
    /// Waits until something may have come. Returns the number of idle turns.
    fn wait(&mut self, idle: u32, waits: &Waits) -> io::Result<u32>;
}
