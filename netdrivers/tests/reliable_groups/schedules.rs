//! Thousands of schedules, each from a seed: messages of all sizes to one to seven receivers over a random plan of
//! faults; receivers that do nothing for a while, post late, or crash.

use crate::cast::{Cast, bytes};
use pombo_netdrivers::fault::{Faults, SeededRng};
use pombo_testing::DeviceLimits;
use pombo_transport::multicast::{Repair, SenderConfig};
use pombo_transport::reliable::Timing;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

const USUAL: u64 = 10_000;

fn run(seed: u64, loud: bool) -> u64 {
    let _told = Told(seed, "schedule");
    let mut rng = SeededRng::new(seed);
    let receivers = 1 + rng.below(7) as u16;
    let limits = DeviceLimits {
        mtu: 256 + rng.index(1500),
        tx_queue: 1 + rng.index(40),
        rx_queue: 4 + rng.index(300),
    };
    let faults = Faults::random(&mut rng, receivers + 1, 300_000, 5_000_000);
    let timing = Timing {
        overtakers: 1 + rng.below(4) as u16,
        ..Timing::default()
    };
    let config = SenderConfig {
        repair: match rng.below(6) {
            0 => Repair::Plain,
            1 => Repair::Bursts {
                packets: 1 + rng.below(300) as u16,
                asked: rng.index(2) == 0,
            },
            _ => Repair::Coded,
        },
        window: 1 + rng.below(256) as u16,
        ask_after: 1 + rng.below(40) as u16,
    };
    if loud {
        eprintln!("{receivers} receivers, {limits:?}, {timing:?}\n{config:?}\n{faults:?}");
    }
    let mut cast = Cast::new(receivers, limits, faults, seed, config, timing);
    let whole = bytes(40_000, seed);
    let mut done = 0;
    for _ in 0..1 + rng.index(4) {
        let most = [1, 20, 1200, 5000, 40_000][rng.index(5)];
        let len = rng.index(most);
        if rng.index(8) == 0 {
            cast.crash(rng.index(receivers.into()), rng.below(3_000_000));
        }
        if rng.index(3) == 0 {
            cast.sleep(rng.index(receivers.into()), rng.below(30_000_000));
        }
        let start = rng.index(whole.len() - len + 1);
        done += cast.send(&whole[start..start + len]);
    }
    done
}

/// Says which schedule it was when it fails.
pub(crate) struct Told(pub(crate) u64, pub(crate) &'static str);

impl Drop for Told {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!(
                "schedule {0} fails; again: POMBO_SCHEDULE={0} cargo test -p pombo-netdrivers --test reliable_groups {1}",
                self.0, self.1
            );
        }
    }
}

pub(crate) fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    let number = value.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable}={value}: give a number")))
}

/// As many schedules as usual, or as the environment says.
pub(crate) fn run_all(usual: u64, run: impl Fn(u64) + Sync) {
    let schedules = number("POMBO_SCHEDULES").unwrap_or(usual);
    let next = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = Some(next.fetch_add(1, Relaxed)).filter(|n| *n < schedules) {
                    run(seed);
                }
            });
        }
    });
}

#[test]
fn no_schedule_fails() {
    match number("POMBO_SCHEDULE") {
        Some(seed) => assert!(run(seed, true) < u64::MAX),
        None => run_all(USUAL, |seed| {
            run(seed, false);
        }),
    }
}

/// A seed is a schedule.
#[test]
fn a_schedule_repeats_exactly() {
    for seed in 0..50 {
        assert_eq!(run(seed, false), run(seed, false), "schedule {seed}");
    }
}
