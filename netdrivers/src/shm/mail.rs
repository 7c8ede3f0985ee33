//! The mail line of two ranks: a block for one short frame at a time, beside their rings. Only `Connection` uses it.
//!
//! The rank that holds the token may write a mail, and taking a mail gives the token. So the block is in the cache of the
//! rank that answers: the answer costs one transfer of a line, where a ring costs two. A rank mails only to a peer that
//! looks for mails, of which it tells by a flag of its frames in the ring, or by a mail of its own.
//!
//! Mails and frames of the ring keep their order by stamps. A mail tells up to which position frames of the ring precede
//! it, and a frame of the ring how many mails do; neither is taken before those.
//!
//! Both sides check what they read: whatever the memory contains, no access leaves it and nothing panics.

use pombo_kernel::memory::Part;
use static_assertions::const_assert;

use super::ring::{
    self, Consumer, FIRST_STAMP, GRANULE, GranuleAccess, INVITES, LINE_GRANULES, RingError, STAMP,
    WORD,
};
use super::sync::Ordering;
use crate::tuning::{FAST_PATHS, MAIL, PREFETCHED_ANSWER};

/// Number of granules of a block.
pub(super) const MAIL_GRANULES: usize = MAIL / GRANULE;
/// The longest frame of a mail, in bytes.
pub(super) const MAIL_LIMIT: usize = MAIL - WORD;
/// Number of lines of a mail that come back soon enough by themselves. By turns at 30 ns, 256 bytes took 0.70 to 0.79 of the
/// time where lines are claimed, 64 bytes 1.01 to 1.05 and 8 bytes 1.00 to 1.07. In tests all are claimed.
const UNCLAIMED_LINES: usize = if cfg!(test) { 0 } else { 2 };
/// The largest number of turns that go through the ring after mails that did not pay.
const MOST_SKIPPED: u32 = 255;

/// Positions in the two rings: behind the last frame sent, and behind the last one taken.
#[derive(Clone, Copy)]
pub(super) struct Positions {
    pub(super) outbound: u64,
    pub(super) inbound: u64,
}

/// One side of a mail line.
pub(super) struct Mail<S> {
    memory: S,
    /// The word of the last mail, of either side.
    last: u64,
    /// This side holds the token.
    holds: bool,
    /// The peer looks for mails.
    is_invited: bool,
    /// This side looks for mails.
    is_open: bool,
    /// The next frame may be a mail.
    is_ready: bool,
    /// The lines of a mail are claimed once it is taken, which pays over short lines: over a long one, the peer looks for the
    /// answer before they are there.
    pub(super) claims: bool,
    /// The last mail was neither answered nor followed by another frame.
    on_trial: bool,
    /// Numbers of mails.
    sent: u32,
    received: u32,
    /// The flags of the next frame to the ring.
    ring_flags: u32,
    /// The stamp of the next frame of the ring.
    ring_stamp: u32,
    /// Number of frames sent since one was received, up to 2.
    turn: u32,
    /// Number of turns that begin in the ring, now and after the next mail that does not pay.
    skip: u32,
    penalty: u32,
}

impl<S: GranuleAccess> Mail<S> {
    /// Creates one side of a block that contains zeros. One of the two holds the token.
    pub(super) fn new(memory: S, holds: bool) -> Self {
        Self {
            memory,
            last: 0,
            holds,
            is_invited: false,
            is_open: false,
            is_ready: false,
            claims: false,
            on_trial: false,
            sent: 0,
            received: 0,
            ring_flags: 0,
            ring_stamp: 0,
            turn: 0,
            skip: 0,
            penalty: 0,
        }
    }

