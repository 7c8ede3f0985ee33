//! A waker that comes at every step of falling asleep.

use core::cell::Cell;

use core::time::Duration;

use crate::shm::event_count::*;
use crate::shm::sync::{AtomicU32, Ordering};

/// The state of the sleeper when the waker comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moment {
    /// It has found nothing, and is about to sleep.
    Before,
    /// It has marked itself asleep.
    Fence,
    /// It has checked again.
    Looked,
    /// It sleeps.
    Asleep,
}

/// A rank that falls asleep, and one that publishes and notifies at a given moment.
struct Scene {
    event_count: EventCount,
    moment: Moment,
    what: WaitFor,
    published: Cell<bool>,
    slept: Cell<bool>,
    calls: Cell<u32>,
}

impl Scene {
    fn now(&self, moment: Moment) {
        if moment == self.moment {
            self.published.set(true);
            self.event_count.notify(self.what, self);
        }
    }

    fn looks(&self) -> bool {
        let seen = self.published.get();
        self.now(Moment::Looked);
        seen
    }
}

impl Park for Scene {
    fn light_fence(&self) {
        assert!(
            self.published.get(),
            "a look at the sleeper before publishing"
        );
    }

    fn heavy_fence(&self) -> bool {
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

fn scene(moment: Moment, what: WaitFor) -> Scene {
    Scene {
        event_count: EventCount(AtomicU32::new(AWAKE)),
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
        for what in [WaitFor::Frame, WaitFor::Room] {
            let scene = scene(moment, what);
            scene.now(Moment::Before);
            scene
                .event_count
                .sleep(WaitFor::Room, None, &scene, || scene.looks());
            assert!(scene.published.get());
            assert_eq!(scene.slept.get(), moment == Asleep, "{moment:?}");
        }
    }
}

#[test]
fn nobody_is_woken_for_nothing() {
    let scene = scene(Moment::Before, WaitFor::Frame);
    scene.now(Moment::Before);
    assert_eq!(scene.calls.get(), 0, "the rank is awake");
    // It sleeps for frames, and finds room for its own.
    scene
        .event_count
        .0
        .store(WaitFor::Frame as u32, Ordering::Relaxed);
    scene.event_count.notify(WaitFor::Room, &scene);
    assert_eq!(scene.calls.get(), 0);
    scene.event_count.notify(WaitFor::Frame, &scene);
    scene.event_count.notify(WaitFor::Frame, &scene);
    assert_eq!(scene.calls.get(), 1, "the second waker need not call");
    scene.event_count.notify_always(&scene);
    assert_eq!(scene.calls.get(), 2);
}
