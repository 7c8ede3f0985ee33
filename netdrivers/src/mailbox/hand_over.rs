//! Several threads at one channel: one of them drives it, the others park until it has something for them.
//!
//! A thread that waits becomes the driver if there is none, else it parks with a note of what it waits for. The driver
//! makes progress, wakes each parked thread whose want is fulfilled, and when it leaves it wakes one more, which then
//! drives. Hence the law: if a thread is parked, there is a driver, or a woken thread on its way. Everything is decided
//! under one lock, so no wake-up is lost. A thread that wants the lock says so in a word, at which the driver looks in
//! every round; the same word says whether the driver sleeps in the channel, and then a bell wakes it.
//!
//! A receiver thread drives while no other thread does. It leaves the turn to whoever wants the lock, and stands by until
//! no call has made progress for a while: a thread that waits receives for itself, without a hop, and the messages of one
//! that computes are received for it. Only `mailboxes` uses this module.

use super::sync::{AtomicU32, Bell, Flag, Lock, Ordering, is_over, may_sleep, stand_by, yield_now};
use alloc::vec::Vec;

/// What the threads share.
pub(super) trait Driven {
    /// What a thread may wait for.
    type Want;
    /// Why nothing works any more.
    type Error;

    /// Handles what has arrived; returns true if anything did.
    fn progress(&mut self) -> Result<bool, Self::Error>;

    /// Returns whether a thread that waits for this would find it.
    fn is_ready(&mut self, want: &Self::Want) -> bool;

    /// Waits after `idle` rounds in vain, until something arrives, the deadline, or the bell, where it can.
    fn wait(&mut self, idle: u32, deadline: Option<u64>, bell: &Bell) -> Result<(), Self::Error>;
}

/// A value, the thread that drives it, and those that wait.
pub(super) struct HandOver<T: Driven> {
    turn: Lock<Turn<T>>,
    /// Bit 0: the driver sleeps. Above it: number of threads that want the lock.
    word: AtomicU32,
    /// Number of calls that have made progress themselves; wraps. It changes under the lock, and is read without.
    progressed: AtomicU32,
    bell: Bell,
}

struct Turn<T: Driven> {
    value: T,
    is_driven: bool,
    /// At most one entry for each thread.
    parked: Vec<(T::Want, Flag)>,
    /// Whether a receiver thread serves.
    is_served: bool,
    /// It, while it sleeps because another thread drives.
    standing_by: Option<Flag>,
    /// Receiver threads that sleep while another one serves: at most one entry for each.
    successors: Vec<Flag>,
}

const ASLEEP: u32 = 1;
const WANTED: u32 = 2;
/// Yields in which the driver lets others have the lock before it goes on. Who has not had it by then is not forgotten: the
/// next round ends in the same way.
const COURTESY: u32 = 64;

/// Rounds of progress of a thread that exchanges messages before it waits: some microseconds.
const EXCHANGE_ROUNDS: u32 = 8;

/// What a thread does next that waits.
enum Step<R> {
    Over(R),
    Park(Flag),
    Yield,
}

impl<T: Driven> HandOver<T> {
    pub(super) fn new(value: T) -> Self {
        HandOver {
            turn: Lock::new(Turn {
                value,
                is_driven: false,
                parked: Vec::new(),
                is_served: false,
                standing_by: None,
                successors: Vec::new(),
            }),
            word: AtomicU32::new(0),
            progressed: AtomicU32::new(0),
            bell: Bell::new(),
        }
    }

