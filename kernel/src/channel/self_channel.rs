//! The channel of a single peer to itself: no driver, no thread, no allocation. First programs start with it.

use super::{Channel, ChannelError, ContiguousFrame, Cookie, Event, MIN_LIMIT, Sent};
use crate::header::Peer;
use crate::memory::Part;

/// A channel whose only peer receives what it sends: the `self` transport of other communication systems.
///
/// It stores frames in `BYTES` bytes, including a word (`usize`) of length in front of each. A frame that does not fit
/// is refused with [`ChannelError::Full`] until a poll, which hands out all frames and frees their room; one frame may
/// fill all of it. A `BYTES` too small for the shortest limit does not compile.
///
/// It reads no clock: each poll and each wait counts as a nanosecond.
///
/// ```
/// use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, SelfChannel};
/// use pombo_kernel::{Part, Peer};
///
/// let mut channel = SelfChannel::<256>::new();
/// channel.try_send(Peer(0), Cookie::COPY, &[Part::Bytes(b"to "), Part::Bytes(b"myself")])?;
/// channel.poll(|event| match event {
///     Event::Arrival(frame) => assert_eq!(frame.bytes(), b"to myself"),
///     _ => unreachable!("nobody else is there"),
/// })?;
/// # Ok::<(), ChannelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SelfChannel<const BYTES: usize> {
    /// The queued frames, oldest first, each behind its length.
    frames: [u8; BYTES],
    used: usize,
    ticks: u64,
}

/// The only peer.
const ME: Peer = Peer(0);
/// Size in bytes of the length in front of a frame.
const LENGTH: usize = size_of::<usize>();

impl<const BYTES: usize> SelfChannel<BYTES> {
    /// Creates an empty channel.
    pub const fn new() -> Self {
        const { assert!(BYTES >= MIN_LIMIT + LENGTH, "no room for a frame") };
        SelfChannel {
            frames: [0; BYTES],
            used: 0,
            ticks: 0,
        }
    }
}

impl<const BYTES: usize> Default for SelfChannel<BYTES> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const BYTES: usize> Channel for SelfChannel<BYTES> {
    type Arrival<'a> = ContiguousFrame<'a>;

    crate::channel_defaults! {
        supports_single_copy, favours_early_data, set_corked, poll_with, wait_timeout, wait_sources, wait_with
    }

    fn me(&self) -> Peer {
        ME
    }

    fn peers(&self) -> usize {
        1
    }

    fn limit(&self, _to: Peer) -> usize {
        BYTES - LENGTH
    }

    fn try_send(
        &mut self,
        to: Peer,
        _cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        if to != ME {
            return Err(ChannelError::NoSuchPeer(to));
        }
        let (limit, len) = (self.limit(to), Part::total(parts));
        if len > limit {
            return Err(ChannelError::TooLong { limit });
        }
        let end = self.used + LENGTH + len;
        let place = self.frames.get_mut(self.used..end);
        let Some((length, frame)) = place.and_then(<[u8]>::split_first_chunk_mut) else {
            return Err(ChannelError::Full);
        };
        *length = len.to_ne_bytes();
        let mut at = 0;
        for part in parts {
            if let Some(into) = frame.get_mut(at..at + part.len()) {
                part.copy_to(0, into);
            }
            at += part.len();
        }
        self.used = end;
        Ok(Sent::Done)
    }

    fn poll(
        &mut self,
        mut f: impl FnMut(Event<ContiguousFrame<'_>>),
    ) -> Result<bool, ChannelError> {
        self.ticks += 1;
        let used = core::mem::take(&mut self.used);
        let mut frames = self.frames.get(..used).unwrap_or_default();
        while let Some((length, rest)) = frames.split_first_chunk() {
            let Some((frame, later)) = rest.split_at_checked(usize::from_ne_bytes(*length)) else {
                break;
            };
            frames = later;
            f(Event::Arrival(ContiguousFrame::new(ME, frame)));
        }
        Ok(used > 0)
    }

    fn wait(&mut self, _idle: u32) -> Result<(), ChannelError> {
        self.ticks += 1;
        core::hint::spin_loop();
        Ok(())
    }

    fn now(&self) -> u64 {
        self.ticks
    }
}
