//! The choice of how long frames and payloads are written: by ordinary stores, or past the caches. `LongProducer` and
//! `PayloadWriter` use it.
//!
//! An ordinary store fetches its line from where it was used last. How long that takes depends on the distance of the
//! processors, on the size of the caches, and on other load, and it changes within seconds; that of a store past the
//! caches depends on the memory alone, and so does then the reader's load. So both ways are timed, with what they cost the
//! reader, and the better one is used. What was found over a short line says nothing of a long one, so each has its own
//! times: soon after the line has changed, those of before are used.

use crate::tuning::{FAR_LINE, LONG_FRAMES_OF_RANK};

/// How a frame is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stores {
    /// By ordinary stores.
    Cached,
    /// By stores past the caches.
    Streamed,
}

/// The times of both ways, and the one to use.
pub(super) struct StoreChoice {
    /// What is known of short lines and of long ones.
    lines: [Line; 2],
    /// Whether the line is long now.
    is_far: bool,
    /// How many of the last times of the line say otherwise.
    doubts: u32,
    /// How many of [`WHOLE`] frames the reader waits for, by those that were timed last.
    awaited: u64,
    /// How the last frames were written, and how many KiB in that way.
    last: (Stores, u32),
}

/// What is known of one distance.
struct Line {
    /// The times of cached and of streamed stores, of frames that wait for their reader and of those for which it waits.
    times: [[Mean; 2]; 2],
    /// KiB of the epoch that are written.
    written: u32,
    /// Number of epochs, this one included, until one begins with a trial; 0: this one does.
    epochs_to_trial: u64,
    /// The way that the last trial tries, and how many times of it were learnt meanwhile.
    tried: Stores,
    found: u32,
    /// How many trials may still be repeated at once, as they found too little.
    repeats: u32,
}

/// A mean of the last times.
#[derive(Clone, Copy, Default)]
struct Mean {
    /// In ns for a MiB; 0 before the first one.
    time: u64,
    /// Number of times in it, at most [`MEMORY`].
    count: u64,
}

/// KiB after which the other way may be tried again: some tens of milliseconds.
const EPOCH: u32 = 64 * TRIAL;
/// KiB of a trial, of which the last ones are timed: more than can be unread, so that it learns of some.
const TRIAL: u32 = SETTLING + SETTLING / 2;
/// KiB that are not timed after a change: a round through the most cells of a rank, as a frame costs more where the one
/// before it in its cell was written in the other way, or was the first there. Frames of other sizes in the same cells,
/// which have a choice of their own, may be written in the other way all the time.
const SETTLING: u32 = (LONG_FRAMES_OF_RANK >> 10) as u32;
/// One frame may be timed in so many KiB, and in those of a trial; a message of equal frames has no multiple of it, so each
/// of them has its turn.
const TIMING_INTERVAL: u32 = 499;
const TRIAL_INTERVAL: u32 = 113;
/// Number of times in a mean: later ones replace those of before.
const MEMORY: u64 = 16;
/// How many of them are kept when a trial begins.
const KEPT: u64 = 4;
/// The fewest times that a trial has to find: a single one may be interrupted.
const FEWEST: u32 = 2;
/// How many trials of a line may be repeated, in all, before the next epoch.
const REPEATS: u32 = 8;
/// Number of times of the line, one after the other, that it takes for another distance. A single one may be interrupted, and
/// one in forty finds a line already there that the reader has written: sometimes three of them in a row.
const DOUBTS: u32 = 6;
/// The sum of the shares of frames of both kinds.
const WHOLE: u64 = 256;
/// The most epochs from one trial to the next.
const MOST_EPOCHS: u64 = 8;

impl StoreChoice {
    pub(super) fn new() -> Self {
        let line = || Line {
            times: [[Mean::default(); 2]; 2],
            // The first trial begins when ordinary stores have settled.
            written: EPOCH - 2 * SETTLING,
            epochs_to_trial: 0,
            tried: Stores::Streamed,
            found: 0,
            repeats: REPEATS,
        };
        Self {
            lines: [line(), line()],
            is_far: false,
            doubts: 0,
            awaited: 0,
            last: (Stores::Cached, 0),
        }
    }

