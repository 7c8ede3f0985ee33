//! A rank's state of one peer. Only `Shm` uses it.

use pombo_kernel::channel::Event;
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;

use alloc::boxed::Box;
use core::cell::Cell;
use core::ptr::NonNull;

use super::answer_wait::AnswerWait;
use super::burst::{BurstPauses, OutboundBurst};
use super::cma::RemoteBuffer;
use super::event_count::EventCount;
use super::layout::Control;
use super::long_frames::{FreeCells, LongConsumer, LongProducer};
use super::mail::{self, Mail, Positions};
use super::passed_cells::PassedCells;
use super::read_acks::{ReadAck, ReadAcks};
use super::received_frame::{EventHandler, Frame};
use super::ring::{self, Consumer, EXPOSED, LINE_GRANULES, LONG, Producer, RingError};
use super::ring_memory::{MailMemory, RingMemory};
use super::segment::Segment;
use crate::tuning::{BURST_FRAMES, FAR_RING_FRAME, FAST_PATHS, MEDIUM_FRAME};
use crate::wait;
use crate::wait::clock::{self, LookTiming};

pub(super) struct Connection {
    pub(super) outbound: Producer<RingMemory>,
    inbound: Consumer<RingMemory>,
    pub(super) mail: Mail<MailMemory>,
    answer: AnswerWait,
    pauses: BurstPauses,
    pub(super) outbound_burst: OutboundBurst,
    /// The frames that lie in cells, to the peer and from it. They are apart, as the fields around are in use all the time;
    /// with the fast paths alone.
    long: Option<Box<LongFrames>>,
    control: NonNull<Control>,
    /// The peer's acknowledgements of memory exposed here, and this rank's acknowledgements of the peer's.
    acks: [NonNull<ReadAcks>; 2],
    /// Number of times that memory was exposed to the peer.
    exposed: u64,
    /// Number of reads that are known to be done, and how many nanoseconds the look took that told of the last ones; it is
    /// taken when the distance is learnt.
    reads: Cell<(u64, Option<u64>)>,
    /// The peer could not read exposed memory.
    pub(super) refuses_reads: bool,
    /// The name of the peer in events.
    pub(super) name: Peer,
    /// The peer knows that this rank sends to it.
    pub(super) announced: bool,
    /// Frames do not reach the peer any more.
    pub(super) closed: bool,
    /// The peer has left the job. One that only seems corrupt still writes where it may.
    ended: bool,
    /// The peer sends nothing beyond the content of the ring.
    ending: bool,
    reported: bool,
}

/// The frames that lie in cells, to the peer and from it, and the cells that have changed hands.
struct LongFrames {
    producer: LongProducer,
    consumer: LongConsumer,
    passed: PassedCells,
}

/// The result of serving a peer's ring.
pub(super) struct Served {
    /// Number of frames taken.
    pub(super) frames: usize,
    /// The peer was reported lost.
    pub(super) lost: bool,
}

// SAFETY: control block and acknowledgements lie in memory that all processes share, and only their atomics are used.
unsafe impl Send for Connection {}

impl Connection {
    /// # Safety
    /// The connection must not outlive the segment, in which the caller has claimed rank `me`, and must be the only one
    /// for these two ranks.
    #[inline(never)]
    pub(super) unsafe fn new(segment: &Segment, me: usize, connection: usize) -> Self {
        // SAFETY: the caller's contract; a claimed rank alone writes to its peers and reads from them.
        let (outbound, inbound, mail) = unsafe {
            (
                segment.ring_memory(me, connection),
                segment.ring_memory(connection, me),
                segment.mail_memory(me, connection),
            )
        };
        let long = FAST_PATHS.then(|| {
            // SAFETY: as above; the sides of long frames agree on who writes to which cell.
            let (to, from, cells, own) = unsafe {
                (
                    segment.long_cursor(me, connection),
                    segment.long_cursor(connection, me),
                    segment.long_cells(connection),
                    segment.long_cells(me),
                )
            };
            Box::new(LongFrames {
                producer: LongProducer::new(to, cells),
                consumer: LongConsumer::new(cells, own, from),
                passed: PassedCells::default(),
            })
        });
        Self {
            outbound: Producer::new(outbound),
            inbound: Consumer::new(inbound),
            // The lower rank has the token first, and of its own line everybody.
            mail: Mail::new(mail, me <= connection),
            answer: AnswerWait::default(),
            pauses: BurstPauses::default(),
            outbound_burst: OutboundBurst::default(),
            long,
            control: NonNull::from(segment.control(connection)),
            acks: [segment.acks(me, connection), segment.acks(connection, me)],
            exposed: 0,
            reads: Cell::default(),
            refuses_reads: false,
            name: Peer(connection as u16),
            announced: false,
            closed: false,
            ended: false,
            ending: false,
            reported: false,
        }
    }

