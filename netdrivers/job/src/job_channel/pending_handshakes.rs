//! Connections at a rank's door whose other side has not said yet who it is. All of them are heard together: one that
//! says nothing, or something wrong, costs a descriptor and nobody's time. `failure_detector` only.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | guests that have not said all | as many as a job has ranks | the one that has been there longest is sent away |

use crate::bootstrap::JobError;
use crate::bootstrap::file_descriptor::{Descriptor, poll_readable};
use alloc::vec::Vec;
use core::time::Duration;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, accept_with, recv};

/// Guests of one door, of which each is to say `SIZE` bytes that begin with `begin`.
pub(super) struct PendingConnections<const SIZE: usize> {
    begin: &'static [u8],
    most: usize,
    /// In the order in which they came.
    pending: Vec<PendingConnection<SIZE>>,
}

struct PendingConnection<const SIZE: usize> {
    socket: Descriptor,
    received: [u8; SIZE],
    len: usize,
}

/// Guests let in before the others are heard again.
const ACCEPTS_AT_ONCE: usize = 16;

impl<const SIZE: usize> PendingConnections<SIZE> {
    pub(super) fn new(begin: &'static [u8], most: usize) -> Self {
        PendingConnections {
            begin,
            most,
            pending: Vec::new(),
        }
    }

    /// Waits until guests come or say something, for that many milliseconds at most, and hands out those that have
    /// said all. May return early. The door does not block.
    ///
    /// # Errors
    /// [`JobError::System`]: the door lets nobody in.
    pub(super) fn poll(
        &mut self,
        listener: &Descriptor,
        milliseconds: u64,
        mut all: impl FnMut(&[u8; SIZE], Descriptor),
    ) -> Result<(), JobError> {
        let sockets = self.pending.iter().map(|one| &one.socket);
        let polled = core::iter::once(listener).chain(sockets);
        let Ok(readable) = poll_readable(polled, Duration::from_millis(milliseconds)) else {
            return Ok(());
        };
        for index in (0..self.pending.len()).rev() {
            if !readable[index + 1] {
                continue;
            }
            let one = &mut self.pending[index];
            let goes_on = one.read(self.begin);
            if !goes_on || one.len == SIZE {
                let PendingConnection {
                    socket, received, ..
                } = self.pending.remove(index);
                if goes_on {
                    all(&received, socket);
                }
            }
        }
        match readable[0] {
            true => self.accept_ready(listener),
            false => Ok(()),
        }
    }

    fn accept_ready(&mut self, listener: &Descriptor) -> Result<(), JobError> {
        for _ in 0..ACCEPTS_AT_ONCE {
            match accept_with(listener, SocketFlags::CLOEXEC) {
                Ok(socket) => {
                    self.make_room(self.most);
                    self.pending.push(PendingConnection {
                        socket: socket.into(),
                        received: [0; SIZE],
                        len: 0,
                    });
                }
                Err(Errno::AGAIN) => break,
                // It has gone already.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(Errno::MFILE) if !self.pending.is_empty() => {
                    self.make_room(self.pending.len());
                }
                Err(error) => return Err(JobError::failed("let a rank of another host in")(error)),
            }
        }
        Ok(())
    }

    /// For one more among so many.
    fn make_room(&mut self, most: usize) {
        if self.pending.len() >= most {
            self.pending.remove(0);
        }
    }
}

impl<const SIZE: usize> PendingConnection<SIZE> {
    /// Takes what it says. False: it has gone, or says what no rank does.
    fn read(&mut self, begin: &[u8]) -> bool {
        let place = &mut self.received[self.len..];
        match recv(&self.socket, place, RecvFlags::DONTWAIT) {
            Ok((0, _)) => false,
            Ok((more, _)) => {
                self.len += more;
                let both = self.received[..self.len].iter().zip(begin);
                both.into_iter().all(|(received, known)| received == known)
            }
            Err(error) => matches!(error, Errno::AGAIN | Errno::INTR),
        }
    }
}