    /// Returns how the next frame or payload is written, which takes so many KiB of room, and whether it may be timed.
    #[inline]
    pub(super) fn next(&mut self, kib: u32) -> (Stores, bool) {
        let line = self.line();
        let is_trial = line.is_in_trial();
        let stores = self.stores(is_trial);
        let line = &mut self.lines[usize::from(self.is_far)];
        line.written += kib;
        if is_trial && line.written >= TRIAL {
            self.end_trial();
        } else if line.written >= EPOCH {
            line.written %= EPOCH;
            self.begin_epoch();
        }
        match &mut self.last {
            (last, before) if *last == stores => *before = before.wrapping_add(kib),
            last => *last = (stores, 0),
        }
        let before = self.last.1;
        let interval = match is_trial {
            true => TRIAL_INTERVAL,
            false => TIMING_INTERVAL,
        };
        (stores, before >= SETTLING && before % interval < kib)
    }

    /// Returns whether the line is long.
    pub(super) fn is_far(&self) -> bool {
        self.is_far
    }

    fn line(&self) -> &Line {
        &self.lines[usize::from(self.is_far)]
    }

    /// Returns what frames cost that are cached and streamed, in the mixture of the last ones; 0 before both ways were
    /// timed. A frame for which the reader waits costs the time of both sides, and others that of one: so only frames of
    /// one kind are compared.
    fn costs(&self) -> [u64; 2] {
        let shares = [WHOLE - self.awaited, self.awaited];
        let times = self.line().times.map(|kind| kind.map(|mean| mean.time));
        let known = times
            .iter()
            .zip(shares)
            .filter(|(times, _)| !times.contains(&0));
        known.fold([0; 2], |[cached, streamed], (times, share)| {
            [cached + times[0] * share, streamed + times[1] * share]
        })
    }

    /// Returns the better way, or for a trial the other one.
    fn stores(&self, is_trial: bool) -> Stores {
        match self.streams() != is_trial {
            true => Stores::Streamed,
            false => Stores::Cached,
        }
    }

    /// Returns whether streamed stores are better, by more than what times differ anyway.
    fn streams(&self) -> bool {
        let [cached, streamed] = self.costs();
        cached > streamed + streamed / 8
    }

    /// A way that takes k times as long is tried in one of k epochs, so that trials cost at most a 64th of the time. A trial
    /// that found too little, or nothing to compare it with, is repeated as soon as the other way has been timed.
    #[cold]
    fn end_trial(&mut self) {
        let [cached, streamed] = self.costs();
        let factor = cached.max(streamed) / cached.min(streamed).max(1);
        let line = &mut self.lines[usize::from(self.is_far)];
        if (cached == 0 || line.found < FEWEST) && line.repeats > 0 {
            line.repeats -= 1;
            line.written = EPOCH - 2 * SETTLING;
        } else {
            line.epochs_to_trial = factor.clamp(1, MOST_EPOCHS);
        }
    }

    /// Begins an epoch, with a trial if one is due.
    #[cold]
    fn begin_epoch(&mut self) {
        let tried = self.stores(true);
        let line = &mut self.lines[usize::from(self.is_far)];
        line.epochs_to_trial = line.epochs_to_trial.saturating_sub(1);
        if line.epochs_to_trial == 0 {
            (line.tried, line.found) = (tried, 0);
            for kind in &mut line.times {
                let mean = &mut kind[tried as usize];
                mean.count = mean.count.min(KEPT);
            }
        }
    }

    /// Learns how many nanoseconds a frame of `len` bytes cost writer and reader, and whether the reader waited for it.
    /// A time of a line that is perhaps another one already says nothing of this one.
    pub(super) fn learn(&mut self, stores: Stores, is_awaited: bool, len: usize, nanoseconds: u64) {
        if self.doubts > 0 {
            return;
        }
        let time = nanoseconds.saturating_mul(1 << 20) / len.max(1) as u64;
        let line = &mut self.lines[usize::from(self.is_far)];
        line.times[usize::from(is_awaited)][stores as usize].add(time);
        line.found += u32::from(stores == line.tried && line.is_in_trial());
        let now = WHOLE * u64::from(is_awaited);
        self.awaited = (7 * self.awaited + now) / 8;
    }

