//! What a device stands on: something that takes whole frames and has some. Used inside `ethernet` only.

use alloc::vec::Vec;
use core::mem::zeroed;

use super::frame::{ETHER, HEAD, Head};
use super::pace::Pace;
use super::socket::Socket;
use crate::udp::gather::Vectors;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;

/// Frames that one call takes.
pub(super) const BATCH: usize = 32;

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

    /// Frames that came and found no room.
    fn dropped(&self) -> u64;
}

/// Packet sockets of Linux: one socket for both ways, frames gathered where they lie, and received a batch to a call.
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
    pub(super) fn new(socket: Socket, interfaces: [i32; 2], mtu: usize, queue: usize) -> Self {
        Packets {
            pace: Pace::new(&socket, mtu, queue),
            socket,
            interfaces,
            ring: Ring::new(mtu),
            room: alloc::vec![0; mtu.max(SHORT)],
        }
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
    fn poll(&mut self, mut f: impl FnMut(&[u8])) -> Result<(), ChannelError> {
        let came = self.ring.fill(&self.socket)?;
        (0..came).for_each(|slot| f(self.ring.frame(slot)));
        Ok(())
    }

    fn descriptors(&self) -> [i32; 2] {
        [self.socket.number(), -1]
    }

    fn dropped(&self) -> u64 {
        self.socket.dropped()
    }
}

/// Where frames are received.
struct Ring {
    bytes: Vec<u8>,
    stride: usize,
    /// Pointed to by `list`, as `bytes` is. None of them grows.
    vectors: Vec<libc::iovec>,
    list: Vec<libc::mmsghdr>,
    /// How many to ask for: asking for more than there are costs a look in vain.
    ask: usize,
}

// SAFETY: its pointers lead to its own memory on the heap, which moves with it.
unsafe impl Send for Ring {}

impl Ring {
    /// For frames of an interface that carries so much. Longer ones are cut, and then refused.
    fn new(mtu: usize) -> Self {
        // Slots begin a little shifted: else the beginnings of all frames share a few lines of the cache.
        let stride = (mtu + ETHER).next_multiple_of(64) + 64;
        let mut ring = Ring {
            bytes: alloc::vec![0; BATCH * stride],
            stride,
            vectors: Vec::with_capacity(BATCH),
            list: Vec::with_capacity(BATCH),
            ask: 1,
        };
        for slot in 0..BATCH {
            ring.vectors.push(libc::iovec {
                iov_base: ring.bytes[slot * stride..].as_mut_ptr().cast(),
                iov_len: stride,
            });
            // SAFETY: zeros are a valid, empty message.
            let mut head: libc::mmsghdr = unsafe { zeroed() };
            head.msg_hdr.msg_iov = &raw mut ring.vectors[slot];
            head.msg_hdr.msg_iovlen = 1;
            ring.list.push(head);
        }
        ring
    }

    /// Takes what has come, at most a batch; how many frames.
    #[inline]
    fn fill(&mut self, from: &Socket) -> Result<usize, ChannelError> {
        if self.ask == 1 {
            let Some(len) = from.receive_one(&mut self.bytes[..self.stride])? else {
                return Ok(0);
            };
            self.list[0].msg_len = len as u32;
            self.ask = 2;
            return Ok(1);
        }
        let list = &mut self.list[..self.ask];
        // SAFETY: every entry points to one vector, whose bytes are of this ring.
        let got = unsafe { from.receive(list) }?;
        self.ask = match got == self.ask {
            true => BATCH.min(2 * self.ask),
            false => got.max(1),
        };
        Ok(got)
    }

    /// A frame that the last call has taken.
    #[inline]
    fn frame(&self, slot: usize) -> &[u8] {
        let len = self.list[slot].msg_len as usize;
        &self.bytes[slot * self.stride..][..len.min(self.stride)]
    }
}
