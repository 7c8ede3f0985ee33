//! What the kernel stands on: a [`Channel`] is reliable and keeps the order of frames per peer.
//!
//! Drivers implement it (package `pombo-netdrivers`); the kernel calls it. Shared memory and threads are channels by
//! nature. Source: the EPOS communication system, section 3.7 (`receive` with an offset is [`Arrival::for_each_chunk`]).

mod contiguous_frame;
mod multicast;
mod self_channel;
mod wait_policy;
mod wait_set;

pub use contiguous_frame::ContiguousFrame;
pub use multicast::{GroupId, Multicast};
pub use self_channel::SelfChannel;
pub use wait_policy::WithWaitPolicy;
pub use wait_set::{SHORT_SLEEP, WaitSet};

use crate::header::Peer;
use crate::memory::Part;
use core::mem::MaybeUninit;

/// A reliable way to every peer, ordered per peer.
///
/// A frame is a gather list of 1 to [`Channel::limit`] bytes; it arrives whole, exactly once, after every earlier
/// frame of the same sender, unless the sender is reported lost. A peer may send to itself.
///
/// Every method is required: a driver names what it takes [by default](crate::channel_defaults!), a wrapper what it
/// [forwards](crate::forward_channel!).
pub trait Channel: 'static {
    /// A frame that arrived, valid during the call that hands it out.
    type Arrival<'a>: Arrival;

    /// This peer.
    fn me(&self) -> Peer;

    /// How many peers there are, this one included: 1 to 65535.
    fn peers(&self) -> usize;

    /// The longest frame to that peer, in bytes; at least [`MIN_LIMIT`].
    fn limit(&self, to: Peer) -> usize;

    /// May a payload of `len` bytes go in one frame, however long, for that peer to read where it lies? It is then the
    /// last part, [fixed](Part::fixed), and its frame has a cookie. A frame above the limit is such a one or refused.
    fn supports_single_copy(&self, to: Peer, len: usize) -> bool;

    /// Takes the whole frame or nothing. Never blocks. A frame with [`Cookie::COPY`] is copied ([`Sent::Done`]).
    ///
    /// # Errors
    /// [`ChannelError::Full`]: no room now, try again after a [`Channel::poll`] or a [`Channel::wait`].
    /// [`ChannelError::PeerLost`]: nobody will ever take it. [`ChannelError::TooLong`], [`ChannelError::NoSuchPeer`]:
    /// the frame cannot be sent at all.
    fn try_send(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError>;

    /// Frames that are sent from now on may wait for each other, until this is called with `false`: they may leave as
    /// one then. Nobody polls or waits meanwhile.
    fn set_corked(&mut self, on: bool);

    /// Hands out what has happened, at most a batch that the driver bounds, oldest first per peer.
    /// Returns whether anything happened. Inside `f` nothing can be sent.
    fn poll(&mut self, f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError>;

    /// As [`Channel::poll`], for who takes arrivals of every type: a channel made of others need not make them one type.
    fn poll_with(&mut self, handler: &mut impl FrameHandler) -> Result<bool, ChannelError>;

    /// Called when polling found nothing `idle` times in a row (0, 1, 2, ...). May spin, yield, or sleep until a
    /// frame may have arrived or a full queue may have room, but does not sleep at 0 and 1: who calls may just have had
    /// something to do. Returning early is always right.
    fn wait(&mut self, idle: u32) -> Result<(), ChannelError>;

    /// As [`Channel::wait`], and back after about that time at the latest. A channel that cannot sleep for a limited
    /// time does not sleep here.
    ///
    /// # Errors
    /// As [`Channel::wait`].
    fn wait_timeout(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError>;

    /// What would end a sleep of [`Channel::wait`], for who sleeps for another channel at the same time. `None` where
    /// the channel sleeps by other means, or never.
    fn wait_sources(&mut self) -> Option<WaitSet>;

    /// As [`Channel::wait`], and back also when this happens. A channel that cannot sleep for both naps.
    ///
    /// # Errors
    /// As [`Channel::wait`].
    fn wait_with(&mut self, idle: u32, other: WaitSet) -> Result<(), ChannelError>;

    /// Nanoseconds on a clock that never goes back, from an arbitrary start; used for time-outs.
    fn now(&self) -> u64;
}

/// Takes what a channel reports.
pub trait FrameHandler {
    /// One event.
    fn handle<A: Arrival>(&mut self, event: Event<A>);

    /// A frame that lies in one piece. False if it was not taken: then it is to come as an event.
    #[inline(always)]
    fn take(&mut self, from: Peer, frame: &[u8]) -> bool {
        let _ = (from, frame);
        false
    }
}

/// Every channel carries frames of at least this many bytes, and hands out this much contiguously.
pub const MIN_LIMIT: usize = 128;

/// A frame as it lies at the driver.
pub trait Arrival {
    /// Who sent it.
    fn from(&self) -> Peer;

    /// Bytes in the frame.
    fn len(&self) -> usize;

    /// An empty frame?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first `n` bytes in one piece, for `n` up to [`MIN_LIMIT`]; `None` if the frame is shorter.
    fn head(&self, n: usize) -> Option<&[u8]>;

    /// Calls `f` on consecutive pieces of the `len` bytes from `offset`. Callers stay inside [`Arrival::len`].
    fn for_each_chunk(&self, offset: usize, len: usize, f: impl FnMut(&[u8]));

    /// As [`Arrival::for_each_chunk`], also of a frame whose payload is still with its sender. False if it could not be had:
    /// then what `into` got is worth nothing, and the sender is told to send it [again](Event::Again).
    #[inline]
    fn read_into(&self, offset: usize, len: usize, into: &mut impl CopyTarget) -> bool {
        self.for_each_chunk(offset, len, |piece| into.append(piece));
        true
    }
}

/// Where [`Arrival::read_into`] puts what it gets.
pub trait CopyTarget {
    /// Takes the next bytes.
    fn append(&mut self, piece: &[u8]);

    /// Room for all the bytes where they are to go, to be filled instead of [`CopyTarget::append`]; if it is in one piece.
    fn spare_capacity(&mut self, len: usize) -> Option<&mut [MaybeUninit<u8>]>;
}

/// What a poll reports.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<A> {
    /// A frame arrived.
    Arrival(A),
    /// The frame that was accepted with [`Sent::Later`] no longer needs its memory.
    Completed(Cookie),
    /// The same, but the peer could not read its payload where it lies: that is to be sent once more, in frames up to
    /// the limit.
    Again(Cookie),
    /// This peer is gone: reported once, after the last frame that it sent. Nothing of frames to it is needed any
    /// more, and no [`Event::Completed`] follows.
    PeerLost(Peer),
}

impl<A> Event<A> {
    /// The same, with another arrival: for channels made of others, which hand on whatever these report.
    #[inline(always)]
    pub fn map<B>(self, f: impl FnOnce(A) -> B) -> Event<B> {
        match self {
            Event::Arrival(frame) => Event::Arrival(f(frame)),
            Event::Completed(cookie) => Event::Completed(cookie),
            Event::Again(cookie) => Event::Again(cookie),
            Event::PeerLost(peer) => Event::PeerLost(peer),
        }
    }
}

/// How a frame was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// Copied: its memory may change at once.
    Done,
    /// Not over before [`Event::Completed`] with the same cookie. The user gets the memory back only then, unless a
    /// scope ends first: so a driver reads nothing by address later that is not [fixed](Part::fixed); it keeps a copy of
    /// what it may have to resend.
    Later,
}

