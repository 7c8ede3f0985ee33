//! Accepted connections whose hello is incomplete. All of them are polled together: one that sends nothing, or an
//! invalid hello, costs a descriptor but delays no other. Only `failure_detector` uses it.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | connections with an incomplete hello | as many as a job has ranks | the oldest is closed |

use crate::bootstrap::JobError;
use crate::bootstrap::file_descriptor::{Descriptor, poll_readable};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, accept_with, recv};

/// The pending connections of one listener, each of which must send `SIZE` bytes that begin with `begin`.
pub(super) struct PendingConnections<const SIZE: usize> {
    begin: &'static [u8],
    most: usize,
    /// The connections in the order of their acceptance.
    pending: Vec<PendingConnection<SIZE>>,
}

struct PendingConnection<const SIZE: usize> {
    socket: Descriptor,
    received: [u8; SIZE],
    len: usize,
}

/// Number of connections accepted before the others are polled again.
const ACCEPTS_AT_ONCE: usize = 16;

impl<const SIZE: usize> PendingConnections<SIZE> {
    pub(super) fn new(begin: &'static [u8], most: usize) -> Self {
        PendingConnections {
            begin,
            most,
            pending: Vec::new(),
        }
    }

    /// Waits for connections and their data, for that many milliseconds at most, and hands out those with a complete
    /// hello. May return early. The listener must be non-blocking.
    ///
    /// # Errors
    /// [`JobError::System`]: the listener cannot accept.
    pub(super) fn poll(
        &mut self,
        listener: &Descriptor,
        milliseconds: u64,
        mut all: impl FnMut(&[u8; SIZE], Descriptor),
    ) -> Result<(), Box<JobError>> {
        let sockets = self.pending.iter().map(|one| &one.socket);
        let mut polled = core::iter::once(listener).chain(sockets);
        let Ok(readable) = poll_readable(&mut polled, Duration::from_millis(milliseconds)) else {
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

    fn accept_ready(&mut self, listener: &Descriptor) -> Result<(), Box<JobError>> {
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
                // The connecting process has gone already.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(Errno::MFILE) if !self.pending.is_empty() => {
                    self.make_room(self.pending.len());
                }
                Err(error) => return Err(JobError::failed("let a rank of another host in")(error)),
            }
        }
        Ok(())
    }

    /// Closes the oldest connection if there are already `most`.
    fn make_room(&mut self, most: usize) {
        if self.pending.len() >= most {
            self.pending.remove(0);
        }
    }
}

impl<const SIZE: usize> PendingConnection<SIZE> {
    /// Reads from the connection. Returns false if it has ended, or its data is not that of a rank.
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
