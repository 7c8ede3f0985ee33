//! The memory that devices reach, and the network device: the only place that gives addresses to a device.

use crate::machine::{enable_line, now, sleep};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use pombo_bare::Job;
use pombo_netdrivers::virtio::transport::mmio::{MmioTransport, VirtIOHeader};
use pombo_netdrivers::virtio::{
    BufferDirection, Buffers, FrameAddress, Hal, PAGE_SIZE, PhysAddr, Processor, VirtioError,
    VirtioNet,
};

/// Pages of both queues: one for the descriptors and what the driver writes, one for what the device writes.
const PAGES: usize = 4;

#[repr(C, align(4096))]
struct Pages([[u8; PAGE_SIZE]; PAGES]);

static mut QUEUES: Pages = Pages([[0; PAGE_SIZE]; PAGES]);
static USED: AtomicUsize = AtomicUsize::new(0);
static mut FRAMES: Buffers<16> = Buffers::new();
static DEVICES: AtomicUsize = AtomicUsize::new(0);

/// Memory is mapped to itself, and devices see all of it.
pub(crate) struct Identity;

// SAFETY: `dma_alloc` gives each page of `QUEUES` once, and nothing else refers to them; they are zero, as static memory
// is, and addresses are the same to devices and to the program. The other methods promise nothing more.
unsafe impl Hal for Identity {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = USED.fetch_add(pages, Relaxed);
        if first + pages > PAGES {
            // The crate takes address 0 as a refusal.
            return (0, NonNull::dangling());
        }
        let queues = (&raw mut QUEUES).cast::<[u8; PAGE_SIZE]>();
        // SAFETY: the index was checked to be below the number of pages.
        let page = unsafe { NonNull::new_unchecked(queues.add(first)) };
        (page.addr().get() as PhysAddr, page.cast())
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        // A page is used once.
        0
    }

    unsafe fn mmio_phys_to_virt(address: PhysAddr, _: usize) -> NonNull<u8> {
        NonNull::new(address as *mut u8).unwrap_or(NonNull::dangling())
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.addr().get() as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

/// The processor, whose sleep the device's interrupt ends.
pub(crate) struct Core;

impl Processor for Core {
    fn now(&self) -> u64 {
        now()
    }

    fn sleep(&mut self, until: u64) {
        sleep(until);
    }
}

/// The network that [`device`] opens.
pub(crate) type Net<const PEERS: usize> = VirtioNet<Identity, MmioTransport<'static>, Core, PEERS>;

/// Starts the device that the command line names.
///
/// # Errors
/// What to do.
pub(crate) fn device<const PEERS: usize>(
    job: &Job,
    address: FrameAddress,
) -> Result<Net<PEERS>, &'static str> {
    const BYTES: usize = 512;
    let (base, line) = job.device.ok_or("no device: QEMU names it with acpi=off")?;
    if DEVICES.fetch_add(1, Relaxed) != 0 {
        return Err("there are buffers for one device");
    }
    let header = NonNull::new(base as *mut VirtIOHeader).ok_or("the device has no address")?;
    // SAFETY: the command line of the hypervisor says that the registers of a virtio device are there, 512 bytes; they
    // are mapped, and only this transport uses them, as `DEVICES` lets nobody pass twice.
    let transport = unsafe { MmioTransport::new(header, BYTES) };
    let frames = &raw mut FRAMES;
    // SAFETY: this is the only reference to the buffers, as `DEVICES` lets nobody pass twice.
    let buffers = unsafe { &mut *frames };
    enable_line(line);
    let transport = transport.map_err(|_| "there is no virtio device at the address")?;
    VirtioNet::join(transport, buffers, Core, address, &job.peers).map_err(|error| match error {
        VirtioError::NotANetwork => "the device is no network",
        VirtioError::Device(_) => "the device failed",
        VirtioError::TooManyPeers { .. } => "too many peers: raise PEERS",
        VirtioError::NoSuchPeer(_) => "peers= has no address for this rank",
        VirtioError::AddressMismatch { .. } => "peers= has another address than the device",
        _ => "the network refused",
    })
}
