//! The first step of joining: a socket bound to an address that can be published.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use super::address::{PeerTable, is_unicast};
use super::device::Udp;
use super::error::UdpError;
use super::interface::{Interface, interfaces};
use super::multicast::UdpMulticast;
use super::socket::Socket;
use pombo_kernel::header::Peer;
use pombo_kernel::network::MIN_MTU;

/// A rank with an address, which does not know the other ranks yet. Frames that arrive meanwhile wait.
pub struct BoundUdp {
    socket: Socket,
    address: SocketAddr,
    interface: Interface,
    /// Largest number of bytes of a frame.
    longest: usize,
}

/// Bytes of the headers of UDP and IP together, for versions 4 and 6.
const HEADERS: [usize; 2] = [28, 48];
/// Payload bytes of the longest datagram of IPv4.
const LONGEST: usize = u16::MAX as usize - HEADERS[0];

impl Udp {
    /// Binds an address of this host, with a port that the system chooses.
    ///
    /// # Errors
    /// [`UdpError::UnspecifiedAddress`], [`UdpError::NotLocal`], [`UdpError::Mtu`], or [`UdpError::System`].
    pub fn bind(address: impl Into<IpAddr>) -> Result<BoundUdp, Box<UdpError>> {
        BoundUdp::new(address.into())
    }
}

impl BoundUdp {
    pub(super) fn new(ip: IpAddr) -> Result<Self, Box<UdpError>> {
        if !is_unicast(ip) {
            return Err(Box::new(UdpError::UnspecifiedAddress));
        }
        let missing = UdpError::NotLocal { address: ip };
        let interface = interface_of(ip)?.ok_or(missing)?;
        let socket = Socket::bind(SocketAddr::new(ip, 0), false)?;
        let bound = BoundUdp {
            address: socket.address()?,
            socket,
            interface,
            longest: LONGEST,
        };
        match bound.mtu() < MIN_MTU {
            true => Err(Box::new(UdpError::Mtu {
                address: ip,
                mtu: bound.interface.mtu,
            })),
            false => Ok(bound),
        }
    }

    /// Returns the address at which others reach this rank, for publication.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the longest frame that the interface carries without fragmentation. Longer frames of others arrive as
    /// well.
    pub fn mtu(&self) -> usize {
        let headers = HEADERS[usize::from(self.address.is_ipv6())];
        let carried = self.interface.mtu.saturating_sub(headers);
        carried.min(self.longest)
    }

    /// Reduces the longest frame to what the interfaces of all peers carry.
    pub fn shorten(&mut self, mtu: usize) {
        self.longest = self.longest.min(mtu).max(MIN_MTU);
    }

    /// Returns the interface to which the address belongs.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Returns what the system granted of [`RECEIVE_BYTES`](super::RECEIVE_BYTES) and of
    /// [`SEND_BYTES`](super::SEND_BYTES), in bytes as the system counts: Linux reports twice the requested number, and
    /// includes its own overhead.
    ///
    /// # Errors
    /// [`UdpError::System`].
    pub fn buffers(&self) -> Result<(usize, usize), Box<UdpError>> {
        self.socket.buffer_sizes()
    }

    /// Joins the job whose peers have published these addresses, as peer `me`.
    ///
    /// # Errors
    /// The table is invalid: see [`UdpError`].
    pub fn join(self, me: Peer, addresses: Vec<SocketAddr>) -> Result<Udp, Box<UdpError>> {
        let table = PeerTable::new(me, self.address, &addresses)?;
        let mtu = self.mtu();
        Ok(Udp::new(me, self.socket, table, mtu))
    }

    /// Joins as [`BoundUdp::join`] does, for frames that reach all peers at once through `group`: a multicast address
    /// from [`multicast_group`], or a [`BoundUdp::broadcast_group`]. All peers use the same group.
    ///
    /// # Errors
    /// The table is invalid, the address is not of IPv4, or a system call failed.
    pub fn join_multicast(
        self,
        me: Peer,
        addresses: Vec<SocketAddr>,
        group: SocketAddrV4,
    ) -> Result<UdpMulticast, Box<UdpError>> {
        let table = PeerTable::new(me, self.address, &addresses)?;
        let address = self.address;
        let IpAddr::V4(ip) = address.ip() else {
            return Err(Box::new(UdpError::MulticastNeedsV4 { address }));
        };
        let mtu = self.mtu();
        self.socket.send_multicast_from(ip)?;
        let group_socket = Socket::bind(group.into(), true)?;
        if group.ip().is_multicast() {
            group_socket.join_group(*group.ip(), ip)?;
        }
        Ok(UdpMulticast::new(
            me,
            (self.socket, group_socket),
            table,
            group,
            mtu,
        ))
    }

    /// Returns the group of a job where multicast does not pass: the broadcast address of this interface. Returns
    /// `None` if the interface has no such address.
    pub fn broadcast_group(&self, job: u64) -> Option<SocketAddrV4> {
        let all = self.interface.broadcast?;
        Some(SocketAddrV4::new(all, port(job)))
    }
}

/// Returns the multicast group of a job, in the organisation-local scope. Jobs with the same group ignore each other's
/// frames.
pub fn multicast_group(job: u64) -> SocketAddrV4 {
    let [a, b, c, d] = ((mix(job) >> 16) as u32 & 0x0003_ffff | 0xefc0_0000).to_be_bytes();
    SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port(job))
}

/// Returns a port below the ephemeral ports.
fn port(job: u64) -> u16 {
    20_000 + (mix(job) % 12_000) as u16
}

fn mix(job: u64) -> u64 {
    let x = (job ^ job >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 31
}

/// Returns the interface of frames to and from that address.
fn interface_of(ip: IpAddr) -> Result<Option<Interface>, Box<UdpError>> {
    let all = interfaces()?;
    let exact = all.iter().find(|interface| interface.address == ip);
    // All of 127.0.0.0/8 is this host.
    let own = |interface: &&Interface| interface.loopback && ip.is_loopback();
    Ok(exact.or_else(|| all.iter().find(own)).cloned())
}
