//! Multicast groups of ranks over several hosts: [`JobGroups`], on a network of their own on which one frame reaches
//! all ranks. A user of groups opens a [`MulticastSocket`], publishes its address to the others, and joins.
//!
//! | bound | is | beyond it |
//! | --- | --- | --- |
//! | groups of a rank | [`GROUPS`] | [`GroupTable::open`] fails |
//! | ranks of a job with groups | [`RANKS`] | [`MulticastSocket::join`] returns `None` |
//! | small messages of a sender that not all have | 32, of up to 1 KiB and a header of 20 bytes | the sender waits |

use super::JobChannel;
use super::injected_loss::{self, Loss, Lossy};
use super::link::{self, Device, Link};
use super::raw_ethernet;
use super::traffic::Traffic;
use crate::bootstrap::{JobKeys, KeyUse};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use pombo_kernel::Peer;
use pombo_kernel::channel::{ChannelError, GroupId, Multicast, WaitSet};
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::ethernet::{self, Address, BoundEthernet};
use pombo_netdrivers::udp::{BoundUdp, Udp, UdpMulticast, multicast_group};
use pombo_transport::multicast::{BufferProvider, GroupCapacities, GroupTable, SenderConfig};
use pombo_transport::reliable::Timing;

/// The groups of a rank.
pub type JobGroups = GroupTable<
    Lossy<Link<UdpMulticast>>,
    GroupCapacities<{ RANKS - 1 }, FRAME, 32, SMALL, GROUPS>,
    HeapStorage,
>;

/// Number of groups that a rank may have open.
pub const GROUPS: usize = 32;
/// Number of ranks of a job that has groups.
pub const RANKS: usize = 64;
/// Size of a frame in bytes: the payload of UDP over IPv4 on Ethernet.
const FRAME: usize = 1472;

/// Length in bytes of the longest small message: 1 KiB and a header of whoever uses the groups.
const SMALL: usize = 1024 + HEADER_LEN;
/// The longest header of a small message that leaves room for 1 KiB.
pub(crate) const HEADER_LEN: usize = 20;

/// The address at which a rank receives multicast: an interface and its MTU, or an IP address, its MTU, and a port.
/// Zeros: none.
pub type MulticastAddress = [u8; 8];

/// Bytes of the granted socket buffer that a frame of usual length occupies.
const FRAME_COST: usize = 2304;

/// A rank's socket, before it knows the addresses of the others.
pub struct MulticastSocket {
    at: UnboundSocket,
    /// Seconds after which a host that does not answer counts as lost.
    timeout: u32,
    job: JobKeys,
}

/// The way in which one frame reaches all ranks: the second if the first does not work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MulticastKind {
    /// Multicast, or the broadcast of raw Ethernet.
    Group,
    /// IP broadcast to all hosts of the network segment.
    Segment,
}

enum UnboundSocket {
    Udp(BoundUdp),
    Ethernet(BoundEthernet),
}

