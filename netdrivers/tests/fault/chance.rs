//! Chance is the same everywhere and for ever, and it is chance.

use pombo_netdrivers::fault::{Rate, SeededRng};

/// If this fails every seed that anybody has written down means something else.
#[test]
fn a_seed_means_the_same_for_ever() {
    let mut rng = SeededRng::new(42);
    let numbers = [0; 6].map(|_| rng.below(1000));
    assert_eq!(numbers, PINNED);
    let mut other = SeededRng::stream(42, 1);
    assert_ne!([0; 6].map(|_| other.below(1000)), numbers);
}

const PINNED: [u64; 6] = [583, 937, 706, 275, 188, 318];

/// Small seeds one after the other, and streams of one seed, are as good as any.
#[test]
fn seeds_side_by_side_are_independent() {
    let rolls = |rng: &mut SeededRng| [0; 3].map(|_| rng.chance(Rate::percent(30)));
    let by_seed = (0..20_000).map(|seed| rolls(&mut SeededRng::new(seed)));
    let by_stream = (0..20_000).map(|number| rolls(&mut SeededRng::stream(7, number)));
    for sample in [by_seed.collect::<Vec<_>>(), by_stream.collect()] {
        let mut counts = [0_u32; 8];
        for [a, b, c] in sample {
            counts[usize::from(a) * 4 + usize::from(b) * 2 + usize::from(c)] += 1;
        }
        for (combination, count) in counts.into_iter().enumerate() {
            let hits = combination.count_ones();
            let expected = 20_000.0 * 0.3_f64.powi(hits as i32) * 0.7_f64.powi(3 - hits as i32);
            let error = (f64::from(count) - expected).abs() / expected.sqrt();
            assert!(error < 5.0, "{combination:03b}: {count} for {expected}");
        }
    }
}

#[test]
fn rates_and_ranges_have_ends() {
    let mut rng = SeededRng::new(1);
    for _ in 0..1000 {
        assert!(!rng.chance(Rate::NEVER));
        assert!(rng.chance(Rate::ALWAYS));
        assert!(rng.chance(Rate::percent(1000)));
        assert_eq!((rng.below(0), rng.below(1)), (0, 0));
        assert!(rng.index(3) < 3);
    }
    assert_eq!(Rate::percent(2), Rate::ppm(20_000));
    let rare = (0..1_000_000)
        .filter(|_| rng.chance(Rate::ppm(100)))
        .count();
    assert!((50..200).contains(&rare), "{rare} of a million at 100 ppm");
}
