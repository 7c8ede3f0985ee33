//! Forecasts of a link's latency. Source: Wolski, Spring and Hayes, the Network Weather Service, 1999.
//!
//! Each forecaster is compared with every sample before it learns from it; the one of the least mean error so far is
//! believed. All arithmetic is on whole ns.

use pombo_kernel::text::{ToText, WriteText};

/// Number of the last samples that the windowed forecasters see.
pub const WINDOW: usize = 15;

/// The part of the difference to the last sample that the exponential forecaster takes over: 1 / 4.
const SMOOTHING: u64 = 4;

/// A way to forecast the next sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forecaster {
    /// The last sample.
    Last,
    /// The mean of all samples.
    RunningMean,
    /// The mean of the last [`WINDOW`] samples.
    WindowMean,
    /// The median of the last [`WINDOW`] samples, the lower one of two.
    WindowMedian,
    /// The mean in which an older sample counts exponentially less.
    Exponential,
}

impl Forecaster {
    /// Every forecaster; of two with the same error the first one is believed.
    pub const ALL: [Forecaster; 5] = [
        Forecaster::Last,
        Forecaster::RunningMean,
        Forecaster::WindowMean,
        Forecaster::WindowMedian,
        Forecaster::Exponential,
    ];
}

pombo_kernel::text::display_as_text! { Forecaster }

impl ToText for Forecaster {
    fn put_text(&self, out: &mut dyn WriteText) {
        out.write_text(match self {
            Forecaster::Last => "last value",
            Forecaster::RunningMean => "running mean",
            Forecaster::WindowMean => "window mean",
            Forecaster::WindowMedian => "window median",
            Forecaster::Exponential => "exponential",
        })
    }
}

/// What a link's latency will be, and who says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forecast {
    /// The latency in ns.
    pub latency: u64,
    /// The forecaster of the least mean error so far.
    pub by: Forecaster,
}

/// The samples of one link, in ns, as far as the forecasters need them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Samples {
    window: [u64; WINDOW],
    number: u64,
    sum: u128,
    exponential: u64,
    /// The sum of the absolute errors of each forecaster.
    errors: [u128; Forecaster::ALL.len()],
}

impl Samples {
    pub(super) const NONE: Samples = Samples {
        window: [0; WINDOW],
        number: 0,
        sum: 0,
        exponential: 0,
        errors: [0; Forecaster::ALL.len()],
    };

    pub(super) fn add(&mut self, sample: u64) {
        if self.number > 0 {
            for by in Forecaster::ALL {
                self.errors[by as usize] += u128::from(self.by(by).abs_diff(sample));
            }
            let step = self.exponential.abs_diff(sample) / SMOOTHING;
            self.exponential = if sample > self.exponential {
                self.exponential + step
            } else {
                self.exponential - step
            };
        } else {
            self.exponential = sample;
        }
        self.window[(self.number % WINDOW as u64) as usize] = sample;
        self.sum += u128::from(sample);
        self.number += 1;
    }

    /// Returns the forecast of the best forecaster; `None` without samples.
    pub(super) fn forecast(&self) -> Option<Forecast> {
        // All have seen the same samples: the least sum is the least mean.
        let by = Forecaster::ALL
            .into_iter()
            .min_by_key(|&by| self.errors[by as usize])?;
        let latency = self.by(by);
        (self.number > 0).then_some(Forecast { latency, by })
    }

    /// Returns the forecast of one forecaster; 0 without samples.
    pub(super) fn by(&self, by: Forecaster) -> u64 {
        let seen = self.number.min(WINDOW as u64) as usize;
        let mut window = self.window;
        let Some(recent) = window.get_mut(..seen).filter(|recent| !recent.is_empty()) else {
            return 0;
        };
        // A mean of values of 64 bits has 64 bits.
        match by {
            Forecaster::Last => self.window[((self.number - 1) % WINDOW as u64) as usize],
            Forecaster::RunningMean => (self.sum / u128::from(self.number)) as u64,
            Forecaster::WindowMean => {
                let sum: u128 = recent.iter().copied().map(u128::from).sum();
                (sum / recent.len() as u128) as u64
            }
            Forecaster::WindowMedian => {
                recent.sort_unstable();
                recent[(recent.len() - 1) / 2]
            }
            Forecaster::Exponential => self.exponential,
        }
    }
}
