//! The storage of a [`Reliable`](super::Reliable): [`Windows`], which programs write down, and what follows from it.

use pombo_kernel::aspect::{Cap, Capacity, Storage};

/// The storage of a [`Reliable`](super::Reliable): for each peer twice [`Windows::Frames`] frames of [`Windows::Mtu`]
/// bytes. A growing storage allocates it on first use, and no more than the longest frame so far.
pub trait Windows: 'static {
    /// Peers on the network.
    type Peers: Capacity;
    /// Frames under way in one direction between two peers: a power of two up to 64. If the two peers differ, the
    /// smaller number counts.
    type Frames: Capacity;
    /// Bytes of the longest frame that is used of the network, from [`MIN_MTU`](pombo_kernel::network::MIN_MTU) to
    /// 65535.
    type Mtu: Capacity;
    /// Bytes under way in one direction between two peers: they limit the number of frames where these are long, but 4
    /// frames are always permitted.
    const BYTES: usize = usize::MAX;
}

/// Windows written down as a type.
pub struct Window<
    const PEERS: usize,
    const FRAMES: usize,
    const MTU: usize,
    const BYTES: usize = { usize::MAX },
>;

impl<const PEERS: usize, const FRAMES: usize, const MTU: usize, const BYTES: usize> Windows
    for Window<PEERS, FRAMES, MTU, BYTES>
{
    type Peers = Cap<PEERS>;
    type Frames = Cap<FRAMES>;
    type Mtu = Cap<MTU>;
    const BYTES: usize = BYTES;
}

/// The bytes of a stored frame: growing storage allocates no more than the longest one needed.
pub(super) type Frame<Z, S> = <S as Storage>::Slice<u8, <Z as Windows>::Mtu>;

/// Returns the number of frames of `longest` bytes that may be under way: a power of two, so that slots follow from
/// sequence numbers also where these wrap.
pub(super) fn frames<Z: Windows>(longest: usize) -> u32 {
    let fit = (Z::BYTES / longest.max(1)).max(FEWEST);
    1 << fit.min(Z::Frames::N).ilog2()
}

/// Least number of frames; with fewer a sender would wait for every acknowledgement.
const FEWEST: usize = 4;

/// Returns the slot of a sequence number in a window of `frames` frames.
pub(super) fn slot_of(number: u32, frames: u32) -> usize {
    (number & (frames - 1)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_long_frames_has_fewer() {
        type Bounded = Window<2, 64, 65535, { 512 << 10 }>;
        for (mtu, expected) in [(1500, 64), (8192, 64), (9000, 32), (65_000, 8)] {
            assert_eq!(frames::<Bounded>(mtu), expected, "{mtu}");
            assert_eq!(frames::<Window<2, 16, 65535>>(mtu), 16);
            assert_eq!(frames::<Window<2, 16, 65535, 1>>(mtu), 4);
        }
        assert_eq!(frames::<Window<2, 2, 1500, 1>>(1500), 2);
    }
}
