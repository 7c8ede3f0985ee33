//! Generic segmentation offload: frames to one address, all of one length except the last, leave by one system call,
//! and the system segments them as late as possible. Only `udp` uses it.
//!
//! A call per frame costs several times as much as the frame. Without system support frames leave one by one.

use alloc::vec::Vec;

use super::address::SockAddr;
use super::iovec::IoVecs;
use super::socket::{SendOutcome, Socket};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;

/// Largest number of frames per call.
pub(super) const FRAMES: usize = 64;
/// Largest number of bytes per call: the longest datagram with any header.
const BYTES: usize = u16::MAX as usize - 48;

pub(super) struct GsoBatch {
    bytes: Vec<u8>,
    to: SockAddr,
    /// Bytes of the first frame.
    segment: usize,
    frames: usize,
    corked: bool,
    /// Whether the system supports segmentation.
    supports_gso: bool,
}

impl GsoBatch {
    pub(super) fn new(supports_gso: bool) -> Self {
        GsoBatch {
            bytes: Vec::new(),
            to: SockAddr::zeroed_address(),
            segment: 0,
            frames: 0,
            corked: false,
            supports_gso,
        }
    }

    /// Tells whether more frames may follow.
    #[inline]
    pub(super) fn set_corked(&mut self, corked: bool) {
        self.corked = corked;
    }

    #[inline]
    pub(super) fn is_corked(&self) -> bool {
        self.corked && self.supports_gso
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// Returns whether a frame of that length can join the waiting ones.
    pub(super) fn has_room(&self, to: &SockAddr, len: usize) -> bool {
        self.is_empty()
            || self.frames < FRAMES
                && len <= self.segment
                && self.bytes.len() == self.frames * self.segment
                && self.bytes.len() + len <= BYTES
                && self.to.is_same(to)
    }

    /// Adds a frame for which there is room.
    pub(super) fn push(&mut self, to: &SockAddr, len: usize, parts: &[Part<'_>]) {
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

    /// Returns the destination of the waiting frames.
    pub(super) fn to(&self) -> &SockAddr {
        &self.to
    }

    /// Sends all frames. Returns the number of frames that did not leave, and the outcome of the last of these. If the
    /// system has no room the frames stay.
    pub(super) fn flush(&mut self, socket: &Socket) -> Result<(u64, SendOutcome), ChannelError> {
        let sent = match self.frames {
            0 | 1 => socket.send(&self.to, &whole(&self.bytes)),
            _ => socket.send_segmented(&self.to, &whole(&self.bytes), self.segment as u16),
        };
        let lost = match sent {
            Err(ChannelError::Full) => return Err(ChannelError::Full),
            Err(ChannelError::Device(errno)) if self.frames > 1 && lacks_gso(errno) => {
                self.supports_gso = false;
                self.send_one_by_one(socket)
            }
            Ok(SendOutcome::Sent) => Ok((0, SendOutcome::Sent)),
            Ok(taken) => Ok((self.frames as u64, taken)),
            Err(error) => Err(error),
        };
        self.bytes.clear();
        self.frames = 0;
        lost
    }

    fn send_one_by_one(&self, socket: &Socket) -> Result<(u64, SendOutcome), ChannelError> {
        let (mut lost, mut became) = (0, SendOutcome::Sent);
        for frame in self.bytes.chunks(self.segment) {
            let taken = match socket.send(&self.to, &whole(frame)) {
                Err(ChannelError::Full) => SendOutcome::Lost,
                taken => taken?,
            };
            if taken != SendOutcome::Sent {
                (lost, became) = (lost + 1, taken);
            }
        }
        Ok((lost, became))
    }
}

fn whole(bytes: &[u8]) -> IoVecs<'_> {
    IoVecs::with_header(bytes, &[], &mut [])
}

/// Returns whether an error means that the system or the interface does not segment, or not to that length.
fn lacks_gso(errno: i32) -> bool {
    [libc::EIO, libc::EINVAL, libc::EMSGSIZE, libc::EOPNOTSUPP].contains(&errno)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::std::net::UdpSocket;

    #[test]
    fn where_the_system_does_not_cut_frames_leave_one_by_one() {
        let group_socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = SockAddr::new(group_socket.local_addr().expect("it is bound"));
        let own = "127.0.0.1:0".parse().expect("an address");
        let socket = Socket::bind(own, false).expect("a socket");
        let mut batch = GsoBatch::new(true);
        for bytes in [&[1; 10][..], &[2; 10], &[3; 4]] {
            assert!(batch.has_room(&to, bytes.len()));
            batch.push(&to, bytes.len(), &[Part::Bytes(bytes)]);
        }
        // No frame can follow a shorter one.
        assert!(!batch.has_room(&to, 4));
        assert_eq!(batch.send_one_by_one(&socket), Ok((0, SendOutcome::Sent)));
        for expected in [&[1; 10][..], &[2; 10], &[3; 4]] {
            let mut bytes = [0; 100];
            let len = group_socket.recv(&mut bytes).expect("a frame");
            assert_eq!(&bytes[..len], expected);
        }
        assert!(lacks_gso(libc::EIO) && !lacks_gso(libc::ENOBUFS));
    }
}
