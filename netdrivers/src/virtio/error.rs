//! Why an image cannot join.

use core::fmt;

/// Errors of [`VirtioNet::join`](super::VirtioNet::join).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum VirtioError {
    /// The transport belongs to another kind of device: look at the next one.
    NotANetwork,
    /// The device, or the memory for its queues, failed: the crate's error says how.
    Device(virtio_drivers::Error),
    /// The table of addresses is longer than the driver's: raise `PEERS`.
    TooManyPeers {
        /// Addresses in the table.
        peers: usize,
        /// The value of `PEERS`.
        bound: usize,
    },
    /// The table has no entry for this peer: correct its number.
    NoSuchPeer(u16),
    /// The table has another address for this peer than its device: correct the table.
    AddressMismatch {
        /// The address in the table.
        listed: [u8; 6],
        /// The address of the device.
        device: [u8; 6],
    },
}

impl fmt::Display for VirtioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VirtioError::NotANetwork => f.write_str("the device is no network: look at the next"),
            VirtioError::Device(error) => write!(f, "the device failed: {error}"),
            VirtioError::TooManyPeers { peers, bound } => write!(
                f,
                "the table has {peers} addresses, and the driver room for {bound}: raise PEERS"
            ),
            VirtioError::NoSuchPeer(peer) => {
                write!(f, "the table has no address for peer {peer}: correct it")
            }
            VirtioError::AddressMismatch { listed, device } => write!(
                f,
                "the table says {listed:02x?}, the device has {device:02x?}: correct the table"
            ),
        }
    }
}

impl core::error::Error for VirtioError {}

impl From<virtio_drivers::Error> for VirtioError {
    fn from(error: virtio_drivers::Error) -> Self {
        VirtioError::Device(error)
    }
}