    /// Learns how many nanoseconds it took to look at a line that the reader had written.
    pub(super) fn learn_distance(&mut self, nanoseconds: u64) {
        self.doubts = match (nanoseconds >= FAR_LINE) == self.is_far {
            true => 0,
            false => self.doubts + 1,
        };
        if self.doubts == DOUBTS {
            self.doubts = 0;
            self.is_far = !self.is_far;
        }
    }
}

impl Line {
    fn is_in_trial(&self) -> bool {
        self.epochs_to_trial == 0 && self.written < TRIAL
    }
}

impl Mean {
    /// Adds a time. One that took far longer was interrupted, and counts as if it took a few times the usual time. So were
    /// the few before it, if it took far shorter than they.
    fn add(&mut self, time: u64) {
        let time = time.clamp(1, u32::MAX.into());
        let time = match self.time {
            0 => time,
            known => time.min(4 * known),
        };
        let before = self.count.min(MEMORY - 1);
        let known = if before < KEPT {
            self.time.min(2 * time)
        } else {
            self.time
        };
        self.time = (known * before + time).div_ceil(before + 1);
        self.count = before + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The KiB of a frame.
    const FRAME: u32 = 16;

    /// Writes so many KiB in frames that cost these times in ns, and returns how many were written past the caches.
    fn streamed(choice: &mut StoreChoice, kib: u32, times: [u64; 2]) -> u32 {
        let mut count = 0;
        for _ in 0..kib / FRAME {
            let (stores, is_timed) = choice.next(FRAME);
            count += FRAME * u32::from(stores == Stores::Streamed);
            if is_timed {
                choice.learn(stores, false, 16 << 10, times[stores as usize]);
            }
        }
        count
    }

    #[test]
    fn the_faster_way_is_used_and_a_change_is_seen() {
        let mut choice = StoreChoice::new();
        let mut settled = |times| {
            streamed(&mut choice, 4 * MOST_EPOCHS as u32 * EPOCH, times);
            streamed(&mut choice, EPOCH, times)
        };
        // The first use of the memory costs more than any way.
        settled([20_000, 20_000]);
        assert_eq!(settled([700, 650]), TRIAL);
        assert_eq!(settled([1900, 1300]), EPOCH - TRIAL);
        assert_eq!(settled([700, 1300]), TRIAL);
    }

    /// A message of several frames has some of each kind, and the timed ones of a trial may be of one.
    #[test]
    fn frames_are_compared_with_those_of_their_kind() {
        for frames_of_message in 1..9 {
            let mut choice = StoreChoice::new();
            let mut count = 0;
            for frame in 0..20 * EPOCH / FRAME {
                let (stores, is_timed) = choice.next(FRAME);
                count += FRAME * u32::from(stores == Stores::Streamed);
                let is_awaited = frame % frames_of_message == 0;
                let time = match (stores, is_awaited) {
                    (Stores::Cached, true) => 1300,
                    (Stores::Cached, false) => 700,
                    (Stores::Streamed, true) => 2000,
                    (Stores::Streamed, false) => 1000,
                };
                if is_timed {
                    choice.learn(stores, is_awaited, 16 << 10, time);
                }
            }
            assert!(count <= 20 * TRIAL, "{frames_of_message}: {count}");
        }
    }

    #[test]
    fn a_line_of_another_length_has_its_own_times() {
        let (near, far) = ([700, 1300], [5000, 1300]);
        let mut choice = StoreChoice::new();
        let turn = |choice: &mut StoreChoice, line: u64, times: [u64; 2]| {
            for _ in 0..DOUBTS {
                choice.learn_distance(line);
                let (stores, _) = choice.next(FRAME);
                choice.learn(stores, false, 16 << 10, times[stores as usize]);
            }
            streamed(choice, EPOCH, times)
        };
        for _ in 0..3 * MOST_EPOCHS {
            turn(&mut choice, FAR_LINE / 2, near);
            turn(&mut choice, 2 * FAR_LINE, far);
        }
        for _ in 0..MOST_EPOCHS {
            assert!(turn(&mut choice, FAR_LINE / 2, near) <= TRIAL);
            assert!(turn(&mut choice, 2 * FAR_LINE, far) >= EPOCH - TRIAL);
            // A single time says nothing.
            choice.learn_distance(1);
            choice.learn_distance(2 * FAR_LINE);
            assert!(streamed(&mut choice, EPOCH, far) >= EPOCH - TRIAL);
        }
    }

    /// One in five frames takes long, as where their lines are in use: no usual time tells what frames cost.
    #[test]
    fn rare_long_times_count() {
        let mut choice = StoreChoice::new();
        let (mut count, mut timed) = (0, 0);
        for frame in 0..20 * EPOCH / FRAME {
            let (stores, is_timed) = choice.next(FRAME);
            if frame >= 10 * EPOCH / FRAME {
                count += FRAME * u32::from(stores == Stores::Streamed);
            }
            if is_timed {
                timed += 1;
                let time = match stores {
                    Stores::Cached if timed % 5 == 0 => 5000,
                    Stores::Cached => 1100,
                    Stores::Streamed => 1300,
                };
                choice.learn(stores, false, 16 << 10, time);
            }
        }
        assert!(count >= 10 * (EPOCH - TRIAL), "{count}");
    }

    /// The first time of a way is of a frame that was interrupted, of a reader that was asleep.
    #[test]
    fn a_time_of_an_interrupted_frame_hides_no_better_way() {
        for is_streamed_better in [false, true] {
            let times = if is_streamed_better {
                [600, 170]
            } else {
                [170, 600]
            };
            let mut choice = StoreChoice::new();
            let (mut count, mut timed) = (0, [0; 2]);
            for frame in 0..2 * EPOCH / FRAME {
                let (stores, is_timed) = choice.next(FRAME);
                if frame > EPOCH / FRAME {
                    count += FRAME * u32::from(stores == Stores::Streamed);
                }
                if is_timed {
                    timed[stores as usize] += 1;
                    let is_first = timed[stores as usize] == 1;
                    let time = times[stores as usize] * if is_first { 100 } else { 1 };
                    choice.learn(stores, false, 16 << 10, time);
                }
            }
            assert_eq!(count > EPOCH / 2, is_streamed_better, "{count}");
        }
    }

    #[test]
    fn a_trial_that_finds_nothing_is_repeated_a_few_times() {
        let mut choice = StoreChoice::new();
        let write = |choice: &mut StoreChoice, kib: u32, learns: bool| {
            let mut count = 0;
            for _ in 0..kib / FRAME {
                let (stores, is_timed) = choice.next(FRAME);
                count += FRAME * u32::from(stores == Stores::Streamed);
                if is_timed && (learns || stores == Stores::Cached) {
                    choice.learn(stores, false, 16 << 10, [600, 170][stores as usize]);
                }
            }
            count
        };
        let count = write(&mut choice, 20 * EPOCH, false);
        assert!((REPEATS * TRIAL..=(20 + REPEATS) * TRIAL).contains(&count));
        let mut choice = StoreChoice::new();
        write(&mut choice, 3 * TRIAL, false);
        let count = write(&mut choice, EPOCH / 2, true);
        assert!(count > EPOCH / 4, "{count}");
    }

    #[test]
    fn trials_cost_at_most_a_64th() {
        for factor in [1, 2, 3, 5, 8, 20] {
            for times in [[700, 700 * factor], [700 * factor, 700]] {
                let mut choice = StoreChoice::new();
                streamed(&mut choice, 2 * EPOCH, times);
                let epochs = 100 * MOST_EPOCHS as u32;
                let count = streamed(&mut choice, epochs * EPOCH, times);
                let trials = count.min(epochs * EPOCH - count);
                assert!(trials >= epochs / MOST_EPOCHS as u32 * TRIAL);
                let cost = u64::from(trials) * factor.min(MOST_EPOCHS);
                assert!(cost <= u64::from((epochs + MOST_EPOCHS as u32) * TRIAL));
            }
        }
    }
}
