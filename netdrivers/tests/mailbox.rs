//! Mailboxes of threads and processes: names, classes and tokens, order, the large protocol, time-outs, errors.
#![cfg(all(feature = "shm", target_os = "linux"))]

#[path = "mailbox/classes.rs"]
mod classes;
#[path = "mailbox/large.rs"]
mod large;
#[path = "mailbox/names.rs"]
mod names;
#[path = "mailbox/threads.rs"]
mod threads;
#[path = "mailbox/tokens.rs"]
mod tokens;

use pombo_kernel::channel::Channel;
use pombo_netdrivers::Loopback;
use pombo_netdrivers::mailbox::{Mailbox, Mailboxes, Message, SizeClasses};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Longer than anything takes: beyond it a test hangs.
const LONG: Duration = Duration::from_secs(60);
/// As short as a time-out that is to pass may be.
const SHORT: Duration = Duration::from_millis(20);

type Threads = Mailboxes<Loopback>;

/// Returns the mailboxes of some processes, which are one here.
fn world(processes: u16, classes: SizeClasses) -> Vec<Threads> {
    let channels = Loopback::world(processes).into_iter();
    channels
        .map(|channel| Mailboxes::new(channel, classes).expect("it fits"))
        .collect()
}

/// Runs `f` while the other processes make progress.
fn served<L: Channel + Send, R>(others: &[Mailboxes<L>], f: impl FnOnce() -> R) -> R {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for other in others {
            let is_over = || over.load(Ordering::Acquire);
            scope.spawn(move || other.serve(is_over).expect("the channel works"));
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
        over.store(true, Ordering::Release);
        others.iter().for_each(Mailboxes::wake);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Returns a message with one byte string of that length: 9 bytes more are packed.
fn message(bytes: &[u8]) -> Message {
    let mut message = Message::new();
    message.pack(bytes);
    message
}

fn retrieve(mailbox: &Mailbox<Loopback>) -> Message {
    let mut message = Message::new();
    let retrieved = mailbox.retrieve_timeout(&mut message, LONG);
    retrieved.expect("a message");
    message
}
