//! Bandwidth under loss, in per cent of the payload ceiling.

use crate::bound;
use crate::cast::{Cast, bytes, ideal};
use pombo_netdrivers::fault::{Faults, Rate};
use pombo_testing::DeviceLimits;
use pombo_transport::multicast::{Repair, SenderConfig};
use pombo_transport::reliable::Timing;

const RECEIVERS: u16 = 7;
/// What the device takes is short, as a sender's queue should be: repairs stand in it too.
const LIMITS: DeviceLimits = DeviceLimits {
    mtu: 1500,
    tx_queue: 4,
    rx_queue: 1024,
};
/// One path: frames do not overtake each other.
const TIMING: Timing = Timing {
    report_after: 200_000,
    least: 2_000_000,
    most: 200_000_000,
    first: 10_000_000,
    overtakers: 1,
};

/// Per cent of the ceiling.
fn measure(len: usize, loss: Rate, repair: Repair) -> f64 {
    let config = SenderConfig {
        repair,
        ..SenderConfig::default()
    };
    let faults = Faults::NONE.loss(loss);
    let mut cast = Cast::new(RECEIVERS, LIMITS, faults, 5, config, TIMING);
    let time = cast.send(&bytes(len, 1));
    if std::env::var("POMBO_SHOW").is_ok() {
        let (source, sinks) = cast.counts();
        eprintln!("{source:?}\n{:?}", sinks[0]);
    }
    100.0 * ideal(len, cast.source.chunk()) / time as f64
}

#[test]
fn broadcast_reaches_its_goals() {
    let (long, short) = (32 << 20, 2 << 20);
    eprintln!("loss %  | coded (goal) any code | repeating, best | bursts 64, 256, by timer");
    for (ppm, goal) in [
        (0, 99.0),
        (100, 99.0),
        (10_000, 98.0),
        (50_000, 92.5),
        (200_000, 75.0),
    ] {
        let loss = Rate::ppm(ppm);
        let coded = measure(long, loss, Repair::Coded);
        let plain = measure(4 * short, loss, Repair::Plain);
        let burst = |packets, asked| measure(short, loss, Repair::Bursts { packets, asked });
        eprintln!(
            "{:7} | {coded:5.1} ({goal:4}) {:5.1}    | {plain:5.1}     {:5.1} | {:5.1} {:5.1} {:5.1}",
            f64::from(ppm) / 1e4,
            100.0 * bound::coded(256, RECEIVERS.into(), loss),
            100.0 * bound::repeated(RECEIVERS.into(), loss),
            burst(64, true),
            burst(256, true),
            burst(256, false),
        );
        assert!(coded >= goal, "{coded} of {goal} at {ppm} ppm");
    }
}

/// Everything at once: what arrives is what was sent.
#[test]
fn damage_is_noticed_and_repaired() {
    let rate = Rate::percent;
    let faults = Faults::NONE.loss(rate(5)).duplicate(rate(2));
    let faults = faults.reorder(rate(2), 100_000).corrupt(rate(1));
    let timing = Timing::default();
    let mut cast = Cast::new(
        RECEIVERS,
        LIMITS,
        faults,
        5,
        SenderConfig::default(),
        timing,
    );
    for (seed, len) in [(1, 4 << 20), (2, 1 << 20), (3, 0), (4, 30), (5, 3 << 20)] {
        cast.send(&bytes(len, seed));
    }
    let (source, sinks) = cast.counts();
    assert!(source.corrupt > 0 && source.repairs > 0, "{source:?}");
    assert!(
        sinks
            .iter()
            .all(|sink| sink.corrupt > 0 && sink.decoded > 0)
    );
}
