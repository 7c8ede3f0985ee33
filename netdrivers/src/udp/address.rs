//! Addresses in the system's form, and the table of peers, which only `udp` uses.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::{size_of, zeroed};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::error::UdpError;
use pombo_kernel::header::Peer;

/// An address in the system's form. All its bytes are initialised, whatever its family.
#[derive(Clone, Copy)]
#[repr(C)]
pub union SockAddr {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

/// The part of an address that identifies a peer: IP and port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128, u16);

impl SockAddr {
    /// Returns space for an address, with an unspecified family.
    pub(crate) fn zeroed_address() -> Self {
        // SAFETY: zeros are valid in both forms.
        unsafe { zeroed() }
    }

    /// Converts an address.
    pub fn new(address: SocketAddr) -> Self {
        let mut sock_addr = Self::zeroed_address();
        match address {
            SocketAddr::V4(address) => {
                sock_addr.v4 = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: address.port().to_be(),
                    sin_addr: in_addr(*address.ip()),
                    sin_zero: [0; 8],
                };
            }
            SocketAddr::V6(address) => {
                sock_addr.v6 = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: address.port().to_be(),
                    sin6_flowinfo: address.flowinfo(),
                    sin6_addr: libc::in6_addr {
                        s6_addr: address.ip().octets(),
                    },
                    sin6_scope_id: address.scope_id(),
                };
            }
        }
        sock_addr
    }

    /// Returns the address if it is an IP address.
    pub fn address(&self) -> Option<SocketAddr> {
        // SAFETY: all bytes are initialised and every value is valid; the family has the same offset in both forms.
        unsafe {
            match i32::from(self.v4.sin_family) {
                libc::AF_INET => {
                    let ip = Ipv4Addr::from(u32::from_be(self.v4.sin_addr.s_addr));
                    Some(SocketAddr::from((ip, u16::from_be(self.v4.sin_port))))
                }
                libc::AF_INET6 => {
                    let ip = Ipv6Addr::from(self.v6.sin6_addr.s6_addr);
                    Some(SocketAddr::from((ip, u16::from_be(self.v6.sin6_port))))
                }
                _ => None,
            }
        }
    }

    /// Returns the address family: `AF_INET` or `AF_INET6`.
    fn family(&self) -> i32 {
        // SAFETY: as in `address`.
        unsafe { self.v4.sin_family }.into()
    }

    /// Returns the number of bytes of its form.
    pub(super) fn size(&self) -> libc::socklen_t {
        let size = match self.family() {
            libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
            _ => size_of::<libc::sockaddr_in>(),
        };
        size as libc::socklen_t
    }

    /// Returns whether the two addresses are equal.
    #[inline]
    pub(super) fn is_same(&self, other: &SockAddr) -> bool {
        self.key() == other.key()
    }

    #[inline]
    fn key(&self) -> Option<Key> {
        // SAFETY: as in `address`.
        unsafe {
            match i32::from(self.v4.sin_family) {
                libc::AF_INET => Some(Key(u128::from(self.v4.sin_addr.s_addr), self.v4.sin_port)),
                libc::AF_INET6 => Some(Key(
                    u128::from_ne_bytes(self.v6.sin6_addr.s6_addr),
                    self.v6.sin6_port,
                )),
                _ => None,
            }
        }
    }
}

pub(super) fn in_addr(ip: Ipv4Addr) -> libc::in_addr {
    libc::in_addr {
        s_addr: u32::from(ip).to_be(),
    }
}

/// The addresses of all peers, and the peer of each address.
pub(super) struct PeerTable {
    peers: Vec<SockAddr>,
    sorted: Vec<(Key, u16)>,
    /// Peers at this peer's IP address, itself included.
    pub(super) local: usize,
}

impl PeerTable {
    /// Creates the table of all peers, for the one that has bound that address.
    pub(super) fn new(
        me: Peer,
        bound: SocketAddr,
        addresses: &[SocketAddr],
    ) -> Result<Self, Box<UdpError>> {
        let peers = addresses.len();
        if peers == 0 || peers > usize::from(u16::MAX) {
            return Err(Box::new(UdpError::Peers { peers }));
        }
        let peer = me.0;
        let listed = addresses.get(me.index()).copied();
        let listed = listed.ok_or_else(|| Box::new(UdpError::NoSuchPeer { peer, peers }))?;
        if listed.ip() != bound.ip() || listed.port() != bound.port() {
            return Err(Box::new(UdpError::AddressMismatch {
                peer,
                listed,
                bound,
            }));
        }
        let mixed = |address: &&SocketAddr| address.is_ipv4() != bound.is_ipv4();
        if let Some(&address) = addresses.iter().find(mixed) {
            return Err(Box::new(UdpError::MixedFamilies { address }));
        }
        let raws: Vec<SockAddr> = addresses.iter().map(|at| SockAddr::new(*at)).collect();
        let mut sorted = Vec::<(Key, u16)>::with_capacity(raws.len());
        for (peer, (sock_addr, &address)) in raws.iter().zip(addresses).enumerate() {
            let Some(key) = sock_addr.key() else {
                continue;
            };
            match sorted.binary_search_by_key(&key, |entry| entry.0) {
                Ok(_) => return Err(Box::new(UdpError::DuplicateAddress { address })),
                Err(at) => sorted.insert(at, (key, peer as u16)),
            }
        }
        let local = |address: &&SocketAddr| address.ip() == bound.ip();
        Ok(PeerTable {
            local: addresses.iter().filter(local).count(),
            peers: raws,
            sorted,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.peers.len()
    }

    #[inline]
    pub(super) fn address(&self, peer: Peer) -> Option<&SockAddr> {
        self.peers.get(peer.index())
    }

    /// Returns the peer at an address, or `None` if it is not in the table.
    #[inline]
    pub(super) fn peer(&self, at: &SockAddr) -> Option<Peer> {
        let key = at.key()?;
        let found = self.sorted.binary_search_by_key(&key, |entry| entry.0);
        found.ok().map(|place| Peer(self.sorted[place].1))
    }
}

/// Returns whether others could send to that address.
pub(super) fn is_unicast(ip: IpAddr) -> bool {
    !ip.is_unspecified() && !ip.is_multicast() && ip != IpAddr::V4(Ipv4Addr::BROADCAST)
}
