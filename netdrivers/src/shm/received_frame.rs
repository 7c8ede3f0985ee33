//! A frame as `Shm` hands it out: in place in a ring, its payload there too or still with its sender.

use pombo_kernel::channel::{Arrival, CopyTarget, Event, FrameHandler};
use pombo_kernel::header::Peer;

use super::cma::RemoteBuffer;
use crate::tuning::FAST_PATHS;
use pombo_transport::ContiguousFrame;

/// A frame that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    local: ContiguousFrame<'a>,
    /// The rest of the frame, if it is in the sender's memory.
    remote: Option<&'a RemoteBuffer>,
}

impl<'a> Frame<'a> {
    #[inline(always)]
    pub(super) fn new(from: Peer, bytes: &'a [u8], remote: Option<&'a RemoteBuffer>) -> Self {
        let local = ContiguousFrame::new(from, bytes);
        Self { local, remote }
    }

    /// Refuses a frame whose payload is still with its sender, who then sends that in frames which are copied; returns
    /// whether this is such a frame. It is for a receiver that passes frames on.
    pub fn refuse(&self) -> bool {
        self.remote.inspect(|remote| remote.refuse()).is_some()
    }
}

impl Arrival for Frame<'_> {
    #[inline(always)]
    fn from(&self) -> Peer {
        self.local.from()
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.local.len() + self.remote.map_or(0, RemoteBuffer::len)
    }

    #[inline(always)]
    fn head(&self, n: usize) -> Option<&[u8]> {
        self.local.head(n)
    }

    #[inline(always)]
    fn for_each_chunk(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        self.local.for_each_chunk(offset, len, f);
    }

    #[inline(always)]
    fn read_into(&self, offset: usize, len: usize, into: &mut impl CopyTarget) -> bool {
        let Some(remote) = self.remote.filter(|_| FAST_PATHS) else {
            self.for_each_chunk(offset, len, |piece| into.append(piece));
            return true;
        };
        let local = self.local.len().saturating_sub(offset).min(len);
        self.for_each_chunk(offset, local, |piece| into.append(piece));
        remote.read_into(offset + local - self.local.len(), len - local, into)
    }
}

/// Handles the events of a poll.
pub(super) trait EventHandler {
    fn handle(&mut self, event: Event<Frame<'_>>);

    /// Handles a frame as [`FrameHandler::take`].
    #[inline(always)]
    fn take(&mut self, from: Peer, frame: &[u8]) -> bool {
        let _ = (from, frame);
        false
    }

    /// Returns whether the poll may end, as [`FrameHandler::is_satisfied`].
    #[inline(always)]
    fn is_satisfied(&self) -> bool {
        false
    }
}

/// Passes events to a closure.
pub(super) struct ClosureHandler<F>(pub(super) F);

/// Passes events to a handler of the kernel.
pub(super) struct FrameHandlerAdapter<'a, T>(pub(super) &'a mut T);

impl<F: FnMut(Event<Frame<'_>>)> EventHandler for ClosureHandler<F> {
    #[inline]
    fn handle(&mut self, event: Event<Frame<'_>>) {
        (self.0)(event);
    }
}

impl<T: FrameHandler> EventHandler for FrameHandlerAdapter<'_, T> {
    // Not inlined, to keep the fast path of `take` short.
    #[inline(never)]
    fn handle(&mut self, event: Event<Frame<'_>>) {
        self.0.handle(event);
    }

    #[inline(always)]
    fn take(&mut self, from: Peer, frame: &[u8]) -> bool {
        FAST_PATHS && self.0.take(from, frame)
    }

    #[inline(always)]
    fn is_satisfied(&self) -> bool {
        self.0.is_satisfied()
    }
}
