//! The atomics of the shared memory driver, in one place so that a model checker can stand in for them.

pub(super) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
