//! The frame I/O of a device in a library with the feature `pnet`: chosen when the device is opened. Used inside
//! `ethernet` only.

use super::frame_io::{AfPacket, FrameIo};
use super::pnet::Pnet;
use crate::ethernet_frame::HeaderBytes;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::memory::Part;

/// Frame I/O through the packet ring of Linux or through `pnet`.
#[allow(clippy::large_enum_variant, reason = "a rank has two of them")]
pub enum RingOrPnet {
    /// Packet sockets of Linux.
    Ring(AfPacket),
    /// `pnet`.
    Pnet(Pnet),
}

impl From<AfPacket> for RingOrPnet {
    fn from(ring: AfPacket) -> Self {
        Self::Ring(ring)
    }
}

impl From<Pnet> for RingOrPnet {
    fn from(pnet: Pnet) -> Self {
        Self::Pnet(pnet)
    }
}

macro_rules! either {
    ($self:expr, $io:ident => $does:expr) => {
        match $self {
            RingOrPnet::Ring($io) => $does,
            RingOrPnet::Pnet($io) => $does,
        }
    };
}

impl FrameIo for RingOrPnet {
    #[inline]
    fn send(
        &mut self,
        local: bool,
        head: &HeaderBytes,
        parts: &[Part<'_>],
    ) -> Result<bool, ChannelError> {
        either!(self, io => io.send(local, head, parts))
    }

    #[inline]
    fn poll(&mut self, f: impl FnMut(&[u8])) -> Result<(), ChannelError> {
        either!(self, io => io.poll(f))
    }

    fn fds(&self) -> [i32; 2] {
        either!(self, io => io.fds())
    }

    fn rx_slots(&self) -> usize {
        either!(self, io => io.rx_slots())
    }

    fn dropped(&self) -> u64 {
        either!(self, io => io.dropped())
    }
}
