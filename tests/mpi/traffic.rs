//! Much traffic: what must not deadlock, lose or reorder, with the smallest pool and with the usual one.

use crate::programs::{SINGLE_COPY, SMALLEST, ok, run};

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
    ok(2, "big", &[], &SINGLE_COPY);
}

/// Matching over processes against a plan that every rank computes: order per sender, wildcards, probes, contents.
#[test]
fn random_traffic() {
    for seed in 1..=12 {
        let seed = seed.to_string();
        ok(2, "random", &[&seed], &[]);
        ok(4, "random", &[&seed], &SMALLEST);
        ok(8, "random", &[&seed], &[]);
        ok(4, "random", &[&seed], &SINGLE_COPY);
    }
}

/// Short sends to each other are over before anybody receives, whatever they are waited for by.
#[test]
fn both_send_first() {
    for way in ["send", "wait", "any", "test", "some", "status", "all"] {
        for variables in [&[][..], &[("POMBO_NET", "udp")], &SMALLEST] {
            ok(2, "both_send", &[way, "300", "516"], variables);
            ok(3, "both_send", &[way, "150", "8192"], variables);
        }
    }
}

/// As many as programs send that other libraries carry.
#[test]
fn both_send_a_lot() {
    ok(2, "both_send", &["send", "10000", "4000"], &[]);
}

/// Where copies may take no room, a send waits, and the user hears why; nothing is lost.
#[test]
fn sends_wait_beyond_the_room_for_copies() {
    let none = [("POMBO_SEND_BUFFER_BYTES", "0")];
    ok(2, "flood", &["sleep", "exact"], &none);
    ok(2, "both_send", &["send", "100", "516", "1"], &none);
    let few = [("POMBO_SEND_BUFFER_BYTES", "100000")];
    let outcome = run(2, "one_sends", &["1000", "4000"], &few);
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "ok one_sends\n"));
    let said = "rank 0 waits in a send until its receive is posted";
    assert_eq!(outcome.err.matches(said).count(), 1, "{}", outcome.err);
}
