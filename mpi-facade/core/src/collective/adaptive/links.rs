//! The latencies of one rank's links: when each is probed, and what the replies say. Only `tree` uses it.

use alloc::vec;
use alloc::vec::Vec;
use pombo_collective::adaptive::{Forecaster, LinkMonitor, Monitor, Probe, ProbeReply, Threshold};
use pombo_netdrivers::tuning::PROBE_INTERVAL;

/// Samples of every link before the tree is built.
const FIRST_SAMPLES: u32 = 3;

/// The links of a rank to all others of a communicator.
pub(super) struct Links {
    monitor: Monitor<Vec<LinkMonitor>>,
    timing: Vec<Timing>,
}

#[derive(Clone, Copy, Default)]
struct Timing {
    samples: u32,
    /// The call in which the link was probed last: later ones probe it again, so that no probe follows the last call.
    call: u64,
    /// The earliest time of the next probe.
    due: u64,
}

impl Links {
    pub(super) fn new(count: usize, percent: u32) -> Self {
        let threshold = Threshold {
            percent,
            hysteresis: percent / 4,
        };
        Links {
            monitor: Monitor::new(threshold, vec![LinkMonitor::new(); count]),
            timing: vec![Timing::default(); count],
        }
    }

    /// Returns whether every link is known well enough for a tree.
    pub(super) fn are_known(&self) -> bool {
        self.timing.iter().all(|link| link.samples >= FIRST_SAMPLES)
    }

    /// Returns the forecast latency of a link in ns, which then is the one in use.
    pub(super) fn first(&mut self, link: usize) -> u64 {
        let changed = self.monitor.change(link);
        changed.or_else(|| self.monitor.in_use(link)).unwrap_or(0)
    }

    /// Returns the new latency of a link if it is beyond the threshold.
    pub(super) fn change(&mut self, link: usize) -> Option<u64> {
        self.monitor.change(link)
    }

    /// Returns which forecaster is believed of a link.
    pub(super) fn forecaster(&self, link: usize) -> Option<Forecaster> {
        Some(self.monitor.forecast(link)?.by)
    }

    /// Returns the next link that is to be probed in this call, and the probe. One is under way on a link at a time: the
    /// answer comes, whenever the other rank calls again.
    pub(super) fn next_probe(&mut self, call: u64, now: u64) -> Option<(usize, Probe)> {
        let link = self.due(call, now)?;
        (self.timing[link].due, self.timing[link].call) = (u64::MAX, call);
        Some((link, self.monitor.probe(link, now).ok()?))
    }

    /// Returns whether a link is to be probed in this call.
    pub(super) fn is_due(&self, call: u64, now: u64) -> bool {
        self.due(call, now).is_some()
    }

    fn due(&self, call: u64, now: u64) -> Option<usize> {
        let is_due =
            |link: &Timing| now >= link.due && (link.call < call || link.samples < FIRST_SAMPLES);
        self.timing.iter().position(is_due)
    }

    /// Takes a reply; without one the link is probed again.
    pub(super) fn take(&mut self, link: usize, reply: Option<ProbeReply>, now: u64) {
        let sample = reply.and_then(|reply| self.monitor.reply(link, &reply, now).ok());
        let timing = &mut self.timing[link];
        match sample {
            Some(_) => timing.samples = timing.samples.saturating_add(1),
            None => timing.call = 0,
        }
        let pause = match timing.samples < FIRST_SAMPLES {
            true => 0,
            false => PROBE_INTERVAL,
        };
        timing.due = now + pause;
    }
}
