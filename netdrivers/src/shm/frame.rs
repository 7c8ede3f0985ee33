//! A frame as `Shm` hands it out: in place in a ring, its payload there too or still with its sender.

use pombo_kernel::channel::{Arrival, Event, Taker, Target};
use pombo_kernel::header::Node;

use super::remote::Remote;
use pombo_transport::InPlace;

/// A frame that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    here: InPlace<'a>,
    /// What follows, where the sender has it.
    remote: Option<&'a Remote>,
}

impl<'a> Frame<'a> {
    #[inline(always)]
    pub(super) fn new(from: Node, bytes: &'a [u8], remote: Option<&'a Remote>) -> Self {
        let here = InPlace::new(from, bytes);
        Self { here, remote }
    }
}

impl Arrival for Frame<'_> {
    #[inline(always)]
    fn from(&self) -> Node {
        self.here.from()
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.here.len() + self.remote.map_or(0, Remote::len)
    }

    #[inline(always)]
    fn head(&self, n: usize) -> Option<&[u8]> {
        self.here.head(n)
    }

    #[inline(always)]
    fn pieces(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        self.here.pieces(offset, len, f);
    }

    #[inline(always)]
    fn fetch(&self, offset: usize, len: usize, into: &mut impl Target) -> bool {
        let Some(remote) = self.remote else {
            self.pieces(offset, len, |piece| into.put(piece));
            return true;
        };
        let here = self.here.len().saturating_sub(offset).min(len);
        self.pieces(offset, here, |piece| into.put(piece));
        remote.fetch(offset + here - self.here.len(), len - here, into)
    }
}

/// Who takes what a poll finds.
pub(super) trait Hand {
    fn give(&mut self, event: Event<Frame<'_>>);

    /// As [`Taker::take`].
    #[inline(always)]
    fn take(&mut self, from: Node, frame: &[u8]) -> bool {
        let _ = (from, frame);
        false
    }
}

/// Somebody who takes frames of this driver.
pub(super) struct Closure<F>(pub(super) F);

/// Somebody who takes frames of any.
pub(super) struct Whoever<'a, T>(pub(super) &'a mut T);

impl<F: FnMut(Event<Frame<'_>>)> Hand for Closure<F> {
    #[inline]
    fn give(&mut self, event: Event<Frame<'_>>) {
        (self.0)(event);
    }
}

impl<T: Taker> Hand for Whoever<'_, T> {
    // Out of the way of what is taken at once.
    #[inline(never)]
    fn give(&mut self, event: Event<Frame<'_>>) {
        self.0.event(event);
    }

    #[inline(always)]
    fn take(&mut self, from: Node, frame: &[u8]) -> bool {
        self.0.take(from, frame)
    }
}
