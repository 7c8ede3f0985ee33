//! The ring into which datagrams are received, a batch per call. Only `udp` uses it.

use alloc::vec::Vec;
use core::mem::{size_of, zeroed};

use super::address::SockAddr;
use super::socket::{ControlBuffer, Socket, gro_size};
use pombo_kernel::channel::ChannelError;

/// Largest number of datagrams per call.
pub(super) const BATCH: usize = 32;
/// Bytes of a slot, more than any datagram, so none is truncated. Only slots that were used take physical memory.
const SLOT_BYTES: usize = 1 << 16;
/// Distance of two slots. The offset keeps the beginnings of all datagrams from sharing a few cache sets.
const STRIDE: usize = SLOT_BYTES + 192;

pub(super) struct RecvBatch {
    bytes: Vec<u8>,
    addresses: Vec<SockAddr>,
    controls: Vec<ControlBuffer>,
    /// Vectors that entries of `list` point to. None of these vectors grows.
    iovecs: Vec<libc::iovec>,
    list: Vec<libc::mmsghdr>,
    /// Number of datagrams to request: to request more than there are costs a further check in the system.
    requested: usize,
}

// SAFETY: its pointers lead to its own memory on the heap, which moves with it.
unsafe impl Send for RecvBatch {}

impl RecvBatch {
    pub(super) fn new() -> Self {
        let mut recv_batch = RecvBatch {
            bytes: alloc::vec![0; BATCH * STRIDE],
            addresses: alloc::vec![SockAddr::zeroed_address(); BATCH],
            controls: alloc::vec![ControlBuffer::default(); BATCH],
            iovecs: Vec::with_capacity(BATCH),
            list: Vec::with_capacity(BATCH),
            requested: 1,
        };
        for slot in 0..BATCH {
            recv_batch.iovecs.push(libc::iovec {
                iov_base: recv_batch.bytes[slot * STRIDE..].as_mut_ptr().cast(),
                iov_len: SLOT_BYTES,
            });
            // SAFETY: zeros are a valid, empty message.
            let mut head: libc::mmsghdr = unsafe { zeroed() };
            head.msg_hdr.msg_name = (&raw mut recv_batch.addresses[slot]).cast();
            head.msg_hdr.msg_iov = &raw mut recv_batch.iovecs[slot];
            head.msg_hdr.msg_iovlen = 1;
            head.msg_hdr.msg_control = (&raw mut recv_batch.controls[slot]).cast();
            recv_batch.list.push(head);
        }
        recv_batch
    }

    /// Returns the number of datagrams that the next call requests.
    pub(super) fn requested(&self) -> usize {
        self.requested
    }

    /// Receives at most a batch; returns the number of datagrams.
    #[inline]
    pub(super) fn fill(&mut self, from: &Socket) -> Result<usize, ChannelError> {
        let got = match self.requested {
            1 => self.fill_one(from)?,
            _ => self.fill_many(from)?,
        };
        self.requested = match got == self.requested {
            true => BATCH.min(2 * self.requested),
            false => got.max(1),
        };
        Ok(got)
    }

    /// Receives one datagram, the usual case while a rank waits: the system has less to do.
    #[inline]
    fn fill_one(&mut self, from: &Socket) -> Result<usize, ChannelError> {
        reset(&mut self.list[0]);
        // SAFETY: as in `fill_many`.
        let came = unsafe { from.recv_one(&mut self.list[0]) }?;
        Ok(usize::from(came))
    }

    fn fill_many(&mut self, from: &Socket) -> Result<usize, ChannelError> {
        let list = &mut self.list[..self.requested];
        list.iter_mut().for_each(reset);
        // SAFETY: every entry points to a name, to control bytes, and to one vector with space for a datagram, all in
        // this ring.
        unsafe { from.recv_batch(list) }
    }

    /// Returns what the last call has received in a slot: its source, its bytes, and the length of each frame among
    /// them except the last.
    #[inline]
    pub(super) fn frames(&self, slot: usize) -> (&SockAddr, &[u8], usize) {
        let len = self.list[slot].msg_len as usize;
        let bytes = &self.bytes[slot * STRIDE..][..len.min(SLOT_BYTES)];
        // SAFETY: the entry points to control bytes of this batch, as many as `reset` says or fewer.
        let each = unsafe { gro_size(&self.list[slot].msg_hdr) };
        (&self.addresses[slot], bytes, each.unwrap_or(SLOT_BYTES))
    }
}

/// Resets the sizes, which a call has changed.
#[inline]
fn reset(head: &mut libc::mmsghdr) {
    head.msg_hdr.msg_namelen = size_of::<SockAddr>() as libc::socklen_t;
    head.msg_hdr.msg_controllen = size_of::<ControlBuffer>() as _;
}
