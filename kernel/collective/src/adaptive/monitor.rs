//! Measures the latencies of a process's links, and says which have changed so much that the tree should know.
//!
//! A probe is answered with the times at which it came and at which the answer left, by the clock of the neighbour: a
//! neighbour that computes for a while before it answers is not taken for a slow link, and clocks need not agree. The
//! monitor reads no clock and sends nothing: the caller passes times in ns of any clock that does not go back, and
//! messages.

use super::forecast::Samples;
use super::{AdaptiveError, Forecast, Forecaster};
use core::cmp::Ordering;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A question for a neighbour: 4 bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Probe {
    number: U32,
}

/// The answer: 20 bytes, little endian.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ProbeReply {
    number: U32,
    received: U64,
    sent: U64,
}

impl Probe {
    /// Answers the probe: when it came here and when the answer leaves, by the clock of this process.
    pub fn answer(&self, received: u64, sent: u64) -> ProbeReply {
        ProbeReply {
            number: self.number,
            received: received.into(),
            sent: sent.into(),
        }
    }
}

/// When a change is one that the tree should know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threshold {
    /// The least difference between the forecast and the value in use, in per cent of the value in use. With 0 every
    /// difference counts.
    pub percent: u32,
    /// What a change must have in addition to be the reverse of the last one: a latency that goes to and fro by about
    /// the threshold does not change the tree each time.
    pub hysteresis: u32,
}

/// What a monitor knows of one link.
#[derive(Clone, Copy, Debug)]
pub struct LinkMonitor {
    samples: Samples,
    /// The number of the last probe and, until its answer is there, the time at which it left.
    probes: u32,
    left: Option<u64>,
    in_use: Option<u64>,
    /// Whether the value in use is more or less than the one before.
    moved: Ordering,
}

impl LinkMonitor {
    /// Creates the record of a link without samples.
    pub const fn new() -> LinkMonitor {
        LinkMonitor {
            samples: Samples::NONE,
            probes: 0,
            left: None,
            in_use: None,
            moved: Ordering::Equal,
        }
    }
}

impl Default for LinkMonitor {
    fn default() -> Self {
        Self::new()
    }
}

/// The latencies of a process's links, which have the same indices as in [`super::Process`].
#[derive(Debug)]
pub struct Monitor<S> {
    threshold: Threshold,
    links: S,
}

impl<S: AsRef<[LinkMonitor]> + AsMut<[LinkMonitor]>> Monitor<S> {
    /// Creates a monitor in the memory that the caller lends, one record for each link.
    pub fn new(threshold: Threshold, links: S) -> Self {
        Monitor { threshold, links }
    }

    /// Makes a probe that leaves at time `now`. One is under way at a time: the reply to the one before is late from now
    /// on.
    ///
    /// # Errors
    /// `NoSuchLink`.
    pub fn probe(&mut self, link: usize, now: u64) -> Result<Probe, AdaptiveError> {
        let slot = self.slot(link)?;
        slot.probes = slot.probes.wrapping_add(1);
        slot.left = Some(now);
        let number = slot.probes.into();
        Ok(Probe { number })
    }

    /// Takes the reply that came at time `now`. Returns the measured latency in ns, of one way.
    ///
    /// # Errors
    /// `NoSuchLink`; `LateReply`, `ImpossibleTimes`: the reply is dropped.
    pub fn reply(
        &mut self,
        link: usize,
        reply: &ProbeReply,
        now: u64,
    ) -> Result<u64, AdaptiveError> {
        let slot = self.slot(link)?;
        let left = slot.left.filter(|_| slot.probes == reply.number.get());
        let left = left.ok_or(AdaptiveError::LateReply)?;
        let away = now.checked_sub(left);
        let there = reply.sent.get().checked_sub(reply.received.get());
        let latency = away
            .zip(there)
            .and_then(|(away, there)| away.checked_sub(there));
        let latency = latency.ok_or(AdaptiveError::ImpossibleTimes)? / 2;
        slot.left = None;
        slot.samples.add(latency);
        Ok(latency)
    }

    /// Takes a latency in ns that was measured otherwise.
    ///
    /// # Errors
    /// `NoSuchLink`.
    pub fn sample(&mut self, link: usize, latency: u64) -> Result<(), AdaptiveError> {
        self.slot(link)?.samples.add(latency);
        Ok(())
    }

    /// Returns what the next latency of a link will be; `None` without samples.
    pub fn forecast(&self, link: usize) -> Option<Forecast> {
        self.links.as_ref().get(link)?.samples.forecast()
    }

    /// Returns what one forecaster says; `None` without samples.
    pub fn forecast_by(&self, link: usize, by: Forecaster) -> Option<u64> {
        let slot = self.links.as_ref().get(link)?;
        slot.samples.forecast().map(|_| slot.samples.by(by))
    }

    /// Returns the latency that the tree is to use from now on if it differs from the one in use by the threshold. The
    /// first forecast of a link is always one.
    pub fn change(&mut self, link: usize) -> Option<u64> {
        let Threshold {
            percent,
            hysteresis,
        } = self.threshold;
        let latency = self.forecast(link)?.latency;
        let slot = self.links.as_mut().get_mut(link)?;
        if let Some(in_use) = slot.in_use {
            let moves = latency.cmp(&in_use);
            let back = moves == slot.moved.reverse();
            let percent = u128::from(percent) + if back { hysteresis.into() } else { 0 };
            let least = u128::from(in_use) * percent;
            if moves == Ordering::Equal || u128::from(latency.abs_diff(in_use)) * 100 < least {
                return None;
            }
            slot.moved = moves;
        }
        slot.in_use = Some(latency);
        Some(latency)
    }

    /// Returns the latency that the tree uses, as far as this end has measured it.
    pub fn in_use(&self, link: usize) -> Option<u64> {
        self.links.as_ref().get(link)?.in_use
    }

    fn slot(&mut self, link: usize) -> Result<&mut LinkMonitor, AdaptiveError> {
        let slots = self.links.as_mut();
        slots.get_mut(link).ok_or(AdaptiveError::NoSuchLink(link))
    }
}