    /// Returns whether this side looks for mails.
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        FAST_PATHS && self.is_open
    }

    /// Returns whether this side could look for mails.
    #[inline(always)]
    pub(super) fn can_open(&self) -> bool {
        FAST_PATHS && !self.holds && !self.is_open
    }

    /// Looks for mails from now on, of which the next frame of the ring tells the peer.
    pub(super) fn open(&mut self) {
        self.is_open = true;
        self.ring_flags |= INVITES;
    }

    /// Looks for mails no more, as the peer is lost.
    pub(super) fn close(&mut self) {
        self.is_open = false;
    }

    /// Returns whether a frame of that length is to be a mail: it begins a turn, the turns before consisted of one frame
    /// each, and the peer looks for mails.
    #[inline(always)]
    pub(super) fn suits(&self, len: usize) -> bool {
        FAST_PATHS && self.is_ready && len <= MAIL_LIMIT
    }

    /// Writes a mail that [`Mail::suits`], and looks for the answer. The positions are those in the rings.
    #[inline(always)]
    pub(super) fn write(&mut self, positions: Positions, len: usize, parts: &[Part<'_>]) {
        debug_assert!(self.suits(len) && len == Part::total(parts));
        // SAFETY: this side holds the token: the peer neither reads nor writes the block before the word below is there.
        unsafe { self.memory.write_parts(0, len, parts) };
        self.last = self.word(positions.outbound, positions.inbound, len);
        self.memory.word(0).store(self.last, Ordering::Release);
        self.sent = self.sent.wrapping_add(1);
        (self.holds, self.is_invited, self.is_ready) = (false, false, false);
        (self.is_open, self.on_trial, self.turn) = (true, true, 1);
        self.ring_flags = stamp(self.sent) | INVITES;
    }

    /// Returns the flags of the next frame of the ring.
    #[inline(always)]
    pub(super) fn ring_flags(&self) -> u32 {
        self.ring_flags
    }

    /// Notes that a frame was appended to the ring.
    #[inline(always)]
    pub(super) fn ring_sent(&mut self) {
        if FAST_PATHS && self.turn < 2 {
            self.turn += 1;
            self.is_ready = false;
            if self.on_trial {
                self.end_trial(false);
            }
        }
    }

    /// Notes that a frame of the ring was taken.
    #[inline(always)]
    fn ring_taken(&mut self, flags: u32) {
        let invites = flags & INVITES != 0;
        if !FAST_PATHS {
            return;
        }
        if self.turn != 0 || invites && !self.is_invited {
            self.is_invited |= invites && self.holds;
            if self.on_trial {
                self.end_trial(false);
            }
            if self.is_invited && self.turn != 0 {
                self.is_ready = self.turn == 1 && self.skip == 0;
                self.skip = self.skip.saturating_sub(1);
            }
            self.turn = 0;
        }
    }

    /// Learns whether a mail was answered by a mail. Otherwise this side begins less often.
    #[cold]
    fn end_trial(&mut self, has_paid: bool) {
        self.on_trial = false;
        self.penalty = match has_paid {
            true => self.penalty / 2,
            false => (self.penalty * 2 + 1).min(MOST_SKIPPED),
        };
        self.skip = if has_paid { 0 } else { self.penalty };
    }

    /// Prefetches the other lines before a look for the answer, as many as a short mail of this side took: answers are
    /// often as long as what they answer, and all lines come at the same time.
    #[inline(always)]
    pub(super) fn prefetch_answer(&self) {
        let len = (self.last & LEN) as usize;
        if len <= PREFETCHED_ANSWER {
            self.prefetch_rest(len);
        }
    }

    /// Prefetches the lines of a frame behind the first.
    #[inline(always)]
    fn prefetch_rest(&self, len: usize) {
        for granule in (LINE_GRANULES..ring::granules(len)).step_by(LINE_GRANULES) {
            self.memory.prefetch_read(granule);
        }
    }

    /// Returns whether there is a mail, valid or not.
    #[inline(always)]
    pub(super) fn has_next(&self) -> bool {
        self.memory.word(0).load(Ordering::Acquire) != self.last
    }

    /// Returns the word of the mail, if there is one and the frames before it were taken.
    #[inline(always)]
    fn front(&self, inbound: u64) -> Result<Option<u64>, RingError> {
        let found = self.memory.word(0).load(Ordering::Acquire);
        if found == self.last {
            return Ok(None);
        }
        let (frames, seen, len) = parse(found);
        if len > MAIL_LIMIT || found != self.word(frames.into(), seen.into(), len) {
            return Err(RingError::Corrupt);
        }
        // The position may be behind the gap that precedes the next frame.
        let missing = frames.wrapping_sub(inbound as u32).cast_signed();
        match missing.unsigned_abs() as usize <= ring::MAX_GRANULES {
            true => Ok((missing <= 0).then_some(found)),
            false => Err(RingError::Corrupt),
        }
    }

    /// Passes the mail that [`Mail::front`] has found to `f`, and takes the token.
    #[inline(always)]
    fn take(&mut self, found: u64, outbound: u64, f: impl FnOnce(&[u8])) {
        // The answer goes there.
        self.memory.prefetch_write(0);
        self.last = found;
        let (_, seen, len) = parse(found);
        // All lines of the frame come while its head is read.
        self.prefetch_rest(len);
        // SAFETY: `front` has seen the complete mail; its writer does not touch the block until the token is back.
        unsafe { self.memory.read(0, len, f) };
        if self.claims && ring::granules(len) > UNCLAIMED_LINES * LINE_GRANULES {
            self.claim(found, len);
        }
        self.received = self.received.wrapping_add(1);
        (self.holds, self.is_invited, self.is_open) = (true, true, false);
        (self.ring_flags, self.ring_stamp) = (stamp(self.sent), stamp(self.received));
        // Ranks that both send before they receive do not answer each other.
        let is_answer = seen == outbound as u32 & SEEN;
        self.is_ready = self.turn <= 1 && is_answer;
        self.turn = 0;
        if self.on_trial || !is_answer {
            self.end_trial(is_answer);
        }
    }

    /// Claims the lines of a mail that was taken, as the answer goes there: this side has the token.
    #[inline(never)]
    fn claim(&self, found: u64, len: usize) {
        // The peer, which may look at it, knows this word.
        self.memory.word(0).store(found, Ordering::Relaxed);
        for granule in (LINE_GRANULES..ring::granules(len)).step_by(LINE_GRANULES) {
            self.memory.word(granule).store(0, Ordering::Relaxed);
        }
    }

    /// Returns the word of the next mail, of either side: its writer's position in the ring, the low bits of its own
    /// number, those of the position up to which its writer has taken frames, and its length.
    #[inline(always)]
    fn word(&self, frames: u64, seen: u64, len: usize) -> u64 {
        let number = self.sent.wrapping_add(self.received).wrapping_add(1);
        let low = number << NUMBER_SHIFT | (seen as u32 & SEEN) << SEEN_SHIFT | len as u32;
        frames << 32 | u64::from(low)
    }

    /// Returns the number of mails received.
    pub(super) fn received(&self) -> u64 {
        self.received.into()
    }

    /// Returns whether this side waits for the answer to a mail.
    #[inline(always)]
    pub(super) fn is_on_trial(&self) -> bool {
        FAST_PATHS && self.on_trial
    }
}

