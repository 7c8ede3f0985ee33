//! A network that never sleeps for long: somebody has to look at other things as well. `Far` only.

use pombo_kernel::channel::{ChannelError, Wake};
use pombo_kernel::memory::Part;
use pombo_kernel::{Network, Node};

/// The network below, but back after [`LONGEST`] nanoseconds.
pub(super) struct Patient<N>(pub(super) N);

/// The longest sleep in nanoseconds: so long a death stays unnoticed.
const LONGEST: u64 = 100_000_000;

impl<N> Patient<N> {
    pub(super) fn inner(&self) -> &N {
        &self.0
    }
}

impl<N: Network> Network for Patient<N> {
    type Frame<'a> = N::Frame<'a>;

    #[inline]
    fn is_checked(&self) -> bool {
        self.0.is_checked()
    }

    fn node(&self) -> Node {
        self.0.node()
    }

    fn nodes(&self) -> usize {
        self.0.nodes()
    }

    fn mtu(&self) -> usize {
        self.0.mtu()
    }

    #[inline]
    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.0.transmit(to, parts)
    }

    fn gather(&mut self, on: bool) {
        self.0.gather(on);
    }

    #[inline]
    fn poll(&mut self, f: impl FnMut(Self::Frame<'_>)) -> Result<bool, ChannelError> {
        self.0.poll(f)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        let longest = self.0.now().saturating_add(LONGEST);
        self.0.wait(idle, until.min(longest))
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        Some(self.0.wakes_by()?.at_most(LONGEST))
    }

    #[inline]
    fn now(&self) -> u64 {
        self.0.now()
    }
}
