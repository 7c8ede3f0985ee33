//! The first step of joining: a socket bound to an interface whose address can be published.

use super::SelectedIo;
use super::address::Address;
use super::device::Ethernet;
use super::error::EthernetError;
use super::frame_io::{AfPacket, FrameIo};
use super::interface::{self, Interface};
#[cfg(feature = "pnet")]
use super::pnet::Pnet;
use super::privileged_helper;
use super::socket::Socket;
use super::table::PeerTable;
use crate::ethernet_frame::{FrameAddress, MIN_INTERFACE_MTU, POMBO_HEADER_LEN};
use alloc::boxed::Box;

/// A peer with an address, which does not know the others yet. Frames that arrive meanwhile wait.
pub struct BoundEthernet<L: FrameIo = SelectedIo> {
    io: L,
    frame_address: FrameAddress,
    interface: Interface,
    address: Address,
    loopback: bool,
}

/// Bytes of the longest frame, limited by the length field of our header.
const MAX_FRAME: usize = u16::MAX as usize;

impl Ethernet {
    /// Opens a socket at the interface of that name, or with "" at the only one that has a link.
    ///
    /// # Errors
    /// [`EthernetError::NotPermitted`] if the process has no right to do so, or another [`EthernetError`].
    pub fn open(
        name: &str,
        frame_address: FrameAddress,
    ) -> Result<BoundEthernet, Box<EthernetError>> {
        BoundEthernet::new(name, frame_address, |socket, interfaces, mtu| {
            let (_, queue) = socket.buffer_sizes()?;
            AfPacket::new(socket, interfaces, mtu, queue)
        })
    }
}

#[cfg(feature = "pnet")]
impl Ethernet {
    /// As [`Ethernet::open`], through `pnet`.
    ///
    /// # Errors
    /// As [`Ethernet::open`].
    pub fn open_pnet(
        name: &str,
        frame_address: FrameAddress,
    ) -> Result<BoundEthernet, Box<EthernetError>> {
        let at = interface::find(name)?;
        BoundEthernet::new(name, frame_address, |out, interfaces, mtu| {
            let local = privileged_helper::open_socket(frame_address, &at, interfaces[1])?;
            Pnet::new([out, local], interfaces, mtu)
        })
    }
}

impl<L: FrameIo> BoundEthernet<L> {
    fn new<T: Into<L>>(
        name: &str,
        frame_address: FrameAddress,
        io: impl FnOnce(Socket, [i32; 2], usize) -> Result<T, Box<EthernetError>>,
    ) -> Result<Self, Box<EthernetError>> {
        let interface = interface::find(name)?;
        let (own, loopback) = interface::loopback()?;
        let socket = privileged_helper::open_socket(frame_address, &interface, own)?;
        let mtu = interface::mtu(socket.fd(), &interface.name)?;
        if mtu < MIN_INTERFACE_MTU {
            let interface = interface.name;
            return Err(Box::new(EthernetError::Mtu { interface, mtu }));
        }
        Ok(BoundEthernet {
            io: io(socket, [interface.index, own], mtu)?.into(),
            frame_address,
            address: Address {
                mac: interface.mac.unwrap_or_default(),
                mtu: mtu as u32,
            },
            interface,
            loopback,
        })
    }

    /// Returns the address at which others reach this peer, for publication.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Returns the longest frame, in bytes, for the protocol above.
    pub fn mtu(&self) -> usize {
        max_frame(self.address.mtu as usize)
    }

    /// Returns the interface.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Returns the number of frames that can wait for a poll; more are lost.
    pub fn rx_slots(&self) -> usize {
        self.io.rx_slots()
    }

    /// Joins the job whose peers have published these addresses, the same list at all of them. Frames are limited to
    /// the smallest MTU of all interfaces.
    ///
    /// # Errors
    /// The table is invalid, or the loopback interface is needed and down: see [`EthernetError`].
    pub fn join(self, addresses: &[Address]) -> Result<Ethernet<L>, Box<EthernetError>> {
        let table = PeerTable::new(self.frame_address.peer, self.address, addresses)?;
        let (name, mtu) = (self.interface.name, max_frame(table.mtu));
        match table.local > 1 && !self.loopback {
            true => Err(Box::new(EthernetError::LoopbackDown)),
            false => {
                let interface = (name, self.address.mtu as usize);
                Ok(Ethernet::new(
                    self.io,
                    self.frame_address,
                    table,
                    interface,
                    mtu,
                ))
            }
        }
    }
}

/// Returns the longest frame for the protocol above at an MTU.
fn max_frame(mtu: usize) -> usize {
    mtu.saturating_sub(POMBO_HEADER_LEN).min(MAX_FRAME)
}
