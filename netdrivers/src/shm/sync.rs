//! The atomics of the shared memory driver, in one place so that a model checker can replace them.

pub(super) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
