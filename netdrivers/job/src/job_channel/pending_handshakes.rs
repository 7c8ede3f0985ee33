//! Connections at a rank's door whose other side has not said yet who it is. All of them are heard together: one that
//! says nothing, or something wrong, costs a descriptor and nobody's time. `failure_detector` only.
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | guests that have not said all | as many as a job has ranks | the one that has been there longest is sent away |

use crate::bootstrap::JobError;
use crate::bootstrap::file_descriptor::{Descriptor, check};
use alloc::vec::Vec;

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
        let polled = core::iter::once(listener)
            .chain(sockets)
            .map(|socket| libc::pollfd {
                fd: socket.number(),
                events: libc::POLLIN,
                revents: 0,
            });
        let mut polled: Vec<_> = polled.collect();
        let (entries, count) = (polled.as_mut_ptr(), polled.len() as libc::nfds_t);
        let limit = i32::try_from(milliseconds).unwrap_or(i32::MAX);
        // SAFETY: the entries are valid for the call.
        if unsafe { libc::poll(entries, count, limit) } <= 0 {
            return Ok(());
        }
        for index in (0..self.pending.len()).rev() {
            if polled[index + 1].revents == 0 {
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
        match polled[0].revents {
            0 => Ok(()),
            _ => self.accept_ready(listener),
        }
    }

    fn accept_ready(&mut self, listener: &Descriptor) -> Result<(), JobError> {
        for _ in 0..ACCEPTS_AT_ONCE {
            let none = core::ptr::null_mut();
            // SAFETY: null pointers are allowed for an address that nobody asks for.
            let fd =
                unsafe { libc::accept4(listener.number(), none, none.cast(), libc::SOCK_CLOEXEC) };
            match Descriptor::returned(fd, "let a rank of another host in") {
                Ok(socket) => {
                    self.make_room(self.most);
                    self.pending.push(PendingConnection {
                        socket,
                        received: [0; SIZE],
                        len: 0,
                    });
                }
                Err(error) if error.is(libc::EAGAIN) => break,
                // It has gone already.
                Err(error) if error.is(libc::ECONNABORTED) || error.is(libc::EINTR) => {}
                Err(error) if error.is(libc::EMFILE) && !self.pending.is_empty() => {
                    self.make_room(self.pending.len());
                }
                Err(error) => return Err(error),
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
        let (into, room) = (place.as_mut_ptr().cast(), place.len());
        // SAFETY: the place is valid for its length.
        let got = unsafe { libc::recv(self.socket.number(), into, room, libc::MSG_DONTWAIT) };
        match check(got, "hear a rank of another host") {
            Ok(0) => false,
            Ok(more) => {
                self.len += more;
                let both = self.received[..self.len].iter().zip(begin);
                both.into_iter().all(|(received, known)| received == known)
            }
            Err(error) => error.is(libc::EAGAIN) || error.is(libc::EINTR),
        }
    }
}
