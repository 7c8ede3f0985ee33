//! The device: frames from peer to peer, and broadcasts, through the two queues of a virtio network device.

use super::buffers::{BUFFER_BYTES, Buffers};
use super::error::VirtioError;
use super::processor::Processor;
use crate::ethernet_frame::{
    self as frame, ETHERNET_HEADER_LEN, EVERYBODY, FrameAddress, FrameError, HEADER_LEN,
    MIN_INTERFACE_MTU, MacBytes, POMBO_HEADER_LEN,
};
use heapless::Vec;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_transport::ContiguousFrame;
use static_assertions::const_assert;
use virtio_drivers::Hal;
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::{DeviceType, Transport};

/// The MTU in bytes that every interface of the job has at least.
const INTERFACE_MTU: usize = 1500;

/// Bytes of the longest frame of this network: as over any Ethernet interface whose MTU is 1500.
pub const MTU: usize = INTERFACE_MTU - POMBO_HEADER_LEN;

/// Bytes of virtio's header in front of each frame, at most.
const VIRTIO_HEADER_LEN: usize = 12;

const_assert!(VIRTIO_HEADER_LEN + ETHERNET_HEADER_LEN + INTERFACE_MTU <= BUFFER_BYTES);
const_assert!(INTERFACE_MTU >= MIN_INTERFACE_MTU);

/// The error number of a device that failed or broke the rules of virtio (EIO).
pub const DEVICE_FAILED: i32 = 5;

/// Polls without a frame before the processor sleeps.
const POLLS_BEFORE_SLEEP: u32 = 64;

/// One peer's device. A frame to this peer itself is lost: [`Reliable`](pombo_transport::Reliable) gives none to a
/// network.
pub struct VirtioNet<
    H: Hal,
    T: Transport,
    P: Processor,
    const PEERS: usize,
    const SLOTS: usize = 16,
> {
    device: VirtIONetRaw<H, T, SLOTS>,
    /// Receive buffer i is with the device under token i. A transmit buffer is in `tx_free`, or in `tx_taken` under the
    /// device's token, with the number of its bytes that the device reads.
    buffers: &'static mut Buffers<SLOTS>,
    tx_free: Vec<u16, SLOTS>,
    tx_taken: [Option<(u16, usize)>; SLOTS],
    virtio_header: usize,
    processor: P,
    frame_address: FrameAddress,
    macs: Vec<MacBytes, PEERS>,
    counts: VirtioCounts,
}

/// Counters of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct VirtioCounts {
    /// Frames of another protocol or job, or from an interface that its peer does not have: dropped.
    pub foreign: u64,
    /// Frames shorter than their header says: dropped.
    pub truncated: u64,
}

const BROKEN: ChannelError = ChannelError::Device(DEVICE_FAILED);

fn failed(_: virtio_drivers::Error) -> ChannelError {
    BROKEN
}

