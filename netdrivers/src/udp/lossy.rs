//! Frames lost on purpose, for tests of whole programs: they cannot ask a real network to lose any.

use pombo_kernel::channel::{ChannelError, Wake};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};

/// A network that loses arriving frames at a rate, by a seed. At rate 0 it is the network below.
pub struct Lossy<N> {
    inner: N,
    ppm: u32,
    dice: u64,
    lost: u64,
}

impl<N: Network> Lossy<N> {
    /// Loses that many of a million. What one frame for many nodes suffers differs from node to node, though all bring
    /// the same seed.
    pub fn new(inner: N, ppm: u32, seed: u64) -> Self {
        let dice = seed ^ u64::from(inner.node().0) << 48;
        Lossy {
            inner,
            ppm,
            dice,
            lost: 0,
        }
    }

    /// The network below.
    pub fn inner(&self) -> &N {
        &self.inner
    }

    /// Frames lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// SplitMix64: the next number, evenly below a million.
fn roll(dice: &mut u64) -> u32 {
    *dice = dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (*dice ^ *dice >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    let x = x ^ x >> 31;
    ((u128::from(x) * 1_000_000) >> 64) as u32
}

impl<N: Network> Network for Lossy<N> {
    type Frame<'a> = N::Frame<'a>;

    #[inline]
    fn is_checked(&self) -> bool {
        self.inner.is_checked()
    }

    fn node(&self) -> Node {
        self.inner.node()
    }

    fn nodes(&self) -> usize {
        self.inner.nodes()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    #[inline]
    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.inner.transmit(to, parts)
    }

    #[inline]
    fn gather(&mut self, on: bool) {
        self.inner.gather(on);
    }

    #[inline]
    fn poll(&mut self, mut f: impl FnMut(Self::Frame<'_>)) -> Result<bool, ChannelError> {
        if self.ppm == 0 {
            return self.inner.poll(f);
        }
        let Lossy {
            inner,
            ppm,
            dice,
            lost,
        } = self;
        let mut any = false;
        inner.poll(|frame| match roll(dice) < *ppm {
            true => *lost += 1,
            false => {
                any = true;
                f(frame);
            }
        })?;
        Ok(any)
    }

    #[inline]
    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        self.inner.wait(idle, until)
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        self.inner.wakes_by()
    }

    #[inline]
    fn now(&self) -> u64 {
        self.inner.now()
    }
}

impl<N: Broadcast> Broadcast for Lossy<N> {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        self.inner.broadcast(parts)
    }
}
