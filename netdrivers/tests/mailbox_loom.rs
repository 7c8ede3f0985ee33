//! Every interleaving, within bounds, of threads that hand the channel over to each other: the module's own source, with a
//! model checker's atomics, lock and wake-ups in place of the machine's.
#![cfg(all(feature = "shm", target_os = "linux"))]

extern crate alloc;

#[allow(dead_code, reason = "the test does not use all of it")]
#[path = "../src/mailbox/hand_over.rs"]
mod hand_over;

use hand_over::{Driven, HandOver};
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// Stands in for the module of that name.
mod sync {
    use super::{Arc, Condvar, Mutex};

    pub(super) use loom::sync::atomic::{AtomicU32, Ordering};
    pub(super) use loom::thread::{yield_now, yield_now as stand_by};

    pub(super) fn may_sleep(_idle: u32) -> bool {
        true
    }

    pub(super) fn is_over(_deadline: Option<u64>) -> bool {
        false
    }

    /// A lock. The checker's own would keep a thread waiting that only tries.
    pub(super) struct Lock<T> {
        is_taken: Mutex<bool>,
        freed: Condvar,
        value: Mutex<T>,
    }

    impl<T> Lock<T> {
        pub(super) fn new(value: T) -> Self {
            Lock {
                is_taken: Mutex::new(false),
                freed: Condvar::new(),
                value: Mutex::new(value),
            }
        }

        pub(super) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
            let mut is_taken = self.is_taken.lock().expect("no thread panics");
            while *is_taken {
                is_taken = self.freed.wait(is_taken).expect("no thread panics");
            }
            *is_taken = true;
            drop(is_taken);
            self.taken(f)
        }

        pub(super) fn try_with<R, F: FnOnce(&mut T) -> R>(&self, f: F) -> Result<R, F> {
            let mut is_taken = self.is_taken.lock().expect("no thread panics");
            if core::mem::replace(&mut *is_taken, true) {
                return Err(f);
            }
            drop(is_taken);
            Ok(self.taken(f))
        }

        fn taken<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
            let result = f(&mut self.value.lock().expect("no thread panics"));
            *self.is_taken.lock().expect("no thread panics") = false;
            self.freed.notify_one();
            result
        }
    }

    /// What one thread sleeps on: without a limit, so that a lost wake-up is a deadlock, which the checker finds.
    #[derive(Clone)]
    pub(super) struct Flag(Arc<(Mutex<bool>, Condvar)>);

    impl Flag {
        pub(super) fn new() -> Self {
            Flag(Arc::new((Mutex::new(false), Condvar::new())))
        }

        pub(super) fn is(&self, other: &Self) -> bool {
            Arc::ptr_eq(&self.0, &other.0)
        }

        pub(super) fn set(&self) {
            *self.0.0.lock().expect("no thread panics") = true;
            self.0.1.notify_one();
        }

        pub(super) fn wait(&self, deadline: Option<u64>) {
            self.sleep(deadline);
        }

        pub(super) fn sleep(&self, _deadline: Option<u64>) {
            let mut set = self.0.0.lock().expect("no thread panics");
            while !*set {
                set = self.0.1.wait(set).expect("no thread panics");
            }
        }
    }

    /// The sleep in the channel, which a bell ends.
    pub(super) struct Bell(pub(super) Flag);

    impl Bell {
        pub(super) fn new() -> Self {
            Bell(Flag::new())
        }

        pub(super) fn ring(&self) {
            self.0.set();
        }

        pub(super) fn silence(&self) {
            *self.0.0.0.lock().expect("no thread panics") = false;
        }
    }
}

/// A channel that delivers one message to each of two mailboxes, as the network likes.
struct Channel {
    arriving: Arc<[AtomicU32; 2]>,
    here: [u32; 2],
    /// Nothing arrives by itself: the driver sleeps until it is rung.
    is_silent: bool,
}

impl Driven for Channel {
    type Want = usize;
    type Error = ();

    fn progress(&mut self) -> Result<bool, ()> {
        let mut moved = false;
        for (arriving, here) in self.arriving.iter().zip(&mut self.here) {
            let arrived = arriving.swap(0, Ordering::AcqRel);
            *here += arrived;
            moved |= arrived > 0;
        }
        Ok(moved)
    }

