//! What a device stands on: something that takes whole frames and has some. Used inside `ethernet` only.

use super::error::EthernetError;
use super::frame::{HEAD, Head};
use super::pace::Pace;
use super::ring::Ring;
use super::socket::Socket;
use crate::udp::gather::Vectors;
use alloc::vec::Vec;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;

/// Bytes of a frame that is copied once more, to one piece: that costs less than many pieces cost the system.
const SHORT: usize = 256;

/// A way onto the segment, and to other processes of this host.
pub trait Line: 'static {
    /// Sends a frame, to this host or out. False: not sent, for a reason that may pass.
    fn send(&mut self, here: bool, head: &Head, parts: &[Part<'_>]) -> Result<bool, ChannelError>;

    /// Hands out frames that came, at most a batch.
    fn poll(&mut self, f: impl FnMut(&[u8])) -> Result<(), ChannelError>;

    /// Readable when frames have come, writable when there is room; negative: none.
    fn descriptors(&self) -> [i32; 2];

    /// Frames that can wait for a poll.
    fn room(&self) -> usize;

    /// Frames that came and found no room.
    fn dropped(&self) -> u64;
}

/// Packet sockets of Linux: one socket for both ways; frames are gathered where they lie, and read where the system puts
/// them.
pub struct Packets {
    socket: Socket,
    /// Numbers of the interface and of this host's own.
    interfaces: [i32; 2],
    ring: Ring,
    pace: Pace,
    /// For frames that are put together here.
    room: Vec<u8>,
}

impl Packets {
    /// `queue`: bytes that the system granted for frames that wait to leave.
    pub(super) fn new(
        socket: Socket,
        interfaces: [i32; 2],
        mtu: usize,
        queue: usize,
    ) -> Result<Self, EthernetError> {
        Ok(Packets {
            pace: Pace::new(&socket, mtu, queue),
            ring: Ring::new(&socket, mtu)?,
            socket,
            interfaces,
            room: alloc::vec![0; mtu.max(SHORT)],
        })
    }
}

impl Packets {
    /// Gives a frame to the system.
    #[inline]
    fn give(&mut self, index: i32, head: &Head, parts: &[Part<'_>]) -> Result<bool, ChannelError> {
        let whole = HEAD + Part::total(parts);
        if whole > SHORT {
            let frame = Vectors::behind(head, parts, &mut self.room);
            return self.socket.send(index, &frame);
        }
        let (start, mut rest) = self.room[..whole].split_at_mut(HEAD);
        start.copy_from_slice(head);
        for part in parts {
            let (into, after) = rest.split_at_mut(part.len());
            part.copy_to(0, into);
            rest = after;
        }
        self.socket.send_piece(index, &self.room[..whole])
    }
}

impl Line for Packets {
    #[inline]
    fn send(&mut self, here: bool, head: &Head, parts: &[Part<'_>]) -> Result<bool, ChannelError> {
        let sent = self.give(self.interfaces[usize::from(here)], head, parts);
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

    fn descriptors(&self) -> [i32; 2] {
        [self.socket.number(), -1]
    }

    fn room(&self) -> usize {
        self.ring.slots()
    }

    fn dropped(&self) -> u64 {
        self.socket.dropped()
    }
}
