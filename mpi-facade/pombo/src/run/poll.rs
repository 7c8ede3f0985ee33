//! One wait for all descriptors of a running job. `supervise` uses it; `input` and `output` add theirs.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::error::Error;

/// A descriptor that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// A signal is pending.
    Signal,
    /// Output of a rank can be read, or has ended.
    Source(usize),
    /// The launcher's own output takes more, or is closed.
    Sink(usize),
    /// The terminal has input.
    Terminal,
    /// Rank 0 takes input, or has closed it.
    Input,
    /// Who joins the job, or has joined it, has something to say or has ended.
    Join,
}

/// The descriptors of one wait.
#[derive(Default)]
pub(crate) struct Interest<'a> {
    descriptors: Vec<PollFd<'a>>,
    names: Vec<Ready>,
}

impl<'a> Interest<'a> {
    pub(crate) fn readable(&mut self, descriptor: BorrowedFd<'a>, name: Ready) {
        self.add(descriptor, PollFlags::POLLIN, name);
    }

    pub(crate) fn writable(&mut self, descriptor: BorrowedFd<'a>, name: Ready) {
        self.add(descriptor, PollFlags::POLLOUT, name);
    }

    fn add(&mut self, descriptor: BorrowedFd<'a>, flags: PollFlags, name: Ready) {
        self.descriptors.push(PollFd::new(descriptor, flags));
        self.names.push(name);
    }

    /// Waits until a descriptor is ready or the limit has passed; without a limit, as long as it takes.
    pub(crate) fn wait(mut self, limit: Option<Duration>) -> Result<Vec<Ready>, Error> {
        match poll(&mut self.descriptors, timeout(limit)) {
            Err(Errno::EINTR) => return Ok(Vec::new()),
            Err(errno) => return Err(Error::errno("wait for the ranks")(errno)),
            Ok(_) => {}
        }
        let pairs = self.descriptors.iter().zip(&self.names);
        let ready = pairs.filter(|(descriptor, _)| descriptor.any() != Some(false));
        Ok(ready.map(|(_, name)| *name).collect())
    }
}

/// Rounds up, so that a wait never ends just before its deadline.
fn timeout(limit: Option<Duration>) -> PollTimeout {
    match limit {
        None => PollTimeout::NONE,
        Some(limit) => {
            let milliseconds = limit.as_nanos().div_ceil(1_000_000);
            PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX)
        }
    }
}
