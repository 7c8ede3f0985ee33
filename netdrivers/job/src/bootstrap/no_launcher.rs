//! Stands in for the launcher and what ranks tell each other through it, in programs that are linked for one host.

use core::ffi::c_int;
use pombo_netdrivers::shm::Shm;

/// A launcher that serves the ranks: there is none.
pub enum Launcher {}

impl Launcher {
    /// Returns the rank of this process.
    pub fn rank(&self) -> usize {
        match *self {}
    }

    /// Tells the launcher that this rank leaves regularly.
    pub fn finish(&mut self) {
        match *self {}
    }

    /// Returns the memory in which the launcher asks the ranks.
    pub fn shm(&mut self) -> Option<&mut Shm> {
        match *self {}
    }

    /// Tells the launcher that the whole job has to end, with this exit code.
    pub fn abort(&mut self, _: c_int) {
        match *self {}
    }
}

/// Closes the connections to the job in a forked child: there are none.
pub fn let_go() {}

/// The information that ranks of several hosts exchange: there is none.
pub(crate) enum JobInfo {}
