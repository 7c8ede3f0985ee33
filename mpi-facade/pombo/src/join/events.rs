//! What `pombo join` waits for while its program runs.

use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;

use super::place::Place;
use crate::error::Error;
use crate::run::Signals;

/// What has happened.
pub(super) enum Event {
    /// A signal came; SIGCHLD when the program may have ended.
    Signal(Signal),
    /// The launcher has closed the connection.
    Closed,
    /// The limit has passed.
    Late,
}

/// Waits for the next event. The limit is given once the connection has closed, which then is no event any more.
pub(super) fn wait(
    signals: &Signals,
    place: &Place,
    limit: Option<Duration>,
) -> Result<Event, Error> {
    let timeout = limit.map_or(PollTimeout::NONE, |limit| {
        PollTimeout::try_from(limit.as_millis() + 1).unwrap_or(PollTimeout::MAX)
    });
    loop {
        if let Some(signal) = signals.next() {
            return Ok(Event::Signal(signal));
        }
        let mut all = [signals.as_fd(), place.as_fd()]
            .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN));
        let watched = if limit.is_some() { 1 } else { 2 };
        match poll(&mut all[..watched], timeout) {
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(Error::errno("wait for the program")(errno)),
            Ok(0) => return Ok(Event::Late),
            Ok(_) if all[1].any() == Some(true) => return Ok(Event::Closed),
            Ok(_) => {}
        }
    }
}
