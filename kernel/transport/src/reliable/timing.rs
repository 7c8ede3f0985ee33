//! Time constants, and the measured round trip. Only `reliable` uses it.

/// Times in nanoseconds, and a property of the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// The longest time before a receiver acknowledges by a report of its own, without a request.
    pub report_after: u64,
    /// The least time before a silent peer is probed again.
    pub least: u64,
    /// The longest such time: each unanswered probe doubles the time up to this.
    pub most: u64,
    /// The time before the first probe while no round trip has been measured.
    pub first: u64,
    /// A frame is lost when this many that left after it have arrived: 1 where frames never overtake each other.
    pub overtakers: u16,
}

impl Default for Timing {
    /// Returns the times for local networks.
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

/// The smoothed round trip and its variation.
#[derive(Clone, Copy, Default)]
pub(crate) struct RoundTrip {
    smooth: u64,
    spread: u64,
    known: bool,
}

impl RoundTrip {
    /// Adds a measured round trip, in nanoseconds.
    pub(crate) fn note(&mut self, time: u64) {
        if !self.known {
            (self.smooth, self.spread, self.known) = (time, time / 2, true);
            return;
        }
        self.spread = self.spread - self.spread / 4 + self.smooth.abs_diff(time) / 4;
        self.smooth = self.smooth - self.smooth / 8 + time / 8;
    }

    /// Returns the usual upper bound of a round trip; `None` before the first measurement.
    pub(crate) fn typical(&self) -> Option<u64> {
        let typical = self.smooth.saturating_add(self.spread.saturating_mul(4));
        self.known.then_some(typical)
    }

    /// Returns how long to wait for the answer to a probe that was sent `asked` times before.
    pub(crate) fn retry_timeout(&self, timing: &Timing, asked: u32) -> u64 {
        let typical = self.typical().unwrap_or(timing.first);
        let once = typical
            .max(timing.least)
            .saturating_add(timing.report_after);
        once.saturating_mul(1 << asked.min(30)).min(timing.most)
    }
}
