//! Runs the ranks of a conformance test as threads, with a hang limit.

use core::time::Duration;
use pombo_kernel::channel::Channel;
use std::{panic, sync::mpsc, thread};

/// The hang limit of a test, far above the seconds that a slow machine needs.
pub const HANG: Duration = Duration::from_secs(180);

/// Runs `body` as one thread per channel. Panics if one of them panics or hangs.
pub fn threads<C: Channel + Send>(channels: Vec<C>, body: fn(C)) {
    let ranks = channels.len();
    let (end, ends) = mpsc::channel();
    for channel in channels {
        let end = end.clone();
        thread::spawn(move || {
            let ran = panic::catch_unwind(panic::AssertUnwindSafe(|| body(channel)));
            // The receiver is gone if another rank has failed already.
            let _ = end.send(ran.is_ok());
        });
    }
    for _ in 0..ranks {
        match ends.recv_timeout(HANG) {
            Ok(ended_well) => assert!(ended_well, "a rank failed: its message stands above"),
            Err(_) => panic!("a rank hangs"),
        }
    }
}
