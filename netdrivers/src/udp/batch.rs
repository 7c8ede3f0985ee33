//! Frames that leave together: to one address, all of one length but for the last, by one call of the system, which cuts
//! them apart as late as it can. Used inside `udp` only.
//!
//! A call per frame costs several times as much as the frame. Where the system does not cut, frames leave one by one.

use alloc::vec::Vec;

use super::address::Raw;
use super::gather::Vectors;
use super::socket::{Socket, Taken};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;

/// Frames that the system takes at once.
pub(super) const FRAMES: usize = 64;
/// And their bytes: the longest datagram, with any header.
const BYTES: usize = u16::MAX as usize - 48;

pub(super) struct Batch {
    bytes: Vec<u8>,
    to: Raw,
    /// Bytes of the first frame.
    segment: usize,
    frames: usize,
    on: bool,
    /// The system cuts.
    cuts: bool,
}

impl Batch {
    pub(super) fn new(cuts: bool) -> Self {
        Batch {
            bytes: Vec::new(),
            to: Raw::blank(),
            segment: 0,
            frames: 0,
            on: false,
            cuts,
        }
    }

    /// More frames may follow, or not.
    #[inline]
    pub(super) fn gather(&mut self, on: bool) {
        self.on = on;
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on && self.cuts
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// Can a frame of that length join those that are here?
    pub(super) fn has_room(&self, to: &Raw, len: usize) -> bool {
        self.is_empty()
            || self.frames < FRAMES
                && len <= self.segment
                && self.bytes.len() == self.frames * self.segment
                && self.bytes.len() + len <= BYTES
                && self.to.is_same(to)
    }

    /// Takes a frame that has room.
    pub(super) fn put(&mut self, to: &Raw, len: usize, parts: &[Part<'_>]) {
        if self.is_empty() {
            (self.to, self.segment) = (*to, len);
        }
        let mut at = self.bytes.len();
        self.bytes.resize(at + len, 0);
        for part in parts {
            part.copy_to(0, &mut self.bytes[at..at + part.len()]);
            at += part.len();
        }
        self.frames += 1;
    }

    /// Where those that are here go.
    pub(super) fn to(&self) -> &Raw {
        &self.to
    }

    /// Gives all to the system; how many frames did not leave, and what became of the last of those. They stay where it
    /// has no room.
    pub(super) fn leave(&mut self, socket: &Socket) -> Result<(u64, Taken), ChannelError> {
        let sent = match self.frames {
            0 | 1 => socket.send(&self.to, &whole(&self.bytes)),
            _ => socket.send_cut(&self.to, &whole(&self.bytes), self.segment as u16),
        };
        let lost = match sent {
            Err(ChannelError::Full) => return Err(ChannelError::Full),
            Err(ChannelError::Device(errno)) if self.frames > 1 && cannot_cut(errno) => {
                self.cuts = false;
                self.one_by_one(socket)
            }
            Ok(Taken::Whole) => Ok((0, Taken::Whole)),
            Ok(taken) => Ok((self.frames as u64, taken)),
            Err(error) => Err(error),
        };
        self.bytes.clear();
        self.frames = 0;
        lost
    }

    fn one_by_one(&self, socket: &Socket) -> Result<(u64, Taken), ChannelError> {
        let (mut lost, mut became) = (0, Taken::Whole);
        for frame in self.bytes.chunks(self.segment) {
            let taken = match socket.send(&self.to, &whole(frame)) {
                Err(ChannelError::Full) => Taken::Lost,
                taken => taken?,
            };
            if taken != Taken::Whole {
                (lost, became) = (lost + 1, taken);
            }
        }
        Ok((lost, became))
    }
}

fn whole(bytes: &[u8]) -> Vectors<'_> {
    Vectors::behind(bytes, &[], &mut [])
}

/// What the system says where it, or the interface, does not cut, or not to that length.
fn cannot_cut(errno: i32) -> bool {
    [libc::EIO, libc::EINVAL, libc::EMSGSIZE, libc::EOPNOTSUPP].contains(&errno)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::std::net::UdpSocket;

    #[test]
    fn where_the_system_does_not_cut_frames_leave_one_by_one() {
        let ears = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = Raw::of(ears.local_addr().expect("it is bound"));
        let own = "127.0.0.1:0".parse().expect("an address");
        let mouth = Socket::bind(own, false).expect("a socket");
        let mut batch = Batch::new(true);
        for bytes in [&[1; 10][..], &[2; 10], &[3; 4]] {
            assert!(batch.has_room(&to, bytes.len()));
            batch.put(&to, bytes.len(), &[Part::Bytes(bytes)]);
        }
        // Nothing follows a shorter one.
        assert!(!batch.has_room(&to, 4));
        assert_eq!(batch.one_by_one(&mouth), Ok((0, Taken::Whole)));
        for expected in [&[1; 10][..], &[2; 10], &[3; 4]] {
            let mut bytes = [0; 100];
            let len = ears.recv(&mut bytes).expect("a frame");
            assert_eq!(&bytes[..len], expected);
        }
        assert!(cannot_cut(libc::EIO) && !cannot_cut(libc::ENOBUFS));
    }
}
