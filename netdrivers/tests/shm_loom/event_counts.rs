//! Nobody sleeps through what it waits for.

use core::time::Duration;

use loom::sync::atomic::{AtomicU32, Ordering, fence};
use loom::sync::{Arc, Mutex, MutexGuard};
use loom::thread;

use crate::check;
use crate::event_count::{AWAKE, EventCount, Park, WaitFor};

/// Sleeps as the system does: to compare and to fall asleep is one step. Whoever is never woken looks for ever, of which
/// the checker complains.
pub(super) struct ModelPark {
    calls: Mutex<u32>,
    wake_socket: u32,
    /// Somebody has knocked at the door.
    notified: Mutex<bool>,
}

impl ModelPark {
    pub(super) fn new() -> Self {
        Self {
            calls: Mutex::new(0),
            wake_socket: 0,
            notified: Mutex::new(false),
        }
    }

    /// As one that sleeps at a socket: what a knock leaves there stays until it is back.
    fn with_socket() -> Self {
        Self {
            wake_socket: 7,
            ..Self::new()
        }
    }

    fn notified(&self) -> MutexGuard<'_, bool> {
        self.notified.lock().expect("the lock")
    }

    fn calls(&self) -> MutexGuard<'_, u32> {
        self.calls.lock().expect("the lock")
    }
}

impl Park for ModelPark {
    fn light_fence(&self) {
        fence(Ordering::SeqCst);
    }

    fn heavy_fence(&self) -> bool {
        fence(Ordering::SeqCst);
        true
    }

    fn wake_socket(&self) -> u32 {
        self.wake_socket
    }

    fn sleep(&self, word: &AtomicU32, value: u32, _limit: Option<Duration>) {
        if self.wake_socket != 0 {
            while !core::mem::take(&mut *self.notified()) {
                thread::yield_now();
            }
            return;
        }
        let calls = self.calls();
        if word.load(Ordering::Relaxed) != value {
            return;
        }
        let before = *calls;
        drop(calls);
        while *self.calls() == before {
            thread::yield_now();
        }
    }

    fn wake(&self, _word: &AtomicU32, wake_socket: u32) {
        assert!(
            wake_socket == 0 || wake_socket == self.wake_socket,
            "the sleeper's door"
        );
        match wake_socket {
            0 => *self.calls() += 1,
            _ => *self.notified() = true,
        }
    }
}

struct Scene {
    event_count: EventCount,
    system: ModelPark,
    frames: AtomicU32,
    room: AtomicU32,
}

impl Scene {
    fn new() -> Arc<Self> {
        Self::of(ModelPark::new())
    }

    fn of(system: ModelPark) -> Arc<Self> {
        Arc::new(Self {
            event_count: EventCount(AtomicU32::new(AWAKE)),
            system,
            frames: AtomicU32::new(0),
            room: AtomicU32::new(0),
        })
    }

    /// Publishes something and rings.
    fn give(&self, what: WaitFor) {
        let place = match what {
            WaitFor::Frame => &self.frames,
            WaitFor::Room => &self.room,
        };
        place.fetch_add(1, Ordering::Release);
        self.event_count.notify(what, &self.system);
    }

    fn sleep_until(&self, until: WaitFor, is_there: impl Fn() -> bool) {
        while !is_there() {
            self.event_count
                .sleep(until, None, None, &self.system, &is_there);
        }
    }
}

#[test]
fn a_frame_wakes() {
    check(4, || {
        let scene = Scene::new();
        let other = scene.clone();
        let waker = thread::spawn(move || (0..2).for_each(|_| other.give(WaitFor::Frame)));
        for frames in 1..=2 {
            scene.sleep_until(WaitFor::Frame, || {
                scene.frames.load(Ordering::Acquire) >= frames
            });
        }
        waker.join().expect("the waker");
    });
}

#[test]
fn room_wakes_whoever_waits_for_it() {
    check(4, || {
        let scene = Scene::new();
        let other = scene.clone();
        let waker = thread::spawn(move || {
            other.give(WaitFor::Room);
            other.give(WaitFor::Frame);
        });
        scene.sleep_until(WaitFor::Room, || scene.room.load(Ordering::Acquire) == 1);
        scene.sleep_until(WaitFor::Frame, || scene.frames.load(Ordering::Acquire) == 1);
        waker.join().expect("the waker");
    });
}

#[test]
fn at_a_door_nothing_is_slept_through_either() {
    check(4, || {
        let scene = Scene::of(ModelPark::with_socket());
        let other = scene.clone();
        let waker = thread::spawn(move || {
            other.give(WaitFor::Room);
            other.give(WaitFor::Frame);
            other.give(WaitFor::Frame);
        });
        scene.sleep_until(WaitFor::Room, || scene.room.load(Ordering::Acquire) == 1);
        for frames in 1..=2 {
            scene.sleep_until(WaitFor::Frame, || {
                scene.frames.load(Ordering::Acquire) >= frames
            });
        }
        waker.join().expect("the waker");
    });
}

#[test]
fn two_wakers_do_not_wait_for_each_other() {
    check(3, || {
        let scene = Scene::new();
        let wakers = [WaitFor::Frame, WaitFor::Room].map(|what| {
            let other = scene.clone();
            thread::spawn(move || other.give(what))
        });
        scene.sleep_until(WaitFor::Room, || {
            scene.room.load(Ordering::Acquire) == 1 && scene.frames.load(Ordering::Acquire) == 1
        });
        for waker in wakers {
            waker.join().expect("a waker");
        }
    });
}

/// The first waker dies between saying that it wakes the sleeper and doing so. Whoever tells of its death rings surely.
#[test]
fn a_waker_may_die() {
    check(4, || {
        let scene = Scene::new();
        let other = scene.clone();
        let waker = thread::spawn(move || {
            other.frames.fetch_add(1, Ordering::Release);
            other.system.light_fence();
            if other.event_count.0.load(Ordering::Relaxed) != AWAKE {
                other.event_count.0.swap(AWAKE, Ordering::AcqRel);
            }
            other.event_count.notify_always(&other.system);
        });
        scene.sleep_until(WaitFor::Frame, || scene.frames.load(Ordering::Acquire) == 1);
        waker.join().expect("the waker");
    });
}
