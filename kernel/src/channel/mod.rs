//! The interface between kernel and drivers: a [`Channel`] is reliable and keeps the order of frames per peer.
//!
//! Drivers implement it (package `pombo-netdrivers`); the kernel calls it. Shared memory and threads are channels by
//! nature. Source: the EPOS communication system, section 3.7 (`receive` with an offset is
//! [`Arrival::for_each_chunk`]).

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
use crate::text::{ToText, WriteText, fill};
use core::mem::MaybeUninit;

/// A reliable path to every peer, ordered per peer.
///
/// A frame is a gather list of 1 to [`Channel::limit`] bytes; it arrives whole, exactly once, after every earlier
/// frame of the same sender, unless the sender is reported lost. A peer may send to itself.
///
/// Every method is required: a driver names what it takes [by default](crate::channel_defaults!), a wrapper what it
/// [forwards](crate::forward_channel!).
pub trait Channel: 'static {
    /// A frame that arrived, valid during the call that hands it out.
    type Arrival<'a>: Arrival;

    /// Returns the number of this peer.
    fn me(&self) -> Peer;

    /// Returns the number of peers, this one included: 1 to 65535.
    fn peers(&self) -> usize;

    /// Returns the length in bytes of the longest frame to that peer; at least [`MIN_LIMIT`].
    fn limit(&self, to: Peer) -> usize;

    /// Returns whether a payload of `len` bytes, however long, may go in one frame that the peer reads in place, and whether
    /// that pays. `both_ways`: the peer sends this rank an announced message meanwhile, so that each is busy with copies of its own.
    /// The payload is then the last part, [fixed](Part::fixed), and its frame has a cookie. Any other frame above the limit
    /// is refused.
    fn supports_single_copy(&self, to: Peer, len: usize, both_ways: bool) -> bool;

    /// Returns whether a frame that the peer may drop costs little next to a round trip, as where it is copied through memory
    /// while both have processors of their own.
    fn favours_early_data(&self, to: Peer) -> bool;

    /// Takes the whole frame or nothing; never blocks. A frame with [`Cookie::COPY`] is copied ([`Sent::Done`]).
    ///
    /// # Errors
    /// [`ChannelError::Full`]: there is no room now; try again after a [`Channel::poll`] or a [`Channel::wait`].
    /// [`ChannelError::PeerLost`]: the peer is lost. [`ChannelError::TooLong`], [`ChannelError::NoSuchPeer`]: the frame
    /// cannot be sent at all.
    fn try_send(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError>;

    /// Corks or uncorks the channel: corked frames may wait for each other and leave as one once this is called with
    /// `false`. The caller does not poll or wait while the channel is corked.
    fn set_corked(&mut self, on: bool);

    /// Reports what has happened, at most a batch that the driver bounds, oldest first per peer. Returns whether
    /// anything happened. `f` cannot send.
    fn poll(&mut self, f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError>;

    /// Polls as [`Channel::poll`], for a handler of arrivals of every type: a composite channel need not unify the
    /// types of its parts.
    fn poll_with(&mut self, handler: &mut impl FrameHandler) -> Result<bool, ChannelError>;

    /// Waits after polling has found nothing `idle` times in a row (0, 1, 2, ...). May spin, yield, or sleep until a
    /// frame may have arrived or a full queue may have room, but does not sleep at 0 and 1: the caller may just have
    /// been busy. An early return is always allowed.
    fn wait(&mut self, idle: u32) -> Result<(), ChannelError>;

    /// Waits as [`Channel::wait`], for about `nanoseconds` ns at most. A channel that cannot sleep for a limited time
    /// does not sleep here.
    ///
    /// # Errors
    /// As [`Channel::wait`].
    fn wait_timeout(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError>;

    /// Returns the events that would end a sleep of [`Channel::wait`], for a caller that sleeps for another channel at
    /// the same time. Returns `None` if the channel sleeps by other means, or never.
    fn wait_sources(&mut self) -> Option<WaitSet>;

    /// Waits as [`Channel::wait`], also for the events of `other`. A channel that cannot sleep for both sleeps briefly.
    ///
    /// # Errors
    /// As [`Channel::wait`].
    fn wait_with(&mut self, idle: u32, other: WaitSet) -> Result<(), ChannelError>;

    /// Returns the time in nanoseconds of a monotonic clock with an arbitrary start; used for time-outs.
    fn now(&self) -> u64;
}

/// Handles the events of a channel.
pub trait FrameHandler {
    /// Handles one event.
    fn handle<A: Arrival>(&mut self, event: Event<A>);

    /// Handles a contiguous frame. Returns false if it was not handled: then the channel reports it as an event.
    #[inline(always)]
    fn take(&mut self, from: Peer, frame: &[u8]) -> bool {
        let _ = (from, frame);
        false
    }

    /// Returns whether the handler has what its caller waits for, or the caller has to act before it takes more: then the
    /// channel may leave what else has arrived to the next poll.
    #[inline(always)]
    fn is_satisfied(&self) -> bool {
        false
    }
}

/// The least frame length in bytes that every channel carries, and hands out contiguously.
pub const MIN_LIMIT: usize = 128;

/// A received frame in the driver's memory.
pub trait Arrival {
    /// Returns the sender.
    fn from(&self) -> Peer;

    /// Returns the length of the frame in bytes.
    fn len(&self) -> usize;

    /// Returns whether the frame is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the first `n` bytes contiguously, for `n` up to [`MIN_LIMIT`]; `None` if the frame is shorter.
    fn head(&self, n: usize) -> Option<&[u8]>;

    /// Calls `f` on consecutive chunks of the `len` bytes from `offset`. Callers stay inside [`Arrival::len`].
    fn for_each_chunk(&self, offset: usize, len: usize, f: impl FnMut(&[u8]));

    /// Copies as [`Arrival::for_each_chunk`], also from a frame whose payload is still with its sender. Returns false
    /// if the payload could not be read: then the content of `into` is invalid, and the sender is told to
    /// [resend](Event::Again) it.
    #[inline]
    fn read_into(&self, offset: usize, len: usize, into: &mut impl CopyTarget) -> bool {
        self.for_each_chunk(offset, len, |piece| into.append(piece));
        true
    }
}

/// The destination of [`Arrival::read_into`].
pub trait CopyTarget {
    /// Takes the next bytes.
    fn append(&mut self, piece: &[u8]);

    /// Returns contiguous room for `len` bytes at their destination, to be filled instead of [`CopyTarget::append`], if
    /// there is any.
    fn spare_capacity(&mut self, len: usize) -> Option<&mut [MaybeUninit<u8>]>;
}

/// An event that a poll reports.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<A> {
    /// A frame arrived.
    Arrival(A),
    /// The frame accepted with [`Sent::Later`] no longer needs its memory.
    Completed(Cookie),
    /// The frame no longer needs its memory, but the peer could not read the payload in place: send it once more, in
    /// frames up to the limit.
    Again(Cookie),
    /// The peer is lost: reported once, after its last frame. Memory of frames to it is no longer needed, and no
    /// [`Event::Completed`] follows.
    PeerLost(Peer),
}

impl<A> Event<A> {
    /// Converts the arrival, for composite channels, which forward the events of their parts.
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

/// The way in which a channel has accepted a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// The frame is copied: its memory may change immediately.
    Done,
    /// The frame needs its memory until [`Event::Completed`] with the same cookie. The user gets the memory back only
    /// then, unless a scope ends first: so a driver later reads nothing by address that is not [fixed](Part::fixed); it
    /// keeps a copy of what it may have to resend.
    Later,
}

/// A value chosen by the kernel and opaque to drivers; [`Event::Completed`] returns it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cookie(pub u64);

impl Cookie {
    /// The cookie of frames whose memory is valid only during the call.
    pub const COPY: Cookie = Cookie(u64::MAX);
}

/// An error of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ChannelError {
    /// There is no room now: poll, then try again.
    Full,
    /// The peer is lost; frames do not reach it any more.
    PeerLost(Peer),
    /// The frame is longer than the limit: split it.
    TooLong {
        /// The longest frame in bytes.
        limit: usize,
    },
    /// There is no such peer on this channel.
    NoSuchPeer(Peer),
    /// The device failed with this `errno` value: see the driver's documentation.
    Device(i32),
}

crate::text::display_as_text! { ChannelError }

impl ToText for ChannelError {
    fn put_text(&self, out: &mut dyn WriteText) {
        match *self {
            ChannelError::Full => out.write_text("the channel is full: poll, then try again"),
            ChannelError::PeerLost(peer) => fill!(out, "peer {} is gone", peer),
            ChannelError::TooLong { limit } => {
                fill!(out, "the frame is longer than {} bytes: split it", limit)
            }
            ChannelError::NoSuchPeer(peer) => {
                fill!(out, "there is no peer {} on this channel", peer)
            }
            ChannelError::Device(errno) => {
                fill!(out, "the device failed with error number {}", errno)
            }
        }
    }
}

impl core::error::Error for ChannelError {}
