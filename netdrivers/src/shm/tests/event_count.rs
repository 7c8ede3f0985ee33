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
                .sleep(WaitFor::Room, None, None, &scene, || scene.looks());
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

#[test]
fn a_board_wakes_those_who_wait_for_it_or_for_any() {
    struct Sleeps(EventCount, Cell<u32>);
    impl Park for Sleeps {
        fn light_fence(&self) {}
        fn heavy_fence(&self) -> bool {
            true
        }
        fn sleep(&self, word: &AtomicU32, value: u32, _limit: Option<Duration>) {
            for rank in [0, 1, 2, 61, 62, 63, 1000] {
                self.0.notify_of_board(rank, self);
                self.1
                    .set(self.1.get() << 1 | u32::from(word.load(Ordering::Relaxed) == AWAKE));
                word.store(value, Ordering::Relaxed);
            }
            // Whatever it waits for, frames wake it, and room only if it waits for room.
            self.0.notify(WaitFor::Room, self);
            assert_eq!(word.load(Ordering::Relaxed), value);
            self.0.notify(WaitFor::Frame, self);
            assert_eq!(word.load(Ordering::Relaxed), AWAKE);
        }
        fn wake(&self, _word: &AtomicU32, _door: u32) {}
    }
    let woken_by = |board| {
        let rank = Sleeps(EventCount(AtomicU32::new(AWAKE)), Cell::new(0));
        rank.0.sleep(WaitFor::Frame, board, None, &rank, || false);
        rank.1.get()
    };
    // Numbers that do not fit into the word wake for all, and are woken by those who wait for any.
    assert_eq!(woken_by(None), 0b111_1111);
    assert_eq!(woken_by(Some(0)), 0b100_0000);
    assert_eq!(woken_by(Some(2)), 0b001_0000);
    assert_eq!(woken_by(Some(61)), 0b000_1000);
    assert_eq!(woken_by(Some(62)), 0b000_0100);
    assert_eq!(woken_by(Some(63)), 0b111_1111);
}
