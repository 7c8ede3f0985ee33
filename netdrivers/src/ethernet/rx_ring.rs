//! Where frames are received: memory that is shared with the system, which puts each frame into the next slot as it
//! comes and hands the slot over. So a look is a read of memory, and no frame is copied once more. Used inside
//! `ethernet` only.

use core::mem::size_of;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicU32, Ordering};

use super::error::EthernetError;
use super::frame::ETHERNET_HEADER_LEN;
use super::socket::Socket;
use static_assertions::{const_assert, const_assert_eq};

/// Frames that one call takes.
pub(super) const BATCH: usize = 32;
/// Bytes of all slots, about: those of 640 frames of usual length. Every frame goes to memory that was used that long ago:
/// with twice as much, a small broadcast to 7 hosts on one machine takes half as long again.
const BYTES: usize = 1 << 20;
/// At least so many slots, however long frames are.
const MIN_SLOTS: usize = 32;
/// The system allocates it in blocks, which are multiples of this: of any page that a system may have.
const BLOCK: usize = 64 << 10;
/// What slots are aligned to.
const ALIGNED: usize = 16;
/// What stands before a frame in its slot: the system's header, an address, and what aligns the frame. Some more may.
const SLOT_HEADROOM: usize = 96;

/// Numbers that the bindings do not have on every system.
const PACKET_RX_RING: i32 = 5;
const PACKET_VERSION: i32 = 10;
const TPACKET_V2: i32 = 1;

/// The system's request for a ring.
#[repr(C)]
struct Request {
    block_size: u32,
    blocks: u32,
    slot_size: u32,
    slots: u32,
}

/// What the system writes in front of a frame, as far as it is read here. It owns the slot while `status` is 0.
#[repr(C)]
struct SlotHeader {
    status: AtomicU32,
    /// Of the frame as it was, and as it lies here.
    _len: u32,
    captured: u32,
    /// Where it begins.
    at: u16,
}

/// The bit of `status` that says that the slot is ours.
const TP_STATUS_USER: u32 = 1;

pub(super) struct RxRing {
    base: NonNull<u8>,
    bytes: usize,
    block: usize,
    slot: usize,
    /// Slots of a block, and of all.
    each: usize,
    slots: usize,
    /// The slot of the next frame, and where it lies.
    next: usize,
    offset: usize,
}

// SAFETY: the memory is mapped for this ring alone, and whoever has the ring may be any thread.
unsafe impl Send for RxRing {}

impl RxRing {
    /// Of a socket, for frames of an interface that carries so much. Longer ones are cut, and then refused.
    pub(super) fn new(socket: &Socket, mtu: usize) -> Result<Self, EthernetError> {
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
        let (bytes, access) = (blocks * block, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a new mapping at a place that the system chooses touches no memory that is in use.
        let base = unsafe {
            let fd = socket.fd();
            libc::mmap(null_mut(), bytes, access, libc::MAP_SHARED, fd, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(EthernetError::last("mmap"));
        }
        let base = NonNull::new(base.cast()).ok_or(EthernetError::last("mmap"))?;
        Ok(RxRing {
            base,
            bytes,
            block,
            slot,
            each,
            slots: blocks * each,
            next: 0,
            offset: 0,
        })
    }

    /// Frames that can wait here.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Hands out frames that came, at most a batch.
    #[inline]
    pub(super) fn poll(&mut self, mut f: impl FnMut(&[u8])) {
        for _ in 0..BATCH {
            // SAFETY: a slot lies within the mapping and is aligned to 16 bytes. All of it is initialised, and while the
            // system owns it, only `status` is read, which is atomic.
            let head: NonNull<SlotHeader> = unsafe { self.base.add(self.offset) }.cast();
            // SAFETY: as above; the system writes it by stores of whole words.
            let status = unsafe { &(*head.as_ptr()).status };
            if status.load(Ordering::Acquire) & TP_STATUS_USER == 0 {
                return;
            }
            // SAFETY: the slot is ours until `status` is 0 again, so nobody writes to it; the borrow ends before.
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
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

const_assert!(size_of::<SlotHeader>() <= SLOT_HEADROOM);
const_assert_eq!(size_of::<Request>(), 16);
