//! A device below the channels: a [`Network`] moves frames, and may lose, repeat, delay, cut or damage them.
//!
//! Drivers implement it (package `pombo-netdrivers`); a protocol that makes a [`Channel`](crate::Channel) of it uses
//! it (package `pombo-transport`). Source: the EPOS communication system, section 3.7, where networks and channels are separate as well.

use crate::channel::{Arrival, ChannelError, MIN_LIMIT, WaitSet};
use crate::header::Peer;
use crate::memory::Part;

/// An unreliable way to every peer.
///
/// What is promised: frames that arrive come from some peer of this network. Nothing else is. A frame may be lost,
/// arrive twice, after frames that were sent later, or late by any time. It may be shorter than it was sent, or
/// longer where a device fills frames up, and its bytes may differ unless [`Network::is_checked`]. Nobody is told of any of this, and nobody hears of peers that come or go.
///
/// Every method is required: a driver names what it takes [by default](crate::network_defaults!), a wrapper what it
/// [forwards](crate::forward_network!).
pub trait Network: 'static {
    /// A frame that arrived, valid during the call that hands it out. It may be empty. Its head is in one piece up to
    /// [`MIN_MTU`] bytes.
    type Frame<'a>: Arrival;

    /// This peer.
    fn me(&self) -> Peer;

    /// How many peers there are, this one included: 1 to 65535.
    fn peers(&self) -> usize;

    /// Are the bytes of every frame checked below, from end to end, so that none arrives that its source has not sent so
    /// and to this peer? The same at all peers. Protocols add a checksum where they are not: what a device checks of its
    /// own accord whoever writes to the wire computes as well.
    fn is_checked(&self) -> bool;

    /// The longest frame in bytes, the same for every peer and as long as the network lives; at least [`MIN_MTU`].
    fn mtu(&self) -> usize;

    /// Gives a frame of 1 to [`Network::mtu`] bytes to the device, whole or not at all. Never blocks. The parts may
    /// change as soon as it returns. A peer may send to itself.
    ///
    /// # Errors
    /// [`ChannelError::Full`]: the device has no room now, try again after a [`Network::poll`] or a
    /// [`Network::wait`]. [`ChannelError::TooLong`], [`ChannelError::NoSuchPeer`]: the frame cannot be sent at all.
    /// [`ChannelError::Device`]: the device failed. Never [`ChannelError::PeerLost`].
    fn transmit(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError>;

    /// Frames that are transmitted from now on may wait for each other, until this is called with `false`: then they
    /// leave, as one where the device can, or as soon as it has room. Nobody polls or waits meanwhile.
    fn set_corked(&mut self, on: bool);

    /// Hands out frames that have arrived, at most a batch that the driver bounds. Returns whether there were any.
    /// Inside `f` nothing can be sent. Frames wait here in a queue that the driver bounds; beyond it they are lost.
    ///
    /// # Errors
    /// [`ChannelError::Device`]: the device failed.
    fn poll(&mut self, f: impl FnMut(Self::Frame<'_>)) -> Result<bool, ChannelError>;

    /// Called when polling found nothing `idle` times in a row (0, 1, 2, ...). May spin, yield, or sleep until a
    /// frame may have arrived, a device that was full may have room, or [`Network::now`] has reached `until`, when a
    /// timer of the caller ends (`u64::MAX`: none). Returning early is always right.
    ///
    /// # Errors
    /// [`ChannelError::Device`]: the device failed.
    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError>;

    /// What would end a sleep of [`Network::wait`], for who sleeps for something else at the same time. `None` where
    /// the device sleeps by other means, or never.
    fn wait_sources(&mut self) -> Option<WaitSet>;

    /// Nanoseconds on a clock that never goes back, from an arbitrary start; used for time-outs.
    fn now(&self) -> u64;
}

/// A network on which one frame reaches every peer. Each of them may get it or not.
pub trait Broadcast: Network {
    /// As [`Network::transmit`], to all other peers at once.
    ///
    /// # Errors
    /// As [`Network::transmit`].
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError>;
}

/// Every network carries frames of at least this many bytes: the smallest frame of a channel behind a header.
pub const MIN_MTU: usize = 2 * MIN_LIMIT;