    /// Runs `f` with the value, soon, and wakes the threads for which it has made a difference.
    #[inline]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with_time(|value, _| f(value))
    }

    /// Runs `f` as [`Self::with`] does, which may make some rounds of progress that do not sleep: as many as the function
    /// that it gets returns true, which is asked before each.
    #[inline]
    pub(super) fn with_time<R>(&self, f: impl FnOnce(&mut T, &mut dyn FnMut() -> bool) -> R) -> R {
        self.locked(|turn| {
            let alone = !turn.is_driven && turn.parked.is_empty();
            let most = if alone { EXCHANGE_ROUNDS } else { 0 };
            let mut rounds = most;
            let mut goes_on = || {
                let goes_on = rounds > 0 && self.word.load(Ordering::Acquire) < WANTED;
                rounds -= u32::from(goes_on);
                goes_on
            };
            let result = f(&mut turn.value, &mut goes_on);
            if rounds < most {
                self.count_progress();
            }
            turn.wake_ready();
            result
        })
    }

    #[inline]
    fn locked<R>(&self, f: impl FnOnce(&mut Turn<T>) -> R) -> R {
        // The lock is mostly free: then nobody need know.
        let f = match self.turn.try_with(f) {
            Ok(result) => return result,
            Err(f) => f,
        };
        if self.word.fetch_add(WANTED, Ordering::AcqRel) & ASLEEP != 0 {
            self.bell.ring();
        }
        self.turn.with(|turn| {
            self.word.fetch_sub(WANTED, Ordering::AcqRel);
            f(turn)
        })
    }

    /// Waits until `look` finds something; `None` if the deadline passes first. `want` says when it would.
    ///
    /// # Errors
    /// As [`Driven::progress`], and those of `look`.
    pub(super) fn wait_for<R>(
        &self,
        deadline: Option<u64>,
        mut look: impl FnMut(&mut T) -> Result<Option<R>, T::Error>,
        want: impl Fn() -> T::Want,
    ) -> Result<Option<R>, T::Error> {
        let (mut is_driver, mut idle) = (false, 0);
        loop {
            let step = self.locked(|turn| {
                // The others may have changed what is looked for.
                let mut over = look(&mut turn.value).map(|found| found.map(Some));
                if let Ok(None) = over {
                    if !is_driver && turn.is_driven {
                        if is_over(deadline) {
                            return Step::Over(Ok(None));
                        }
                        let flag = Flag::new();
                        turn.parked.push((want(), flag.clone()));
                        return Step::Park(flag);
                    }
                    (is_driver, turn.is_driven) = (true, true);
                    over = self.rounds(turn, &mut idle, deadline, &mut look);
                }
                match over.transpose() {
                    Some(over) => {
                        turn.leave(is_driver);
                        if is_driver {
                            self.count_progress();
                        }
                        Step::Over(over)
                    }
                    None => Step::Yield,
                }
            });
            match step {
                Step::Over(result) => return result,
                Step::Yield => self.let_others(),
                Step::Park(flag) => {
                    flag.wait(deadline);
                    self.locked(|turn| turn.parked.retain(|(_, its)| !its.is(&flag)));
                }
            }
        }
    }

    /// Makes progress for others until `is_over` says so, which is asked after every event and every [`Self::wake_all`].
    /// One thread at a time does, as two would take the turn from each other; the next one does when that one has ended.
    ///
    /// # Errors
    /// As [`Driven::progress`].
    pub(super) fn serve(&self, is_over: impl Fn() -> bool) -> Result<(), T::Error> {
        loop {
            let step = self.locked(|turn| {
                // Under the lock: who wants that this is over sets that before it wakes all.
                if is_over() {
                    return Step::Over(Ok(()));
                }
                if !core::mem::replace(&mut turn.is_served, true) {
                    return Step::Yield;
                }
                let flag = Flag::new();
                turn.successors.push(flag.clone());
                Step::Park(flag)
            });
            match step {
                Step::Over(result) => return result,
                Step::Park(flag) => flag.sleep(None),
                Step::Yield => break,
            }
        }
        let served = self.receive(is_over);
        self.locked(|turn| {
            turn.is_served = false;
            turn.wake_successors();
        });
        served
    }

    /// Makes progress while no other thread does, until `is_over`.
    fn receive(&self, is_over: impl Fn() -> bool) -> Result<(), T::Error> {
        let (mut last, mut idle) = (None, 0);
        loop {
            let progressed = self.progressed.load(Ordering::Relaxed);
            let before = last.replace(progressed);
            if before.is_some_and(|before| before != progressed) {
                if is_over() {
                    return Ok(());
                }
                stand_by();
                continue;
            }
            let step = self.locked(|turn| {
                if is_over() {
                    return Step::Over(Ok(()));
                }
                if turn.is_driven {
                    let flag = Flag::new();
                    turn.standing_by = Some(flag.clone());
                    return Step::Park(flag);
                }
                turn.is_driven = true;
                let mut over = |_: &mut T| Ok(is_over().then_some(()));
                let over = self.rounds(turn, &mut idle, None, &mut over);
                turn.leave(true);
                match over {
                    Ok(None) => Step::Yield,
                    over => Step::Over(over.map(drop)),
                }
            });
            match step {
                Step::Over(result) => return result,
                Step::Park(flag) => flag.sleep(None),
                Step::Yield => stand_by(),
            }
        }
    }

    /// Lets the threads that want the lock have it.
    fn let_others(&self) {
        for _ in 0..COURTESY {
            if self.word.load(Ordering::Acquire) < WANTED {
                break;
            }
            yield_now();
        }
    }

    /// Makes every thread that waits look again.
    pub(super) fn wake_all(&self) {
        self.locked(|turn| {
            for (_, flag) in turn.parked.drain(..) {
                flag.set();
            }
            turn.wake_standing_by();
            turn.wake_successors();
        });
    }

    /// Tells receiver threads that a call has made progress itself. The caller has the lock.
    #[inline]
    fn count_progress(&self) {
        let progressed = self.progressed.load(Ordering::Relaxed);
        let next = progressed.wrapping_add(1);
        self.progressed.store(next, Ordering::Relaxed);
    }

    /// Makes progress until `look` has found something (`Some`), the deadline has passed (`Some` of `None`), or another
    /// thread wants the lock (`None`).
    #[inline]
    fn rounds<R>(
        &self,
        turn: &mut Turn<T>,
        idle: &mut u32,
        deadline: Option<u64>,
        look: &mut impl FnMut(&mut T) -> Result<Option<R>, T::Error>,
    ) -> Result<Option<Option<R>>, T::Error> {
        loop {
            let moved = turn.value.progress()?;
            if moved {
                *idle = 0;
                turn.wake_ready();
                if let Some(found) = look(&mut turn.value)? {
                    return Ok(Some(Some(found)));
                }
            }
            if is_over(deadline) {
                return Ok(Some(None));
            }
            if !moved {
                self.pause(turn, *idle, deadline)?;
                *idle = idle.saturating_add(1);
            }
            if self.word.load(Ordering::Acquire) >= WANTED {
                *idle = 0;
                return Ok(None);
            }
        }
    }

    fn pause(&self, turn: &mut Turn<T>, idle: u32, deadline: Option<u64>) -> Result<(), T::Error> {
        if !may_sleep(idle) {
            return turn.value.wait(idle, deadline, &self.bell);
        }
        // All changes of the word are in one order: either this thread sees the other's want, or the other sees it
        // asleep.
        let mut waited = Ok(());
        if self.word.fetch_or(ASLEEP, Ordering::AcqRel) < WANTED {
            waited = turn.value.wait(idle, deadline, &self.bell);
        }
        self.word.fetch_and(!ASLEEP, Ordering::AcqRel);
        self.bell.silence();
        waited
    }
}

impl<T: Driven> Turn<T> {
    /// Wakes the parked threads whose want is fulfilled.
    #[inline]
    fn wake_ready(&mut self) {
        // Mostly nobody is.
        if self.parked.is_empty() {
            return;
        }
        let value = &mut self.value;
        self.parked.retain(|(want, flag)| {
            let is_ready = value.is_ready(want);
            if is_ready {
                flag.set();
            }
            !is_ready
        });
    }

    /// Leaves the turn to others: if nobody drives, one that is parked is to, or a receiver thread.
    fn leave(&mut self, is_driver: bool) {
        self.is_driven &= !is_driver;
        if self.is_driven {
            return;
        }
        match self.parked.pop() {
            Some((_, flag)) => flag.set(),
            None => self.wake_standing_by(),
        }
    }

    #[inline]
    fn wake_standing_by(&mut self) {
        if let Some(flag) = self.standing_by.take() {
            flag.set();
        }
    }

    fn wake_successors(&mut self) {
        for flag in self.successors.drain(..) {
            flag.set();
        }
    }
}
