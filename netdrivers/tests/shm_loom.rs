//! Every interleaving, within bounds, of the two sides of a ring, of a mail line beside it, of offers and their answers, of
//! the boards of a group, and of falling asleep and waking: the driver's own source, with a model checker's atomics in place
//! of the machine's.
//!
//! The model has real fences on both sides of an event count. The driver prefers `membarrier`, which is a real fence in every
//! process for the sleeper's, so it allows nothing more.
#![cfg(all(feature = "shm", target_os = "linux"))]

extern crate alloc;

use pombo_netdrivers::tuning;

#[allow(dead_code, reason = "a test uses less than the driver")]
#[path = "../src/shm/collective/board.rs"]
mod board;
#[allow(dead_code, reason = "a test uses less than the driver")]
#[path = "../src/shm/event_count.rs"]
mod event_count;
#[allow(dead_code, reason = "a test uses less than the driver")]
#[path = "../src/shm/mail.rs"]
mod mail;
#[path = "../src/shm/collective/passed_blocks.rs"]
mod passed_blocks;
#[allow(dead_code, reason = "a test uses less than the driver")]
#[path = "../src/shm/read_acks.rs"]
mod read_acks;
#[allow(dead_code, reason = "a test uses less than the driver")]
#[path = "../src/shm/ring.rs"]
mod ring;

/// Stands in for the driver's.
mod sync {
    pub(super) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
}

#[path = "shm_loom/boards.rs"]
mod boards;
#[path = "shm_loom/both.rs"]
mod both;
#[path = "shm_loom/event_counts.rs"]
mod event_counts;
#[path = "shm_loom/mails.rs"]
mod mails;
#[path = "shm_loom/memory.rs"]
mod memory;
#[path = "shm_loom/rings.rs"]
mod rings;
#[path = "shm_loom/single_copy.rs"]
mod single_copy;

/// Checks a model. Between two threads few bugs need more than so many switches at bad moments.
fn check(switches: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    builder.max_branches = 20_000;
    builder.check(model);
}
