//! Much traffic: what must not deadlock, lose or reorder, with the smallest pool and with the usual one.

use crate::programs::{ONE_COPY, SMALLEST, ok};

/// Ten thousand sends of tag 1 and one of tag 2, received in the other order.
#[test]
fn the_last_message_first() {
    for size in ["small", "large"] {
        for way in ["exact", "wildcard"] {
            for ranks in [1, 2] {
                ok(ranks, "flood", &[size, way], &SMALLEST);
                ok(ranks, "flood", &[size, way], &[]);
            }
        }
    }
}

/// A rank sleeps while the others send.
#[test]
fn a_sleeping_rank() {
    for variables in [&SMALLEST[..], &[]] {
        ok(4, "flood", &["sleep", "exact"], variables);
        ok(4, "flood", &["sleep", "wildcard"], variables);
    }
}

#[test]
fn a_message_of_one_gibibyte() {
    ok(2, "big", &[], &[]);
    ok(2, "big", &[], &ONE_COPY);
}

/// Matching over processes against a plan that every rank computes: order per sender, wildcards, probes, contents.
#[test]
fn random_traffic() {
    for seed in 1..=12 {
        let seed = seed.to_string();
        ok(2, "random", &[&seed], &[]);
        ok(4, "random", &[&seed], &SMALLEST);
        ok(8, "random", &[&seed], &[]);
        ok(4, "random", &[&seed], &ONE_COPY);
    }
}
