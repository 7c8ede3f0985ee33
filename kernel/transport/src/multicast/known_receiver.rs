//! The sender's view of one receiver. Only `multicast` uses it.

use super::packet_bitmap::PacketBitmap;
use pombo_kernel::header::Peer;

pub(super) struct ReceiverState {
    pub(super) peer: Peer,
    /// Every packet before this one has arrived.
    pub(super) expected: u32,
    /// The packets from `expected` on that have arrived.
    pub(super) has: PacketBitmap,
    /// The packets that are known to be missing, without a retransmission in flight.
    pub(super) missing: PacketBitmap,
    /// The highest stamp that the receiver has reported.
    pub(super) echo: u32,
    /// Number of packets that the receiver has room for; 0: it does not receive yet.
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

    /// Resets the state for the next message.
    pub(super) fn begin(&mut self, credit: u32) {
        (self.expected, self.credit) = (0, credit);
        (self.has, self.missing) = (PacketBitmap::default(), PacketBitmap::default());
    }

    /// Returns whether the receiver has no room yet for a message of that many packets.
    pub(super) fn waits(&self, packets: u32) -> bool {
        self.credit == 0 && self.expected < packets
    }

    pub(super) fn knows(&self, packet: u32) -> bool {
        packet < self.expected || self.has.has(packet)
    }
}
