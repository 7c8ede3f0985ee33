//! Which packets a repair covers: index coding. `group` only.

use super::bits::Bits;
use super::frame::EXTRA;
use super::seat::Seat;

/// Packets whose exclusive or goes out together, in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pick {
    packets: [u32; EXTRA + 1],
    len: usize,
}

impl Pick {
    pub(super) fn packets(&self) -> &[u32] {
        &self.packets[..self.len]
    }

    pub(super) fn one(packet: u32) -> Self {
        Pick {
            packets: [packet; EXTRA + 1],
            len: 1,
        }
    }

    fn add(&mut self, packet: u32) {
        let at = self.packets().partition_point(|known| *known < packet);
        self.packets.copy_within(at..self.len, at + 1);
        self.packets[at] = packet;
        self.len += 1;
    }
}

/// Seats by bit, at most 64.
fn seats(all: &[Seat], f: impl Fn(&Seat) -> bool) -> u64 {
    let bit = |(i, seat): (usize, &Seat)| u64::from(!seat.lost && f(seat)) << i;
    all.iter().enumerate().map(bit).sum()
}

/// Starts with what has been lacking longest, which holds the window. Adds packets, oldest first, as long as everyone
/// who needs one of them has all the others: then one frame serves them all.
pub(super) fn pick(all: &[Seat], base: u32) -> Option<Pick> {
    let up = || all.iter().filter(|seat| !seat.lost);
    let first = up()
        .filter_map(|seat| seat.missing.from(base).next())
        .min()?;
    let mut pick = Pick::one(first);
    let mut served = seats(all, |seat| seat.missing.has(first));
    let mut lacking = seats(all, |seat| !seat.knows(first));
    let missing = up().fold(Bits::default(), |bits, seat| bits.or(&seat.missing));
    for packet in missing.from(base) {
        if pick.len > EXTRA {
            break;
        }
        let needs = seats(all, |seat| seat.missing.has(packet));
        let lacks = seats(all, |seat| !seat.knows(packet));
        let near = packet.abs_diff(pick.packets[0]).max(packet.abs_diff(first)) < 256;
        if packet != first && near && needs & lacking == 0 && lacks & served == 0 {
            served |= needs;
            lacking |= lacks;
            pick.add(packet);
        }
    }
    Some(pick)
}
