//! A channel with one peer: what it sends comes back. It holds two frames, in place.

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent};
use pombo_kernel::{Peer, Part};

/// The longest frame.
const FRAME: usize = 256;

pub(crate) struct Mirror {
    frames: [[u8; FRAME]; 2],
    /// Lengths of the frames that wait, oldest first.
    lens: [usize; 2],
    waiting: usize,
    /// Polls and waits so far: a clock that is good enough for one peer.
    ticks: u64,
}

pub(crate) struct Reflection<'a>(&'a [u8]);

impl Mirror {
    pub(crate) fn new() -> Self {
        Mirror {
            frames: [[0; FRAME]; 2],
            lens: [0; 2],
            waiting: 0,
            ticks: 0,
        }
    }
}

impl Channel for Mirror {
    type Arrival<'a> = Reflection<'a>;

    pombo_kernel::channel_defaults! {
        supports_single_copy, set_corked, poll_with, wait_timeout, wait_sources, wait_with
    }

    fn me(&self) -> Peer {
        Peer(0)
    }

    fn peers(&self) -> usize {
        1
    }

    fn limit(&self, _to: Peer) -> usize {
        FRAME
    }

    fn try_send(
        &mut self,
        _to: Peer,
        _cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        let Some(frame) = self.frames.get_mut(self.waiting) else {
            return Err(ChannelError::Full);
        };
        let mut at = 0;
        for part in parts {
            let place = frame.get_mut(at..at + part.len());
            part.copy_to(0, place.ok_or(ChannelError::TooLong { limit: FRAME })?);
            at += part.len();
        }
        self.lens[self.waiting] = at;
        self.waiting += 1;
        Ok(Sent::Done)
    }

    fn poll(&mut self, mut f: impl FnMut(Event<Reflection<'_>>)) -> Result<bool, ChannelError> {
        self.ticks += 1;
        for (frame, len) in self.frames.iter().zip(self.lens).take(self.waiting) {
            if let Some(bytes) = frame.get(..len) {
                f(Event::Arrival(Reflection(bytes)));
            }
        }
        Ok(core::mem::take(&mut self.waiting) > 0)
    }

    fn wait(&mut self, _idle: u32) -> Result<(), ChannelError> {
        core::hint::spin_loop();
        self.ticks += 1;
        Ok(())
    }

    fn now(&self) -> u64 {
        self.ticks
    }
}

impl Arrival for Reflection<'_> {
    fn from(&self) -> Peer {
        Peer(0)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn head(&self, n: usize) -> Option<&[u8]> {
        self.0.get(..n)
    }

    fn for_each_chunk(&self, offset: usize, len: usize, mut f: impl FnMut(&[u8])) {
        if let Some(piece) = self.0.get(offset..).and_then(|rest| rest.get(..len)) {
            f(piece);
        }
    }
}
