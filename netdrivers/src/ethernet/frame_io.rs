//! What a device stands on: something that takes whole frames and has some. Used inside `ethernet` only.

use super::error::EthernetError;
use super::frame::{HEADER_LEN, HeaderBytes};
use super::rx_ring::RxRing;
use super::send_queue_limit::Pace;
use super::socket::Socket;
use crate::udp::iovec::IoVecs;
use alloc::vec::Vec;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;

/// Bytes of a frame that is copied once more, to one piece: that costs less than many pieces cost the system.
const COPY_BELOW: usize = 256;

/// A way onto the segment, and to other processes of this host.
pub trait FrameIo: 'static {
    /// Sends a frame, to this host or out. False: not sent, for a reason that may pass.
    fn send(
        &mut self,
        local: bool,
        head: &HeaderBytes,
        parts: &[Part<'_>],
    ) -> Result<bool, ChannelError>;

    /// Hands out frames that came, at most a batch.
    fn poll(&mut self, f: impl FnMut(&[u8])) -> Result<(), ChannelError>;

    /// Readable when frames have come, writable when there is room; negative: none.
    fn fds(&self) -> [i32; 2];

    /// Frames that can wait for a poll.
    fn rx_slots(&self) -> usize;

    /// Frames that came and found no room.
    fn dropped(&self) -> u64;
}

/// Packet sockets of Linux: one socket for both ways; frames are gathered where they lie, and read where the system puts
/// them.
pub struct AfPacket {
    socket: Socket,
    /// Numbers of the interface and of this host's own.
    interfaces: [i32; 2],
    ring: RxRing,
    pace: Pace,
    /// For frames that are put together here.
    scratch: Vec<u8>,
}

impl AfPacket {
    /// `queue`: bytes that the system granted for frames that wait to leave.
    pub(super) fn new(
        socket: Socket,
        interfaces: [i32; 2],
        mtu: usize,
        queue: usize,
    ) -> Result<Self, EthernetError> {
        Ok(AfPacket {
            pace: Pace::new(&socket, mtu, queue),
            ring: RxRing::new(&socket, mtu)?,
            socket,
            interfaces,
            scratch: alloc::vec![0; mtu.max(COPY_BELOW)],
        })
    }
}

impl AfPacket {
    /// Gives a frame to the system.
    #[inline]
    fn transmit(
        &mut self,
        index: i32,
        head: &HeaderBytes,
        parts: &[Part<'_>],
    ) -> Result<bool, ChannelError> {
        let whole = HEADER_LEN + Part::total(parts);
        if whole > COPY_BELOW {
            let frame = IoVecs::with_header(head, parts, &mut self.scratch);
            return self.socket.send(index, &frame);
        }
        let (start, mut rest) = self.scratch[..whole].split_at_mut(HEADER_LEN);
        start.copy_from_slice(head);
        for part in parts {
            let (into, after) = rest.split_at_mut(part.len());
            part.copy_to(0, into);
            rest = after;
        }
        self.socket.send_contiguous(index, &self.scratch[..whole])
    }
}

impl FrameIo for AfPacket {
    #[inline]
    fn send(
        &mut self,
        local: bool,
        head: &HeaderBytes,
        parts: &[Part<'_>],
    ) -> Result<bool, ChannelError> {
        let sent = self.transmit(self.interfaces[usize::from(local)], head, parts);
        match sent {
            Err(ChannelError::Full) => self.pace.full(&self.socket),
            _ => self.pace.left(),
        }
        sent
    }

    #[inline]
    fn poll(&mut self, f: impl FnMut(&[u8])) -> Result<(), ChannelError> {
        self.ring.poll(f);
        Ok(())
    }

    fn fds(&self) -> [i32; 2] {
        [self.socket.fd(), -1]
    }

    fn rx_slots(&self) -> usize {
        self.ring.slots()
    }

    fn dropped(&self) -> u64 {
        self.socket.dropped()
    }
}