    /// Returns the peer's event count.
    #[inline]
    pub(super) fn event_count(&self) -> &EventCount {
        // SAFETY: it lies in the segment, which outlives the peer (`new`); all its fields are atomics.
        unsafe { &self.control.as_ref().event_count.0 }
    }

    /// Returns the acknowledgements of the peer, or our own.
    fn acks(&self, own: bool) -> &ReadAcks {
        // SAFETY: as for the event count.
        unsafe { self.acks[usize::from(own)].as_ref() }
    }

    /// Appends a frame of `len` bytes.
    #[inline(always)]
    pub(super) fn push(&mut self, len: usize, parts: &[Part<'_>]) -> Result<(), RingError> {
        self.outbound.push(self.mail.ring_flags(), len, parts)?;
        self.ring_sent();
        Ok(())
    }

    /// Notes that a frame was appended to the ring.
    #[inline(always)]
    fn ring_sent(&mut self) {
        self.mail.ring_sent();
        self.end_burst();
    }

    /// Lets the next look find the answer to what was sent.
    #[inline(always)]
    fn end_burst(&mut self) {
        self.inbound.burst = 0;
        self.pauses.end();
    }

    /// Writes a mail, and lets the peer read it before it looks for the answer.
    #[inline(always)]
    pub(super) fn push_mail(&mut self, len: usize, parts: &[Part<'_>], timing: LookTiming) {
        let positions = Positions {
            outbound: self.outbound.position(),
            inbound: self.inbound.position(),
        };
        self.mail.write(positions, len, parts);
        let lines = (ring::granules(len) - 1) / LINE_GRANULES;
        self.mail.claims = self.answer.begin(clock::ticks(), lines, &timing);
        self.end_burst();
    }

    /// Returns whether frames follow each other so that the next one, of medium length, lies better in a cell.
    #[inline]
    pub(super) fn suits_cell(&mut self, len: usize, timing: LookTiming) -> bool {
        let heard = self.inbound.position().wrapping_add(self.mail.received());
        FAST_PATHS && self.outbound_burst.goes_on(heard, timing) && !self.suits_ring(len)
    }

    /// Lets the line to the peer seem long.
    #[cfg(test)]
    pub(super) fn seem_far(&mut self) {
        let long = self.long.as_deref_mut().expect("cells");
        (0..10).for_each(|_| long.producer.learn_distance(u64::MAX));
    }

    /// Returns whether a frame of a burst lies better in the ring: over a long line, if it is short. Learns the distance, as
    /// such frames use no cells meanwhile, whose cursor tells it otherwise.
    #[inline(never)]
    fn suits_ring(&mut self, len: usize) -> bool {
        let long = self.long.as_deref_mut().map(|long| &mut long.producer);
        let Some(long) = long.filter(|it| len <= FAR_RING_FRAME && it.is_far()) else {
            return false;
        };
        if self.outbound.lacks_room(len) {
            long.learn_from(&self.outbound);
        }
        true
    }

    /// Appends a frame of `len` bytes, which lies in one of this rank's cells; returns false if all are in use.
    pub(super) fn push_long(
        &mut self,
        free: &mut FreeCells,
        len: usize,
        parts: &[Part<'_>],
    ) -> Result<bool, RingError> {
        let LongFrames {
            producer, passed, ..
        } = &mut **self.long.as_mut().ok_or(RingError::Full)?;
        if producer.prepare(passed, free, len) {
            // The consumer frees the cell before its record: if there is none now, the ring tells when there is.
            let began = producer.clock();
            self.outbound.look_for_room()?;
            producer.reclaim(passed, free, began)?;
        } else if passed.is_look_due() {
            producer.learn_from(&self.outbound);
        }
        // As far as is known: what may be timed has looked.
        let is_awaited = self.outbound.is_consumed();
        let Some(place) = producer.write(passed, free, len, parts, is_awaited)? else {
            return Ok(false);
        };
        let record = place.record();
        self.outbound.push_flagged(
            LONG | self.mail.ring_flags(),
            record.len(),
            &[Part::Bytes(&record)],
        )?;
        producer.commit(place, passed, free);
        self.ring_sent();
        Ok(true)
    }

    /// Frees the cells of frames to this peer that it has read, all if it has gone. What else is wrong with them is found
    /// when the next one is sent.
    #[cold]
    pub(super) fn reclaim(&mut self, free: &mut FreeCells) {
        if FAST_PATHS
            && let Some(LongFrames {
                producer, passed, ..
            }) = self.long.as_deref_mut()
            && (producer.has_unread() || passed.has_own())
        {
            match self.closed {
                true => {
                    producer.reclaim_all(free);
                    // Frames of the peer may lie in what it was given, and more may come.
                    if self.reported && self.ended {
                        free.take_all(passed);
                    }
                }
                false => _ = producer.reclaim_idle(passed, free),
            }
        }
    }

    /// Exposes memory; returns the number of the read.
    pub(super) fn expose(&mut self, len: usize, parts: &[Part<'_>]) -> Result<u64, RingError> {
        self.outbound
            .push_flagged(EXPOSED | self.mail.ring_flags(), len, parts)?;
        self.ring_sent();
        self.exposed += 1;
        Ok(self.exposed)
    }

    /// Returns the peer's acknowledgement of the read of that number. The look, which began at that time in ns, fetches the line
    /// from the peer if there is news.
    pub(super) fn ack(&self, number: u64, began: u64) -> Option<ReadAck> {
        let acks = self.acks(false);
        let ack = acks.ack_of(number);
        if ack == Some(ReadAck::Read) && number > self.reads.get().0 {
            let time = wait::now().saturating_sub(began);
            self.reads.set((acks.count(), Some(time)));
        }
        ack
    }

    /// Learns the distance from the last look that found an acknowledgement.
    pub(super) fn learn_from_acks(&mut self) {
        if let Some(time) = self.distance_from_acks()
            && let Some(long) = self.long.as_deref_mut()
        {
            long.producer.learn_distance(time);
        }
    }

    /// Takes how many nanoseconds that look took.
    pub(super) fn distance_from_acks(&self) -> Option<u64> {
        let (reads, time) = self.reads.get();
        self.reads.set((reads, None));
        time
    }

    /// Returns whether the line to the peer is long, as far as is known.
    pub(super) fn is_far(&self) -> bool {
        let long = self.long.as_deref();
        long.is_some_and(|long| long.producer.is_far())
    }

    /// Notes that the peer has left the job, and closes the connection as [`Connection::close`] does.
    pub(super) fn end(&mut self) -> bool {
        self.ended = FAST_PATHS;
        self.close()
    }

    /// Closes the connection: no frame reaches the peer, and none follows those received. Returns false if it was
    /// closed before.
    pub(super) fn close(&mut self) -> bool {
        self.closed = true;
        !core::mem::replace(&mut self.ending, true)
    }

    /// Returns whether the peer's loss was reported.
    pub(super) fn is_reported(&self) -> bool {
        self.reported
    }

    /// Returns whether serving the peer would find anything.
    #[inline]
    pub(super) fn has_pending(&self) -> bool {
        (self.ending && !self.reported)
            || self.inbound.has_next()
            || (self.mail.is_open() && self.mail.has_next())
    }

    /// Returns whether there is a mail where the answer to one is expected, if it is time to look for it.
    #[inline(always)]
    pub(super) fn has_mail_now(&mut self, timing: LookTiming) -> bool {
        let is_there = self.mail.is_on_trial() && self.is_due(timing) && self.mail.has_next();
        if is_there {
            self.answer.found();
        }
        is_there
    }

    /// Returns whether there is a frame of the ring, or the peer's loss to report. Only [`Connection::serve`] looks for mails
    /// that are not expected.
    #[inline(always)]
    pub(super) fn has_pending_now(&mut self, timing: LookTiming) -> bool {
        let looks = !self.pauses.is_on(timing);
        (self.ending && !self.reported) || looks && self.inbound.has_next()
    }

    /// Passes the mail to the handler if it is the next frame; returns false without effect if not. A damaged one is left to
    /// [`Connection::serve`], which reports the loss.
    #[inline(always)]
    pub(super) fn take_mail<H: EventHandler>(&mut self, handler: &mut H) -> bool {
        let (peer, sent) = (self.name, self.outbound.position());
        let (ring, mail) = (&self.inbound, &mut self.mail);
        mail::take_mail(ring, mail, sent, |bytes| {
            deliver_apart(peer, bytes, handler)
        }) == Ok(true)
    }

    /// Notes that the ring was empty. After a burst the next look is later, once: further looks are as frequent as ever,
    /// until another frame has come.
    #[inline(always)]
    fn found_nothing(&mut self, timing: LookTiming) {
        if FAST_PATHS && timing.burst > 0 && self.inbound.burst >= BURST_FRAMES {
            self.inbound.burst = BURST_FRAMES - 1;
            self.pauses.begin(self.inbound.bytes, timing);
        }
    }

    /// Returns whether it is time to look for a mail, and prepares the look for an answer.
    #[inline(always)]
    fn is_due(&mut self, timing: LookTiming) -> bool {
        if !self.mail.is_on_trial() || self.answer.is_over() || self.ending {
            return true;
        }
        let is_due = self.answer.is_due(clock::ticks(), &timing);
        if is_due && self.answer.is_prompt {
            self.mail.prefetch_answer();
        }
        is_due
    }

    /// Passes up to `most` frames, and the loss of the peer after its last, to the handler.
    #[inline(always)]
    pub(super) fn serve<H: EventHandler>(
        &mut self,
        most: usize,
        timing: LookTiming,
        handler: &mut H,
    ) -> Served {
        let (peer, mut frames) = (self.name, 0);
        if self.pauses.is_on(timing) {
            let lost = false;
            return Served { frames, lost };
        }
        while frames < most {
            let (ring, mail) = (&mut self.inbound, &mut self.mail);
            let taken = match mail::take_plain(ring, mail, |bytes| deliver(peer, bytes, handler)) {
                true => Ok(true),
                false => self.take_other(peer, timing, handler),
            };
            match taken {
                Ok(true) => {
                    frames += 1;
                    let is_over = !self.inbound.is_next_near() && !self.ending;
                    if is_over || handler.is_satisfied() {
                        break;
                    }
                }
                Ok(false) if !self.ending => {
                    self.found_nothing(timing);
                    break;
                }
                // The ring is empty for good and there is no mail, or their content is corrupt from here on.
                Ok(false) | Err(_) => {
                    self.close();
                    self.mail.close();
                    self.reported = true;
                    handler.handle(Event::PeerLost(peer));
                    return Served { frames, lost: true };
                }
            }
        }
        let lost = false;
        Served { frames, lost }
    }

    /// Takes the next frame, whatever it is. What the delivery needs is gathered here, not for each frame of a burst.
    #[inline(always)]
    fn take_other<H: EventHandler>(
        &mut self,
        peer: Peer,
        timing: LookTiming,
        handler: &mut H,
    ) -> Result<bool, RingError> {
        let looks = self.mail.is_open() && self.is_due(timing);
        // SAFETY: as in `event_count` and `acks`.
        let (control, acks) = unsafe { (self.control.as_ref(), self.acks[1].as_ref()) };
        let mut long = self.long.as_deref_mut();
        let sent = self.outbound.position();
        let (ring, mail) = (&mut self.inbound, &mut self.mail);
        let mut medium = 0;
        let taken = mail::take_other(ring, mail, sent, looks, |bytes, flags| match flags {
            0 => deliver_apart(peer, bytes, handler),
            // Without the fast paths no rank of the job sends these.
            _ if !FAST_PATHS => {}
            LONG => {
                if let Some(long) = long.as_deref_mut() {
                    let len = deliver_long(peer, bytes, long, handler);
                    medium = if len < MEDIUM_FRAME { len } else { 0 };
                }
            }
            _ => deliver_exposed(peer, bytes, control, acks, handler),
        });
        self.inbound.bytes += medium as u64;
        taken
    }
}

/// Hands a frame over: to the kernel's short path, or as an event.
#[inline(always)]
fn deliver(peer: Peer, frame: &[u8], handler: &mut impl EventHandler) {
    if !handler.take(peer, frame) {
        handler.handle(Event::Arrival(Frame::new(peer, frame, None)));
    }
}

/// Delivers a frame as [`deliver`], which is inlined in one place only: as a function of two places it costs bursts a
/// twelfth of their rate. The handler is no type parameter here and below: one function serves all.
#[inline(never)]
fn deliver_apart(peer: Peer, frame: &[u8], handler: &mut dyn EventHandler) {
    if !handler.take(peer, frame) {
        handler.handle(Event::Arrival(Frame::new(peer, frame, None)));
    }
}

/// Delivers a frame that lies beside the ring, and returns its length.
#[inline(never)]
fn deliver_long(
    peer: Peer,
    record: &[u8],
    long: &mut LongFrames,
    handler: &mut dyn EventHandler,
) -> usize {
    let mut len = 0;
    long.consumer.take(record, &mut long.passed, |frame| {
        len = frame.len();
        deliver_apart(peer, frame, handler);
    });
    len
}

/// Delivers a frame whose payload is still with its sender, and acknowledges it.
#[inline(never)]
fn deliver_exposed(
    peer: Peer,
    bytes: &[u8],
    control: &Control,
    acks: &ReadAcks,
    handler: &mut dyn EventHandler,
) {
    let process = control.status.0.own_pid();
    let process = process.filter(|_| FAST_PATHS && !acks.has_refused());
    let (head, remote) = RemoteBuffer::parse(bytes, process);
    handler.handle(Event::Arrival(Frame::new(peer, head, Some(&remote))));
    acks.acknowledge(remote.ack());
}