impl<H: Hal, T: Transport, P: Processor, const PEERS: usize, const SLOTS: usize>
    VirtioNet<H, T, P, PEERS, SLOTS>
{
    /// Starts the device and joins the job whose peers have these addresses, the same list at all of them. Every
    /// interface of the job has an MTU of at least 1500 bytes.
    ///
    /// # Errors
    /// [`VirtioError`]; the device is then as it was, or off.
    pub fn join(
        transport: T,
        buffers: &'static mut Buffers<SLOTS>,
        processor: P,
        frame_address: FrameAddress,
        macs: &[[u8; 6]],
    ) -> Result<Self, VirtioError> {
        if transport.device_type() != DeviceType::Network {
            return Err(VirtioError::NotANetwork);
        }
        let peer = frame_address.peer;
        let listed = *macs
            .get(peer.index())
            .ok_or(VirtioError::NoSuchPeer(peer.0))?;
        let many = VirtioError::TooManyPeers {
            peers: macs.len(),
            bound: PEERS,
        };
        let macs = Vec::from_slice(macs).map_err(|_| many)?;
        let mut device = VirtIONetRaw::new(transport)?;
        if device.mac_address() != listed {
            let device = device.mac_address();
            return Err(VirtioError::AddressMismatch { listed, device });
        }
        let mut virtio_header = 0;
        for buffer in &mut buffers.tx {
            virtio_header = device.fill_buffer_header(buffer)?;
        }
        for (slot, buffer) in buffers.rx.iter_mut().enumerate() {
            // SAFETY: the buffer lives for ever, only this struct has a reference to it, and it touches receive buffer
            // i again only after the device has returned token i.
            let token = unsafe { device.receive_begin(buffer)? };
            if usize::from(token) != slot {
                return Err(VirtioError::Device(virtio_drivers::Error::WrongToken));
            }
        }
        Ok(VirtioNet {
            device,
            buffers,
            tx_free: (0..SLOTS as u16).collect(),
            tx_taken: [None; SLOTS],
            virtio_header,
            processor,
            frame_address,
            macs,
            counts: VirtioCounts::default(),
        })
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> VirtioCounts {
        self.counts
    }

    /// Takes back the buffers of frames that have left.
    fn reclaim(&mut self) -> Result<(), ChannelError> {
        while let Some(token) = self.device.poll_transmit() {
            let taken = self.tx_taken.get_mut(usize::from(token));
            let (slot, end) = taken.and_then(Option::take).ok_or(BROKEN)?;
            let buffer = self.buffers.tx.get(usize::from(slot));
            let frame = buffer.and_then(|buffer| buffer.get(..end)).ok_or(BROKEN)?;
            // SAFETY: `send` noted these bytes of this buffer when it gave them to the device under this token.
            unsafe { self.device.transmit_complete(token, frame) }.map_err(failed)?;
            self.tx_free.push(slot).map_err(|_| BROKEN)?;
        }
        Ok(())
    }

    /// Sends to an interface, or to all of the job.
    fn send(&mut self, to: (MacBytes, u16), parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let len = Part::total(parts);
        if len > MTU {
            return Err(ChannelError::TooLong { limit: MTU });
        }
        self.reclaim()?;
        let slot = self.tx_free.pop().ok_or(ChannelError::Full)?;
        let own = self.macs.get(self.frame_address.peer.index()).copied();
        let head = frame::header(to, (own.unwrap_or_default(), self.frame_address), len);
        let end = self.virtio_header + HEADER_LEN + len;
        let frame = self.buffers.tx.get_mut(usize::from(slot));
        let frame = frame.and_then(|buffer| buffer.get_mut(..end));
        let frame = frame.ok_or(BROKEN)?;
        let bytes = frame.get_mut(self.virtio_header..).unwrap_or_default();
        let (place, mut rest) = bytes.split_first_chunk_mut().ok_or(BROKEN)?;
        *place = head;
        for part in parts {
            let (place, behind) = rest.split_at_mut_checked(part.len()).ok_or(BROKEN)?;
            part.copy_to(0, place);
            rest = behind;
        }
        // SAFETY: the buffer lives for ever, only this struct has a reference to it, and its slot is not in `tx_free`
        // before `reclaim` has got the token back.
        let token = unsafe { self.device.transmit_begin(frame) }.map_err(failed)?;
        let taken = self.tx_taken.get_mut(usize::from(token));
        *taken.ok_or(BROKEN)? = Some((slot, end));
        Ok(())
    }
}

impl<H, T, P, const PEERS: usize, const SLOTS: usize> Network for VirtioNet<H, T, P, PEERS, SLOTS>
where
    H: Hal + 'static,
    T: Transport + 'static,
    P: Processor,
{
    type Frame<'a> = ContiguousFrame<'a>;

    pombo_kernel::network_defaults! { is_checked, set_corked, wait_sources }

    fn me(&self) -> Peer {
        self.frame_address.peer
    }

    fn peers(&self) -> usize {
        self.macs.len()
    }

    fn mtu(&self) -> usize {
        MTU
    }

    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let mac = self.macs.get(to.index()).copied();
        self.send((mac.ok_or(ChannelError::NoSuchPeer(to))?, to.0), parts)
    }

    fn poll(&mut self, mut f: impl FnMut(ContiguousFrame<'_>)) -> Result<bool, ChannelError> {
        self.reclaim()?;
        let mut any = false;
        for _ in 0..SLOTS {
            let Some(token) = self.device.poll_receive() else {
                break;
            };
            let buffer = self.buffers.rx.get_mut(usize::from(token));
            let buffer = buffer.ok_or(BROKEN)?;
            // SAFETY: receive buffer i was given to the device under token i.
            let (start, len) =
                unsafe { self.device.receive_complete(token, buffer) }.map_err(failed)?;
            let bytes = buffer.get(start..).and_then(|frame| frame.get(..len));
            match frame::parse(bytes.unwrap_or_default(), self.frame_address) {
                Ok(parsed) if self.macs.get(parsed.from.index()) == Some(&parsed.mac) => {
                    // A bridge may return this peer's own broadcasts.
                    if !(parsed.to_all && parsed.from == self.frame_address.peer) {
                        any = true;
                        f(ContiguousFrame::new(parsed.from, parsed.bytes));
                    }
                }
                Ok(_) | Err(FrameError::Foreign) => self.counts.foreign += 1,
                Err(FrameError::Truncated) => self.counts.truncated += 1,
            }
            // SAFETY: as in `join`; `f` has returned, and what it was given ended with it.
            let again = unsafe { self.device.receive_begin(buffer) }.map_err(failed)?;
            if again != token {
                return Err(BROKEN);
            }
        }
        Ok(any)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        if idle < POLLS_BEFORE_SLEEP {
            core::hint::spin_loop();
            return Ok(());
        }
        // An interrupt comes when the device asserts its line anew: a frame after this line does, one before it is seen
        // below.
        self.device.ack_interrupt();
        if self.device.poll_receive().is_none() && self.device.poll_transmit().is_none() {
            self.processor.sleep(until);
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        self.processor.now()
    }
}

impl<H, T, P, const PEERS: usize, const SLOTS: usize> Broadcast for VirtioNet<H, T, P, PEERS, SLOTS>
where
    H: Hal + 'static,
    T: Transport + 'static,
    P: Processor,
{
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.send((self.frame_address.group(), EVERYBODY), parts)
    }
}
