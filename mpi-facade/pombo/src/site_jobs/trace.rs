//! Links that change, from a seed. Only `traces` uses it.
//!
//! Every link between two hosts is good or congested. A good one takes 0.3 to 1 ms, a congested one 4 to 8 ms, drawn
//! anew at each change. At the beginning a link is congested with the probability of a third; a state lasts between 0.2
//! and 1.8 times its mean, evenly: 3 s congested, 6 s good. So at any time a third of the links is congested.

use pombo_netdrivers::fault::SeededRng;

use super::placement::Change;

/// The hosts of a trace.
pub(super) const HOSTS: usize = 6;
/// The sites of the hosts, for trees that know them.
pub(super) const SITE_OF: [usize; HOSTS] = [0, 0, 1, 1, 2, 2];
/// The time that traces cover, in ns: longer than a job takes.
const END: u64 = 60_000_000_000;
const MS: u64 = 1_000_000;
/// The least latency of a congested link, in ns.
const CONGESTED: u64 = 4 * MS;

/// Returns the trace of a seed.
pub(super) fn of(seed: u64) -> Vec<Change> {
    let mut changes = Vec::new();
    for one in 0..HOSTS {
        for other in one + 1..HOSTS {
            let mut rng = SeededRng::stream(seed, (one * HOSTS + other) as u64);
            let mut is_congested = rng.below(3) == 0;
            let mut time = 0;
            // What is left of the first state.
            let mut part = rng.below(1000);
            while time < END {
                let (latency, mean) = match is_congested {
                    true => (CONGESTED + rng.below(4 * MS), 3000 * MS),
                    false => (3 * MS / 10 + rng.below(7 * MS / 10), 6000 * MS),
                };
                changes.push(Change {
                    time,
                    hosts: (one, other),
                    latency,
                });
                let lasts = mean / 5 + rng.below(mean * 8 / 5);
                time += lasts * part / 1000 + 1;
                (part, is_congested) = (1000, !is_congested);
            }
        }
    }
    changes.sort_by_key(|change| change.time);
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_links_is_congested() {
        let (mut congested, mut all) = (0_u64, 0_u64);
        for seed in 1..=20 {
            let changes = of(seed);
            assert!(changes.is_sorted_by_key(|change| change.time));
            for one in 0..HOSTS {
                for other in one + 1..HOSTS {
                    let link: Vec<_> = changes
                        .iter()
                        .filter(|it| it.hosts == (one, other))
                        .collect();
                    assert_eq!(link[0].time, 0);
                    for pair in link.windows(2) {
                        let lasts = pair[1].time - pair[0].time;
                        all += lasts;
                        let slow = pair[0].latency >= CONGESTED;
                        congested += if slow { lasts } else { 0 };
                        assert_ne!(slow, pair[1].latency >= CONGESTED);
                    }
                }
            }
        }
        let share = congested as f64 / all as f64;
        assert!((0.30..0.37).contains(&share), "{share}");
    }
}
