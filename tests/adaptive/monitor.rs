//! Measured latencies, forecasts and thresholds.

use crate::graph::Random;
use pombo_collective::adaptive::{
    AdaptiveError, Forecaster, LinkMonitor, Monitor, ProbeReply, Threshold, WINDOW,
};
use zerocopy::{FromZeros, IntoBytes};

const EVERY: Threshold = Threshold {
    percent: 0,
    hysteresis: 0,
};

fn monitor(threshold: Threshold) -> Monitor<[LinkMonitor; 1]> {
    Monitor::new(threshold, [LinkMonitor::new()])
}

/// A neighbour with another clock computes for a second before it answers.
#[test]
fn busy_neighbour_is_no_slow_link() {
    let mut monitor = monitor(EVERY);
    let probe = monitor.probe(0, 1_000).unwrap();
    let reply = probe.answer(77, 77 + 1_000_000_000);
    assert_eq!(
        monitor.reply(0, &reply, 1_000 + 1_000_000_000 + 600),
        Ok(300)
    );
    assert_eq!(monitor.change(0), Some(300));
    assert_eq!(monitor.in_use(0), Some(300));
}

#[test]
fn late_double_and_impossible_replies_are_dropped() {
    let mut monitor = monitor(EVERY);
    let late = monitor.probe(0, 0).unwrap().answer(5, 6);
    let probe = monitor.probe(0, 10).unwrap();
    assert_eq!(monitor.reply(0, &late, 20), Err(AdaptiveError::LateReply));
    for (received, sent, now) in [(0, 11, 20), (6, 5, 20), (5, 5, 9)] {
        let reply = monitor.reply(0, &probe.answer(received, sent), now);
        assert_eq!(reply, Err(AdaptiveError::ImpossibleTimes));
    }
    assert_eq!(monitor.forecast(0), None);
    assert_eq!(monitor.reply(0, &probe.answer(1, 3), 20), Ok(4));
    assert_eq!(
        monitor.reply(0, &probe.answer(1, 3), 20),
        Err(AdaptiveError::LateReply)
    );
    assert_eq!(monitor.probe(1, 0), Err(AdaptiveError::NoSuchLink(1)));
    let mut wild = ProbeReply::new_zeroed();
    let mut random = Random::new(1);
    for _ in 0..10_000 {
        monitor.probe(0, random.next()).unwrap();
        wild.as_mut_bytes().fill_with(|| random.next() as u8);
        let _ = monitor.reply(0, &wild, random.next());
    }
}

/// The simplest forms of the forecasters, from all samples.
fn model(by: Forecaster, samples: &[u64]) -> u64 {
    let recent = &samples[samples.len().saturating_sub(WINDOW)..];
    let mean =
        |of: &[u64]| (of.iter().map(|&v| u128::from(v)).sum::<u128>() / of.len() as u128) as u64;
    match by {
        Forecaster::Last => *samples.last().unwrap(),
        Forecaster::RunningMean => mean(samples),
        Forecaster::WindowMean => mean(recent),
        Forecaster::WindowMedian => {
            let mut recent = recent.to_vec();
            recent.sort_unstable();
            recent[(recent.len() - 1) / 2]
        }
        Forecaster::Exponential => samples
            .iter()
            .copied()
            .reduce(|old, new| {
                if new > old {
                    old + (new - old) / 4
                } else {
                    old - (old - new) / 4
                }
            })
            .unwrap(),
    }
}

#[test]
fn least_error_so_far_wins() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut monitor = monitor(EVERY);
        let mut samples: Vec<u64> = Vec::new();
        let mut errors = [0_u128; 5];
        let scale = [3, 1_000, u64::MAX][random.below(3)];
        for _ in 0..50 {
            let sample = random.next() % scale;
            if !samples.is_empty() {
                for (by, error) in Forecaster::ALL.into_iter().zip(&mut errors) {
                    *error += u128::from(model(by, &samples).abs_diff(sample));
                }
            }
            samples.push(sample);
            monitor.sample(0, sample).unwrap();
            let forecast = monitor.forecast(0).unwrap();
            let least = *errors.iter().min().unwrap();
            assert_eq!(errors[forecast.by as usize], least, "seed {seed}");
            assert_eq!(
                forecast.latency,
                model(forecast.by, &samples),
                "seed {seed}"
            );
            for by in Forecaster::ALL {
                assert_eq!(
                    monitor.forecast_by(0, by),
                    Some(model(by, &samples)),
                    "seed {seed}"
                );
            }
        }
    }
}

/// Each forecaster is the best of the five for some series.
#[test]
fn every_forecaster_wins_somewhere() {
    let mut random = Random::new(3);
    let mut series = |of: &mut dyn FnMut(u64, u64) -> u64| -> String {
        let mut monitor = monitor(EVERY);
        (0..400).for_each(|time| monitor.sample(0, of(time, random.next())).unwrap());
        monitor.forecast(0).unwrap().by.to_string()
    };
    assert_eq!(series(&mut |time, _| time), "last value");
    assert_eq!(
        series(&mut |_, noise| 1_000 + noise % 1_000),
        "running mean"
    );
    assert_eq!(
        series(&mut |time, noise| if noise % 10 == 0 { 100_000 } else { 500 + time }),
        "window median"
    );
    let winners: Vec<String> = (0..200)
        .map(|length| {
            series(&mut |time, noise| (time / (length + 2) * 7_919) % 3_001 + noise % 4_000)
        })
        .collect();
    assert!(
        winners.iter().any(|winner| winner == "window mean"),
        "{winners:?}"
    );
    assert!(
        winners.iter().any(|winner| winner == "exponential"),
        "{winners:?}"
    );
}

/// Every value stays for a while, so the last one is the best forecast.
fn changes(threshold: Threshold, samples: &[u64]) -> Vec<Option<u64>> {
    let mut monitor = monitor(threshold);
    let series = samples.iter().map(|&sample| {
        (0..20).for_each(|_| monitor.sample(0, sample).unwrap());
        assert_eq!(monitor.forecast(0).unwrap().latency, sample);
        monitor.change(0)
    });
    series.collect()
}

#[test]
fn threshold_compares_with_the_value_in_use() {
    let of = |percent, hysteresis| Threshold {
        percent,
        hysteresis,
    };
    let expected = [Some(1_000), None, None, Some(1_100), None, Some(990)];
    let seen = changes(of(10, 0), &[1_000, 1_000, 1_099, 1_100, 991, 990]);
    assert_eq!(seen, expected);
    // Small steps in one direction add up.
    let seen = changes(of(10, 0), &[1_000, 1_060, 1_120, 1_180]);
    assert_eq!(seen, [Some(1_000), None, Some(1_120), None]);
    // The way back takes 15 per cent, the way on takes 10.
    let seen = changes(
        of(10, 5),
        &[1_000, 1_100, 980, 936, 935, 1_073, 1_076, 1_200],
    );
    let expected = [
        Some(1_000),
        Some(1_100),
        None,
        None,
        Some(935),
        None,
        Some(1_076),
        Some(1_200),
    ];
    assert_eq!(seen, expected);
    let seen = changes(of(0, 0), &[0, 0, 1, 1, u64::MAX, 0]);
    assert_eq!(
        seen,
        [Some(0), None, Some(1), None, Some(u64::MAX), Some(0)]
    );
}
