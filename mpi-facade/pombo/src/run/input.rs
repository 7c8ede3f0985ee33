//! Forwards the launcher's standard input to one rank, which is rank 0 unless the user names another. Only `supervise` and `spawn` use it.
//!
//! That rank inherits a file or pipe: input that it does not read stays there for others. A terminal belongs to the
//! launcher's process group, so its input is forwarded here, one line at a time: the next line is read when the
//! pipe of the rank has taken the last.

use std::io::{self, ErrorKind, IsTerminal, Read, Write, stdin};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ChildStdin, Stdio};

use nix::unistd::{getpgrp, tcgetpgrp};

use super::poll::{Interest, Ready};

/// Bytes that a terminal gives at most at once, and that a pipe takes without blocking.
const LINE: usize = 4096;

/// The forwarding from a terminal, if there is one.
#[derive(Default)]
pub(crate) struct Input {
    relay: Option<Relay>,
}

struct Relay {
    terminal: std::fs::File,
    rank: ChildStdin,
    pending: Vec<u8>,
    /// Set while the launcher runs in the background, where reading would stop it.
    in_background: bool,
}

/// Returns the standard input of the rank that reads.
pub(crate) fn of_reader() -> Stdio {
    match stdin().is_terminal() {
        true => Stdio::piped(),
        false => Stdio::inherit(),
    }
}

impl Input {
    /// Connects the rank that reads, which has started; it has a pipe only if the input is a terminal.
    pub(crate) fn connect(&mut self, pipe: Option<ChildStdin>) -> io::Result<()> {
        let Some(rank) = pipe else { return Ok(()) };
        let terminal: OwnedFd = stdin().as_fd().try_clone_to_owned()?;
        self.relay = Some(Relay {
            terminal: terminal.into(),
            rank,
            pending: Vec::new(),
            in_background: false,
        });
        Ok(())
    }

    /// Adds the descriptor to wait for: the terminal for the next line, or the rank's pipe for the last.
    pub(crate) fn interest<'a>(&'a self, interest: &mut Interest<'a>) {
        let Some(relay) = &self.relay else { return };
        if !relay.pending.is_empty() {
            interest.writable(relay.rank.as_fd(), Ready::Input);
        } else if !relay.in_background {
            interest.readable(relay.terminal.as_fd(), Ready::Terminal);
        }
    }

    /// Tries again after the launcher was continued, possibly in the foreground.
    pub(crate) fn resume(&mut self) {
        if let Some(relay) = &mut self.relay {
            relay.in_background = false;
        }
    }

    /// Reads from the terminal, which has a line or whose input has ended.
    pub(crate) fn read(&mut self) {
        let Some(relay) = &mut self.relay else { return };
        // An error means that it is not our controlling terminal: reading does not stop the launcher.
        relay.in_background = tcgetpgrp(&relay.terminal).is_ok_and(|group| group != getpgrp());
        if relay.in_background {
            return;
        }
        relay.pending.resize(LINE, 0);
        let result = relay.terminal.read(&mut relay.pending);
        relay.pending.truncate(*result.as_ref().unwrap_or(&0));
        self.keep_unless(result.map(|length| length == 0));
    }

    /// Writes to the rank, which takes more or has closed its input.
    pub(crate) fn write(&mut self) {
        let Some(relay) = &mut self.relay else { return };
        let result = relay.rank.write(&relay.pending);
        relay.pending.drain(..*result.as_ref().unwrap_or(&0));
        self.keep_unless(result.map(|_| false));
    }

    fn keep_unless(&mut self, has_ended: io::Result<bool>) {
        match has_ended {
            Ok(false) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Ok(true) | Err(_) => self.relay = None,
        }
    }
}
