//! The machine of a driver under test: this process.

use crate::wire::{Device, Fault, Wire, mac};
use pombo_kernel::Peer;
use pombo_netdrivers::virtio::transport::DeviceType;
use pombo_netdrivers::virtio::{
    BufferDirection, Buffers, FrameAddress, Hal, PAGE_SIZE, PhysAddr, Processor, Traffic,
    VirtioError, VirtioNet,
};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

/// Memory of this process, whose addresses the device uses as they are.
pub(crate) struct Heap;

fn layout(pages: usize) -> Layout {
    Layout::from_size_align(pages * PAGE_SIZE, PAGE_SIZE).expect("some pages")
}

// SAFETY: the allocator's memory is aligned and zeroed, nothing else refers to it until it is freed, and addresses are
// the same on both sides.
unsafe impl Hal for Heap {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        // SAFETY: a queue has at least a page.
        let memory = unsafe { alloc_zeroed(layout(pages)) };
        let memory = NonNull::new(memory).expect("memory");
        (memory.addr().get() as PhysAddr, memory)
    }

    unsafe fn dma_dealloc(_: PhysAddr, memory: NonNull<u8>, pages: usize) -> i32 {
        // SAFETY: the driver promises that `dma_alloc` has given this memory, of so many pages.
        unsafe { dealloc(memory.as_ptr(), layout(pages)) };
        0
    }

    unsafe fn mmio_phys_to_virt(_: PhysAddr, _: usize) -> NonNull<u8> {
        unreachable!("no device has registers in memory")
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.addr().get() as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

pub(crate) struct Core(Instant);

impl Processor for Core {
    fn now(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    fn sleep(&mut self, _: u64) {
        std::thread::yield_now();
    }
}

/// A driver with room for eight peers, and few buffers, so that all are used again and again.
pub(crate) type Net = VirtioNet<Heap, Device, Core, 8, SLOTS>;
pub(crate) const SLOTS: usize = 4;

pub(crate) fn device(wire: &Arc<Wire>, index: usize, fault: Fault) -> Device {
    Device {
        wire: wire.clone(),
        index,
        fault,
        kind: DeviceType::Network,
    }
}

pub(crate) fn join(device: Device, peer: u16, macs: &[[u8; 6]]) -> Result<Net, VirtioError> {
    let address = FrameAddress {
        job: 7,
        peer: Peer(peer),
        traffic: Traffic::Unicast,
    };
    let buffers = Box::leak(Box::new(Buffers::new()));
    VirtioNet::join(device, buffers, Core(Instant::now()), address, macs)
}

/// Devices on one cable, the first with that fault.
pub(crate) fn networks(count: usize, fault: Fault) -> Vec<Net> {
    let wire = Wire::new(count);
    let macs: Vec<_> = (0..count).map(mac).collect();
    let network = |index| {
        let fault = if index == 0 { fault } else { Fault::None };
        join(device(&wire, index, fault), index as u16, &macs).expect("it joins")
    };
    (0..count).map(network).collect()
}