/// Takes the next frame of the ring if it is there and no flag says more of it: in bursts, nearly all. Returns false without
/// effect if not; then [`take_other`] is due.
#[inline(always)]
pub(super) fn take_plain<R: GranuleAccess, M: GranuleAccess>(
    ring: &mut Consumer<R>,
    mail: &mut Mail<M>,
    of_frame: impl FnOnce(&[u8]),
) -> bool {
    ring.pop_plain(mail.ring_stamp, |bytes, flags| {
        mail.ring_taken(flags);
        of_frame(bytes);
    })
}

/// Takes the mail if it is there and all frames of the ring before it were taken; returns false without effect if not.
#[inline(always)]
pub(super) fn take_mail<R: GranuleAccess, M: GranuleAccess>(
    ring: &Consumer<R>,
    mail: &mut Mail<M>,
    outbound: u64,
    of_frame: impl FnOnce(&[u8]),
) -> Result<bool, RingError> {
    if mail.is_open()
        && let Some(found) = mail.front(ring.position())?
    {
        mail.take(found, outbound, of_frame);
        return Ok(true);
    }
    Ok(false)
}

/// Takes the next frame, of the ring or, where this side looks for one, the mail. The ring comes first, as its frames tell
/// of a mail that precedes them. Returns false if there is none. The function gets the flags: none for a mail.
#[inline(always)]
pub(super) fn take_other<R: GranuleAccess, M: GranuleAccess>(
    ring: &mut Consumer<R>,
    mail: &mut Mail<M>,
    outbound: u64,
    looks: bool,
    mut of_frame: impl FnMut(&[u8], u32),
) -> Result<bool, RingError> {
    let is_early = match ring.pop(mail.ring_stamp, &mut |bytes, flags| {
        mail.ring_taken(flags);
        of_frame(bytes, flags & !(STAMP | INVITES));
    }) {
        Ok(true) => return Ok(true),
        Ok(false) => false,
        Err(RingError::Early) => true,
        Err(_) => return Err(RingError::Corrupt),
    };
    if (looks || is_early) && take_mail(ring, mail, outbound, |bytes| of_frame(bytes, 0))? {
        return Ok(true);
    }
    // The mail was there before a frame that tells of it.
    match is_early {
        true => Err(RingError::Corrupt),
        false => Ok(false),
    }
}

/// Returns the stamp of a frame of the ring behind so many mails.
#[inline(always)]
fn stamp(mails: u32) -> u32 {
    mails.wrapping_mul(FIRST_STAMP) & STAMP
}

/// The bits of a mail's word that tell its length.
const LEN: u64 = (1 << SEEN_SHIFT) - 1;
/// Where those begin that tell up to which position its writer has taken frames, and that many of the position.
const SEEN_SHIFT: u32 = 11;
const SEEN: u32 = 0xff;
/// Where its number begins.
const NUMBER_SHIFT: u32 = SEEN_SHIFT + SEEN.count_ones();
const_assert!(MAIL_LIMIT as u64 <= LEN && MAIL.is_multiple_of(GRANULE));

/// Returns what the word of a mail tells: its writer's position in the ring, the low bits of the position up to which its
/// writer has taken frames, and its length.
#[inline(always)]
fn parse(word: u64) -> (u32, u32, usize) {
    let seen = (word >> SEEN_SHIFT) as u32 & SEEN;
    ((word >> 32) as u32, seen, (word & LEN) as usize)
}
