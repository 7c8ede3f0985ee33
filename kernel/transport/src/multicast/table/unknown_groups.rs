//! Frames of groups that are not open yet, or not any more. Only `table` uses it.

use crate::multicast::frame::{FrameHeader, PACKET, REPORT};
use crate::multicast::packet_bitmap::{PacketBitmap, WINDOW, WORDS};
use crate::multicast::tx::{self, NOTHING};
use pombo_kernel::channel::ChannelError;
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_kernel::network::Network;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

/// Number of early frames that are remembered; beyond it the oldest is dropped, and its sender polls again.
const KEPT: usize = 16;
/// Number of closed groups that are remembered. A poll of an older group is answered too, even if this peer was not in
/// it.
const CLOSED: usize = 64;

/// A member that opens a group late reports the missed frames to their senders. A member that closed a group has
/// received everything, but its reports may have been lost: it repeats them to every sender that polls.
pub(super) struct UnknownGroups {
    /// Group numbers from here on were never opened.
    next: u64,
    early: Recent<EarlyFrame, KEPT>,
    answers: Recent<PendingReply, KEPT>,
    closed: Recent<u32, CLOSED>,
    /// The group number below which it is not known any more which groups were open.
    forgotten: u64,
    blocked: bool,
}

#[derive(Clone, Copy)]
struct EarlyFrame {
    group: u32,
    from: Peer,
    stamp: u32,
}

#[derive(Clone, Copy)]
struct PendingReply {
    to: Peer,
    head: FrameHeader,
}

impl Default for UnknownGroups {
    fn default() -> Self {
        UnknownGroups {
            next: 0,
            early: Recent::new(),
            answers: Recent::new(),
            closed: Recent::new(),
            forgotten: 0,
            blocked: false,
        }
    }
}

impl UnknownGroups {
    /// Returns whether no group with this number or a higher one was opened.
    pub(super) fn is_new(&self, group: u32) -> bool {
        u64::from(group) >= self.next
    }

    /// Records that a group is open, and passes frames that arrived before to `tell`.
    pub(super) fn opened(&mut self, group: u32, mut tell: impl FnMut(Peer, u32)) {
        self.next = u64::from(group) + 1;
        while let Some(early) = self.early.take(|early| early.group <= group) {
            if early.group == group {
                tell(early.from, early.stamp);
            }
        }
    }

    /// Records that a group is closed.
    pub(super) fn closed(&mut self, group: u32) {
        if let Some(oldest) = self.closed.push(group) {
            self.forgotten = self.forgotten.max(u64::from(oldest) + 1);
        }
    }

    /// Handles a frame; returns true if an answer is due, false if the frame does not concern this peer.
    pub(super) fn on_frame(&mut self, head: &FrameHeader, from: Peer) -> bool {
        let group = head.group.get();
        if head.kind == REPORT {
            return false;
        }
        if self.is_new(group) {
            let stamp = head.stamp.get();
            self.early.take(|e| e.group == group && e.from == from);
            self.early.push(EarlyFrame { group, from, stamp });
            return false;
        }
        let known = self.closed.has(&group) || u64::from(group) < self.forgotten;
        if known && head.asks() {
            self.answers
                .take(|a| a.head.group == head.group && a.to == from);
            self.answers.push(PendingReply {
                to: from,
                head: *head,
            });
        }
        known
    }

    /// Reports to the polling senders that everything has arrived.
    pub(super) fn answer<N: Network>(
        &mut self,
        network: &mut N,
        epoch: u32,
    ) -> Result<(), ChannelError> {
        self.blocked = false;
        while let Some(answer) = self.answers.take(|_| true) {
            match transmit(network, &answer, epoch) {
                Ok(()) => {}
                Err(ChannelError::Full) => {
                    self.answers.push(answer);
                    self.blocked = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }
}

fn transmit<N: Network>(
    network: &mut N,
    answer: &PendingReply,
    epoch: u32,
) -> Result<(), ChannelError> {
    let asked = &answer.head;
    // Other frames that poll already carry the number after the last sent packet.
    let here = asked
        .packet
        .get()
        .saturating_add((asked.kind == PACKET).into());
    let head = FrameHeader {
        kind: REPORT,
        flags: 0,
        len: U16::ZERO,
        check: U32::ZERO,
        epoch: U32::new(epoch),
        packet: U32::new(here),
        credit: U16::new(WINDOW as u16),
        ..*asked
    };
    let nothing = PacketBitmap([0; WORDS]).0.map(U64::new);
    tx::transmit(
        network,
        answer.to,
        head,
        [Part::Bytes(nothing.as_bytes()), NOTHING],
    )
}

/// The most recent `N` items.
struct Recent<T, const N: usize>(heapless::Vec<T, N>);

impl<T, const N: usize> Recent<T, N> {
    fn new() -> Self {
        Recent(heapless::Vec::new())
    }

    /// Appends an item; removes and returns the oldest if there is no room.
    fn push(&mut self, item: T) -> Option<T> {
        let oldest = self.0.is_full().then(|| self.0.remove(0));
        let _ = self.0.push(item);
        oldest
    }

    /// Removes and returns the oldest item for which `is` holds.
    fn take(&mut self, is: impl Fn(&T) -> bool) -> Option<T> {
        let at = self.0.iter().position(is)?;
        Some(self.0.remove(at))
    }

    fn has(&self, item: &T) -> bool
    where
        T: PartialEq,
    {
        self.0.contains(item)
    }
}
