//! Bursts: frames that follow each other without an answer. Only `Connection` uses it.

use crate::tuning::{BURST_FRAMES, FAST_PATHS};
use crate::wait::clock::{self, LookTiming};

/// Tells whether the medium frames to a peer are a burst.
#[derive(Default)]
pub(super) struct OutboundBurst {
    /// What had been heard of the peer when the burst began.
    heard: u64,
    /// Number of its frames.
    frames: u32,
    /// The time of the last frame that went on with it, in ticks.
    last: u64,
}

impl OutboundBurst {
    /// Counts a frame, and returns whether it goes on with a burst. `heard` changes with each frame of the peer.
    #[inline]
    pub(super) fn goes_on(&mut self, heard: u64, timing: LookTiming) -> bool {
        if heard != self.heard {
            (self.heard, self.frames) = (heard, 0);
        }
        self.frames = self.frames.saturating_add(1);
        if self.frames <= BURST_FRAMES {
            return false;
        }
        // Frames that come one by one, though none is answered, are better in lines that are in use.
        let now = clock::ticks();
        let before = core::mem::replace(&mut self.last, now);
        if now.wrapping_sub(before) > timing.gap {
            self.frames = BURST_FRAMES;
        }
        self.frames > BURST_FRAMES
    }

    /// Lets the next frames be no burst.
    pub(super) fn end(&mut self) {
        self.frames = 0;
    }
}

/// The pauses after bursts from a peer, in which this side does not look at the ring.
#[derive(Default)]
pub(super) struct BurstPauses {
    /// The end of this pause, in ticks; 0 if there is none.
    end: u64,
    /// When the last pause began, in ticks, and the bytes that had arrived by then.
    last: (u64, u64),
}

impl BurstPauses {
    /// Returns whether the peer writes on undisturbed.
    #[inline(always)]
    pub(super) fn is_on(&mut self, timing: LookTiming) -> bool {
        if !FAST_PATHS || self.end == 0 {
            return false;
        }
        let lasts = !clock::is_due(self.end, clock::ticks(), timing.far_burst);
        if !lasts {
            self.end = 0;
        }
        lasts
    }

    /// Begins a pause after a burst by which so many bytes have arrived in all.
    #[inline(always)]
    pub(super) fn begin(&mut self, bytes: u64, timing: LookTiming) {
        let now = clock::ticks();
        let (then, before) = core::mem::replace(&mut self.last, (now, bytes));
        let pause = timing.burst_pause(now.saturating_sub(then), bytes - before);
        self.end = now + pause;
    }

    /// Lets the next look be at once: this side has sent something, which may be answered.
    #[inline(always)]
    pub(super) fn end(&mut self) {
        self.end = 0;
    }
}