/// Chosen by the kernel, opaque to drivers; comes back in [`Event::Completed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cookie(pub u64);

impl Cookie {
    /// For frames whose memory goes away after the call.
    pub const COPY: Cookie = Cookie(u64::MAX);
}

/// Why a channel did not do it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ChannelError {
    /// No room now: poll, then try again.
    Full,
    /// The peer is gone; nothing reaches it any more.
    PeerLost(Peer),
    /// The frame is longer than this limit in bytes: split it.
    TooLong {
        /// The longest frame in bytes.
        limit: usize,
    },
    /// There is no such peer on this channel.
    NoSuchPeer(Peer),
    /// The device failed with this system error number: see the driver's documentation.
    Device(i32),
}

impl core::fmt::Display for ChannelError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            ChannelError::Full => f.write_str("the channel is full: poll, then try again"),
            ChannelError::PeerLost(peer) => write!(f, "peer {peer} is gone"),
            ChannelError::TooLong { limit } => {
                write!(f, "the frame is longer than {limit} bytes: split it")
            }
            ChannelError::NoSuchPeer(peer) => write!(f, "there is no peer {peer} on this channel"),
            ChannelError::Device(errno) => write!(f, "the device failed with error number {errno}"),
        }
    }
}

impl core::error::Error for ChannelError {}
