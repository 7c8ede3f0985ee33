//! The first step onto a segment: a socket at an interface whose address others can be told.

use super::address::{Address, Mac, Table};
use super::device::{Ethernet, OURS};
use super::error::EthernetError;
use super::frame::Seat;
use super::interface::{self, Interface};
use super::lent;
use super::line::{Line, Packets};
use super::socket::Socket;
use pombo_kernel::network::MIN_MTU;

/// A node with an address, which does not know the others yet. Frames that come meanwhile wait.
pub struct Opened<L: Line = Packets> {
    line: L,
    seat: Seat,
    interface: Interface,
    address: Address,
    granted: (usize, usize),
    loopback: bool,
}

/// The longest frame that our header can tell.
const LONGEST: usize = u16::MAX as usize;

impl Ethernet {
    /// A seat at the interface of that name, or with "" at the only one that has a link.
    ///
    /// # Errors
    /// [`EthernetError::NoRight`] where the process may not, or what else [`EthernetError`] names.
    pub fn open(name: &str, seat: Seat) -> Result<Opened, EthernetError> {
        Opened::new(name, seat, |socket, interfaces, mtu| {
            let (_, queue) = socket.buffers()?;
            Ok(Packets::new(socket, interfaces, mtu, queue))
        })
    }
}

impl<L: Line> Opened<L> {
    pub(super) fn new(
        name: &str,
        seat: Seat,
        line: impl FnOnce(Socket, [i32; 2], usize) -> Result<L, EthernetError>,
    ) -> Result<Self, EthernetError> {
        let interface = interface::find(name)?;
        let (own, loopback) = interface::loopback()?;
        let socket = lent::socket(seat, &interface, own)?;
        let granted = socket.buffers()?;
        let mtu = socket.mtu(&interface)?;
        if mtu < MIN_MTU + OURS {
            let interface = interface.name;
            return Err(EthernetError::Mtu { interface, mtu });
        }
        Ok(Opened {
            line: line(socket, [interface.index, own], mtu)?,
            seat,
            address: Address {
                mac: interface.mac.unwrap_or(Mac([0; 6])),
                mtu: mtu as u32,
            },
            interface,
            granted,
            loopback,
        })
    }

    /// Where others reach this node: to be published.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The longest frame for the protocol above.
    pub fn mtu(&self) -> usize {
        (self.address.mtu as usize - OURS).min(LONGEST)
    }

    /// The interface.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// What the system granted of [`RECEIVE_BYTES`](super::RECEIVE_BYTES) and of [`SEND_BYTES`](super::SEND_BYTES), as
    /// it counts: Linux says the double of what was asked, and counts its own overhead in.
    pub fn buffers(&self) -> (usize, usize) {
        self.granted
    }

    /// Joins the job whose nodes have published these addresses, the same list at all of them.
    ///
    /// # Errors
    /// The table is not possible, or the loopback interface is needed and down: see [`EthernetError`].
    pub fn join(self, addresses: &[Address]) -> Result<Ethernet<L>, EthernetError> {
        let mtu = self.mtu();
        let name = self.interface.name;
        let table = Table::new(self.seat.node, self.address, &name, addresses)?;
        match table.here > 1 && !self.loopback {
            true => Err(EthernetError::LoopbackDown),
            false => Ok(Ethernet::new(self.line, self.seat, table, name, mtu)),
        }
    }
}
