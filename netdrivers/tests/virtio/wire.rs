//! Devices on one cable: what one transmits reaches all others that have a receive buffer, and else is lost.

use crate::queue::Queue;
use pombo_netdrivers::virtio::transport::{DeviceStatus, DeviceType, InterruptStatus, Transport};
use std::sync::{Arc, Mutex, MutexGuard};
use virtio_drivers::{Error, PhysAddr};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Bytes of virtio's header in front of each frame.
const HEADER: usize = 12;
const RECEIVE: usize = 0;
const TRANSMIT: usize = 1;
/// The device has an address; it is of version 1.
const FEATURES: u64 = 1 << 5 | 1 << 32;

/// How a device breaks the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    None,
    /// It gives back another buffer than it was given: by that number, from that queue.
    Token(usize, u32),
    /// It has written so many bytes, it says.
    Length(u32),
    /// It gives back twice what it has transmitted.
    Twice,
    /// The cable returns what it transmits.
    Echo,
}

pub(crate) struct Wire(Mutex<Vec<[Option<Queue>; 2]>>);

impl Wire {
    pub(crate) fn new(devices: usize) -> Arc<Self> {
        Arc::new(Wire(Mutex::new(vec![[None; 2]; devices])))
    }

    fn queues(&self) -> MutexGuard<'_, Vec<[Option<Queue>; 2]>> {
        self.0.lock().expect("nobody panics with it")
    }

    /// Carries what a device has been given to transmit.
    fn carry(&self, from: usize, fault: Fault) {
        let mut all = self.queues();
        while let Some(queue) = all[from][TRANSMIT].as_mut()
            && let Some(buffer) = queue.take()
        {
            let mut bytes = buffer.read();
            match fault {
                Fault::Token(TRANSMIT, id) => queue.give_back(id, 0),
                _ => queue.give_back(buffer.id.into(), 0),
            }
            if fault == Fault::Twice {
                queue.give_back(buffer.id.into(), 0);
            }
            bytes[..HEADER].fill(0);
            for (to, queues) in all.iter_mut().enumerate() {
                let reached = to != from || fault == Fault::Echo;
                let Some(queue) = queues[RECEIVE].as_mut().filter(|_| reached) else {
                    continue;
                };
                let Some(buffer) = queue.take() else { continue };
                let len = buffer.write(&bytes) as u32;
                match fault {
                    Fault::Token(RECEIVE, id) => queue.give_back(id, len),
                    Fault::Length(len) => queue.give_back(buffer.id.into(), len),
                    _ => queue.give_back(buffer.id.into(), len),
                }
            }
        }
    }
}

/// One device, as its driver reaches it.
pub(crate) struct Device {
    pub(crate) wire: Arc<Wire>,
    pub(crate) index: usize,
    pub(crate) fault: Fault,
    pub(crate) kind: DeviceType,
}

pub(crate) fn mac(index: usize) -> [u8; 6] {
    [2, 0, 0, 0, 0, index as u8]
}

impl Transport for Device {
    fn device_type(&self) -> DeviceType {
        self.kind
    }

    fn read_device_features(&mut self) -> u64 {
        FEATURES
    }

    fn write_driver_features(&mut self, features: u64) {
        assert_eq!(features, FEATURES);
    }

    fn max_queue_size(&mut self, _: u16) -> u32 {
        256
    }

    fn notify(&mut self, queue: u16) {
        if usize::from(queue) == TRANSMIT {
            self.wire.carry(self.index, self.fault);
        }
    }

    fn get_status(&self) -> DeviceStatus {
        DeviceStatus::empty()
    }

    fn set_status(&mut self, _: DeviceStatus) {}

    fn set_guest_page_size(&mut self, _: u32) {}

    fn requires_legacy_layout(&self) -> bool {
        false
    }

    fn queue_set(&mut self, queue: u16, size: u32, a: PhysAddr, b: PhysAddr, c: PhysAddr) {
        self.wire.queues()[self.index][usize::from(queue)] = Some(Queue::new(size, [a, b, c]));
    }

    fn queue_unset(&mut self, queue: u16) {
        self.wire.queues()[self.index][usize::from(queue)] = None;
    }

    fn queue_used(&mut self, queue: u16) -> bool {
        self.wire.queues()[self.index][usize::from(queue)].is_some()
    }

    fn ack_interrupt(&mut self) -> InterruptStatus {
        InterruptStatus::empty()
    }

    fn read_config_generation(&self) -> u32 {
        0
    }

    fn read_config_space<T: FromBytes + IntoBytes>(&self, offset: usize) -> Result<T, Error> {
        // The address, then the status: the link is up.
        let config = [&mac(self.index)[..], &[1, 0]].concat();
        let bytes = config.get(offset..).ok_or(Error::InvalidParam)?;
        let (value, _) = T::read_from_prefix(bytes).map_err(|_| Error::InvalidParam)?;
        Ok(value)
    }

    fn write_config_space<T: IntoBytes + Immutable>(
        &mut self,
        _: usize,
        _: T,
    ) -> Result<(), Error> {
        Err(Error::Unsupported)
    }
}
