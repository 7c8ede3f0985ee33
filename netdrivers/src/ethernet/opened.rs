//! The first step onto a segment: a socket at an interface whose address others can be told.

use super::address::{Address, Mac};
use super::device::Ethernet;
use super::error::EthernetError;
use super::frame::{OURS, SHORTEST, Seat};
use super::interface::{self, Interface};
use super::lent;
use super::line::{Line, Packets};
use super::socket::Socket;
use super::table::Table;

/// A node with an address, which does not know the others yet. Frames that come meanwhile wait.
pub struct Opened<L: Line = Packets> {
    line: L,
    seat: Seat,
    interface: Interface,
    address: Address,
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
            Packets::new(socket, interfaces, mtu, queue)
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
        let mtu = interface::mtu(socket.number(), &interface.name)?;
        if mtu < SHORTEST {
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
            loopback,
        })
    }

    /// Where others reach this node: to be published.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The longest frame for the protocol above.
    pub fn mtu(&self) -> usize {
        longest(self.address.mtu as usize)
    }

    /// The interface.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Frames that can wait for a poll; more are lost.
    pub fn room(&self) -> usize {
        self.line.room()
    }

    /// Joins the job whose nodes have published these addresses, the same list at all of them. Frames are no longer than
    /// the interfaces of all carry.
    ///
    /// # Errors
    /// The table is not possible, or the loopback interface is needed and down: see [`EthernetError`].
    pub fn join(self, addresses: &[Address]) -> Result<Ethernet<L>, EthernetError> {
        let table = Table::new(self.seat.node, self.address, addresses)?;
        let (name, mtu) = (self.interface.name, longest(table.mtu));
        match table.here > 1 && !self.loopback {
            true => Err(EthernetError::LoopbackDown),
            false => {
                let interface = (name, self.address.mtu as usize);
                Ok(Ethernet::new(self.line, self.seat, table, interface, mtu))
            }
        }
    }
}

/// The longest frame for the protocol above, where an interface carries so much.
fn longest(mtu: usize) -> usize {
    mtu.saturating_sub(OURS).min(LONGEST)
}