impl MulticastSocket {
    /// Opens a socket on the network of unicast frames, if there is one and the channel has room.
    pub fn open<const RANKS: usize, B: BufferProvider + 'static>(
        channel: &JobChannel<RANKS, B>,
        me: Peer,
    ) -> Option<Self> {
        let far = channel.remote()?.channel();
        let job = far.job();
        let at = match far.link().inner().interface() {
            Some(name) => UnboundSocket::Ethernet(
                raw_ethernet::open(name, (job.name.id, me), ethernet::Traffic::Multicast).ok()?,
            ),
            None => UnboundSocket::Udp(Udp::bind(far.address()).ok()?),
        };
        let timeout = far.timeout();
        Some(MulticastSocket { at, timeout, job })
    }

    /// Returns the address to be published to the others.
    pub fn address(&self) -> MulticastAddress {
        let (address, number) = match &self.at {
            UnboundSocket::Udp(bound) => match bound.address() {
                SocketAddr::V4(at) => {
                    let [a, b, c, d] = at.ip().octets();
                    let [low, high] = (bound.mtu() as u16).to_le_bytes();
                    ([a, b, c, d, low, high], at.port())
                }
                SocketAddr::V6(_) => ([0; 6], 0),
            },
            UnboundSocket::Ethernet(opened) => {
                let Address { mac, mtu } = opened.address();
                (mac.octets(), mtu.min(u16::MAX.into()) as u16)
            }
        };
        let [a, b, c, d, e, f] = address;
        let [low, high] = number.to_le_bytes();
        [a, b, c, d, e, f, low, high]
    }

    /// Returns the number of frames that the receive buffer holds.
    fn room(&self) -> Option<usize> {
        match &self.at {
            UnboundSocket::Udp(bound) => Some(bound.buffers().ok()?.0 / FRAME_COST),
            UnboundSocket::Ethernet(opened) => Some(opened.rx_slots()),
        }
    }

    /// Creates the groups, none of which is open yet, of ranks with these addresses. Returns `None` if one of them has
    /// no address, or the network does not support this kind.
    pub fn join(
        self,
        me: Peer,
        addresses: &[MulticastAddress],
        kind: MulticastKind,
    ) -> Option<JobGroups> {
        let room = self.room()?;
        let MulticastSocket { at, timeout, job } = self;
        if addresses.len() > RANKS || addresses.contains(&[0; 8]) {
            return None;
        }
        let device = match at {
            UnboundSocket::Udp(mut bound) => {
                let mtu = |address: &MulticastAddress| u16::from_le_bytes([address[4], address[5]]);
                bound.shorten(addresses.iter().map(mtu).min().unwrap_or(0).into());
                let group = match kind {
                    MulticastKind::Group => multicast_group(job.name.id),
                    MulticastKind::Segment => bound.broadcast_group(job.name.id)?,
                };
                let all = addresses.iter().map(udp_address).collect();
                let mut device = bound.join_multicast(me, all, group).ok()?;
                device.set_refused_limit(timeout);
                Device::Udp(device)
            }
            UnboundSocket::Ethernet(_) if kind == MulticastKind::Segment => return None,
            UnboundSocket::Ethernet(opened) => {
                let all: Vec<Address> = addresses.iter().map(ethernet_address).collect();
                Device::Ethernet(opened.join(&all).ok()?)
            }
        };
        let loss = Loss::read().ok()?;
        let link = Link::new(device, job.frame_auth(KeyUse::Multicast)).ok()?;
        let config = SenderConfig {
            // Half of the room is left for other senders.
            window: (room / 2).clamp(16, 256) as u16,
            ..SenderConfig::default()
        };
        // Frames of one sender stay in order on one segment.
        let timing = Timing {
            overtakers: 1,
            ..Timing::default()
        };
        let (network, epoch) = (loss.over(link), job.name.id as u32);
        Some(JobGroups::with(network, epoch, config, timing))
    }
}

/// The groups of a rank as its channel serves them. The channel knows nothing else of groups, so a program without
/// calls that open some contains neither their protocol nor a network for them.
pub trait ServedGroups<B>: Multicast<B> + Send {
    /// Returns the groups.
    fn table(&mut self) -> &mut JobGroups;

    /// Returns whether everything that this rank sent has reached its live receivers.
    fn has_settled(&self) -> bool;

    /// Returns whether everything that this rank sent to that group has reached its live receivers, or there is no such
    /// group.
    fn has_settled_group(&self, group: GroupId) -> bool;

    /// Returns the counters of frames.
    fn traffic(&self) -> Traffic;
}

impl<B: BufferProvider + 'static> ServedGroups<B> for JobGroups {
    fn table(&mut self) -> &mut JobGroups {
        self
    }

    fn has_settled(&self) -> bool {
        self.is_settled()
    }

    fn has_settled_group(&self, group: GroupId) -> bool {
        self.has_reached_all(group) != Ok(false)
    }

    fn traffic(&self) -> Traffic {
        let (counts, network) = (self.counts(), self.network());
        let (refused, overflow) = link::refused(injected_loss::below(network));
        Traffic {
            frames: counts.packets + counts.polls + counts.reports,
            resent: counts.resent,
            repairs: counts.repairs,
            duplicates: counts.useless + counts.stale,
            dropped: injected_loss::lost(network) + overflow,
            rejected: refused + counts.foreign + counts.corrupt + counts.impossible,
        }
    }
}

impl<B: 'static> Multicast<B> for Box<dyn ServedGroups<B>> {
    fn poll(&mut self, buffers: &mut B) -> Result<bool, ChannelError> {
        (**self).poll(buffers)
    }

    fn is_due(&self, buffers: &B) -> bool {
        (**self).is_due(buffers)
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        (**self).wait_sources()
    }

    fn declare_lost(&mut self, peer: Peer) {
        (**self).declare_lost(peer);
    }
}

fn udp_address(address: &MulticastAddress) -> SocketAddr {
    let &[a, b, c, d, _, _, low, high] = address;
    let ip = IpAddr::V4(Ipv4Addr::new(a, b, c, d));
    SocketAddr::new(ip, u16::from_le_bytes([low, high]))
}

fn ethernet_address(address: &MulticastAddress) -> Address {
    let &[a, b, c, d, e, f, low, high] = address;
    Address {
        mac: [a, b, c, d, e, f].into(),
        mtu: u16::from_le_bytes([low, high]).into(),
    }
}
