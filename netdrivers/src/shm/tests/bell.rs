//! A waker that comes at every step of falling asleep.

use core::cell::Cell;

use core::time::Duration;

use crate::shm::bell::*;
use crate::shm::sync::{AtomicU32, Ordering};

/// Where the sleeper is when the waker comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moment {
    /// It has found nothing, and is about to sleep.
    Before,
    /// It has said so.
    Fence,
    /// It has looked again.
    Looked,
    /// It sleeps.
    Asleep,
}

/// A rank that falls asleep, and one that publishes and rings at a given moment.
struct Scene {
    bell: Bell,
    moment: Moment,
    what: Until,
    published: Cell<bool>,
    slept: Cell<bool>,
    calls: Cell<u32>,
}

impl Scene {
    fn now(&self, moment: Moment) {
        if moment == self.moment {
            self.published.set(true);
            self.bell.ring(self.what, self);
        }
    }

    fn looks(&self) -> bool {
        let seen = self.published.get();
        self.now(Moment::Looked);
        seen
    }
}

impl Park for Scene {
    fn light(&self) {
        assert!(
            self.published.get(),
            "a look at the sleeper before publishing"
        );
    }

    fn heavy(&self) -> bool {
        self.now(Moment::Fence);
        true
    }

    fn sleep(&self, word: &AtomicU32, value: u32, _limit: Option<Duration>) {
        if word.load(Ordering::Relaxed) == value {
            self.slept.set(true);
            let calls = self.calls.get();
            self.now(Moment::Asleep);
            assert!(self.calls.get() > calls, "nobody wakes the sleeper");
        }
    }

    fn wake(&self, _word: &AtomicU32, _door: u32) {
        self.calls.set(self.calls.get() + 1);
    }
}

fn scene(moment: Moment, what: Until) -> Scene {
    Scene {
        bell: Bell(AtomicU32::new(AWAKE)),
        moment,
        what,
        published: Cell::new(false),
        slept: Cell::new(false),
        calls: Cell::new(0),
    }
}

#[test]
fn no_wake_up_is_lost() {
    use Moment::{Asleep, Before, Fence, Looked};
    for moment in [Before, Fence, Looked, Asleep] {
        for what in [Until::Frame, Until::Room] {
            let scene = scene(moment, what);
            scene.now(Moment::Before);
            scene
                .bell
                .sleep(Until::Room, None, &scene, || scene.looks());
            assert!(scene.published.get());
            assert_eq!(scene.slept.get(), moment == Asleep, "{moment:?}");
        }
    }
}

#[test]
fn nobody_is_woken_for_nothing() {
    let scene = scene(Moment::Before, Until::Frame);
    scene.now(Moment::Before);
    assert_eq!(scene.calls.get(), 0, "the rank is awake");
    // It sleeps for frames, and finds room for its own.
    scene.bell.0.store(Until::Frame as u32, Ordering::Relaxed);
    scene.bell.ring(Until::Room, &scene);
    assert_eq!(scene.calls.get(), 0);
    scene.bell.ring(Until::Frame, &scene);
    scene.bell.ring(Until::Frame, &scene);
    assert_eq!(scene.calls.get(), 1, "the second waker need not call");
    scene.bell.ring_surely(&scene);
    assert_eq!(scene.calls.get(), 2);
}
