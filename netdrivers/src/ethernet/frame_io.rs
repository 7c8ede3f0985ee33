//! The interface below a device: it sends and receives whole frames. Only `ethernet` uses it.

use super::error::EthernetError;
use super::rx_ring::RxRing;
use super::send_queue_limit::Pace;
use super::socket::Socket;
use crate::ethernet_frame::{HEADER_LEN, HeaderBytes};
use crate::udp::iovec::IoVecs;
use alloc::boxed::Box;
use alloc::vec::Vec;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;

/// Bytes below which a frame is copied to contiguous memory, which costs less than the system's handling of many parts.
const COPY_BELOW: usize = 256;

/// Access to the network, and to other processes of this host.
pub trait FrameIo: 'static {
    /// Sends a frame, to this host or out. Returns false if the frame was lost for a transient reason.
    fn send(
        &mut self,
        local: bool,
        head: &HeaderBytes,
        parts: &[Part<'_>],
    ) -> Result<bool, ChannelError>;

    /// Delivers received frames, at most a batch.
    fn poll(&mut self, f: impl FnMut(&[u8])) -> Result<(), ChannelError>;

    /// Returns the descriptors: readable when frames have arrived, writable when there is room; negative ones are
    /// absent.
    fn fds(&self) -> [i32; 2];

    /// Returns the number of frames that can wait for a poll.
    fn rx_slots(&self) -> usize;

    /// Returns the number of frames that arrived and found no room.
    fn dropped(&self) -> u64;
}

/// Packet sockets of Linux: one socket for both directions; frames are gathered from their parts, and read where the
/// system puts them.
pub struct AfPacket {
    socket: Socket,
    /// Indices of the interface and of the loopback interface.
    interfaces: [i32; 2],
    ring: RxRing,
    pace: Pace,
    /// Buffer for frames that are copied to contiguous memory.
    scratch: Vec<u8>,
}

impl AfPacket {
    /// Creates the interface; `queue` is the number of bytes that the system granted for frames that wait to leave.
    pub(super) fn new(
        socket: Socket,
        interfaces: [i32; 2],
        mtu: usize,
        queue: usize,
    ) -> Result<Self, Box<EthernetError>> {
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
    /// Sends a frame.
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
