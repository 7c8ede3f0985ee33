//! What a sender knows of one receiver. `multicast` only.

use super::packet_bitmap::PacketBitmap;
use pombo_kernel::header::Peer;

pub(super) struct ReceiverState {
    pub(super) peer: Peer,
    /// Everything before it has arrived.
    pub(super) expected: u32,
    /// Above it, what has arrived.
    pub(super) has: PacketBitmap,
    /// What has not, as far as is known: nothing that would bring it is under way.
    pub(super) missing: PacketBitmap,
    /// The highest stamp that it has heard.
    pub(super) echo: u32,
    /// Packets that it takes; 0: it does not receive yet.
    pub(super) credit: u32,
    pub(super) lost: bool,
}

impl ReceiverState {
    pub(super) fn new(peer: Peer) -> Self {
        ReceiverState {
            peer,
            expected: 0,
            has: PacketBitmap::default(),
            missing: PacketBitmap::default(),
            echo: 0,
            credit: 0,
            lost: false,
        }
    }

    /// For the next message.
    pub(super) fn begin(&mut self, credit: u32) {
        (self.expected, self.credit) = (0, credit);
        (self.has, self.missing) = (PacketBitmap::default(), PacketBitmap::default());
    }

    /// Has it no place yet for a message of so many packets?
    pub(super) fn waits(&self, packets: u32) -> bool {
        self.credit == 0 && self.expected < packets
    }

    pub(super) fn knows(&self, packet: u32) -> bool {
        packet < self.expected || self.has.has(packet)
    }
}