    fn is_ready(&mut self, want: &usize) -> bool {
        self.here[*want] > 0
    }

    fn wait(&mut self, _idle: u32, _deadline: Option<u64>, bell: &sync::Bell) -> Result<(), ()> {
        match self.is_silent {
            true => bell.0.wait(None),
            false => thread::yield_now(),
        }
        Ok(())
    }
}

fn shared(is_silent: bool, arriving: [u32; 2]) -> (Arc<HandOver<Channel>>, Arc<[AtomicU32; 2]>) {
    let arriving = Arc::new(arriving.map(AtomicU32::new));
    let channel = Channel {
        arriving: arriving.clone(),
        here: [0; 2],
        is_silent,
    };
    (Arc::new(HandOver::new(channel)), arriving)
}

fn retrieve(shared: &HandOver<Channel>, mailbox: usize) {
    let look = |channel: &mut Channel| {
        let is_here = channel.here[mailbox] > 0;
        channel.here[mailbox] -= u32::from(is_here);
        Ok(is_here.then_some(()))
    };
    assert_eq!(shared.wait_for(None, look, || mailbox), Ok(Some(())));
}

fn receiver(
    shared: &Arc<HandOver<Channel>>,
    is_over: impl Fn() -> bool + 'static,
) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    thread::spawn(move || assert_eq!(shared.serve(is_over), Ok(())))
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 20_000;
    builder.check(model);
}

/// Two threads wait for a message each, or for two of one mailbox, which arrive one by one meanwhile; whoever drives wakes
/// the other, or hands over.
#[test]
fn nobody_is_left_parked() {
    for mailboxes in [[0, 1], [0, 0]] {
        check(move || {
            let (shared, arriving) = shared(false, [0, 0]);
            let other = shared.clone();
            let thread = thread::spawn(move || retrieve(&other, mailboxes[1]));
            let network = thread::spawn(move || {
                for mailbox in mailboxes {
                    arriving[mailbox].fetch_add(1, Ordering::AcqRel);
                }
            });
            retrieve(&shared, mailboxes[0]);
            thread.join().expect("no thread panics");
            network.join().expect("no thread panics");
        });
    }
}

/// A driver that sleeps in a silent channel lets another thread in, whose change ends its wait.
#[test]
fn a_sleeping_driver_is_rung() {
    check(|| {
        let (shared, _) = shared(true, [0, 0]);
        let other = shared.clone();
        let thread = thread::spawn(move || other.with(|channel| channel.here[0] += 1));
        retrieve(&shared, 0);
        thread.join().expect("no thread panics");
    });
}

/// A receiver thread leaves the turn to a thread that waits, and has it again afterwards; it sleeps while that one drives,
/// and whoever ends it wakes it, wherever it sleeps.
#[test]
fn a_receiver_thread_leaves_the_turn_and_ends() {
    for is_silent in [false, true] {
        check(move || {
            let (shared, arriving) = shared(is_silent, [0, 0]);
            let is_over = Arc::new(AtomicU32::new(0));
            let over = is_over.clone();
            let receiver = receiver(&shared, move || over.load(Ordering::Acquire) == 1);
            let other = shared.clone();
            let network = thread::spawn(move || match is_silent {
                true => other.with(|channel| channel.here[0] += 1),
                false => drop(arriving[0].fetch_add(1, Ordering::AcqRel)),
            });
            retrieve(&shared, 0);
            is_over.store(1, Ordering::Release);
            shared.wake_all();
            receiver.join().expect("no thread panics");
            network.join().expect("no thread panics");
        });
    }
}

/// Of two receiver threads one serves and the other sleeps until it has ended, whichever ends first.
#[test]
fn a_second_receiver_thread_succeeds_the_first() {
    check(|| {
        let (shared, _) = shared(true, [0, 0]);
        let is_over = Arc::new([0, 0].map(AtomicU32::new));
        let receivers = [0, 1].map(|number| {
            let over = is_over.clone();
            receiver(&shared, move || over[number].load(Ordering::Acquire) == 1)
        });
        for (receiver, over) in receivers.into_iter().zip(is_over.iter()) {
            over.store(1, Ordering::Release);
            shared.wake_all();
            receiver.join().expect("no thread panics");
        }
    });
}
