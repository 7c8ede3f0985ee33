//! What a source knows of one receiver. `group` only.

use super::bits::Bits;
use pombo_kernel::header::Node;

pub(super) struct Seat {
    pub(super) node: Node,
    /// Everything before it has arrived.
    pub(super) expected: u32,
    /// Above it, what has arrived.
    pub(super) has: Bits,
    /// What has not, as far as is known: nothing that would bring it is under way.
    pub(super) missing: Bits,
    /// The highest stamp that it has heard.
    pub(super) echo: u32,
    /// Packets that it takes; 0: it does not receive yet.
    pub(super) credit: u32,
    pub(super) lost: bool,
}

impl Seat {
    pub(super) fn new(node: Node) -> Self {
        Seat {
            node,
            expected: 0,
            has: Bits::default(),
            missing: Bits::default(),
            echo: 0,
            credit: 0,
            lost: false,
        }
    }

    /// For the next message.
    pub(super) fn begin(&mut self, credit: u32) {
        (self.expected, self.credit) = (0, credit);
        (self.has, self.missing) = (Bits::default(), Bits::default());
    }

    /// Has it no place yet for a message of so many packets?
    pub(super) fn waits(&self, packets: u32) -> bool {
        self.credit == 0 && self.expected < packets
    }

    pub(super) fn knows(&self, packet: u32) -> bool {
        packet < self.expected || self.has.has(packet)
    }
}
