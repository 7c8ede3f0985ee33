//! The receive ring (PACKET_RX_RING): memory that is shared with the system, which puts each frame into the next slot
//! on arrival and passes ownership of the slot. So a check is a read of memory, and no further copy is made. Only
//! `ethernet` uses it.

use alloc::boxed::Box;
use core::mem::size_of;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicU32, Ordering};

use super::error::EthernetError;
use super::socket::Socket;
use crate::ethernet_frame::ETHERNET_HEADER_LEN;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use static_assertions::{const_assert, const_assert_eq};

/// Largest number of frames per call.
pub(super) const BATCH: usize = 32;
/// Approximate bytes of all slots: those of 640 frames of usual length. Every frame goes to the slot that was used
/// longest ago: with twice as much memory, a small broadcast to 7 hosts on one machine takes half as long again.
const BYTES: usize = 1 << 20;
/// Least number of slots, however long frames are.
const MIN_SLOTS: usize = 32;
/// Bytes of a block, the system's unit of allocation: a multiple of the page size of every system.
const BLOCK: usize = 64 << 10;
/// Alignment of slots in bytes.
const ALIGNED: usize = 16;
/// Bytes in front of a frame in its slot: the system's header, an address, and padding, with some reserve.
const SLOT_HEADROOM: usize = 96;

/// Constants that the bindings lack on some systems.
const PACKET_RX_RING: i32 = 5;
const PACKET_VERSION: i32 = 10;
const TPACKET_V2: i32 = 1;

/// The system's request for a ring (`tpacket_req`).
#[repr(C)]
struct Request {
    block_size: u32,
    blocks: u32,
    slot_size: u32,
    slots: u32,
}

/// The fields of the system's header of a frame that are read here. The system owns the slot while `status` is 0.
#[repr(C)]
struct SlotHeader {
    status: AtomicU32,
    /// Length of the frame on the wire, and in the slot.
    _len: u32,
    captured: u32,
    /// Offset of the frame in the slot.
    at: u16,
}

/// The bit of `status` that gives the slot to this process.
const TP_STATUS_USER: u32 = 1;

pub(super) struct RxRing {
    base: NonNull<u8>,
    bytes: usize,
    block: usize,
    slot: usize,
    /// Slots per block, and in total.
    each: usize,
    slots: usize,
    /// The slot of the next frame, and its offset.
    next: usize,
    offset: usize,
}

// SAFETY: the mapping belongs to this ring alone, and nothing of it is bound to a thread.
unsafe impl Send for RxRing {}

impl RxRing {
    /// Creates the ring of a socket for an interface with that MTU. Longer frames are truncated, and then rejected.
    pub(super) fn new(socket: &Socket, mtu: usize) -> Result<Self, Box<EthernetError>> {
        let slot = (SLOT_HEADROOM + ETHERNET_HEADER_LEN + mtu).next_multiple_of(ALIGNED);
        let block = slot.next_multiple_of(BLOCK);
        let each = block / slot;
        let blocks = BYTES.div_ceil(block).max(MIN_SLOTS.div_ceil(each));
        let request = Request {
            block_size: block as u32,
            blocks: blocks as u32,
            slot_size: slot as u32,
            slots: (blocks * each) as u32,
        };
        socket.set(libc::SOL_PACKET, PACKET_VERSION, &TPACKET_V2)?;
        socket.set(libc::SOL_PACKET, PACKET_RX_RING, &request)?;
        let (bytes, access) = (blocks * block, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address that the system chooses touches no memory that is in use.
        let base = unsafe { mmap(null_mut(), bytes, access, MapFlags::SHARED, socket, 0) };
        let base = base.and_then(|base| NonNull::new(base.cast()).ok_or(Errno::NOMEM));
        Ok(RxRing {
            base: base.map_err(EthernetError::failed("mmap"))?,
            bytes,
            block,
            slot,
            each,
            slots: blocks * each,
            next: 0,
            offset: 0,
        })
    }

    /// Returns the number of frames that can wait.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Delivers received frames, at most a batch.
    #[inline]
    pub(super) fn poll(&mut self, mut f: impl FnMut(&[u8])) {
        for _ in 0..BATCH {
            // SAFETY: a slot lies within the mapping and is aligned to 16 bytes. All of it is initialised, and while
            // the system owns it, only `status` is read, which is atomic.
            let head: NonNull<SlotHeader> = unsafe { self.base.add(self.offset) }.cast();
            // SAFETY: as above; the system writes it by stores of whole words.
            let status = unsafe { &(*head.as_ptr()).status };
            if status.load(Ordering::Acquire) & TP_STATUS_USER == 0 {
                return;
            }
            // SAFETY: this process owns the slot until `status` is 0 again, so nothing writes to it; the borrow ends
            // before.
            let frame = unsafe {
                let (at, captured) = (
                    (*head.as_ptr()).at.into(),
                    (*head.as_ptr()).captured as usize,
                );
                let slot = core::slice::from_raw_parts(head.cast::<u8>().as_ptr(), self.slot);
                slot.get(at..at + captured)
            };
            f(frame.unwrap_or_default());
            status.store(0, Ordering::Release);
            self.advance();
        }
    }

    fn advance(&mut self) {
        self.next = (self.next + 1) % self.slots;
        self.offset = self.next / self.each * self.block + self.next % self.each * self.slot;
    }
}

impl Drop for RxRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is this ring's, and nothing borrows from it any more.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
        debug_assert_eq!(unmapped, Ok(()), "the ring has been mapped whole");
    }
}

const_assert!(size_of::<SlotHeader>() <= SLOT_HEADROOM);
const_assert_eq!(size_of::<Request>(), 16);
