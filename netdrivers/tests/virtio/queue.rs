//! The device's side of a queue. Source: virtio 1.2, section 2.7 (split virtqueues).

use std::sync::atomic::{AtomicU16, Ordering};

/// A queue as the driver has described it to the device.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    size: u16,
    descriptors: usize,
    available: usize,
    used: usize,
    next: u16,
}

/// A buffer that the driver has made available.
pub(crate) struct Buffer {
    pub(crate) id: u16,
    address: usize,
    len: usize,
}

impl Queue {
    pub(crate) fn new(size: u32, [descriptors, available, used]: [u64; 3]) -> Self {
        Queue {
            size: size as u16,
            descriptors: descriptors as usize,
            available: available as usize,
            used: used as usize,
            next: 0,
        }
    }

    fn index(area: usize) -> &'static AtomicU16 {
        // SAFETY: an area begins with flags of 16 bits, then this index; it lives until the driver takes back the queue,
        // which the wire forgets before, under its lock.
        unsafe { &*((area + 2) as *const AtomicU16) }
    }

    /// Takes the next available buffer.
    pub(crate) fn take(&mut self) -> Option<Buffer> {
        if Self::index(self.available).load(Ordering::Acquire) == self.next {
            return None;
        }
        let slot = usize::from(self.next % self.size);
        self.next = self.next.wrapping_add(1);
        // SAFETY: the driver wrote this entry and its descriptor before the index that was read above, and writes them
        // again only when it has the buffer back.
        unsafe {
            let id = ((self.available + 4) as *const u16).add(slot).read();
            let descriptor = (self.descriptors + 16 * usize::from(id)) as *const u64;
            let len = descriptor.add(1).cast::<u32>().read() as usize;
            let address = descriptor.read() as usize;
            Some(Buffer { id, address, len })
        }
    }

    /// Gives a buffer back, of which the device has written `len` bytes.
    pub(crate) fn give_back(&mut self, id: u32, len: u32) {
        let index = Self::index(self.used);
        let now = index.load(Ordering::Relaxed);
        // SAFETY: the entry is within the area, and the driver reads it after the index that is written below.
        unsafe {
            let entry = ((self.used + 4) as *mut [u32; 2]).add(usize::from(now % self.size));
            entry.write([id, len]);
        }
        index.store(now.wrapping_add(1), Ordering::Release);
    }
}

impl Buffer {
    pub(crate) fn read(&self) -> Vec<u8> {
        // SAFETY: the driver has left these bytes to the device until it gets the buffer back.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.len) }.to_vec()
    }

    /// Writes what fits; returns how many bytes.
    pub(crate) fn write(&self, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.len);
        // SAFETY: the driver has left these bytes to the device until it gets the buffer back.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.address as *mut u8, len) };
        len
    }
}
