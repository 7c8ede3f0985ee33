//! What a rank keeps about each of its peers. Used by `Shm` only.

use pombo_kernel::channel::Event;
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;

use core::ptr::NonNull;

use super::cma::RemoteBuffer;
use super::event_count::EventCount;
use super::layout::Control;
use super::read_acks::{ReadAck, ReadAcks};
use super::received_frame::{EventHandler, Frame};
use super::ring::{Consumer, Producer, RingError};
use super::ring_memory::RingMemory;
use super::segment::Segment;

pub(super) struct Connection {
    pub(super) outbound: Producer<RingMemory>,
    inbound: Consumer<RingMemory>,
    control: NonNull<Control>,
    /// Its acknowledgements of what we expose, and ours of what it does.
    acks: [NonNull<ReadAcks>; 2],
    /// Times that we have exposed memory to it.
    exposed: u64,
    /// It could not read one.
    pub(super) refuses_reads: bool,
    /// It knows that we send to it.
    pub(super) announced: bool,
    /// Nothing reaches it any more.
    pub(super) closed: bool,
    /// It sends no more than what is in the ring.
    ending: bool,
    reported: bool,
}

/// What a look at a peer's ring found.
pub(super) struct Served {
    /// Frames taken.
    pub(super) frames: usize,
    /// It was reported lost.
    pub(super) lost: bool,
}

// SAFETY: control block and answers lie in memory that all processes share, and only their atomics are used.
unsafe impl Send for Connection {}

impl Connection {
    /// # Safety
    /// The peer must not outlive the segment, in which the caller has claimed rank `me`, and there must be no second
    /// one for these two.
    pub(super) unsafe fn new(segment: &Segment, me: usize, connection: usize) -> Self {
        // SAFETY: passed on to the caller; a claimed rank alone writes to its peers and reads from them.
        let (outbound, inbound) = unsafe {
            (
                segment.ring_memory(me, connection),
                segment.ring_memory(connection, me),
            )
        };
        Self {
            outbound: Producer::new(outbound),
            inbound: Consumer::new(inbound),
            control: NonNull::from(segment.control(connection)),
            acks: [segment.acks(me, connection), segment.acks(connection, me)],
            exposed: 0,
            refuses_reads: false,
            announced: false,
            closed: false,
            ending: false,
            reported: false,
        }
    }

    /// Its event count.
    #[inline]
    pub(super) fn event_count(&self) -> &EventCount {
        // SAFETY: it lies in the segment, which outlives the peer (`new`); all its fields are atomics.
        unsafe { &self.control.as_ref().event_count.0 }
    }

    /// The peer's, or our own.
    fn acks(&self, own: bool) -> &ReadAcks {
        // SAFETY: as for the event count.
        unsafe { self.acks[usize::from(own)].as_ref() }
    }

    /// Exposes memory; the number of the read.
    pub(super) fn expose(&mut self, len: usize, parts: &[Part<'_>]) -> Result<u64, RingError> {
        self.outbound.push_flagged(len, parts)?;
        self.exposed += 1;
        Ok(self.exposed)
    }

    /// Its acknowledgement of the read of that number.
    pub(super) fn ack(&self, number: u64) -> Option<ReadAck> {
        self.acks(false).ack_of(number)
    }

    /// Nothing goes there any more, and what came is all. False if that was known.
    pub(super) fn close(&mut self) -> bool {
        self.closed = true;
        !core::mem::replace(&mut self.ending, true)
    }

    /// Its loss was reported.
    pub(super) fn is_reported(&self) -> bool {
        self.reported
    }

    /// Would a look find anything?
    #[inline]
    pub(super) fn has_pending(&self) -> bool {
        (self.ending && !self.reported) || self.inbound.has_next()
    }

    /// Hands out up to `most` frames, and the loss of the peer after its last.
    #[inline(always)]
    pub(super) fn serve(
        &mut self,
        peer: Peer,
        most: usize,
        handler: &mut impl EventHandler,
    ) -> Served {
        let mut frames = 0;
        while frames < most {
            // SAFETY: as in `event_count` and `acks`.
            let (control, acks) = unsafe { (self.control.as_ref(), self.acks[1].as_ref()) };
            let taken = self.inbound.pop(|bytes, flagged| {
                if flagged {
                    deliver_exposed(peer, bytes, control, acks, handler);
                } else if !handler.take(peer, bytes) {
                    handler.handle(Event::Arrival(Frame::new(peer, bytes, None)));
                }
            });
            match taken {
                Ok(true) => frames += 1,
                Ok(false) if !self.ending => break,
                // The ring is empty for good, or nothing behind this point can be told apart.
                Ok(false) | Err(_) => {
                    self.close();
                    self.reported = true;
                    handler.handle(Event::PeerLost(peer));
                    return Served { frames, lost: true };
                }
            }
        }
        let lost = false;
        Served { frames, lost }
    }
}

/// Hands out a frame whose payload is still with its sender, and answers it.
#[inline(never)]
fn deliver_exposed(
    peer: Peer,
    bytes: &[u8],
    control: &Control,
    acks: &ReadAcks,
    handler: &mut impl EventHandler,
) {
    let process = control.status.0.own_pid().filter(|_| !acks.has_refused());
    let (head, remote) = RemoteBuffer::parse(bytes, process);
    handler.handle(Event::Arrival(Frame::new(peer, head, Some(&remote))));
    acks.acknowledge(remote.ack());
}
