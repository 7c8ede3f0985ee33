//! Selects the packets of a repair: index coding. Only `multicast` uses it.

use super::frame::EXTRA;
use super::known_receiver::ReceiverState;
use super::packet_bitmap::PacketBitmap;

/// The packets whose exclusive or is sent, in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RepairSet {
    packets: [u32; EXTRA + 1],
    len: usize,
}

impl RepairSet {
    pub(super) fn packets(&self) -> &[u32] {
        &self.packets[..self.len]
    }

    pub(super) fn one(packet: u32) -> Self {
        RepairSet {
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

/// Returns the receivers for which `f` holds as a bit set, at most 64.
fn receiver_states(all: &[ReceiverState], f: impl Fn(&ReceiverState) -> bool) -> u64 {
    let bit = |(i, state): (usize, &ReceiverState)| u64::from(!state.lost && f(state)) << i;
    all.iter().enumerate().map(bit).sum()
}

/// Chooses a repair that starts with the packet missing longest, which blocks the window. It adds packets, oldest
/// first, as long as every receiver that needs one of them has all the others: then one frame serves them all.
pub(super) fn choose_repair(all: &[ReceiverState], base: u32) -> Option<RepairSet> {
    let up = || all.iter().filter(|state| !state.lost);
    let first = up()
        .filter_map(|state| state.missing.from(base).next())
        .min()?;
    let mut repair = RepairSet::one(first);
    let mut served = receiver_states(all, |state| state.missing.has(first));
    let mut lacking = receiver_states(all, |state| !state.knows(first));
    let missing = up().fold(PacketBitmap::default(), |bitmap, state| {
        bitmap.or(&state.missing)
    });
    for packet in missing.from(base) {
        if repair.len > EXTRA {
            break;
        }
        let needs = receiver_states(all, |state| state.missing.has(packet));
        let lacks = receiver_states(all, |state| !state.knows(packet));
        let near = packet
            .abs_diff(repair.packets[0])
            .max(packet.abs_diff(first))
            < 256;
        if packet != first && near && needs & lacking == 0 && lacks & served == 0 {
            served |= needs;
            lacking |= lacks;
            repair.add(packet);
        }
    }
    Some(repair)
}
