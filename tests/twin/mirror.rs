//! A channel of minimal cost: a frame to a peer comes back as if that peer had sent it.

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent};
use pombo_kernel::{Peer, Part};

/// The longest frame, in bytes.
const FRAME: usize = 128;
/// Number of frames that wait for a poll.
const FRAMES: usize = 8;

pub(crate) struct Mirror {
    peers: usize,
    frames: [Frame; FRAMES],
    waiting: usize,
    polls: u64,
}

#[derive(Clone, Copy)]
struct Frame {
    from: Peer,
    len: usize,
    bytes: [u8; FRAME],
}

pub(crate) struct Reflection<'a>(&'a Frame);

impl Mirror {
    pub(crate) fn new(peers: usize) -> Self {
        let none = Frame {
            from: Peer(0),
            len: 0,
            bytes: [0; FRAME],
        };
        Mirror {
            peers,
            frames: [none; FRAMES],
            waiting: 0,
            polls: 0,
        }
    }
}

impl Channel for Mirror {
    type Arrival<'a> = Reflection<'a>;

    pombo_kernel::channel_defaults! {
        supports_single_copy, favours_early_data, set_corked, poll_with, wait_timeout, wait_sources, wait_with
    }

    fn me(&self) -> Peer {
        Peer(0)
    }

    fn peers(&self) -> usize {
        self.peers
    }

    #[inline(always)]
    fn limit(&self, _to: Peer) -> usize {
        FRAME
    }

    #[inline(always)]
    fn try_send(
        &mut self,
        to: Peer,
        _cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        let Some(frame) = self.frames.get_mut(self.waiting) else {
            return Err(ChannelError::Full);
        };
        let mut at = 0;
        for part in parts {
            let place = frame.bytes.get_mut(at..at + part.len());
            part.copy_to(0, place.ok_or(ChannelError::TooLong { limit: FRAME })?);
            at += part.len();
        }
        frame.from = to;
        frame.len = at;
        self.waiting += 1;
        Ok(Sent::Done)
    }

    #[inline(always)]
    fn poll(&mut self, mut f: impl FnMut(Event<Reflection<'_>>)) -> Result<bool, ChannelError> {
        self.polls += 1;
        let waiting = core::mem::take(&mut self.waiting);
        for frame in self.frames.iter().take(waiting) {
            f(Event::Arrival(Reflection(frame)));
        }
        Ok(waiting > 0)
    }

    fn wait(&mut self, _idle: u32) -> Result<(), ChannelError> {
        Ok(())
    }

    fn now(&self) -> u64 {
        self.polls
    }
}

impl Arrival for Reflection<'_> {
    #[inline(always)]
    fn from(&self) -> Peer {
        self.0.from
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len
    }

    #[inline(always)]
    fn head(&self, n: usize) -> Option<&[u8]> {
        self.0.bytes.get(..self.0.len)?.get(..n)
    }

    #[inline(always)]
    fn for_each_chunk(&self, offset: usize, len: usize, mut f: impl FnMut(&[u8])) {
        let rest = self.0.bytes.get(offset..self.0.len);
        if let Some(piece) = rest.and_then(|rest| rest.get(..len)) {
            f(piece);
        }
    }
}
