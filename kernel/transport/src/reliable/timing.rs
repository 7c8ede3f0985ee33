//! How long to wait for what: the constants, and the round trip as it is measured. `reliable` only.

/// Times in nanoseconds, and what else a network's nature decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// A receiver that is not asked says within this time what has arrived, or earlier on a frame of its own.
    pub report_after: u64,
    /// The least time before a silent peer is asked again.
    pub least: u64,
    /// The most: each question that stays unanswered doubles the time up to here.
    pub most: u64,
    /// Before the first answer.
    pub first: u64,
    /// A frame is lost when this many that left after it have arrived: 1 where frames never overtake each other.
    pub overtakers: u16,
}

impl Default for Timing {
    /// For local networks.
    fn default() -> Self {
        Timing {
            report_after: 200_000,
            least: 2_000_000,
            most: 200_000_000,
            first: 10_000_000,
            overtakers: 3,
        }
    }
}

/// How long answers take, smoothed, and how much that varies.
#[derive(Clone, Copy, Default)]
pub(crate) struct RoundTrip {
    smooth: u64,
    spread: u64,
    known: bool,
}

impl RoundTrip {
    /// An answer took that long.
    pub(crate) fn note(&mut self, time: u64) {
        if !self.known {
            (self.smooth, self.spread, self.known) = (time, time / 2, true);
            return;
        }
        self.spread = self.spread - self.spread / 4 + self.smooth.abs_diff(time) / 4;
        self.smooth = self.smooth - self.smooth / 8 + time / 8;
    }

    /// How long answers take at most, usually; `None` before the first.
    pub(crate) fn typical(&self) -> Option<u64> {
        let typical = self.smooth.saturating_add(self.spread.saturating_mul(4));
        self.known.then_some(typical)
    }

    /// How long to wait for the answer to a question that was put `asked` times before.
    pub(crate) fn retry_timeout(&self, timing: &Timing, asked: u32) -> u64 {
        let typical = self.typical().unwrap_or(timing.first);
        let once = typical
            .max(timing.least)
            .saturating_add(timing.report_after);
        once.saturating_mul(1 << asked.min(30)).min(timing.most)
    }
}
