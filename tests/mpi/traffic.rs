//! Tests heavy traffic, which must not deadlock, lose or reorder messages, with the smallest pool and the default one.

use crate::programs::{SINGLE_COPY, SMALLEST, ok, run};

/// Ten thousand sends of tag 1 and one of tag 2 are received in the opposite order.
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

/// A rank sleeps while the other ranks send.
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

/// Tests matching between processes against a plan that every rank computes: order per sender, wildcards, probes,
/// contents.
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

/// Short sends to each other complete before either rank receives, by whatever call they are waited for.
#[test]
fn both_send_first() {
    for way in ["send", "wait", "any", "test", "some", "status", "all"] {
        for variables in [&[][..], &[("POMBO_NET", "udp")], &SMALLEST] {
            ok(2, "both_send", &[way, "300", "516"], variables);
            ok(3, "both_send", &[way, "150", "8192"], variables);
        }
    }
}

/// Two ranks whose messages have all room and credit still exchange those of collective calls.
#[test]
fn collective_calls_without_credit() {
    for variables in [&[][..], &SMALLEST, &[("POMBO_SEND_BUFFER_BYTES", "0")]] {
        ok(2, "no_credit", &["3000"], variables);
    }
}

/// The programs send as much as other libraries buffer.
#[test]
fn both_send_a_lot() {
    ok(2, "both_send", &["send", "10000", "4000"], &[]);
}

/// At the limit of memory for copies a send waits, and the user is told why; no message is lost.
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
