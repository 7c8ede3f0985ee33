//! A device below the channels: a [`Network`] moves frames, and may lose, repeat, delay, truncate or corrupt them.
//!
//! Drivers implement it (package `pombo-netdrivers`); a protocol that builds a [`Channel`](crate::Channel) over it uses
//! it (package `pombo-transport`). Source: the EPOS communication system, section 3.7, which separates networks and
//! channels as well.

use crate::channel::{Arrival, ChannelError, MIN_LIMIT, WaitSet};
use crate::header::Peer;
use crate::memory::Part;

/// An unreliable path to every peer.
///
/// The only guarantee is that frames that arrive come from some peer of this network. A frame may be lost, duplicated,
/// reordered, or delayed for any time. It may be shorter than it was sent, or longer if a device pads frames, and its
/// bytes may differ unless [`Network::is_checked`]. None of this is reported, nor are peers that come or go.
///
/// Every method is required: a driver names what it takes [by default](crate::network_defaults!), a wrapper what it
/// [forwards](crate::forward_network!).
pub trait Network: 'static {
    /// A frame that arrived, valid during the call that hands it out. It may be empty. Its first [`MIN_MTU`] bytes are
    /// contiguous.
    type Frame<'a>: Arrival;

    /// Returns the number of this peer.
    fn me(&self) -> Peer;

    /// Returns the number of peers, this one included: 1 to 65535.
    fn peers(&self) -> usize;

    /// Returns whether a layer below checks the bytes of every frame end to end, so that every frame that arrives was
    /// sent so by its source to this peer. The value is equal at all peers. Protocols add a checksum if it is false: an
    /// attacker on the wire computes the checksums of a device as well.
    fn is_checked(&self) -> bool;

    /// Returns the length of the longest frame in bytes, equal for every peer and constant; at least [`MIN_MTU`].
    fn mtu(&self) -> usize;

    /// Passes a frame of 1 to [`Network::mtu`] bytes to the device, whole or not at all. Never blocks. The parts may
    /// change as soon as it returns. A peer may send to itself.
    ///
    /// # Errors
    /// [`ChannelError::Full`]: the device has no room now; try again after a [`Network::poll`] or a [`Network::wait`].
    /// [`ChannelError::TooLong`], [`ChannelError::NoSuchPeer`]: the frame cannot be sent at all.
    /// [`ChannelError::Device`]: the device failed. Never [`ChannelError::PeerLost`].
    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError>;

    /// Corks or uncorks the network: corked frames may wait for each other. Once this is called with `false` they
    /// leave, as one if the device supports it, or as soon as it has room. The caller does not poll or wait while the
    /// network is corked.
    fn set_corked(&mut self, on: bool);

    /// Hands out frames that have arrived, at most a batch that the driver bounds. Returns whether there were any. `f`
    /// cannot send. Frames wait in a queue that the driver bounds; beyond it they are lost.
    ///
    /// # Errors
    /// [`ChannelError::Device`]: the device failed.
    fn poll(&mut self, f: impl FnMut(Self::Frame<'_>)) -> Result<bool, ChannelError>;

    /// Waits after polling has found nothing `idle` times in a row (0, 1, 2, ...). May spin, yield, or sleep until a
    /// frame may have arrived, a full device may have room, or [`Network::now`] has reached `until`, when a timer of
    /// the caller expires (`u64::MAX`: no timer). An early return is always allowed.
    /// timer of the caller ends (`u64::MAX`: none). Returning early is always right.
    ///
    /// # Errors
    /// [`ChannelError::Device`]: the device failed.
    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError>;

    /// Returns the events that would end a sleep of [`Network::wait`], for a caller that sleeps for another source at
    /// the same time. Returns `None` if the device sleeps by other means, or never.
    fn wait_sources(&mut self) -> Option<WaitSet>;

    /// Returns the time in nanoseconds of a monotonic clock with an arbitrary start; used for time-outs.
    fn now(&self) -> u64;
}

/// A network on which one frame reaches all peers. Each of them may receive it or not.
pub trait Broadcast: Network {
    /// Transmits a frame as [`Network::transmit`], to all other peers at once.
    ///
    /// # Errors
    /// As [`Network::transmit`].
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError>;
}

/// The least MTU of a network in bytes: the smallest frame of a channel behind a header.
pub const MIN_MTU: usize = 2 * MIN_LIMIT;
