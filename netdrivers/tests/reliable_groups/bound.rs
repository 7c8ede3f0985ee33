//! How fast any protocol could be: the best erasure code, and the best that only repeats, over windows of packets
//! that are each finished before the next.

use pombo_netdrivers::fault::{Rate, SeededRng};

const WINDOWS: u64 = 400;

/// The share of the payload ceiling that the best code reaches: every receiver needs any `window` of the frames.
pub(crate) fn coded(window: u32, receivers: usize, loss: Rate) -> f64 {
    let mut rng = SeededRng::new(11);
    let mut sent = 0;
    for _ in 0..WINDOWS {
        let needs = |_| {
            let (mut frames, mut got) = (0, 0);
            while got < window {
                frames += 1;
                got += u32::from(!rng.chance(loss));
            }
            frames
        };
        sent += (0..receivers).map(needs).max().unwrap_or(0);
    }
    (WINDOWS * u64::from(window)) as f64 / f64::from(sent)
}

/// The same where every packet is repeated until all receivers have it.
pub(crate) fn repeated(receivers: usize, loss: Rate) -> f64 {
    let mut rng = SeededRng::new(12);
    let (packets, mut sent) = (50_000, 0);
    for _ in 0..packets {
        let mut lacking = receivers;
        while lacking > 0 {
            sent += 1;
            lacking = (0..lacking).filter(|_| rng.chance(loss)).count();
        }
    }
    f64::from(packets) / f64::from(sent)
}
