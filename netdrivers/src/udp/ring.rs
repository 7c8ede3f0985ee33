//! Where datagrams are received, a batch to a call. Used inside `udp` only.

use alloc::vec::Vec;
use core::mem::{size_of, zeroed};

use super::address::Raw;
use super::socket::{Control, Socket, joined};
use pombo_kernel::channel::ChannelError;

/// Frames that one call takes.
pub(super) const BATCH: usize = 32;
/// Longer than any datagram, so none is cut. Memory is used only where frames have lain.
const ROOM: usize = 1 << 16;
/// Slots begin a little shifted: else the beginnings of all frames share a few lines of the cache.
const STRIDE: usize = ROOM + 192;

pub(super) struct Ring {
    bytes: Vec<u8>,
    names: Vec<Raw>,
    controls: Vec<Control>,
    /// Pointed to by `list`, as those above are. None of them grows.
    vectors: Vec<libc::iovec>,
    list: Vec<libc::mmsghdr>,
    /// How many to ask for: asking for more than there are costs a look in vain.
    ask: usize,
}

// SAFETY: its pointers lead to its own memory on the heap, which moves with it.
unsafe impl Send for Ring {}

impl Ring {
    pub(super) fn new() -> Self {
        let mut ring = Ring {
            bytes: alloc::vec![0; BATCH * STRIDE],
            names: alloc::vec![Raw::blank(); BATCH],
            controls: alloc::vec![Control::default(); BATCH],
            vectors: Vec::with_capacity(BATCH),
            list: Vec::with_capacity(BATCH),
            ask: 1,
        };
        for slot in 0..BATCH {
            ring.vectors.push(libc::iovec {
                iov_base: ring.bytes[slot * STRIDE..].as_mut_ptr().cast(),
                iov_len: ROOM,
            });
            // SAFETY: zeros are a valid, empty message.
            let mut head: libc::mmsghdr = unsafe { zeroed() };
            head.msg_hdr.msg_name = (&raw mut ring.names[slot]).cast();
            head.msg_hdr.msg_iov = &raw mut ring.vectors[slot];
            head.msg_hdr.msg_iovlen = 1;
            head.msg_hdr.msg_control = (&raw mut ring.controls[slot]).cast();
            ring.list.push(head);
        }
        ring
    }

    /// Takes what has come, at most a batch; how many frames.
    #[inline]
    pub(super) fn fill(&mut self, from: &Socket) -> Result<usize, ChannelError> {
        let got = match self.ask {
            1 => self.fill_one(from)?,
            _ => self.fill_several(from)?,
        };
        self.ask = match got == self.ask {
            true => BATCH.min(2 * self.ask),
            false => got.max(1),
        };
        Ok(got)
    }

    /// The usual case while a rank waits: the system has less to look at.
    #[inline]
    fn fill_one(&mut self, from: &Socket) -> Result<usize, ChannelError> {
        reset(&mut self.list[0]);
        // SAFETY: as in `fill_several`.
        let came = unsafe { from.receive_one(&mut self.list[0]) }?;
        Ok(usize::from(came))
    }

    fn fill_several(&mut self, from: &Socket) -> Result<usize, ChannelError> {
        let list = &mut self.list[..self.ask];
        list.iter_mut().for_each(reset);
        // SAFETY: every entry points to a name, to control bytes, and to one vector with room for a datagram, of this
        // ring.
        unsafe { from.receive(list) }
    }

    /// What the last call has taken there: where it came from, its bytes, and the length of each frame among them but
    /// the last.
    #[inline]
    pub(super) fn frames(&self, slot: usize) -> (&Raw, &[u8], usize) {
        let len = self.list[slot].msg_len as usize;
        let bytes = &self.bytes[slot * STRIDE..][..len.min(ROOM)];
        // SAFETY: the entry points to control bytes of this ring, as many as `reset` says or the system less.
        let each = unsafe { joined(&self.list[slot].msg_hdr) };
        (&self.names[slot], bytes, each.unwrap_or(ROOM))
    }
}

/// The sizes, which a call has changed.
#[inline]
fn reset(head: &mut libc::mmsghdr) {
    head.msg_hdr.msg_namelen = size_of::<Raw>() as libc::socklen_t;
    head.msg_hdr.msg_controllen = size_of::<Control>() as _;
}
