//! Nobody sleeps through what it waits for.

use core::time::Duration;

use loom::sync::atomic::{AtomicU32, Ordering, fence};
use loom::sync::{Arc, Mutex, MutexGuard};
use loom::thread;

use crate::bell::{AWAKE, Bell, Park, Until};
use crate::check;

/// Sleeps as the system does: to compare and to fall asleep is one step. Whoever is never woken looks for ever, of which
/// the checker complains.
pub(super) struct System {
    calls: Mutex<u32>,
    door: u32,
    /// Somebody has knocked at the door.
    knocked: Mutex<bool>,
}

impl System {
    pub(super) fn new() -> Self {
        Self {
            calls: Mutex::new(0),
            door: 0,
            knocked: Mutex::new(false),
        }
    }

    /// As one that sleeps at a door: what a knock leaves there stays until it is back.
    fn with_door() -> Self {
        Self {
            door: 7,
            ..Self::new()
        }
    }

    fn knocked(&self) -> MutexGuard<'_, bool> {
        self.knocked.lock().expect("the lock")
    }

    fn calls(&self) -> MutexGuard<'_, u32> {
        self.calls.lock().expect("the lock")
    }
}

impl Park for System {
    fn light(&self) {
        fence(Ordering::SeqCst);
    }

    fn heavy(&self) -> bool {
        fence(Ordering::SeqCst);
        true
    }

    fn door(&self) -> u32 {
        self.door
    }

    fn sleep(&self, word: &AtomicU32, value: u32, _limit: Option<Duration>) {
        if self.door != 0 {
            while !core::mem::take(&mut *self.knocked()) {
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

    fn wake(&self, _word: &AtomicU32, door: u32) {
        assert!(door == 0 || door == self.door, "the sleeper's door");
        match door {
            0 => *self.calls() += 1,
            _ => *self.knocked() = true,
        }
    }
}

struct Scene {
    bell: Bell,
    system: System,
    frames: AtomicU32,
    room: AtomicU32,
}

impl Scene {
    fn new() -> Arc<Self> {
        Self::of(System::new())
    }

    fn of(system: System) -> Arc<Self> {
        Arc::new(Self {
            bell: Bell(AtomicU32::new(AWAKE)),
            system,
            frames: AtomicU32::new(0),
            room: AtomicU32::new(0),
        })
    }

    /// Publishes something and rings.
    fn give(&self, what: Until) {
        let place = match what {
            Until::Frame => &self.frames,
            Until::Room => &self.room,
        };
        place.fetch_add(1, Ordering::Release);
        self.bell.ring(what, &self.system);
    }

    fn sleep_until(&self, until: Until, is_there: impl Fn() -> bool) {
        while !is_there() {
            self.bell.sleep(until, None, &self.system, &is_there);
        }
    }
}

#[test]
fn a_frame_wakes() {
    check(4, || {
        let scene = Scene::new();
        let other = scene.clone();
        let waker = thread::spawn(move || (0..2).for_each(|_| other.give(Until::Frame)));
        for frames in 1..=2 {
            scene.sleep_until(Until::Frame, || {
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
            other.give(Until::Room);
            other.give(Until::Frame);
        });
        scene.sleep_until(Until::Room, || scene.room.load(Ordering::Acquire) == 1);
        scene.sleep_until(Until::Frame, || scene.frames.load(Ordering::Acquire) == 1);
        waker.join().expect("the waker");
    });
}

#[test]
fn at_a_door_nothing_is_slept_through_either() {
    check(4, || {
        let scene = Scene::of(System::with_door());
        let other = scene.clone();
        let waker = thread::spawn(move || {
            other.give(Until::Room);
            other.give(Until::Frame);
            other.give(Until::Frame);
        });
        scene.sleep_until(Until::Room, || scene.room.load(Ordering::Acquire) == 1);
        for frames in 1..=2 {
            scene.sleep_until(Until::Frame, || {
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
        let wakers = [Until::Frame, Until::Room].map(|what| {
            let other = scene.clone();
            thread::spawn(move || other.give(what))
        });
        scene.sleep_until(Until::Room, || {
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
            other.system.light();
            if other.bell.0.load(Ordering::Relaxed) != AWAKE {
                other.bell.0.swap(AWAKE, Ordering::AcqRel);
            }
            other.bell.ring_surely(&other.system);
        });
        scene.sleep_until(Until::Frame, || scene.frames.load(Ordering::Acquire) == 1);
        waker.join().expect("the waker");
    });
}
